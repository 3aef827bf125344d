// SPDX-License-Identifier: Apache-2.0
// The kernel lists objects by device and kind in answer to RDMA_NLDEV_CMD_RES_*_GET (Linux 4.17,
// SRQs 5.13; rdma/rdma_netlink.h), to everybody, and each with the thread that made it.
#include "core/verbs/rdma_netlink.h"

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <set>

#include "core/base/kernel_files.h"
#include "core/base/parse_value.h"
#include "core/verbs/handles.h"

namespace rdmameter {
namespace {

using Clock = std::chrono::steady_clock;

/// An answer may take so long: some drivers ask the device.
constexpr std::chrono::seconds kPatience{2};
/// A dump's messages are as large as the reader has room for, up to this (af_netlink.c).
constexpr std::size_t kMessageBytes = 32 * 1024;

/// Asks about a device, over a socket of its own: what comes late belongs to no other question.
/// @param command   RDMA_NLDEV_CMD_..._GET
/// @param flags     beside NLM_F_REQUEST
/// @param take      gets each message of the answer. @return  false: it wants no more
/// @param port_num  0: the question is of no port
/// @return  false: the kernel does not answer that, or not in time
template <class Take>
bool ask(const ibv_context& context, int command, int flags, Take take, unsigned port_num = 0) {
  const int index = ibv_get_device_index(context.device);
  const std::unique_ptr<nl_sock, Destroyer<nl_socket_free>> socket(nl_socket_alloc());
  if (index < 0 || !socket || nl_connect(socket.get(), NETLINK_RDMA) != 0) return false;
  const timeval patience{kPatience.count(), 0};
  setsockopt(nl_socket_get_fd(socket.get()), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  nl_socket_set_msg_buf_size(socket.get(), kMessageBytes);
  const auto on_message = [](nl_msg* message, void* user) -> int {
    return (*static_cast<Take*>(user))(message) ? NL_OK : NL_STOP;
  };
  nl_socket_modify_cb(socket.get(), NL_CB_VALID, NL_CB_CUSTOM, on_message, &take);
  const std::unique_ptr<nl_msg, Destroyer<nlmsg_free>> request(
      nlmsg_alloc_simple(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command), NLM_F_REQUEST | flags));
  const auto put = [&request](int attribute, unsigned value) {
    return nla_put_u32(request.get(), attribute, value) == 0;
  };
  return request && put(RDMA_NLDEV_ATTR_DEV_INDEX, static_cast<unsigned>(index)) &&
         (port_num == 0 || put(RDMA_NLDEV_ATTR_PORT_INDEX, port_num)) &&
         nl_send_auto(socket.get(), request.get()) >= 0 && nl_recvmsgs_default(socket.get()) >= 0;
}

/// Goes through a table in a message.
template <class Act>
void for_each_entry(nl_msg* message, int table_type, const Act& act) {
  nlattr* const table = nlmsg_find_attr(nlmsg_hdr(message), 0, table_type);
  if (table == nullptr) return;
  int rest = nla_len(table);
  for (auto* each = static_cast<nlattr*>(nla_data(table)); nla_ok(each, rest) != 0;
       each = nla_next(each, &rest))
    act(each);
}

/// Null: the entry of a table has none.
const nlattr* attribute_of(nlattr* entry, int type) {
  return nla_find(static_cast<nlattr*>(nla_data(entry)), nla_len(entry), type);
}

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

/// What a listing comes to.
struct ListedObjects {
  std::uint64_t objects = 0, amount = 0;
  bool late = false;
};

/// The kernel's own objects have no process.
void count_entry(nlattr* entry, const Kind& kind, const std::set<std::uint32_t>& threads,
                 ListedObjects& listed) {
  const nlattr* const pid = attribute_of(entry, RDMA_NLDEV_ATTR_RES_PID);
  const bool is_ours = pid != nullptr && threads.contains(nla_get_u32(pid));
  if (nla_type(entry) != kind.entry || !is_ours) return;
  ++listed.objects;
  if (kind.amount == 0) return;
  if (const nlattr* const amount = attribute_of(entry, kind.amount))
    listed.amount +=
        nla_len(amount) == sizeof(std::uint64_t) ? nla_get_u64(amount) : nla_get_u32(amount);
}

std::set<std::uint32_t> threads_of_process() {
  std::set<std::uint32_t> threads;
  for (const std::filesystem::path& each : entries_of("/proc/self/task"))
    if (const auto id = parse_count(each.filename().native()))
      threads.insert(static_cast<std::uint32_t>(*id));
  return threads;
}

}  // namespace

std::string netdev_of_link(const ibv_context& context, std::uint8_t port_num) {
  std::string name;
  const auto take = [&name](nl_msg* message) {
    if (const nlattr* const told =
            nlmsg_find_attr(nlmsg_hdr(message), 0, RDMA_NLDEV_ATTR_NDEV_NAME))
      name = nla_get_string(told);
    return true;
  };
  return ask(context, RDMA_NLDEV_CMD_PORT_GET, NLM_F_ACK, take, port_num) ? name : std::string();
}

std::vector<std::pair<std::string, std::uint64_t>> kernel_objects(const ibv_context& context) {
  std::vector<std::pair<std::string, std::uint64_t>> objects;
  const std::set<std::uint32_t> threads = threads_of_process();
  bool any = false;
  for (const Kind& kind : kKinds) {
    ListedObjects listed;
    const auto take = [&, end = Clock::now() + kPatience](nl_msg* message) {
      listed.late = Clock::now() > end;
      if (!listed.late)
        for_each_entry(message, kind.table,
                       [&](nlattr* entry) { count_entry(entry, kind, threads, listed); });
      return !listed.late;
    };
    if (!ask(context, kind.command, NLM_F_DUMP, take) || listed.late) continue;
    any |= listed.objects > 0;
    objects.emplace_back(kind.count, listed.objects);
    if (kind.amount != 0) objects.emplace_back(kind.amount_name, listed.amount);
  }
  if (!any) return {};  // as where it shows the objects of another namespace alone
  if (const auto pinned = pinned_bytes()) objects.emplace_back("pinned_bytes", *pinned);
  return objects;
}

/// RDMA_NLDEV_CMD_RES_GET: a table of names and numbers.
std::vector<std::pair<std::string, std::uint64_t>> device_objects(const ibv_context& context) {
  std::vector<std::pair<std::string, std::uint64_t>> totals;
  const auto take_entry = [&totals](nlattr* entry) {
    const nlattr* const name = attribute_of(entry, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME);
    const nlattr* const count = attribute_of(entry, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR);
    if (name != nullptr && count != nullptr)
      totals.emplace_back(nla_get_string(name), nla_get_u64(count));
  };
  const auto take = [&take_entry](nl_msg* message) {
    for_each_entry(message, RDMA_NLDEV_ATTR_RES_SUMMARY, take_entry);
    return true;
  };
  if (!ask(context, RDMA_NLDEV_CMD_RES_GET, 0, take)) return {};
  return totals;
}

std::optional<std::uint64_t> pinned_bytes(const std::filesystem::path& proc) {
  const auto kib = parse_count(word_behind(proc / "status", "VmPin:").value_or(""));
  return kib ? std::optional(*kib * 1024) : std::nullopt;
}

}  // namespace rdmameter
