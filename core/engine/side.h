// SPDX-License-Identifier: Apache-2.0
// One direction of one end of a case: a runner for each thread, and what they come to together.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/engine/endpoint_runner.h"

namespace rdmameter {

/// Why the loops of a side ended, by the one that tells most.
struct SideResult : LoopResult {
  std::string where;  ///< of that one

  /// See loop_result_text().
  std::string text() const { return loop_result_text(*this, where); }
};

using Runners = std::span<const std::unique_ptr<EndpointRunner>>;

/// What an open loop on these measured; nothing: see EndpointRunner::load().
std::optional<LoadData> load_of(Runners runners);
std::uint64_t progress_of(Runners runners);

/// Runners by endpoint (device, and of each by thread), in the order of the peer's; none: this end
/// has no such direction. Sums are of all; functions that say nothing else are
/// those of EndpointRunner.
struct Side {
  std::vector<std::unique_ptr<EndpointRunner>> runners;
  std::size_t devices = 1;
  std::size_t sharers = 1;  ///< runners of an endpoint; the first of them has what concerns that
  std::vector<unsigned> cpus = {};  ///< of each runner; empty: not pinned

  bool empty() const { return runners.empty(); }
  std::size_t endpoints() const { return runners.size() / sharers; }
  EndpointRunner& of_endpoint(std::size_t i) const { return *runners[i * sharers]; }
  EndpointRunner& first() const { return *runners.front(); }
  Runners of_device(std::size_t i) const {
    const std::size_t each = runners.size() / devices;
    return Runners(runners).subspan(i * each, each);
  }
  /// A device's counters and events are of all its runners, and the first has seen them longest.
  EndpointRunner& first_of(std::size_t device) const { return *of_device(device).front(); }

  Introduction introduction() const;
  /// @return  of several endpoints the least MTU, and else what the first one has
  Agreed connect(const Introduction& peer);
  /// @return  of several endpoints the least
  std::optional<std::uint32_t> establish();
  void pass(WindowBarrier& windows);

  /// Of several devices: pins the calling thread to the CPU of the first loop of that runner's
  /// device, where memory of all that device's is made. @throws as Pinned()
  Pinned pinned_to_make(std::size_t runner) const;
  /// Runs all loops, which begin together: the first on the calling thread, each other one on a
  /// thread of its own. Where one fails, the others are stopped.
  /// @throws UsageError, MeasurementError, VerbsError  what a loop has thrown; a CPU is not
  ///         allowed; a thread cannot be created
  SideResult run(Wait wait, const ClockChoice& clock, StopFlag& stop);
  /// @param sent  to each endpoint
  void expect(const std::vector<std::uint64_t>& sent);
  bool end_now() noexcept;
  void abort_traffic() noexcept;
  /// What has befallen a device since this was called last and ends a run, for
  /// people; empty: nothing.
  std::string take_fatal_event();
  /// As take_fatal_event(), after a loop has failed: the kernel tells of what has befallen a port by
  /// a work queue, so that the completions in error may come first. Waits up to 200 ms.
  std::string await_fatal_event();

  /// @param peer_totals  of each endpoint
  std::optional<Verdict> verify(const std::vector<std::uint64_t>& peer_totals) const;
  /// Messages sent or received over the whole traffic, by each endpoint.
  std::vector<std::uint64_t> totals() const;
  std::uint64_t progress() const { return progress_of(runners); }
  /// Sums over the devices; null: they have none.
  Json counters() const;
  Json resources() const;
  /// The first one's, and what each of several measured, as `per_thread`. Before take_latency().
  Json facts() const;
  std::vector<LoopPlace> places() const;
  std::optional<LoadData> load() const { return load_of(runners); }
  std::vector<QpFigures> per_qp() const;
  /// Of one loop, while it runs; null: it keeps none, or there are several.
  LatencySeries* over_time() const { return runners.size() == 1 ? first().over_time() : nullptr; }
  /// Of all, once they have ended; null: they keep none. May be called once.
  LatencySeries* added_over_time();
  /// Null where a loop takes no samples.
  std::unique_ptr<Histogram> take_latency();
};

/// What the loops of a side, or of one of its devices, counted, once they have ended. A loop's rate
/// is its own, in its own window, all of them under the same load. The window of all is the one in
/// which all messages give the sum of the rates.
struct SideTally : LoopTally {
  explicit SideTally(Runners runners);
  explicit SideTally(const Side& side) : SideTally(Runners(side.runners)) {}
  std::uint64_t cpu_ns = 0;
  bool has_loop = false;  ///< has any?
};

}  // namespace rdmameter
