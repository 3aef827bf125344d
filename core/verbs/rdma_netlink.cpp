// SPDX-License-Identifier: Apache-2.0
// The kernel lists objects by device and kind in answer to RDMA_NLDEV_CMD_RES_*_GET (Linux 4.17,
// SRQs 5.13; rdma/rdma_netlink.h), to everybody, and each with the thread that made it.
#include "core/verbs/rdma_netlink.h"

#include <netlink/attr.h>
#include <rdma/rdma_netlink.h>

#include <charconv>
#include <chrono>
#include <fstream>
#include <set>

#include "core/base/parse_value.h"

namespace rdmameter {
namespace {

using Clock = std::chrono::steady_clock;

/// A dump's messages are as large as the reader has room for, up to this (af_netlink.c).
constexpr std::size_t kMessageBytes = 32 * 1024;

struct Kind {
  int command, table, entry;
  const char* count;        ///< name of the number of objects
  int amount;               ///< attribute that is summed up; 0: none
  const char* amount_name;  ///< of the sum
};

constexpr Kind kKinds[] = {
    {RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY, "qps", 0,
     nullptr},
    {RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ, RDMA_NLDEV_ATTR_RES_CQ_ENTRY, "cqs",
     RDMA_NLDEV_ATTR_RES_CQE, "cqes"},
    {RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR, RDMA_NLDEV_ATTR_RES_MR_ENTRY, "mrs",
     RDMA_NLDEV_ATTR_RES_MRLEN, "mr_bytes"},
    {RDMA_NLDEV_CMD_RES_SRQ_GET, RDMA_NLDEV_ATTR_RES_SRQ, RDMA_NLDEV_ATTR_RES_SRQ_ENTRY, "srqs", 0,
     nullptr}};

/// One kind's listing, as it comes in.
struct Listing {
  const Kind& kind;
  const std::set<std::uint32_t>& threads;
  const Clock::time_point end;
  std::uint64_t objects = 0, amount = 0;
  bool late = false;
};

void count_entry(nlattr* entry, Listing& listing) {
  const auto find = [entry](int type) {
    return nla_find(static_cast<nlattr*>(nla_data(entry)), nla_len(entry), type);
  };
  const nlattr* const pid = find(RDMA_NLDEV_ATTR_RES_PID);  // the kernel's own have none
  if (pid == nullptr || !listing.threads.contains(nla_get_u32(pid))) return;
  ++listing.objects;
  if (listing.kind.amount == 0) return;
  if (const nlattr* const amount = find(listing.kind.amount))
    listing.amount +=
        nla_len(amount) == sizeof(std::uint64_t) ? nla_get_u64(amount) : nla_get_u32(amount);
}

int on_message(nl_msg* message, void* user) {
  auto& listing = *static_cast<Listing*>(user);
  listing.late = Clock::now() > listing.end;
  if (listing.late) return NL_STOP;
  nlattr* const table = nlmsg_find_attr(nlmsg_hdr(message), 0, listing.kind.table);
  if (table == nullptr) return NL_OK;
  int rest = nla_len(table);
  for (auto* each = static_cast<nlattr*>(nla_data(table)); nla_ok(each, rest) != 0;
       each = nla_next(each, &rest))
    if (nla_type(each) == listing.kind.entry) count_entry(each, listing);
  return NL_OK;
}

/// @return  false: the kernel does not list this kind, or not in time
bool list(std::uint32_t device_index, Listing& listing) {
  const NetlinkSocket socket =
      connect_rdma_netlink();  // one of its own: what comes late belongs to no other kind
  if (!socket) return false;
  nl_socket_set_msg_buf_size(socket.get(), kMessageBytes);
  nl_socket_modify_cb(socket.get(), NL_CB_VALID, NL_CB_CUSTOM, on_message, &listing);
  const NetlinkMessage request(nlmsg_alloc_simple(
      RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, listing.kind.command), NLM_F_REQUEST | NLM_F_DUMP));
  if (!request || nla_put_u32(request.get(), RDMA_NLDEV_ATTR_DEV_INDEX, device_index) != 0)
    return false;
  return nl_send_auto(socket.get(), request.get()) >= 0 && nl_recvmsgs_default(socket.get()) >= 0 &&
         !listing.late;
}

using Totals = std::vector<std::pair<std::string, std::uint64_t>>;

/// RDMA_NLDEV_CMD_RES_GET: a table of names and numbers.
int on_totals(nl_msg* message, void* user) {
  auto& totals = *static_cast<Totals*>(user);
  nlattr* const table = nlmsg_find_attr(nlmsg_hdr(message), 0, RDMA_NLDEV_ATTR_RES_SUMMARY);
  if (table == nullptr) return NL_OK;
  int rest = nla_len(table);
  for (auto* each = static_cast<nlattr*>(nla_data(table)); nla_ok(each, rest) != 0;
       each = nla_next(each, &rest)) {
    const auto find = [each](int type) {
      return nla_find(static_cast<nlattr*>(nla_data(each)), nla_len(each), type);
    };
    const nlattr* const name = find(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME);
    const nlattr* const count = find(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR);
    if (name != nullptr && count != nullptr)
      totals.emplace_back(nla_get_string(name), nla_get_u64(count));
  }
  return NL_OK;
}

std::set<std::uint32_t> threads_of_process() {
  std::set<std::uint32_t> threads;
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const auto id = parse_count(each.path().filename().native());
    if (id) threads.insert(static_cast<std::uint32_t>(*id));
  }
  return threads;
}

}  // namespace

