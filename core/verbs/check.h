// SPDX-License-Identifier: Apache-2.0
// The one place that knows how each verb says that it failed, and the text of such a failure:
// "verb(step) object on device: reason. remedy". For set-up only; a measured loop
// returns plain data.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

namespace rdmameter {

/// The kernel's own "not supported", which no user's header has and which some drivers let through:
/// NVIDIA's for its dma-bufs, rdma_cm for multicast groups.
inline constexpr int kEnotsupp = 524;

/// The device, or its driver, has no such verb, or not in this way.
constexpr bool is_unsupported(int error_number) noexcept {
  return error_number == EOPNOTSUPP || error_number == ENOSYS || error_number == kEnotsupp;
}

/// "ibv_modify_qp(INIT->RTR) QP 0x1a2 on mlx5_0/1: Invalid argument. What to do, where
/// that is known."
/// @param verb          its name, with the step in parentheses where it has several
/// @param object        what it was called for, with the device's name
/// @param error_number  errno value [0: the verb gave none]
std::string failure_text(std::string_view verb, std::string_view object, int error_number);

/// What to do about it; empty where that is not known. Looks at RLIMIT_MEMLOCK and the control
/// group of this process.
std::string remedy(std::string_view verb, int error_number);

/// @throws Unsupported  where is_unsupported()
/// @throws VerbsError   anything else
[[noreturn]] void throw_failure(std::string_view verb, std::string_view object, int error_number);

/// Why a verb returned NULL, if errno was 0 before it. Some providers set none: bnxt_re's
/// bnxt_re_create_qp() of UC (rdma-core).
inline int errno_of_null() noexcept {
  return errno == 0 ? EINVAL : errno;
}

/// For verbs that return NULL and set errno: ibv_open_device,
/// ibv_alloc_*, ibv_create_*, ibv_reg_mr.
/// @param call  calls it
template <class Call>
auto check_pointer(const Call& call, std::string_view verb, std::string_view object) {
  errno = 0;
  auto* const result = call();
  if (result == nullptr) throw_failure(verb, object, errno);
  return result;
}

/// For verbs that return an errno value: ibv_modify_*, ibv_post_*, ibv_query_{device,port,qp},
/// ibv_req_notify_cq, ibv_attach_mcast. (A few return it negated: ibv_query_gid_ex, _gid_table.)
inline void check_errno_value(int result, std::string_view verb, std::string_view object) {
  if (result != 0) throw_failure(verb, object, result < 0 ? -result : result);
}

/// For verbs and system calls that return a negative value and set errno: ibv_query_gid,
/// ibv_query_pkey, ibv_get_cq_event.
/// @return result
inline int check_minus_one(int result, std::string_view verb, std::string_view object) {
  if (result < 0) throw_failure(verb, object, errno);
  return result;
}

// What a completion status means: its name, what happened, and what to look at.

struct WcMeaning {
  std::string_view name;   ///< as in the man page of ibv_poll_cq: "IBV_WC_RETRY_EXC_ERR"
  std::string_view cause;  ///< what happened (IBTA vol. 1, "Completion Return Status")
  std::string_view hint;   ///< what to look at; empty: nothing is known to help
};

/// The meaning of any value, also of one that this header does not know.
WcMeaning wc_meaning(ibv_wc_status status);

/// "IBV_WC_RETRY_EXC_ERR on QP 0x11: cause. hint"
/// @param where       what completed, for the reader: "QP 0x11 on rxe0/1"
/// @param vendor_err  of the ibv_wc; shown unless 0
std::string wc_failure_text(ibv_wc_status status, std::string_view where,
                            std::uint32_t vendor_err = 0);

}  // namespace rdmameter
