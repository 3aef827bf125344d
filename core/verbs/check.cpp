// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/check.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <iterator>
#include <system_error>

#include "core/base/error.h"
#include "core/base/kernel_files.h"
#include "core/log/print.h"
#include "core/verbs/handles.h"

namespace rdmameter {
namespace {

bool is_any_of(int error_number, std::initializer_list<int> candidates) {
  for (const int candidate : candidates)
    if (error_number == candidate) return true;
  return false;
}

/// Every object that pins memory fails with ENOMEM once RLIMIT_MEMLOCK is used up (setrlimit(2)),
/// unless the process may lock any (mlock(2)).
std::string memlock_remedy() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      has_capability(kCapIpcLock))
    return "Locked memory is not limited for this process, so the host or the device ran out: ask "
           "for less memory or fewer objects. `rdma resource show` counts what all processes hold, "
           "`rdmameter devices` shows how many there can be (max_qp, max_cq, max_mr).";
  return fmt::format(
      "RLIMIT_MEMLOCK is {} bytes: raise it with `ulimit -l unlimited` (or a line `* - memlock "
      "unlimited` in /etc/security/limits.conf, LimitMEMLOCK=infinity in a systemd unit, `--ulimit "
      "memlock=-1` for a container).",
      limit.rlim_cur);
}

/// The kernel says EAGAIN where a control group has as many verbs objects as it may have.
std::string exhausted_remedy(int error_number) {
  const std::string limits = error_number == EAGAIN ? verbs_object_limits() : std::string();
  if (limits.empty()) return memlock_remedy();
  return fmt::format(
      "The control group of this process may have no more verbs objects ({}): have that limit "
      "raised, or ask for fewer objects.",
      limits);
}

std::string open_remedy(int error_number) {
  if (is_any_of(error_number, {EACCES, EPERM}))
    return "/dev/infiniband/uverbs* must be readable and writable by this user (rdma-core's udev "
           "rules see to that; in a container pass the folder in and allow its devices).";
  if (is_any_of(error_number, {ENOENT, ENODEV, ENXIO}))
    return "/dev/infiniband/uverbs* is missing: `modprobe ib_uverbs` (in a container pass "
           "/dev/infiniband in).";
  return {};
}

std::string modify_qp_remedy(int error_number) {
  if (is_any_of(error_number, {ETIMEDOUT, EHOSTUNREACH, ENETUNREACH}))
    return "No route to the peer's GID was found: look at `ip route get` and `ip neigh` for its "
           "address, or choose another pair with --gid-index and --peer-gid-index.";
  if (error_number == EINVAL)
    return "The path is wrong for this port (GIDs of two types or address families, an MTU above "
           "the active one), or a value is beyond the device's limits: compare `rdmameter devices` "
           "of both ends, then choose --gid-index, --peer-gid-index or --mtu.";
  return {};
}

std::string rdma_cm_remedy(std::string_view verb, int error_number) {
  if (verb == "rdma_create_event_channel")
    return "/dev/infiniband/rdma_cm must be there and open to this user: `modprobe rdma_ucm` (in a "
           "container pass /dev/infiniband in).";
  if (is_any_of(error_number, {EADDRNOTAVAIL, ENODEV}))
    return "rdma_cm finds no RDMA device with that address: is its network interface up, and in "
           "this network namespace? (`rdmameter devices` names the interface of each GID "
           "that is here.)";
  if (is_any_of(error_number, {ENETUNREACH, EHOSTUNREACH, ETIMEDOUT}))
    return "There is no route to the address: look at `ip route get` and `ip neigh` for it, or "
           "choose --gid-index and --peer-gid-index of one network.";
  return {};
}

}  // namespace

