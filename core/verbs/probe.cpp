// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/probe.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <system_error>

#include "core/verbs/check.h"
#include "core/verbs/device.h"
#include "core/verbs/environment.h"
#include "core/verbs/handles.h"

namespace rdmameter {
namespace {

constexpr std::uint32_t kMaxSge = 256;

class Prober {
 public:
  Prober(ibv_context& context, Transport transport)
      : pd_(check_pointer([&] { return ibv_alloc_pd(&context); }, "ibv_alloc_pd",
                          device_name(context))),
        cq_(check_pointer([&] { return ibv_create_cq(&context, 1, nullptr, nullptr, 0); },
                          "ibv_create_cq(1 CQE)", device_name(context))),
        plain_(plain_qp(*cq_, transport, 1, 1)) {}

  /// Makes a plain QP of one WR, and drops it. @return 0 or the errno value
  int attempt_plain() const { return attempt(plain_); }

  /// The greatest value of one capability that works, the others as of a plain QP.
  std::uint32_t max(std::uint32_t ibv_qp_cap::*which, std::uint32_t min, std::uint32_t max) const {
    return largest_that_works(min, max, [&](std::uint32_t value) {
      ibv_qp_init_attr wanted = plain_;
      wanted.cap.*which = value;
      return attempt(wanted) == 0;
    });
  }

 private:
  int attempt(ibv_qp_init_attr wanted) const {
    const std::uint32_t inline_asked = wanted.cap.max_inline_data;
    errno = 0;
    const Qp qp(ibv_create_qp(pd_.get(), &wanted));
    if (qp == nullptr) return errno_of_null();
    // hns lowers what it cannot give (rdma-core, get_max_inline_data()): that is no such QP.
    return wanted.cap.max_inline_data < inline_asked ? EINVAL : 0;
  }

  const Pd pd_;
  const Cq cq_;
  const ibv_qp_init_attr plain_;
};

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

std::string_view transport_name(Transport transport) {
  return find_axis("transport")->words[static_cast<std::size_t>(transport)].text;
}

ibv_qp_init_attr plain_qp(ibv_cq& cq, Transport transport, std::uint64_t send_wrs,
                          std::uint64_t recv_wrs) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = &cq;
  attributes.cap = {.max_send_wr = static_cast<std::uint32_t>(send_wrs),
                    .max_recv_wr = static_cast<std::uint32_t>(recv_wrs),
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = 0};
  attributes.qp_type = qp_type(transport);
  return attributes;
}

bool takes_inline(const ibv_context& context) {
  return device_driver(device_name(context)) != "mana";
}

bool rxe_miscounts_pieces(RdmaCoreVersion version) noexcept {
  constexpr unsigned kFirst = 40;
  constexpr unsigned kMended[]{13, 13, 13, 12, 12, 11, 10, 9, 8, 8, 7, 7,
                               6,  6,  5,  4,  4,  3,  2,  2, 2, 1, 1, 1};  // of 40, 41...
  if (version.release >= kFirst + std::size(kMended)) return false;
  return version.release < kFirst || version.point < kMended[version.release - kFirst];
}

bool miscounts_pieces(const ibv_context& context) {
  return device_driver(device_name(context)) == "rdma_rxe" &&
         rxe_miscounts_pieces(rdma_core_version().value_or(RdmaCoreVersion{}));
}

std::uint32_t most_reads_posted(const ibv_context& context, std::uint64_t sges) {
  if (device_driver(device_name(context)) != "mana") return 0;
  constexpr std::uint64_t kQueueBytes = 4096, kHeadBytes = 16, kSgeBytes = 16, kUnitBytes = 32;
  const std::uint64_t units = (kHeadBytes + kSgeBytes * sges + kUnitBytes - 1) / kUnitBytes;
  return static_cast<std::uint32_t>(kQueueBytes / (units * kUnitBytes));
}

std::uint32_t largest_that_works(std::uint32_t min, std::uint32_t max,
                                 const std::function<bool(std::uint32_t)>& works) {
  std::uint32_t good = min, bad = max + 1;
  while (bad - good > 1) {
    const std::uint32_t middle = good + (bad - good) / 2;
    (works(middle) ? good : bad) = middle;
  }
  return good;
}

bool lacks_transport(ibv_context& context, Transport transport) {
  constexpr std::array kOfNoType{0, ENOMEM, EAGAIN, EPERM, EACCES, EIO, ENODEV};
  const int error = Prober(context, transport).attempt_plain();
  return std::ranges::find(kOfNoType, error) == kOfNoType.end();
}

std::uint32_t largest_qp_limit(ibv_context& context, Transport transport,
                               std::uint32_t ibv_qp_cap::*which, std::uint32_t told) {
  if (told >= kMaxSge) return told;
  return Prober(context, transport).max(which, told, kMaxSge);
}

QpLimits probe_qp_limits(ibv_context& context, Transport transport) {
  Prober prober(context, transport);
  QpLimits limits;
  if (const int error = prober.attempt_plain(); error != 0) {
    limits.reason = std::generic_category().message(error);
    return limits;
  }
  limits.creatable = true;
  if (takes_inline(context))
    limits.max_inline_bytes = prober.max(&ibv_qp_cap::max_inline_data, 0, kMaxInlineBytes);
  limits.max_send_sge = prober.max(&ibv_qp_cap::max_send_sge, 1, kMaxSge);
  limits.max_recv_sge = prober.max(&ibv_qp_cap::max_recv_sge, 1, kMaxSge);
  return limits;
}

}  // namespace rdmameter
