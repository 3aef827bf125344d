// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/cm/ece.h"

#include "core/verbs/check.h"

namespace rdmameter {
namespace {

/// A device without ECE says EOPNOTSUPP, and nothing has failed.
Ece without(const char* verb, int error) {
  return {.vendor_id = 0, .options = 0, .failed = is_unsupported(error) ? "" : verb};
}

/// Sets what both ends have in common. Of two vendors that is nothing (cma.c, init_ece()).
Ece set_common(ibv_qp& qp, std::uint32_t vendor_id, const ibv_ece& peer) {
  ibv_ece chosen{};
  chosen.vendor_id = vendor_id;
  chosen.options = peer.vendor_id == vendor_id ? peer.options : 0;
  if (const int error = ibv_set_ece(&qp, &chosen); error != 0) return without("ibv_set_ece", error);
  if (chosen.options == 0) return {};
  return {.vendor_id = chosen.vendor_id, .options = chosen.options, .failed = {}};
}

}  // namespace

Ece offer_ece(rdma_cm_id& id, ibv_qp& qp) noexcept {
  ibv_ece own{};
  if (const int error = ibv_query_ece(&qp, &own); error != 0)
    return without("ibv_query_ece", error);
  if (own.vendor_id == 0) return {};
  if (rdma_set_local_ece(&id, &own) != 0) return without("rdma_set_local_ece", errno);
  return {.vendor_id = own.vendor_id, .options = own.options, .failed = {}};
}

Ece take_ece(rdma_cm_id& id, ibv_qp& qp, const Ece& offered) noexcept {
  if (offered.vendor_id == 0) return offered;
  ibv_ece peer{};
  if (rdma_get_remote_ece(&id, &peer) != 0) return without("rdma_get_remote_ece", errno);
  return set_common(qp, offered.vendor_id, peer);
}

Ece accept_ece(rdma_cm_id& id, ibv_qp& qp) noexcept {
  ibv_ece peer{}, own{};
  if (rdma_get_remote_ece(&id, &peer) != 0) return without("rdma_get_remote_ece", errno);
  if (peer.vendor_id == 0) return {};
  if (const int error = ibv_query_ece(&qp, &own); error != 0)
    return without("ibv_query_ece", error);
  return set_common(qp, own.vendor_id, peer);
}

Ece ece_in_force(ibv_qp& qp, const Ece& taken) noexcept {
  ibv_ece own{};
  if (taken.vendor_id == 0 || ibv_query_ece(&qp, &own) != 0) return taken;
  if (own.options == 0) return {};
  return {.vendor_id = own.vendor_id, .options = own.options, .failed = {}};
}

void answer_ece(rdma_cm_id& id, ibv_qp& qp, const Ece& accepted) noexcept {
  ibv_ece own{};
  if (accepted.vendor_id == 0 || ibv_query_ece(&qp, &own) != 0) return;
  rdma_set_local_ece(&id, &own);
}

}  // namespace rdmameter