std::string remedy(std::string_view verb, int error_number) {
  const auto starts = [verb](std::string_view name) { return verb.starts_with(name); };
  if (starts("ibv_open_device")) return open_remedy(error_number);
  if (starts("rdma_")) return rdma_cm_remedy(verb, error_number);
  if (starts("ibv_modify_qp")) return modify_qp_remedy(error_number);
  if (starts("ibv_create_ah")) return modify_qp_remedy(error_number);
  const bool pins = starts("ibv_reg_mr") || starts("ibv_create_cq") || starts("ibv_create_qp") ||
                    starts("ibv_create_srq") || starts("mlock");
  if (pins && is_any_of(error_number, {ENOMEM, EAGAIN})) return exhausted_remedy(error_number);
  if (starts("ibv_create_cq_ex") && is_unsupported(error_number))
    return "Its provider has no extended CQs: use --cq classic.";
  if (starts("ibv_alloc_mw") && is_unsupported(error_number))
    return "Its provider makes no memory windows, whatever the device tells of them: choose "
           "another device.";
  if (starts("ibv_create_") && error_number == EINVAL)
    return "A depth, SGE count or inline size is beyond this device's limits: see `rdmameter "
           "devices`.";
  if (starts("ibv_reg_mr") && error_number == EFAULT)
    return "The memory cannot be pinned with this access (a read-only or special mapping).";
  return {};
}

std::string failure_text(std::string_view verb, std::string_view object, int error_number) {
  const std::string reason = error_number == 0 ? "failed without saying why"
                             : error_number == kEnotsupp
                                 ? "not supported (ENOTSUPP)"
                                 : std::generic_category().message(error_number);
  std::string text = fmt::format("{} {}: {}", verb, object, reason);
  if (const std::string what_to_do = remedy(verb, error_number); !what_to_do.empty())
    text += ". " + what_to_do;
  return text;
}

void throw_failure(std::string_view verb, std::string_view object, int error_number) {
  const std::string text = failure_text(verb, object, error_number);
  if (is_unsupported(error_number)) throw Unsupported(text);
  throw VerbsError(error_number, text);
}

void report_leak(const char* what, int error) noexcept {
  const int error_number = error < 0 ? errno : error;
  const char* const reason = strerrordesc_np(error_number);
  tell("rdmameter: a verbs object was not destroyed: {} ({})\n",
       reason == nullptr ? "an unknown error" : reason, what);
}

