// SPDX-License-Identifier: Apache-2.0
// Enhanced connection establishment: what two devices of one vendor agree on beyond the standard
// while rdma_cm connects them (rdma_set_local_ece(3)). rdma_cm does it by itself only for QPs that
// it has created (rdma-core, librdmacm/cma.c, init_ece()).
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <string>

namespace rdmameter {

/// The result of the negotiation. Without a vendor the connection is as the standard has it.
struct Ece {
  std::uint32_t vendor_id = 0, options = 0;
  std::string failed;  ///< the call that failed; empty: none, or the device has no ECE
};

/// The initiator, before its request, with the QP in INIT: offers what the device can.
/// @return the offer
Ece offer_ece(rdma_cm_id& id, ibv_qp& qp) noexcept;

/// The initiator, with the answer and before RTR: takes what the responder has chosen.
/// @param offered  by offer_ece()
Ece take_ece(rdma_cm_id& id, ibv_qp& qp, const Ece& offered) noexcept;

/// The initiator, in RTS: what the device has made of it, which mlx5 knows by the step to RTR
/// (rdma-core, providers/mlx5/verbs.c).
/// @param taken  by take_ece(); what holds if the device does not say
Ece ece_in_force(ibv_qp& qp, const Ece& taken) noexcept;

/// The responder, with the request and before RTR: takes of the offer what its device can.
/// @return what to answer by answer_ece()
Ece accept_ece(rdma_cm_id& id, ibv_qp& qp) noexcept;

/// The responder, in RTS and before it accepts: answers with what the device has made of it.
void answer_ece(rdma_cm_id& id, ibv_qp& qp, const Ece& accepted) noexcept;

}  // namespace rdmameter
