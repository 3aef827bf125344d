// SPDX-License-Identifier: Apache-2.0
// Builds and owns the work of one end of a case: WRs with their SGEs, linked into lists, linked
// into rings.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "core/engine/account/load.h"
#include "core/engine/account/peak.h"
#include "core/engine/account/per_qp.h"
#include "core/engine/blame/watch_log.h"
#include "core/engine/endpoint_view.h"
#include "core/engine/layout/layout.h"
#include "core/engine/loop/loop_state.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

class Work {
 public:
  /// Builds everything that the measured loop will post. Does not post anything.
  /// @param seed    of the times when an open loop's requests are due
  /// @param sharer  whose work it is, of those that share the QPs
  Work(const TestCase& test_case, Role role, const Layout& layout, const EndpointView& view,
       std::uint64_t seed = 0, std::uint32_t sharer = 0);
  Work(Work&&) = delete;  // WRs point to each other

  /// Posts posted_receives() on every QP, or on the SRQ: to be done before the peer may send.
  /// @throws VerbsError
  void post_receives();

  LoopState& loop_state() { return loop_state_; }

  /// Receives that each QP has taken; of an SRQ one number for all.
  std::vector<std::uint64_t> arrivals() const;

  /// The log of this end's loop; null: the case is not watched.
  WatchLog* watch() const { return watch_.get(); }

  /// Are this end's messages inlined (small enough for the QP's inline room, and asked for)?
  bool inlined() const { return inlined_; }

  /// The timestamps that the loop kept last, in no order; of a case with timestamps.
  std::vector<Timestamps> timestamps() const;

  /// The load as the loop measured it; nothing: it is not an open loop's initiator.
  std::optional<LoadData> load() const;

  /// The best stretch of the traffic, once the loop has ended; nothing: it was not looked for.
  std::optional<PeakData> peak(std::uint64_t size_bytes, const TickScale& scale) const {
    return peak_ ? peak_->peak(loop_state_, size_bytes, scale) : std::nullopt;
  }

  /// The figures of each QP without labels and ports, once the loop has ended; empty:
  /// it keeps none.
  /// @param window_ns  of a bandwidth
  std::vector<QpFigures> per_qp(std::uint64_t window_ns) const;

 private:
  void build_sends(const TestCase& test_case, Role role, const Layout& layout,
                   const EndpointView& view, std::uint32_t sharer);
  void build_mix(const TestCase& test_case, Role role, const Layout& layout,
                 const EndpointView& view);
  void build_rings(const TestCase& test_case, const Layout& layout, const EndpointView& view);
  std::size_t build_part(const TestCase& test_case, std::uint32_t number, std::size_t first,
                         const Layout& layout, const EndpointView& view);
  void number_lanes(const TestCase& test_case);
  void expect_numbers(const TestCase& test_case);
  void thread_rings(std::uint32_t lists);
  void build_receives(const TestCase& test_case, const Layout& layout, const EndpointView& view);

  LoopState loop_state_;
  Mailbox mailbox_;
  bool inlined_ = false;
  std::uint32_t receives_per_ring_ = 0, ring_count_ = 0;  ///< a ring for each QP, or SRQ's list
  std::unique_ptr<Lane[]> lanes_;
  std::unique_ptr<RecvRing[]> rings_;
  std::unique_ptr<RecvWork[]> recv_works_;
  std::unique_ptr<ibv_send_wr[]> send_wrs_;
  std::unique_ptr<ibv_recv_wr[]> recv_wrs_;
  std::unique_ptr<ibv_sge[]> send_sges_, recv_sges_;
  std::unique_ptr<SendList[]> send_lists_;
  std::unique_ptr<MixList[]> mix_lists_;
  std::unique_ptr<SendList*[]> mix_send_;
  std::unique_ptr<RecvList[]> recv_lists_;
  std::unique_ptr<ibv_send_wr[]> closing_wrs_;
  std::unique_ptr<std::uint32_t[]> next_numbers_;
  std::vector<std::uint64_t> skipped_numbers_;
  std::vector<Timestamps> timestamps_;
  std::unique_ptr<OpenLoopSchedule> schedule_;
  bool keeps_each_qp_ = false;
  std::unique_ptr<QpSampleSet> qp_samples_;
  std::unique_ptr<WatchLog> watch_;
  std::unique_ptr<PeakLog> peak_;
};

/// Samples whose moments are kept: a power of two.
inline constexpr std::uint64_t kMaxTimestamps = 1 << 16;

/// WRs per receive list of a case: as asked for, or as follows; at most a quarter of a queue that
/// is shallower than was asked for.
std::uint32_t receive_list_length(const TestCase& test_case);

/// WRs per receive list: the largest divisor of the depth that is at most 16, so that lists tile
/// the receive queue and a doorbell is paid once for many.
/// @param longest  they may be
std::uint32_t receive_list_length(
    std::uint32_t rx_depth, std::uint32_t longest = std::numeric_limits<std::uint32_t>::max());

/// WRs in a QP's ring of sends: a multiple of both periods, at least the depth (no list is posted
/// again before it is retired), with as many for each of its peers, and where that takes no more
/// than 4096 WRs, or there are more slots than the depth, one that gives every slot its turn.
std::uint32_t send_chain_length(std::uint32_t signal_every, std::uint32_t post_list,
                                std::uint32_t depth, std::uint64_t slots, std::uint32_t peers = 1);

/// The length of a case's chains of sends.
std::uint32_t send_chain_length(const TestCase& test_case, Role role);

/// WRs in a ring of a part of a mix: at least the depth, and a multiple of the part's slots.
std::uint32_t mix_chain_length(const TestCase& test_case, std::size_t part);

}  // namespace rdmameter