namespace {

constexpr std::string_view kNoRd = "RD is not in use: a driver's fault.";
constexpr std::string_view kNoTags = "Tag matching is not in use: a driver's fault.";

/// By status, whose numbers are those of an interface that does not change.
constexpr WcMeaning kMeanings[] = {
    {"IBV_WC_SUCCESS", "the request succeeded", ""},
    {"IBV_WC_LOC_LEN_ERR",
     "a message was longer than the receive posted for it, or than the port's maximum",
     "Do both ends use the same message size? On UD a receive needs 40 bytes more, for the GRH."},
    {"IBV_WC_LOC_QP_OP_ERR", "the local QP could not carry out the request",
     "An operation or size that this QP was not made for: too many SGEs or inline bytes, "
     "or too many reads at once. On rxe also reported when a packet could not be sent: is "
     "the link up, and is there a route?"},
    {"IBV_WC_LOC_EEC_OP_ERR", "the local end-to-end context (RD) failed", kNoRd},
    {"IBV_WC_LOC_PROT_ERR",
     "a local SGE names memory outside its MR, or with an lkey that is not valid",
     "Address, length and lkey of the posted SGEs; MR and QP must be of one PD."},
    {"IBV_WC_WR_FLUSH_ERR",
     "the QP was in the error state already, so this request was thrown away",
     "The first completion in error tells the cause; without one the peer or this program "
     "took the QP down."},
    {"IBV_WC_MW_BIND_ERR", "a memory window was not bound",
     "The MR needs IBV_ACCESS_MW_BIND and must cover the window; a window of type 2 must "
     "be unbound."},
    {"IBV_WC_BAD_RESP_ERR", "the responder answered with an opcode that does not belong here",
     "Do both ends agree on the QP's service type and starting PSN?"},
    {"IBV_WC_LOC_ACCESS_ERR", "incoming data had nowhere it was allowed to go",
     "The local MR lacks IBV_ACCESS_LOCAL_WRITE, or a write with immediate hit a protected place."},
    {"IBV_WC_REM_INV_REQ_ERR", "the responder found the request invalid",
     "Its QP does not allow this operation (access flags, max_dest_rd_atomic), or the "
     "message is longer than its receive."},
    {"IBV_WC_REM_ACCESS_ERR", "the responder's memory does not allow the access",
     "Remote address, length and rkey; its MR and QP need IBV_ACCESS_REMOTE_WRITE, _READ "
     "or _ATOMIC; an atomic's address is a multiple of 8."},
    {"IBV_WC_REM_OP_ERR", "the responder could not carry out the request",
     "Look for the responder's own completion in error and its kernel log."},
    {"IBV_WC_RETRY_EXC_ERR", "no acknowledgement came: the peer did not answer within all retries",
     "The peer died, its QP is not ready, or packets are lost on the way: wrong GID "
     "(compare `rdmameter devices` of both ends), an MTU that a switch does not pass, a "
     "firewall (RoCE v2: on UDP port 4791), PFC or ECN not set up; InfiniBand: both ports are "
     "limited members of the partition (--pkey)."},
    {"IBV_WC_RNR_RETRY_EXC_ERR", "the receiver had no receive posted, in all retries (RNR)",
     "The receiver is slower than the sender or did not post: a greater --rx-depth, or "
     "--rnr-retry 7, which waits for ever."},
    {"IBV_WC_LOC_RDD_VIOL_ERR", "the RD domains of QP and end-to-end context differ", kNoRd},
    {"IBV_WC_REM_INV_RD_REQ_ERR", "the responder found the RD request invalid", kNoRd},
    {"IBV_WC_REM_ABORT_ERR", "the responder aborted the operation",
     "Its QP was reset or its device failed: look at its kernel log."},
    {"IBV_WC_INV_EECN_ERR", "the end-to-end context number (RD) is not valid", kNoRd},
    {"IBV_WC_INV_EEC_STATE_ERR", "the end-to-end context (RD) is in the wrong state", kNoRd},
    {"IBV_WC_FATAL_ERR", "the device failed and no longer works",
     "The kernel log (`dmesg`); the device may need a reset."},
    {"IBV_WC_RESP_TIMEOUT_ERR", "the peer acknowledged, but its response never came",
     "Look at the peer's state and kernel log."},
    {"IBV_WC_GENERAL_ERR", "the device reports a failure of no other kind",
     "The vendor's error code and the kernel log (`dmesg`) say more."},
    {"IBV_WC_TM_ERR", "tag matching failed", kNoTags},
    {"IBV_WC_TM_RNDV_INCOMPLETE", "a rendezvous message of tag matching is incomplete", kNoTags}};
static_assert(std::size(kMeanings) == IBV_WC_TM_RNDV_INCOMPLETE + 1);
static_assert(kMeanings[IBV_WC_GENERAL_ERR].name == "IBV_WC_GENERAL_ERR");

}  // namespace

WcMeaning wc_meaning(ibv_wc_status status) {
  if (static_cast<std::size_t>(status) < std::size(kMeanings)) return kMeanings[status];
  return {"an unknown completion status", "libibverbs is newer than this program", ""};
}

std::string wc_failure_text(ibv_wc_status status, std::string_view where,
                            std::uint32_t vendor_err) {
  const WcMeaning meaning = wc_meaning(status);
  std::string text = fmt::format("{} ({}) on {}: {}", meaning.name, static_cast<int>(status), where,
                                 meaning.cause);
  if (vendor_err != 0) text += fmt::format(" (vendor error {:#x})", vendor_err);
  text += ".";
  if (!meaning.hint.empty()) text += fmt::format(" {}", meaning.hint);
  return text;
}

}  // namespace rdmameter
