// SPDX-License-Identifier: Apache-2.0
// One end of a case on a verbs device: everything that is created before the clock starts,
// and goes after.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/engine/completion_queue.h"
#include "core/engine/credits.h"
#include "core/engine/device/device_terms.h"
#include "core/engine/device/open_device.h"
#include "core/engine/endpoint_view.h"
#include "core/engine/layout/layout.h"
#include "core/engine/settle.h"
#include "core/result/json_text.h"
#include "core/verbs/cm/connector.h"
#include "core/verbs/device.h"
#include "core/verbs/handles.h"
#include "core/verbs/memory/memory.h"
#include "core/verbs/pkey.h"
#include "core/verbs/qp_state.h"

namespace rdmameter {

/// ibv_qp_attr holds no more reads under way.
inline constexpr std::uint32_t kMostReads = 255;

/// The peer as the reader knows it.
struct PeerNoun {
  const char* noun = "the peer";
  const char* device_options = "--device or --peer-device";
};

/// @throws Unsupported  ports that cannot be connected with each other
void require_match(const EndpointInfo& mine, const EndpointInfo& peer, const std::string& where,
                   const PeerNoun& names = {});

/// The path's MTU [bytes]: --mtu, or the most that both ports have.
/// @throws Unsupported  as require_match(); --mtu is more than one port has; a UD message is longer
std::uint32_t agreed_mtu(const TestCase& test_case, const EndpointInfo& mine,
                         const EndpointInfo& peer, const std::string& where,
                         const PeerNoun& names = {});

/// @throws Unsupported  a UD message is longer than the path's MTU: the network would drop it
void require_one_packet(const TestCase& test_case, std::uint64_t mtu_bytes);

/// The way from a port of this machine to a peer's, for connections and address handles. Reads and
/// atomics under way per QP are in each direction as many as one end can make and the other can
/// take, and no more than agreed.
QpPath path_between(const EndpointInfo& mine, std::uint8_t port_num, const TestCase& test_case,
                    const EndpointInfo& peer, const Agreed& agreed);

class Endpoint {
 public:
  /// Creates PD, buffer, MR, CQs and QPs, and brings the QPs to INIT, so that receives
  /// can be posted.
  /// @throws Unsupported  the device cannot: so much inline, so deep a queue, so large a message...
  /// @throws VerbsError   it should, but a verb failed
  Endpoint(OpenDevice& device, const DeviceCase& test_case);
  Endpoint(Endpoint&&) = delete;  // posted WRs point into it, and members must go in their order

  const EndpointInfo& info() const { return info_; }
  const Layout& layout() const { return layout_; }
  const EndpointView& view() const { return view_; }
  const PkeyEntry& pkey() const { return pkey_; }

  /// Fills the bytes of an area (&Layout::source, &Layout::target), or checks them.
  void edit(Area Layout::*area, const std::function<void(std::span<std::byte>)>& edit);
  /// @return  what the check does
  template <class Check>
  auto check(Area Layout::*area, const Check& check) const {
    std::invoke_result_t<Check, std::span<const std::byte>> found;
    memory_.inspect(offset_of(area), (layout_.*area).total_bytes(),
                    [&](std::span<const std::byte> bytes) { found = check(bytes); });
    return found;
  }

  /// Settles MTU and outstanding reads with the peer and completes the view: now WRs can be built.
  /// @throws Unsupported   as agreed_mtu(); more reads than the two ends can do
  Agreed negotiate(const EndpointInfo& peer);

  /// Brings the QPs to RTR and RTS. To be called after negotiate(), with the receives posted.
  void connect(const EndpointInfo& peer, const Agreed& agreed);

  /// This end of rdma_cm's connections, before anything is agreed.
  /// @throws Unsupported  the GID is no address that rdma_cm takes
  CmEndpoint cm_endpoint() const;

  /// Connects as connect() does, but by rdma_cm: both ends at a time. Afterwards the view knows
  /// where datagrams go.
  /// @param cm     the responder's listens
  /// @param port   the responder's
  /// @param nonce  the case's
  /// @throws as CmConnector's functions
  void connect_by_cm(CmConnector& cm, const EndpointInfo& peer, const Agreed& agreed,
                     std::uint16_t port, const std::string& nonce);

  /// The endpoint's CmEndpoint for connections to this peer.
  CmEndpoint cm_endpoint_towards(const EndpointInfo& peer, const Agreed& agreed) const;

  /// Brings the QPs to RTS; the responder's into the group, the initiator's to where they can send
  /// to it.
  /// @param group  borrowed; goes before this object
  void connect_to_group(MulticastGroup& group, const CmEndpoint& end);

  /// Puts the QPs into the error state, so that nothing more arrives: a peer that never stops
  /// sending cannot keep a loop from seeing its stop word. For a thread other than
  /// the measuring one.
  void move_qps_to_error() noexcept;

  /// "qps", "cqs", "mrs", "buffer_bytes", "max_send_wr", ...
  Json resources() const;
  /// See gpu_facts_of().
  Json gpu_facts() const;

  /// Whether the device promises that a message's last byte is written last
  /// (ibv_query_qp_data_in_order); what write_lat relies on.
  /// Of all QPs; ask in RTS. mlx5 knows it of a connected QP alone.
  bool data_in_order() const;

  /// Are its QPs of a thread domain of its own, so that the provider can leave out locks?
  bool has_thread_domain() const { return domain_.parent() != nullptr; }

 private:
  void register_memory();
  void make_credits();
  /// Of an area in the memory [bytes].
  std::size_t offset_of(Area Layout::*area) const;
  AreaView register_area(Area Layout::*area, int access);
  void create_cqs();
  std::vector<ibv_cq*> create_cqs(std::optional<CompletionQueues>& queues,
                                  std::uint64_t cqes_per_qp, std::uint64_t sharers,
                                  const char* which);
  void check_events_and_timestamps() const;
  void create_srq();
  void create_qps();
  Qp try_qp(std::uint64_t index, std::uint32_t inline_bytes);
  std::uint32_t inline_to_ask() const;
  void explain_refusal(std::uint32_t wanted_inline, int error);
  std::uint32_t find_max_inline();
  CmAddressTerms cm_terms(std::uint16_t port) const;
  QpPath path_to(const EndpointInfo& peer, const Agreed& agreed) const;
  void ready_for_datagrams(const CmEndpoint& end);
  void address(const CmService& service, const std::string& towards);
  void make_ah(ibv_ah_attr attributes, const std::string& towards);

  OpenDevice& device_;
  const TestCase case_;
  const Role role_;
  Layout layout_;
  QueueDepths depths_;
  std::string where_;
  PkeyEntry pkey_;
  EndpointInfo info_;
  EndpointView view_;

  MessageMemory memory_;
  ProtectionDomain domain_;
  std::vector<Mr> mrs_;
  std::optional<Credits> credits_;
  std::optional<CompletionQueues> send_cqs_, recv_cqs_;
  Srq srq_;
  std::vector<Ah> ahs_;
  std::vector<Qp> qps_;
};

}  // namespace rdmameter
