// SPDX-License-Identifier: Apache-2.0
#include "core/server/call_filter.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "core/base/error.h"
#ifdef RDMAMETER_SECCOMP
#include "core/server/refused_calls.h"
#endif

namespace rdmameter {

const char* missing_call_filter() noexcept {
#ifdef RDMAMETER_SECCOMP
  // seccomp(2): EINVAL where the kernel has no filters, otherwise EFAULT for the lack of one.
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr, 0, 0);
  return errno == EFAULT ? nullptr : "this kernel has no filters of system calls (seccomp)";
#else
  return "this program was built without libseccomp";
#endif
}

#ifdef RDMAMETER_SECCOMP
namespace {

void require(int outcome, const char* what) {
  if (outcome < 0)  // libseccomp's functions return -errno
    throw VerbsError("the sandbox of this session: {}: {}", what, std::strerror(-outcome));
}

/// When a call is refused; of one that always is, no argument is looked at.
scmp_arg_cmp condition(const RefusedCall& call) {
  using When = RefusedCall::When;
  switch (call.when) {
    case When::always:
      break;
    case When::not_zero:
      return {call.argument, SCMP_CMP_NE, 0, 0};
    case When::not_own_pid:
      return {call.argument, SCMP_CMP_NE, static_cast<scmp_datum_t>(getpid()), 0};
    case When::equal:
      return {call.argument, SCMP_CMP_MASKED_EQ, UINT32_MAX, call.value};
    case When::has:
      return {call.argument, SCMP_CMP_MASKED_EQ, call.value, call.value};
  }
  return {};
}

}  // namespace

void enter_call_filter() {
  const std::unique_ptr<void, decltype(&seccomp_release)> filter{seccomp_init(SCMP_ACT_ALLOW),
                                                                 seccomp_release};
  if (!filter) require(-ENOMEM, "seccomp_init");
  // Calls of another architecture's numbers (32 bits), which would get around the table.
  require(seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM)),
          "SCMP_FLTATR_ACT_BADARCH");
  // Neither slower code (before Linux 5.16 a filter turns on the mitigation of speculative stores
  // unless told not to) nor a search of the whole table by each call.
  require(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_SSB, 1), "SCMP_FLTATR_CTL_SSB");
  require(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2), "SCMP_FLTATR_CTL_OPTIMIZE");
  for (const RefusedCall& call : kRefusedCalls) {
    if (call.number < 0) continue;
    const scmp_arg_cmp when = condition(call);
    require(
        seccomp_rule_add_array(filter.get(), SCMP_ACT_ERRNO(static_cast<std::uint16_t>(call.error)),
                               call.number, call.when == RefusedCall::When::always ? 0 : 1, &when),
        call.name);
  }
  require(seccomp_load(filter.get()), "seccomp_load");
}
#else
void enter_call_filter() {}
#endif

}  // namespace rdmameter
