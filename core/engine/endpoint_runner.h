// SPDX-License-Identifier: Apache-2.0
// One loop of one end in one repetition of a case, the same steps for initiator and responder:
// create, connect, run the measured loop, verify, tell. What the messages go over is a derived
// class's; an end (core/engine/end.h) has one of these for each direction and thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/stop.h"
#include "core/engine/account/per_qp.h"
#include "core/engine/blame/watch_log.h"
#include "core/engine/layout/verify.h"
#include "core/engine/loop/loop_state.h"
#include "core/engine/placement/placement.h"
#include "core/engine/settle.h"
#include "core/instrument/clock.h"
#include "core/instrument/series.h"
#include "core/result/json_text.h"
#include "core/result/row.h"

namespace rdmameter {

class EndpointRunner {
 public:
  EndpointRunner(EndpointRunner&&) = delete;
  virtual ~EndpointRunner() = default;

  /// The data that the peer needs of this end to connect, and may show.
  virtual Introduction introduction() const = 0;

  /// Connects to the peer, or takes its connection: afterwards it may send at once.
  /// @param peer  its introduction
  /// @return  what the two agree on; over TCP nothing of that
  /// @throws MeasurementError, Unsupported, VerbsError, Interrupted
  virtual Agreed connect(const Introduction& peer) = 0;

  /// The part of connecting that both ends do together: called once each has
  /// the other's introduction.
  /// @return  the MTU of the connection's route [bytes]; nothing: it is as agreed
  /// @throws as connect()
  virtual std::optional<std::uint32_t> establish() { return {}; }

  /// Runs the measured loop on the calling thread, where that is. Returns at once where this end
  /// takes no part.
  /// @param wait  the AgreedCase's: not Wait::automatic, and Wait::event only where the case has it
  LoopResult run(Wait wait, const ClockChoice& clock, const StopFlag& stop);

  /// Sets the peer's numbers of sent messages, before StopReason::finish: a receiver then ends once
  /// all have arrived. For a thread other than the measuring one.
  void expect(std::uint64_t sent);

  /// Ends the measured run now, which is then over as if its time had come. For a thread other than
  /// the measuring one. @return had it begun, so that there is something to keep?
  bool end_now() noexcept { return tally_.end_now(); }

  /// Opens and closes the windows of loops that load each other together. Before run().
  /// @param windows  borrowed
  void pass(WindowBarrier& windows) { plan_.windows = &windows; }

  /// An event of the device since the last call that ends a run; empty: none.
  virtual std::string take_fatal_event() = 0;

  /// Cuts this end off from its peer, so that a loop whose polls are never empty ends. For a thread
  /// other than the measuring one.
  virtual void abort_traffic() noexcept = 0;

  /// Checks what arrived here. @param peer_total  messages that the peer sent over
  /// the whole traffic
  /// @return nothing where no data comes to this end
  virtual std::optional<Verdict> verify(std::uint64_t peer_total) const = 0;

  /// Messages that each of this end's receive queues took; empty: it has none.
  virtual std::vector<std::uint64_t> arrivals() const { return {}; }

  /// Device counters since this object was made; null: there are none.
  virtual Json counters() const = 0;
  virtual Json resources() const = 0;
  /// Further facts for the row.
  virtual Json facts() const = 0;
  /// Where the messages go, for people.
  virtual std::string where() const = 0;

  Role role() const { return role_; }
  const LoopTally& tally() const { return tally_; }
  /// Messages so far, for a thread other than the measuring one.
  std::uint64_t progress() const { return tally_.progress.load(std::memory_order_relaxed); }
  bool has_loop() const { return has_loop_; }
  std::uint64_t cpu_ns() const { return cpu_ns_; }  ///< of the whole loop, warm-up included
  /// Where the measuring thread was when its loop ended; empty where this end has no loop.
  const std::vector<LoopPlace>& place() const { return place_; }
  /// The load of an open loop's initiator; nothing: another loop, or the responder.
  virtual std::optional<LoadData> load() const { return std::nullopt; }
  /// The best stretch of a bandwidth that this end sends; nothing: it was not looked for.
  virtual std::optional<PeakData> peak() const { return std::nullopt; }
  /// What each of its QPs did; empty: the case has one, and nobody asked about it.
  virtual std::vector<QpFigures> per_qp() const { return {}; }
  /// The loop's own notes, once it has ended; null: the case is not watched.
  virtual const WatchData* watched() const { return nullptr; }
  /// Null where the loop takes no samples, or they were taken away.
  const Histogram* latency() const { return latency_.get(); }
  std::unique_ptr<Histogram> take_latency() { return std::move(latency_); }
  LatencySeries* over_time() { return over_time_.get(); }  ///< null where it keeps none

 protected:
  /// @param seed  of both ends' payload patterns
  EndpointRunner(const DeviceCase& test_case, std::uint64_t seed);

  /// The measured loop, chosen before the clock starts.
  /// @return null: this end takes no part
  using Loop =
      std::function<LoopResult(const LoopPlan&, const ClockChoice&, const StopFlag&, LoopTally&)>;
  virtual Loop loop(Wait wait, ClockChoice::Kind clock) = 0;

  const DeviceCase settled_;
  const TestCase& case_ = settled_;
  const Role role_ = settled_.role();
  const std::uint64_t seed_;
  std::unique_ptr<Histogram> latency_, scratch_;
  std::unique_ptr<LatencySeries> over_time_;  ///< null: the case has none, or it is the peer's
  LoopPlan plan_;
  LoopTally tally_;
  bool has_loop_ = false;
  std::uint64_t cpu_ns_ = 0;
  std::vector<LoopPlace> place_;
};

/// How long a case goes on, as its loops want it.
void fill_plan(LoopPlan& plan, const TestCase& test_case);

/// "ibv_poll_cq...: cause. hint": what ended a loop, for people. Empty for Why::done.
std::string loop_result_text(const LoopResult& end, const std::string& where);

}  // namespace rdmameter
