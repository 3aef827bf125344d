// SPDX-License-Identifier: Apache-2.0
// One end's part in one repetition of a case, the same steps for initiator and responder: create,
// connect, run the measured loop, verify, tell. What the messages go over is a derived class's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/role.h"
#include "core/base/stop.h"
#include "core/engine/account/per_qp.h"
#include "core/engine/blame/watch_log.h"
#include "core/engine/introduction.h"
#include "core/engine/layout/verify.h"
#include "core/engine/loop/loop_state.h"
#include "core/engine/placement/affinity.h"
#include "core/instrument/clock.h"
#include "core/instrument/series.h"
#include "core/result/row.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

class EndpointRunner {
 public:
  EndpointRunner(EndpointRunner&&) = delete;
  virtual ~EndpointRunner() = default;

  /// What the peer must know of this end to connect, and may tell of it.
  virtual Introduction introduction() const = 0;

  /// Connects to the peer, or takes its connection: afterwards it may send at once.
  /// @param peer  its introduction
  /// @throws MeasurementError, Unsupported, VerbsError, Interrupted
  virtual void connect(const Introduction& peer) = 0;

  /// What of connecting takes both ends at a time: called once each has the other's introduction.
  /// @throws as connect()
  virtual void establish() {}

  /// Puts what was found and agreed in the place of what was asked for. To be called after
  /// connect().
  /// @param peer  its introduction
  virtual void record_effective(TestCase& test_case, const Introduction& peer) const = 0;

  /// Runs this end's measured loop on the calling thread, pinned to the first of `cpus` [empty:
  /// left where it is]. Returns at once where this end takes no part.
  /// @param wait  not Wait::automatic
  /// @param stop  read; and written where of several threads one fails, to end the others
  virtual LoopResult run(Wait wait, std::span<const unsigned> cpus, const ClockChoice& clock,
                         StopFlag& stop);

  /// What the peer has sent, to be told before StopReason::finish: then a receiver ends once all of
  /// it is there. For a thread other than the measuring one. @param sent  by each thread
  virtual void expect(const std::vector<std::uint64_t>& sent);

  /// Ends the measured run now, which is then over as if its time had come. For a thread other than
  /// the measuring one. @return had it begun, so that there is something to keep?
  virtual bool end_now() noexcept { return tally_.end_now(); }

  /// Opens and closes the windows of loops that load each other together. Before run().
  /// @param gate  borrowed
  virtual void pass(LoadGate& gate) { plan_.gate = &gate; }

  /// What has befallen the device since this was called last and ends a run; empty: nothing.
  virtual std::string take_fatal_event() = 0;

  /// The same after a loop has failed: the kernel tells of what has befallen a port by a work
  /// queue, so that the completions in error may come first. Waits up to 200 ms.
  std::string await_fatal_event();

  /// Cuts this end off from its peer, so that a loop whose polls are never empty ends. For a thread
  /// other than the measuring one.
  virtual void abort_traffic() noexcept = 0;

  /// Checks what arrived here. @param peer_totals  messages that each of the peer's threads sent
  /// over the whole traffic
  /// @return nothing where no data comes to this end
  virtual std::optional<Verdict> verify(const std::vector<std::uint64_t>& peer_totals) const = 0;

  /// Messages that each of this end's receive queues took; empty: it has none.
  virtual std::vector<std::uint64_t> arrivals() const { return {}; }

  /// Device counters since this object was made; null: there are none.
  virtual nlohmann::ordered_json counters() const = 0;
  virtual nlohmann::ordered_json resources() const = 0;
  /// Further facts for the row.
  virtual nlohmann::ordered_json facts() const = 0;
  /// Where the messages go, for people.
  virtual std::string where() const = 0;

  const LoopTally& tally() const { return tally_; }
  /// Messages sent or received over the whole traffic, by each thread.
  virtual std::vector<std::uint64_t> totals() const { return {tally_.total}; }
  /// Messages so far, for a thread other than the measuring one.
  virtual std::uint64_t progress() const { return tally_.progress.load(std::memory_order_relaxed); }
  bool has_loop() const { return has_loop_; }
  std::uint64_t cpu_ns() const { return cpu_ns_; }  ///< of the whole loop, warm-up included
  /// Where each measuring thread was when its loop ended; none where this end has no loop.
  virtual std::vector<LoopPlace> places() const { return place_; }
  /// What an open loop measured beside its responses; nothing: it is none, or not its initiator.
  virtual std::optional<LoadData> load() const { return std::nullopt; }
  /// The best stretch of a bandwidth that this end sends; nothing: it was not looked for.
  virtual std::optional<PeakData> peak() const { return std::nullopt; }
  /// What each QP of this end did, of all threads; empty: there is one, and nobody asked about it.
  virtual std::vector<QpFigures> per_qp() const { return {}; }
  /// What the loop noted of itself, once it has ended; null: the case is not watched.
  virtual const WatchData* watched() const { return nullptr; }
  /// Null where the loop takes no samples.
  std::unique_ptr<Histogram> take_latency() { return std::move(latency_); }
  /// Null where it keeps none; of several threads, until they have ended.
  LatencySeries* over_time() { return over_time_.get(); }
  std::unique_ptr<LatencySeries> take_over_time() { return std::move(over_time_); }

 protected:
  /// @param seed  of both ends' payload patterns
  EndpointRunner(const TestCase& test_case, Role role, std::uint64_t seed);

  /// The measured loop, chosen before the clock starts.
  /// @return null: this end takes no part
  using Loop =
      std::function<LoopResult(const LoopPlan&, const ClockChoice&, const StopFlag&, LoopTally&)>;
  virtual Loop loop(Wait wait, ClockChoice::Kind clock) = 0;

  const TestCase case_;
  const Role role_;
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
