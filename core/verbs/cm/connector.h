// SPDX-License-Identifier: Apache-2.0
// All of a case's QPs connected by rdma_cm: the initiator calls, some at a time, the responder
// takes what shows the case's nonce and turns away everybody else.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/verbs/cm/connection.h"

namespace rdmameter {

// What an rdma_cm event that ends a connection, or never lets it begin, means and what to do.

/// "RDMA_CM_EVENT_REJECTED (status 8: invalid service ID) OBJECT. What to do."
/// @param status   the event's: an errno value, negated; of a rejection the reason (IBTA vol. 1,
///                 12.6.7.2); of a datagram service that is not given its status (12.11.1.2)
/// @param object   "from 10.9.0.1 on rxe0/1 to 10.9.0.2:4711"
/// @param words    what the peer said with a rejection; empty: nothing
std::string cm_event_text(rdma_cm_event_type event, int status, std::string_view object,
                          std::string_view words = {});

/// The text of an event that reports a failure.
std::string cm_event_text(const rdma_cm_event& event, std::string_view object);

/// @throws MeasurementError with that text
[[noreturn]] void throw_cm_event(const rdma_cm_event& event, std::string_view object);

/// Lives as long as the connections: with it they end.
class CmConnector {
 public:
  explicit CmConnector(CmWatch watch) : channel_(watch) {}
  CmConnector(CmConnector&&) = delete;

  /// The responder's: from now on requests wait to be taken.
  /// @param expected  connections
  /// @return          the port that the kernel has chosen
  /// @throws VerbsError
  std::uint16_t listen(const CmEndpoint& end, std::size_t expected);

  /// The responder's: takes a request for each QP, and waits until all connections stand.
  /// @param qps  in INIT, or in RTS where they are UD's
  /// @throws MeasurementError, VerbsError, Interrupted
  void accept(const CmEndpoint& end, const std::string& nonce, std::span<ibv_qp* const> qps);

  /// The initiator's: connects each QP to the peer's of the same place.
  /// @param qps      as of accept()
  /// @param requests  how many; of UD one QP may have several
  /// @param first     the place of the peer's QP that the first one is for
  /// @return         of UD, for each request where it led; else empty
  /// @throws MeasurementError, VerbsError, Unsupported, Interrupted
  std::vector<CmService> connect(const CmEndpoint& end, const CmAddress& peer,
                                 const std::string& nonce, std::span<ibv_qp* const> qps,
                                 std::size_t requests, std::uint32_t first = 0);

  /// The route that the initiator's connections have found; nullopt: there are no connections.
  const std::optional<CmRoute>& route() const { return route_; }

  /// An event that has ended the connections meanwhile; empty: they stand.
  std::string take_fatal_event();

 private:
  struct Call;
  void step(Call& call, const rdma_cm_event& event, const CmEndpoint& end);
  void take_answer(Call& call, const rdma_cm_event& event, const CmEndpoint& end);
  bool take_request(CmEvent event, const CmEndpoint& end, const std::string& nonce,
                    std::span<ibv_qp* const> qps);

  CmChannel channel_;
  std::string between_;  ///< the two ends, for texts
  std::optional<CmRoute> route_;
  CmId listener_;
  std::vector<CmId> ids_;
};

// Membership of a multicast group, joined through rdma_cm, and the QPs attached to it.

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
