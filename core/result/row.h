// SPDX-License-Identifier: Apache-2.0
// One repetition of one case as plain data: what a row of a result file says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/instrument/histogram_data.h"
#include "core/result/json_text.h"

namespace rdmameter {

struct LatencyData {
  enum class Definition {
    round_trip,
    completion,
    call,
    exchange,
    collective,
    response,
    service,
    lateness
  };
  Definition definition = Definition::round_trip;
  HistogramData histogram;
  bool half_round_trip = false;  ///< derive and print it (ping-pong tests)
  /// What the row's text tells of it, where that was read without histograms.
  std::shared_ptr<const LatencySummary> told;
};

/// The best rate of any stretch of a bandwidth's traffic, from a post to a completion; of both
/// directions their rates, added.
struct PeakData {
  std::uint64_t messages = 0, bytes = 0, window_ns = 0;
};

struct BandwidthData {
  std::uint64_t messages = 0;  ///< retired (or arrived) in the window
  std::uint64_t bytes = 0;     ///< payload of those
  std::uint64_t window_ns = 0;
  enum class CountedBy { initiator, receiver };
  CountedBy counted_by = CountedBy::initiator;
  bool injected = false;      ///< plain UC write: what arrived is not known
  bool short_window = false;  ///< `window_ns` is its messages' part of the whole traffic
  std::uint64_t traffic_messages = 0, traffic_ns = 0;  ///< all of it, first post to last completion
  std::optional<std::uint64_t> sent, received;         ///< whole traffic, where the receiver counts
  std::optional<std::uint64_t> duplicated, reordered;  ///< of those received, where numbers tell
  std::optional<PeakData> peak;                        ///< nothing: it was not looked for
};

/// The requests of one operation and size in an open loop's mix.
struct LoadPart {
  std::string operation;  ///< "read", "fetch_add"...
  std::uint64_t size_bytes = 0;
  std::uint64_t weight = 1;
  std::uint64_t due = 0, completed = 0;
  double offered_per_s = 0, reached_per_s = 0;
  LatencyData response{.definition = LatencyData::Definition::response};
  LatencyData service{.definition = LatencyData::Definition::service};
  LatencyData lateness{.definition = LatencyData::Definition::lateness};
};

/// The load that an open loop was offered, and how far it kept up. The responses are
/// the row's latency.
struct LoadData {
  std::uint64_t due = 0;        ///< requests that fell due
  std::uint64_t window_ns = 0;  ///< from when the one before them was due to when the last was
  std::uint64_t completed = 0;
  std::uint64_t completing_ns = 0;  ///< from when the one before was completed to the last
  std::uint64_t unsent = 0;         ///< still waiting when the duration was over: not posted
  std::uint64_t backlog_max = 0;    ///< most that were due and not posted
  std::uint64_t interval_ns = 0;
  std::vector<std::uint64_t> backlog;  ///< the most in each interval of the measured part
  LatencyData service{.definition = LatencyData::Definition::service};
  LatencyData lateness{.definition = LatencyData::Definition::lateness};
  std::vector<LoadPart> mix;  ///< empty: all requests are alike
};

/// A latency interval by interval; a vector has an element for each.
struct OverTimeData {
  std::uint64_t interval_ns = 0;
  std::vector<std::uint64_t> count;                           ///< samples
  std::vector<std::optional<double>> p50_ns, p99_ns, max_ns;  ///< nothing: too few samples
  std::vector<std::uint64_t> lost;                            ///< UC and UD; else empty
};

/// The times between two polls that an end kept: the longest.
struct PollGaps {
  std::uint64_t limit_ns = 0;  ///< all that are as long as that
  HistogramData histogram;
};

/// The late samples of a latency by cause. The four histograms sum to `late`.
struct BlameData {
  /// A time in which the initiator's loop was away from its polls.
  struct Stall {
    std::uint64_t duration_ns = 0;
    std::uint64_t monotonic_ns = 0;  ///< when it began: CLOCK_MONOTONIC
    std::string utc;                 ///< likewise: "2026-01-31T23:59:59.123456789Z"
  };
  std::uint64_t limit_ns = 0;  ///< samples of this length or more are late
  std::uint64_t p50_ns = 0;
  std::uint64_t late = 0;
  HistogramData local, peer, path, undecided;
  std::uint64_t both = 0;  ///< undecided: several causes are possible
  std::uint64_t not_kept =
      0;  ///< undecided: the sample, or gaps as short as would do, were not kept
  PollGaps local_gaps;
  std::optional<PollGaps> peer_gaps;  ///< nothing: the responder has no loop
  std::vector<Stall> stalls;  ///< the longest of those that made a sample late, the longest first
};

/// One measurement of a sweep.
struct SweepPoint {
  std::uint64_t rate_per_s = 0;  ///< asked for
  double offered_per_s = 0, reached_per_s = 0;
  std::optional<double> p50_ns, p99_ns;  ///< of the responses; nothing: too few
  bool saturated = false;
};

/// Where latency over load bends. Nothing: not found.
struct SweepData {
  std::optional<double> saturation_per_s;  ///< the most that is reached, whatever is offered
  std::optional<double> unloaded_p99_ns;   ///< of the responses, at a twentieth of that
  std::optional<double> slo_ns;            ///< the p99 that is allowed
  /// The highest rate found to be within it, and the lowest one above that is not. Both 0: not even
  /// without load.
  std::optional<double> slo_rate_per_s, slo_missed_per_s;
  bool slo_missed_below = false;   ///< a lower rate is not within it, either
  std::vector<SweepPoint> points;  ///< in the order of measurement
};

/// The background traffic while the case was measured.
struct BackgroundData {
  std::uint64_t operations = 0, window_ns = 0;
  std::uint64_t bytes = 0;            ///< payload of those; 0: none has any
  std::optional<double> alone_per_s;  ///< operations, before the case began
};

/// The most QPs that a row lists one by one; of more, the slowest.
inline constexpr std::size_t kMaxListedQps = 1024;

/// The figures of each QP of one direction. Vectors by QP are empty where they do not apply, or
/// have one element for each QP that is listed.
struct PerQpData {
  /// A number of each QP, over all of them.
  struct Spread {
    std::string of;  ///< the key of the list: "p50_ns"
    double min = 0, p10 = 0, p50 = 0, p90 = 0, max = 0;
  };
  std::uint64_t qps = 0;               ///< of all threads
  std::vector<std::uint64_t> numbers;  ///< which QPs are listed, from 0; empty: all
  std::vector<std::uint64_t> flow_labels, udp_source_ports;
  std::vector<double> messages_per_s;           ///< of a bandwidth
  std::vector<double> mean_ns, p50_ns, p99_ns;  ///< of a latency; p50 and p99: or all too few
  std::vector<double> max_ns;
  std::vector<Spread> spread;
  std::optional<double> jain;            ///< fairness index of `messages_per_s`: 1/qps to 1
  std::optional<std::uint64_t> slowest;  ///< its number
  std::vector<std::uint64_t> slow;       ///< those far from the others, the slowest first
};

/// One device of a case over several, with the one of the peer's that it measures with. Of both
/// directions together.
struct DeviceData {
  std::string device, peer_device;
  std::uint64_t messages = 0, bytes = 0, window_ns = 0;
  /// What links and slots of the two leave to payload, and the rate of the slower of both links
  /// [Gb/s]; nothing: not known.
  std::optional<double> bound_gbps, line_gbps = {};
  /// Of the PCIe slot that ports of the case share, at the end where it is fuller: what it leaves to
  /// payload, and what its devices had together [Gb/s]; nothing: none is shared, or not known.
  std::optional<double> slot_bound_gbps = {}, slot_gbps = {};
};

/// About what a payload can get of device and link at each end, in one direction [Gb/s]; nothing:
/// not known.
struct PayloadBoundData {
  std::optional<double> initiator, responder;
};

/// How far the repetitions of a case have settled the median of one metric.
struct SettledMetric {
  std::string metric;               ///< its key, which its unit ends: "p50_ns"
  double goal = 0;                  ///< half the interval's width that was asked for, of the median
  std::optional<double> median;     ///< over the repetitions; nothing: not all have the metric
  std::optional<double> low, high;  ///< the median's interval at 95 %; nothing: too few repetitions
};

/// Why a case of `run --until` has no further repetition: in its last row.
struct UntilData {
  enum class Ended { reached, repetitions, budget, noise, not_measured };
  Ended ended = Ended::reached;
  std::vector<SettledMetric> metrics;
};

using NamedCounts = std::vector<std::pair<std::string, std::uint64_t>>;  ///< {"connect": 50}

/// Rows leave out the edges of a larger graph, and the matrix of more ranks: a file of many such
/// rows could no longer be handled.
inline constexpr std::size_t kMaxEdges = 4096;
inline constexpr std::uint64_t kMaxMatrixRanks = 256;

/// The most ranks that a row may have.
inline constexpr std::uint64_t kMaxRanks = 1U << 20;

struct Hops {
  std::uint64_t max = 0;
  double mean = 0;
};

/// The data that one collective among the ranks moves, and its time. Bytes and messages are those
/// of its schedule, without what relays send again. The row's latency has a sample for each
/// collective: the time of the rank that took longest.
struct CollectiveData {
  std::uint64_t bytes = 0;                     ///< what nccl-tests calls its size; 0: a barrier
  std::uint64_t steps = 0, step_bytes = 0;     ///< one after the other; what these send
  std::uint64_t messages = 0, sent_bytes = 0;  ///< of all ranks
  std::uint64_t relayed_hops = 0;              ///< of all messages, beyond the first hop of each
  double rank_min_ns = 0, rank_mean_ns = 0, rank_max_ns = 0;  ///< over ranks, of their mean times
  std::optional<double> algbw_gb_per_s, busbw_gb_per_s;       ///< nccl-tests' [1e9 bytes/s]
};

/// A summary of the one-way times of a matrix that the row leaves out.
struct MatrixSummary {
  struct Pair {
    std::uint64_t from = 0, to = 0, hops = 0;
    double ns = 0;
    double of_median = 0;  ///< times the median of all pairs that are as many hops apart
  };
  std::uint64_t pairs = 0;  ///< that were measured
  double min_ns = 0, p10_ns = 0, p50_ns = 0, p90_ns = 0, p99_ns = 0, max_ns = 0;
  std::vector<Pair> slowest;  ///< by `of_median`, the slowest first
};

/// The most pairs that a MatrixSummary lists.
inline constexpr std::size_t kMaxSlowestPairs = 32;

/// A pair of ranks without a time, and why.
struct FailedPair {
  std::uint64_t from = 0, to = 0;
  std::string reason;
};

/// The most failed pairs that a row lists.
inline constexpr std::size_t kMaxFailedPairs = 1024;

/// A rank, pair or direction that takes much longer than the rest of a topology.
struct Straggler {
  enum class Verdict {
    none,
    node,       ///< a rank, with every peer
    path,       ///< a pair of ranks; of its two directions neither alone
    direction,  ///< from a rank to another, and not the way back
    unknown,    ///< the measurement that was to tell has failed
  };
  Verdict verdict = Verdict::none;
  std::optional<std::uint32_t> rank;  ///< of a path: the lower one; of a direction: from where
  std::optional<std::uint32_t> to;    ///< of a path or direction
  std::optional<double> factor;       ///< times what is usual; of a direction: one way
  std::uint64_t measured_again = 0;   ///< round trips between ranks, to tell; 0: none was suspected
  std::optional<std::string> reason;  ///< Verdict::unknown: why
};

/// Vectors are empty, and optionals nothing, where they do not apply or are not known. A vector by
/// rank has one element for each.
struct TopologyData {
  std::string graph, traffic, schedule;  ///< as people type them: "torus2d:2x4", "incast:3"
  std::uint64_t ranks = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;  ///< undirected, of two ranks each

