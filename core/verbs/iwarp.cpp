// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/iwarp.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <rdma/rdma_netlink.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "core/verbs/gid_pair.h"
#include "core/verbs/rdma_netlink.h"

namespace rdmameter {
namespace {

std::string interface_of_gid(ibv_context& context, std::uint8_t port_num) {
  ibv_gid_entry entry{};
  std::array<char, IF_NAMESIZE> name{};
  if (ibv_query_gid_ex(&context, port_num, 0, &entry, 0) != 0 || entry.ndev_ifindex == 0 ||
      if_indextoname(entry.ndev_ifindex, name.data()) == nullptr)
    return {};
  return name.data();
}

int take_interface(nl_msg* message, void* user) {
  const nlattr* const name = nlmsg_find_attr(nlmsg_hdr(message), 0, RDMA_NLDEV_ATTR_NDEV_NAME);
  if (name != nullptr) *static_cast<std::string*>(user) = nla_get_string(name);
  return NL_OK;
}

/// What `rdma link` shows (RDMA_NLDEV_CMD_PORT_GET, Linux 4.17).
std::string interface_of_link(const ibv_context& context, std::uint8_t port_num) {
  std::string name;
  const int index = ibv_get_device_index(context.device);
  const NetlinkSocket socket = index < 0 ? nullptr : connect_rdma_netlink();
  if (!socket) return {};
  nl_socket_modify_cb(socket.get(), NL_CB_VALID, NL_CB_CUSTOM, take_interface, &name);
  const NetlinkMessage request(nlmsg_alloc_simple(
      RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_PORT_GET), NLM_F_REQUEST | NLM_F_ACK));
  if (!request ||
      nla_put_u32(request.get(), RDMA_NLDEV_ATTR_DEV_INDEX, static_cast<std::uint32_t>(index)) !=
          0 ||
      nla_put_u32(request.get(), RDMA_NLDEV_ATTR_PORT_INDEX, port_num) != 0 ||
      nl_send_auto(socket.get(), request.get()) < 0 || nl_recvmsgs_default(socket.get()) < 0)
    return {};
  return name;
}

std::string interface_in_sysfs(const ibv_context& context) {
  std::string found;
  std::error_code none;
  for (const auto& each : std::filesystem::directory_iterator(
           fmt::format("/sys/class/infiniband/{}/device/net", ibv_get_device_name(context.device)),
           none)) {
    if (!found.empty()) return {};  // of several it is not known which
    found = each.path().filename();
  }
  return found;
}

std::string interface_of(ibv_context& context, std::uint8_t port_num) {
  std::string name = interface_of_gid(context, port_num);
  if (name.empty()) name = interface_of_link(context, port_num);
  return name.empty() ? interface_in_sysfs(context) : name;
}

std::vector<Gid> addresses_of(const std::string& interface) {
  std::vector<Gid> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return addresses;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner{list, freeifaddrs};
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    Gid gid{.index = 0, .value = {}, .type = GidType::iwarp, .netdev = interface};
    if (interface == each->ifa_name && gid_of_address(each->ifa_addr, gid.value))
      addresses.push_back(gid);
  }
  return addresses;
}

}  // namespace

bool is_iwarp(const ibv_context& context) {
  return context.device->transport_type == IBV_TRANSPORT_IWARP;
}

std::vector<Gid> iwarp_addresses(ibv_context& context, std::uint8_t port_num) {
  const std::string interface = interface_of(context, port_num);
  if (interface.empty()) return {};
  std::vector<Gid> addresses = addresses_of(interface);
  std::ranges::stable_sort(addresses, {}, [](const Gid& gid) { return gid_rank(gid); });
  for (std::uint32_t index = 0; Gid & gid : addresses) gid.index = index++;
  return addresses;
}

}  // namespace rdmameter
