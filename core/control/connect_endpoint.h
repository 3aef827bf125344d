// SPDX-License-Identifier: Apache-2.0
// Either end of a test that connects QPs one after another: makes a QP, brings it to RTS by what
// the peer says or by rdma_cm, keeps it or lets it go. What the two ends say to each other is not
// decided here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/engine/endpoint.h"
#include "core/engine/settle.h"
#include "core/verbs/cm/connection.h"

namespace rdmameter {

class ConnectEndpoint {
 public:
  /// @param watch  what ends a wait for rdma_cm
  /// @throws Unsupported  the device has not so many QPs, or the GID is nothing that rdma_cm takes
  /// @throws VerbsError
  ConnectEndpoint(OpenDevice& device, const DeviceCase& test_case, CmWatch watch);
  ConnectEndpoint(ConnectEndpoint&&) = delete;

  /// This end's introduction: its port, and where its rdma_cm listens (the responder's).
  Introduction introduction() const;

  /// Takes over the peer's. @throws MeasurementError, Unsupported
  void negotiate(const Introduction& peer);

  /// A new QP in INIT. The one before goes, and its connection.
  void make();
  /// The connection that there is now stays for as long as this object does; --objects at most.
  /// @throws MeasurementError
  void keep();
  /// The connection goes, the QP not yet.
  void part() noexcept;

  std::uint32_t qpn() const { return current_.qp->qp_num; }
  std::uint32_t psn() const { return psn_; }

  /// Brings the QP to RTS, connected to this QP of the peer's.
  void join(std::uint32_t qpn, std::uint32_t psn);

  // By rdma_cm, the initiator's, each to its end.
  void make_id();
  void resolve_address();
  void resolve_route();
  void request();

  // By rdma_cm, the responder's.
  /// Waits for an event of rdma_cm's, or for the session's peer to speak (woken).
  Waited wait(Deadline deadline) const;
  /// Takes a request for the QP that was made; whatever else happens to connections
  /// is nothing here.
  void take_event();

 private:
  /// Members are in the order of creation: a connection is destroyed before its QP.
  struct Connection {
    Qp qp;
    Ah ah;
    CmId id;
  };
  void require_qp() const;
  CmAddressTerms cm_terms(std::uint16_t port) const;
  void await(rdma_cm_event_type expected, const char* what);
  void take_address(ibv_ah_attr attributes);

  const OpenDevice& device_;
  const TestCase case_;
  const Role role_;
  const std::string where_;
  EndpointInfo info_;
  QpPath path_;
  CmEndpoint cm_endpoint_;
  std::string nonce_;
  std::uint16_t port_ = 0;
  std::optional<CmAddress> there_;
  const PkeyEntry pkey_;
  const Pd pd_;
  const Cq cq_;
  std::optional<CmChannel> channel_;
  CmId listener_;
  std::vector<Connection> kept_;
  Connection current_;
  std::uint32_t psn_ = 0;
};

}  // namespace rdmameter
