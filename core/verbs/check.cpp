// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/check.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <system_error>

#include "core/base/capability.h"
#include "core/base/control_group.h"
#include "core/base/error.h"
#include "core/log/tell.h"
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
           "rules "
           "see to that; in a container pass the folder in and allow its devices).";
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
           "the "
           "active one), or a value is beyond the device's limits: compare `rdmameter devices` of "
           "both "
           "ends, then choose --gid-index, --peer-gid-index or --mtu.";
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
  throw VerbsError(text, error_number);
}

void report_leak(const char* what, int error) noexcept {
  const int error_number = error < 0 ? errno : error;
  const char* const reason = strerrordesc_np(error_number);
  tell("rdmameter: a verbs object was not destroyed: {} ({})\n",
       reason == nullptr ? "an unknown error" : reason, what);
}

}  // namespace rdmameter
