// SPDX-License-Identifier: Apache-2.0
// Membership of a multicast group, joined through rdma_cm, and the QPs attached to it.
#pragma once

#include <vector>

#include "core/verbs/cm/connection.h"

namespace rdmameter {

class MulticastGroup {
 public:
  /// Joins the group.
  /// @param end    this end, of UD
  /// @throws Unsupported       the kernel joins no group of this family here
  /// @throws MeasurementError  the join was refused: the event, its status and what to do
  /// @throws VerbsError, Interrupted
  MulticastGroup(CmWatch watch, const CmEndpoint& end, const CmAddress& group);
  MulticastGroup(MulticastGroup&&) = delete;
  ~MulticastGroup();

  /// Delivers the group's messages to this QP, too; borrowed, and it must outlive this object.
  /// @throws VerbsError
  void attach(ibv_qp& qp);

  /// Where to send: the way, the multicast QP number, the group's Q_Key.
  const CmService& service() const { return service_; }

 private:
  const CmAddress group_;
  CmChannel channel_;
  CmId id_;
  CmService service_;
  std::vector<ibv_qp*> attached_;
};

/// A random group, so that no other run has it, of the administratively scoped (RFC 2365,
/// 239.255/16) or the transient site-local ones (RFC 4291, ff15::/16).
/// @param family  AF_INET, AF_INET6
std::string random_group(int family);

}  // namespace rdmameter
