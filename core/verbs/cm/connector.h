// SPDX-License-Identifier: Apache-2.0
// All of a case's QPs connected by rdma_cm: the initiator calls, some at a time, the responder
// takes what shows the case's nonce and turns away everybody else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/verbs/cm/connection.h"

namespace rdmameter {

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

}  // namespace rdmameter