std::vector<std::pair<std::string, std::uint64_t>> kernel_objects(const ibv_context& context) {
  std::vector<std::pair<std::string, std::uint64_t>> objects;
  const int index = ibv_get_device_index(context.device);
  if (index < 0) return objects;
  const std::set<std::uint32_t> threads = threads_of_process();
  bool any = false;
  for (const Kind& kind : kKinds) {
    Listing listing{.kind = kind, .threads = threads, .end = Clock::now() + kNetlinkPatience};
    if (!list(static_cast<std::uint32_t>(index), listing)) continue;
    any |= listing.objects > 0;
    objects.emplace_back(kind.count, listing.objects);
    if (kind.amount != 0) objects.emplace_back(kind.amount_name, listing.amount);
  }
  if (!any) return {};  // as where it shows the objects of another namespace alone
  if (const auto pinned = pinned_bytes()) objects.emplace_back("pinned_bytes", *pinned);
  return objects;
}

std::vector<std::pair<std::string, std::uint64_t>> device_objects(const ibv_context& context) {
  Totals totals;
  const int index = ibv_get_device_index(context.device);
  const NetlinkSocket socket = connect_rdma_netlink();
  if (index < 0 || !socket) return {};
  nl_socket_modify_cb(socket.get(), NL_CB_VALID, NL_CB_CUSTOM, on_totals, &totals);
  const NetlinkMessage request(
      nlmsg_alloc_simple(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_GET), NLM_F_REQUEST));
  if (!request ||
      nla_put_u32(request.get(), RDMA_NLDEV_ATTR_DEV_INDEX, static_cast<std::uint32_t>(index)) != 0)
    return {};
  if (nl_send_auto(socket.get(), request.get()) < 0 || nl_recvmsgs_default(socket.get()) < 0)
    return {};
  return totals;
}

std::optional<std::uint64_t> pinned_bytes(const std::filesystem::path& proc) {
  std::ifstream status(proc / "status");
  for (std::string line; std::getline(status, line);) {
    constexpr std::string_view kKey = "VmPin:";
    if (!line.starts_with(kKey)) continue;
    const std::size_t digits = line.find_first_of("0123456789", kKey.size());
    if (digits == std::string::npos) return std::nullopt;
    std::uint64_t kib = 0;
    if (std::from_chars(line.data() + digits, line.data() + line.size(), kib).ec != std::errc())
      return std::nullopt;
    return kib * 1024;
  }
  return std::nullopt;
}

}  // namespace rdmameter
