// SPDX-License-Identifier: Apache-2.0
// An end whose messages go over a verbs device, and the check of a mix's payloads.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/role.h"
#include "core/engine/endpoint.h"
#include "core/engine/endpoint_runner.h"
#include "core/engine/layout/layout.h"
#include "core/engine/layout/verify.h"
#include "core/engine/work.h"
#include "core/verbs/device_events.h"

namespace rdmameter {

// Checking the payloads of a mix: each part has areas and a pattern of its own, so that a message
// in the place of another part's is found.

/// One end of a mix on one thread.
struct MixEnd {
  const TestCase& test_case;
  const Layout& layout;
  Role role;
  std::uint64_t seed;  ///< that the parts were drawn with
};

/// Fills the sources of all parts, and the words that atomics work on.
/// @param bytes  of the mix's area, poisoned
void fill_mix(std::span<std::byte> bytes, const MixEnd& end, const CancelCheck& cancel_check);

/// Checks what arrived at this end.
/// @param total  requests of the whole traffic, warm-up included
Verdict check_mix(std::span<const std::byte> bytes, const MixEnd& end, std::uint64_t total,
                  const CancelCheck& cancel_check);

class VerbsRunner final : public EndpointRunner {
 public:
  /// Creates the endpoint.
  /// @param seed   of both ends' payload patterns
  /// @param watch  what ends a wait for rdma_cm
  VerbsRunner(OpenDevice& device, const DeviceCase& test_case, std::uint64_t seed,
              CmWatch watch = {});

  /// Shares the endpoint, which the other one connects, and has work of its own. The initiator.
  /// @param sharer  which of those that share it, above 0
  VerbsRunner(const VerbsRunner& first, std::uint32_t sharer);

  Introduction introduction() const override;
  /// Builds and posts the receives, then brings the QPs to RTS: in this order, so that a peer that
  /// is ready may send at once. Of rdma_cm's connections, only takes over the peer's facts.
  Agreed connect(const Introduction& peer) override;
  /// Connects by rdma_cm, then builds and posts: no peer sends before it has heard of that.
  std::optional<std::uint32_t> establish() override;
  std::string take_fatal_event() override;
  /// See Endpoint::move_qps_to_error().
  void abort_traffic() noexcept override { endpoint_.move_qps_to_error(); }
  std::vector<std::uint64_t> arrivals() const override { return work_->arrivals(); }
  std::optional<Verdict> verify(std::uint64_t peer_total) const override;
  std::optional<LoadData> load() const override { return work_->load(); }
  std::optional<PeakData> peak() const override { return work_->peak(case_.size_bytes, scale_); }
  std::vector<QpFigures> per_qp() const override;
  const WatchData* watched() const override { return watched_ ? &*watched_ : nullptr; }
  Json counters() const override;
  Json resources() const override { return endpoint_.resources(); }
  Json facts() const override;
  std::string where() const override { return device_.port.where(); }

 private:
  Loop loop(Wait wait, ClockChoice::Kind clock) override;
  /// Does connecting take both ends at a time?
  bool both_at_once() const { return case_.by_cm() || case_.multicast(); }
  std::optional<std::uint32_t> connect_by_cm();
  void join_group();
  /// The route that rdma_cm has found on InfiniBand; nullopt: none, or it was not asked.
  std::optional<CmRoute> route_found() const;
  void build_work();
  void ask_for_order();
  MixEnd mix_end() const { return {case_, endpoint_.layout(), role_, seed_}; }
  Verdict verify_atomics(std::uint64_t total) const;

  OpenDevice& device_;
  const Counters counters_before_;
  const std::shared_ptr<Endpoint> shared_;  ///< of several runners only where they share QPs
  Endpoint& endpoint_;
  const std::uint32_t sharer_ = 0;
  Agreed agreed_;
  std::unique_ptr<Work> work_;
  TickScale scale_;  ///< of the clock that the loop has read
  Json breakdown_;   ///< null: the case has no timestamps
  std::optional<WatchData> watched_;
  EndpointInfo peer_;
  std::vector<std::string> noted_events_;  ///< changes of the port while it ran
  bool peer_thread_domain_ = false;
  bool data_in_order_ = false;  ///< of a case whose messages are seen in memory, once it is in RTS
  std::optional<ListeningAt> listening_;  ///< by rdma_cm: the responder
  const CmWatch watch_;
  std::string group_text_;
  std::unique_ptr<CmConnector> cm_;  ///< last: its connections end before their QPs go
  std::unique_ptr<MulticastGroup> group_;
};

}  // namespace rdmameter