  std::optional<Hops> hops;  ///< over the pairs of source and destination of the traffic

  std::vector<std::uint64_t> qps_per_rank;   ///< of the graph
  std::optional<std::uint64_t> qps_total;    ///< their sum
  std::optional<std::uint64_t> barrier_qps;  ///< those of the barrier of all ranks, apart

  /// Time by verb of creating the graph's own QPs and bringing them to RTS, at the rank whose sum
  /// is the largest.
  NamedCounts connect_ns;
  NamedCounts
      setup_ns;  ///< by step: all else before the first message, the slowest rank's for each
  /// Computed memory by kind: of the connections, independent of the traffic (buffers, qps, cqs,
  /// mrs), and of relayed messages in addition (buffers, queues); each at the rank with most.
  NamedCounts connection_bytes, relay_bytes;
  NamedCounts kernel;  ///< of the rank with most `connection_bytes`: qps, cqes, mr_bytes...

  std::optional<double> barrier_ns;  ///< median time of the RDMA barrier
  /// The times from row to column: of round trips half the median, of streams the time of one
  /// message; nothing: not measured.
  std::vector<std::vector<std::optional<double>>> matrix_ns;
  std::optional<MatrixSummary> matrix_summary;  ///< of more than kMaxMatrixRanks
  std::vector<FailedPair> failed_pairs;         ///< of traffics in rounds; the others have times
  /// The number of rounds of a traffic in rounds. They go one after the other; pairs of a round
  /// are measured together.
  std::optional<std::uint64_t> rounds;
  /// Nothing: not judged, as where ranks shared cores.
  std::optional<Straggler> straggler;

