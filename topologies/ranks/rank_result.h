// SPDX-License-Identifier: Apache-2.0
// What each rank has measured, as it tells rank 0, and what all of it makes together.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/device/open_device.h"
#include "core/engine/measurer.h"
#include "core/result/row_fields.h"
#include "core/wire/message.h"
#include "topologies/graphs/graph.h"
#include "topologies/ranks/rank_plan.h"

namespace rdmameter {

/// Why a rank has no time of a pair that it is one of.
struct LostPair {
  Rank with = 0;
  std::string reason;
  bool waited = false;  ///< in vain: the other one may know more
};

void list_fields(auto& fields, Is<LostPair> auto& pair) {
  fields("with", pair.with);
  fields.any_text("reason", pair.reason);
  fields("waited", pair.waited);
}

/// Samples of one rank, or of several together: they are merged on their way to rank 0.
struct RankSamples {
  HistogramData barrier, exchanges;
  std::map<std::uint64_t, HistogramData> by_hops;  ///< of walks
  std::vector<std::uint64_t> collective_ns;  ///< of each collective: of the slowest of these ranks
};

void list_fields(auto& fields, Is<RankSamples> auto& samples) {
  fields("barrier", samples.barrier);
  fields("exchanges", samples.exchanges);
  fields("by_hops", samples.by_hops);
  fields("collective_ns", samples.collective_ns);
}

/// Why a loop of a rank ended that others have kept waiting.
inline constexpr const char* kOutOfPatience = "nothing has moved for too long (--patience)";

struct RankResult {
  std::string failure;  ///< empty: all went well
  /// The failure is of the barrier's QP towards that rank.
  std::optional<std::uint64_t> no_barrier_with;
  std::string device;

  NamedCounts connect_ns;  ///< by verb, of the graph's own QPs
  NamedCounts setup_ns, connection_bytes, relay_bytes;
  NamedCounts kernel;  ///< what it counts of this rank; empty: it does not tell
  std::uint64_t qps = 0, barrier_qps = 0;
  RankSamples samples;  ///< not on the wire with the rest
  /// Times by destination [ns; 0: none]: of round trips that begin here half the median; of streams
  /// of pairs the time of one message.
  std::vector<double> matrix_row_ns;
  /// Times of such streams that end here, by source. Empty: the ranks that send know all.
  std::vector<double> matrix_column_ns;
  std::vector<LostPair> lost_pairs;
  std::uint64_t half_rounds = 0;  ///< of pairs, that all ranks have passed
  double collective_mean_ns = 0;  ///< of this rank's own times
  std::uint64_t operations = 0, lost = 0;
  std::uint64_t sent = 0, arrived = 0;  ///< messages of the measured part; sent to each destination
  std::uint64_t elapsed_ns = 0, sending_ns = 0, cpu_ns = 0;
  std::uint64_t wrs = 0, doorbells = 0, cqes = 0, polls = 0, passed_on = 0;
  std::uint64_t checked_bytes = 0;
  std::uint32_t mtu_bytes = 0;
  bool yielding = false;
  bool thread_domain = false;                     ///< of the graph's QPs and the barrier's
  std::optional<std::uint64_t> cpu, numa_node;    ///< where it was at the end
  std::optional<std::uint64_t> device_numa_node;  ///< nothing: the kernel names none
  std::string not_pinned;                         ///< why; empty: it was
};

void list_fields(auto& fields, Is<RankResult> auto& result) {
  fields.any_text("failure", result.failure);  // may quote a library
  fields("no_barrier_with", result.no_barrier_with);
  fields("device", result.device);
  fields("connect_ns", result.connect_ns);
  fields("setup_ns", result.setup_ns);
  fields("connection_bytes", result.connection_bytes);
  fields("relay_bytes", result.relay_bytes);
  fields("kernel", result.kernel);
  fields("qps", result.qps);
  fields("barrier_qps", result.barrier_qps);
  fields("matrix_row_ns", result.matrix_row_ns);
  fields("matrix_column_ns", result.matrix_column_ns);
  fields("lost_pairs", result.lost_pairs);
  fields("half_rounds", result.half_rounds);
  fields("collective_mean_ns", result.collective_mean_ns);
  fields("operations", result.operations);
  fields("lost", result.lost);
  fields("sent", result.sent);
  fields("arrived", result.arrived);
  fields("elapsed_ns", result.elapsed_ns);
  fields("sending_ns", result.sending_ns);
  fields("cpu_ns", result.cpu_ns);
  fields("wrs", result.wrs);
  fields("doorbells", result.doorbells);
  fields("cqes", result.cqes);
  fields("polls", result.polls);
  fields("passed_on", result.passed_on);
  fields("checked_bytes", result.checked_bytes);
  fields("mtu_bytes", result.mtu_bytes);
  fields("yielding", result.yielding);
  fields("thread_domain", result.thread_domain);
  fields("cpu", result.cpu);
  fields("numa_node", result.numa_node);
  fields("device_numa_node", result.device_numa_node);
  fields.any_text("not_pinned", result.not_pinned);
}

void merge(RankSamples& samples, const RankSamples& more);

/// Adds what one rank has measured after an earlier attempt of the same case; what is told of its
/// QPs stays that of the earlier one.
void add_attempt(RankResult& result, const RankResult& later);

/// The case as its row has it: of ranks what as_measured() (core/engine/settle.h) is of two ends.
/// @param asked  of a device with a number of the rank in its name ("%l") the name stays
/// @param first  rank 0's device; null: simulated ranks have none, and do not wait
TestCase as_measured(const TestCase& asked, std::span<const RankResult> results,
                     const OpenDevice* first = nullptr);

/// Merges what the ranks have told; histograms exactly.
/// @param results  by rank, none with a failure; samples may be merged in one of them
/// @return  all but the case, which is as_measured()
Outcome merge_results(const TopologyPlan& plan, std::span<const RankResult> results);

/// The count of that name; 0 at first.
std::uint64_t& count_of(NamedCounts& counts, std::string_view name);
std::uint64_t sum_of(const NamedCounts& counts);

}  // namespace rdmameter
