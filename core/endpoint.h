// SPDX-License-Identifier: Apache-2.0
// One end of a case on a verbs device: everything that is created before the clock starts, and goes
// after.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/case.h"
#include "core/cm/connector.h"
#include "core/cm/multicast.h"
#include "core/completion_queue.h"
#include "core/device.h"
#include "core/endpoint_view.h"
#include "core/handles.h"
#include "core/layout.h"
#include "core/memory.h"
#include "core/qp_state.h"

namespace rdmameter {

/// An open device with the port and GID of a run. Kept over cases: opening is slow.
struct OpenDevice {
  Context context;
  PortInfo port;
  Gid gid;
  DeviceLimits limits;
  std::optional<int> numa_node;
  /// Most inline bytes that a QP was created with, by (transport, send depth, SGEs): found once, by
  /// trying.
  std::map<std::tuple<Transport, std::uint32_t, std::uint64_t>, std::uint32_t> most_inline;
};

/// @param device     empty: the first with an active port
/// @param port_num   kAuto: the device's first active port
/// @param gid_index  kAuto: see choose_gid()
/// @throws NoDevice, UsageError, Unsupported, VerbsError
OpenDevice open_for_run(const std::string& device, std::uint64_t port_num, std::uint64_t gid_index);

/// What an end tells the other: all that is needed to reach it.
struct EndpointInfo {
  std::uint16_t lid = 0;
  Gid gid;
  int link_layer = 0;
  std::uint32_t mtu_bytes = 0;                ///< its port's active MTU
  std::uint32_t reads_in = 0, reads_out = 0;  ///< outstanding reads that it can take, and make
  std::uint64_t address = 0;                  ///< of the area that one-sided operations work on
  std::vector<std::uint32_t> rkeys;           ///< of it: of each QP, or one for all
  std::uint32_t qkey = 0;
  std::vector<std::uint32_t> qpns, psns;
};

/// An open device's, without memory and QPs.
EndpointInfo endpoint_info_of(const OpenDevice& device);

/// @throws Unsupported  ports that cannot talk to each other
void require_match(const EndpointInfo& mine, const EndpointInfo& peer, const std::string& where);

nlohmann::json endpoint_info_to_wire(const EndpointInfo& info);
/// @throws MeasurementError  a field is missing or out of range
EndpointInfo endpoint_info_from_wire(const nlohmann::json& wire, std::uint32_t expected_qps);

/// What both ends use in the end.
struct Agreed {
  std::uint32_t mtu_bytes = 0;
  std::uint32_t outstanding_reads = 1;
};

/// What a case's memory is registered for. @param remote_access  IBV_ACCESS_REMOTE_...
int memory_access(const Case& one_case, int remote_access);

/// @throws Unsupported  the case's memory is for on-demand paging, which the device has not
void require_paging(const DeviceLimits& limits, const Case& one_case, const std::string& where);

class Endpoint {
 public:
  /// Creates PD, buffer, MR, CQs and QPs, and brings the QPs to INIT, so that receives can be
  /// posted.
  /// @throws Unsupported  the device cannot: so much inline, so deep a queue, so large a message...
  /// @throws VerbsError   it should, but a verb failed
  Endpoint(OpenDevice& device, const Case& one_case, Role role);
  Endpoint(Endpoint&&) = delete;  // posted WRs point into it, and members must go in their order

  const EndpointInfo& info() const { return info_; }
  const Layout& layout() const { return layout_; }
  const EndpointView& view() const { return view_; }

  /// The source area's bytes, or the target's, to be filled or looked at.
  void edit_source(const std::function<void(std::span<std::byte>)>& edit);
  void edit_target(const std::function<void(std::span<std::byte>)>& edit);
  void inspect_source(const std::function<void(std::span<const std::byte>)>& look) const;
  void inspect_target(const std::function<void(std::span<const std::byte>)>& look) const;

  /// Settles MTU and outstanding reads with the peer and completes the view: now WRs can be built.
  /// @throws Unsupported   ports that cannot talk; an MTU that one has not; a UD message beyond it
  Agreed learn(const EndpointInfo& peer);

  /// Brings the QPs to RTR and RTS. To be called after learn(), with the receives posted.
  void connect(const EndpointInfo& peer, const Agreed& agreed);

  /// This end of rdma_cm's connections, before anything is agreed.
  /// @throws Unsupported  the GID is no address that rdma_cm takes
  CmEnd cm_end() const;

  /// What connect() does, by rdma_cm: both ends at a time. Afterwards the view knows where
  /// datagrams go.
  /// @param cm     the responder's listens
  /// @param port   the responder's
  /// @param nonce  the case's
  /// @throws as CmConnector's functions
  void connect_by_cm(CmConnector& cm, const EndpointInfo& peer, const Agreed& agreed,
                     std::uint16_t port, const std::string& nonce);

  /// The same, as connections to this peer want it.
  CmEnd cm_end_towards(const EndpointInfo& peer, const Agreed& agreed) const;

  /// Brings the QPs to RTS; the responder's into the group, the initiator's to where they can send
  /// to it.
  /// @param group  borrowed; goes before this object
  void connect_to_group(MulticastGroup& group, const CmEnd& end);

  /// Puts the QPs into the error state, so that nothing more arrives: a peer that never stops
  /// sending cannot keep a loop from seeing its stop word. For a thread other than the measuring
  /// one.
  void silence() noexcept;

  /// "qps", "cqs", "mrs", "buffer_bytes", "max_send_wr", ...
  nlohmann::ordered_json resources() const;

  /// Whether the device promises that a message's last byte is written last
  /// (ibv_query_qp_data_in_order); what write_lat relies on.
  bool data_in_order() const;

 private:
  void check_limits() const;
  void check_memory() const;
  void register_memory();
  AreaView register_area(const Area& area, std::size_t offset, int access);
  void create_cqs();
  std::vector<ibv_cq*> create_cqs(std::optional<CompletionQueues>& queues,
                                  std::uint64_t cqes_per_qp, std::uint64_t sharers,
                                  const char* which);
  void check_events_and_timestamps() const;
  void create_srq();
  void create_qps();
  Qp try_qp(std::uint64_t index, std::uint32_t& inline_bytes);
  void refuse_what_rxe_drops() const;
  void explain_refusal(std::uint32_t wanted_inline, int error);
  std::uint32_t find_most_inline();
  QpPath path_to(const EndpointInfo& peer, const Agreed& agreed) const;
  void ready_for_datagrams(const CmEnd& end);
  void address(const CmService& service, const std::string& towards);
  void make_ah(ibv_ah_attr attributes, const std::string& towards);

  OpenDevice& device_;
  Case case_;
  Role role_;
  Layout layout_;
  QueueDepths depths_;
  std::string where_;
  std::uint32_t qkey_;
  EndpointInfo info_;
  EndpointView view_;

  MessageMemory memory_;
  Pd pd_;
  std::vector<Mr> mrs_;
  std::optional<CompletionQueues> send_cqs_, recv_cqs_;
  Srq srq_;
  std::vector<Ah> ahs_;
  std::vector<Qp> qps_;
};

}  // namespace rdmameter