  struct AtDistance {
    std::uint64_t hops = 0;
    LatencyData latency;
  };
  std::vector<AtDistance> by_hops;  ///< ascending
  std::optional<CollectiveData> collective;

  std::vector<double> rank_gbps;
  std::optional<double> jain;         ///< fairness index of `rank_gbps`: 1/ranks to 1
  std::optional<double> model_share;  ///< reached, of what its model gives; may be beyond 1
  bool yielding = false;              ///< waiting loops gave up their core between polls
  Json extra;                         ///< further keys, kept as they are; null: none
};

/// The result of a repetition.
struct Measurement {
  std::optional<LatencyData> latency;
  std::optional<BandwidthData> bandwidth;
  std::optional<OverTimeData> over_time;
  std::optional<BlameData> blame;
  std::optional<LoadData> load;
  std::optional<SweepData> sweep;
  std::optional<BackgroundData> background;
  std::optional<PerQpData> per_qp;
  std::vector<DeviceData> per_device;  ///< empty: there is one, or none
  std::optional<TopologyData> topology;
  std::optional<std::uint64_t> lost;  ///< UC/UD pings without a pong
  Json device_counters;               ///< {"initiator":{...},"responder":{...}}; null: none
  Json work;                          ///< {"wrs":..,"doorbells":..,"cqes":..,"polls":..}
  Json resources;                     ///< {"qps":..,"buffer_bytes":..}
  Json extra;                         ///< further keys of the row ("path", "shared_responder"...)
};

struct Row : Measurement {
  std::string name;  ///< test/transport/key:value...
  Json case_object = Json::object();
  enum class Status { ok, error, skipped };
  Status status = Status::ok;
  std::string message;  ///< of an error or a skip
  std::uint64_t repetition = 0, repetitions = 1;
  std::uint64_t family_index = 0;  ///< which case
  std::uint64_t iterations = 0;
  std::optional<UntilData> until;
  std::optional<PayloadBoundData> bound_gbps;  ///< of a bandwidth over links that are known
  std::optional<double> line_gbps;             ///< of the slower of those links
  bool interrupted = false;                    ///< by the user: shorter than was asked for
  double real_time_ns = 0, cpu_time_ns = 0;    ///< per operation
};

}  // namespace rdmameter
