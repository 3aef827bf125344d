// SPDX-License-Identifier: Apache-2.0
#include "core/probe.h"

#include <cerrno>
#include <system_error>

#include "core/check.h"
#include "core/device.h"
#include "core/handles.h"

namespace rdmameter {
namespace {

constexpr std::uint32_t kMostInlineBytes = 4096;  // four times what any known device takes
constexpr std::uint32_t kMostSge = 256;

class Prober {
 public:
  Prober(ibv_context& context, ibv_pd& pd, Transport transport)
      : cq_(check_pointer(ibv_create_cq(&context, 1, nullptr, nullptr, 0), "ibv_create_cq(1 CQE)",
                          device_name(context))),
        pd_(pd),
        type_(qp_type(transport)) {}

  /// Makes such a QP and drops it. @return 0 or the errno value
  int attempt(const ibv_qp_cap& wanted) {
    ibv_qp_init_attr attributes{
        .send_cq = cq_.get(), .recv_cq = cq_.get(), .cap = wanted, .qp_type = type_};
    errno = 0;
    const Qp qp(ibv_create_qp(&pd_, &attributes));
    if (qp != nullptr) return 0;
    return errno == 0 ? EINVAL : errno;
  }

  /// The greatest value up to `most` of one capability that a QP can be created with, the others as
  /// in `wanted`; binary search, since whatever fits fits with less too. Every refusal counts as a
  /// limit, a passing want of memory as well.
  std::uint32_t greatest(ibv_qp_cap wanted, std::uint32_t ibv_qp_cap::*which, std::uint32_t least,
                         std::uint32_t most) {
    std::uint32_t works = least, fails = most + 1;
    while (fails - works > 1) {
      wanted.*which = works + (fails - works) / 2;
      (attempt(wanted) == 0 ? works : fails) = wanted.*which;
    }
    return works;
  }

 private:
  Cq cq_;
  ibv_pd& pd_;
  ibv_qp_type type_;
};

constexpr ibv_qp_cap kPlainQp{
    .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};

}  // namespace

ibv_qp_type qp_type(Transport transport) {
  switch (transport) {
    case Transport::rc:
      return IBV_QPT_RC;
    case Transport::uc:
      return IBV_QPT_UC;
    case Transport::ud:
      return IBV_QPT_UD;
  }
  return IBV_QPT_RC;
}

std::uint32_t probe_max_inline(ibv_context& context, ibv_pd& pd, Transport transport,
                               std::uint32_t depth, std::uint32_t send_sge) {
  ibv_qp_cap wanted = kPlainQp;
  wanted.max_send_wr = depth;
  wanted.max_send_sge = send_sge;
  return Prober(context, pd, transport)
      .greatest(wanted, &ibv_qp_cap::max_inline_data, 0, kMostInlineBytes);
}

QpLimits probe_qp_limits(ibv_context& context, Transport transport) {
  const Pd pd(check_pointer(ibv_alloc_pd(&context), "ibv_alloc_pd", device_name(context)));
  Prober prober(context, *pd, transport);
  QpLimits limits;
  if (const int error = prober.attempt(kPlainQp); error != 0) {
    limits.reason = std::generic_category().message(error);
    return limits;
  }
  limits.creatable = true;
  limits.max_inline_bytes =
      prober.greatest(kPlainQp, &ibv_qp_cap::max_inline_data, 0, kMostInlineBytes);
  limits.max_send_sge = prober.greatest(kPlainQp, &ibv_qp_cap::max_send_sge, 1, kMostSge);
  limits.max_recv_sge = prober.greatest(kPlainQp, &ibv_qp_cap::max_recv_sge, 1, kMostSge);
  return limits;
}

}  // namespace rdmameter
