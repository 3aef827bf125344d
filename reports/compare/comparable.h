// SPDX-License-Identifier: Apache-2.0
// A result file as comparisons see it: cases, their repetitions, and which run each is of. Reads
// neither histograms nor counters, so that files of many thousand rows take little time and room.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/summary/defaults.h"
#include "reports/summary/facts.h"
#include "reports/summary/metric.h"

namespace rdmameter {

/// The value of each metric; NaN: the row has no such number.
using MetricValues = std::array<double, kMetrics>;
inline constexpr MetricValues kNoValues = [] {
  MetricValues values{};
  values.fill(std::numeric_limits<double>::quiet_NaN());
  return values;
}();

/// By the name of a counter, per message: wrs, doorbells...
using WorkPerMessage = std::map<std::string, double, std::less<>>;

/// One row that was measured.
struct Replicate {
  std::uint64_t run = 0;           ///< within the file, from 0
  std::uint64_t repetition = 0;    ///< of `ab`: the block
  MetricValues value = kNoValues;  ///< in the unit that is told
  WorkPerMessage work = {};
  std::optional<std::uint64_t> sent = {};  ///< messages of which losses are a share
  std::array<std::optional<std::uint64_t>, 4> troubled =
      {};                  ///< of these: lost, duplicated, reordered; of an open loop unsent
  bool saturated = false;  ///< of an open loop: it did not keep up with its rate; of a sweep: no
                           ///< rate keeps its SLO

  std::string failure;  ///< what failed of it beside its numbers; empty: nothing

  double& at(Metric metric) { return value[static_cast<std::size_t>(metric)]; }
};

/// Nothing: it has no such number.
Number value_of(const Replicate& replicate, Metric metric);

/// One row whose measurement failed.
struct FailedRepetition {
  std::uint64_t run = 0, repetition = 0;
  std::string message;
};

/// All rows of one case (and of one side, where the file has two).
struct ComparableCase {
  std::string name;  ///< the first row's, without /error or /skipped
  /// The `case` object without the test, in the order of its keys.
  nlohmann::json axes = nlohmann::json::object();
  bool half = false;  ///< what is told are half round trips
  bool part = false;  ///< of a mix: the requests of one operation and size; of several devices one
  std::size_t whole = 0;  ///< of a part in `ab`: the index of the case that it is a part of
  bool bandwidth = false;
  bool load = false;       ///< an open loop: its latencies are responses
  bool sweep = false;      ///< of many rates: where latency over load bends
  std::string definition;  ///< of its latencies: what a sample is, and its unit
  std::vector<Replicate> replicates;
  std::vector<FailedRepetition> failures;
  std::vector<std::string> skips;  ///< messages of rows that were skipped
  std::size_t interrupted = 0;     ///< rows that the user cut short: no replicates
};

/// Defaults::identity() of the case.
std::string identity_of(const ComparableCase& test_case, const Defaults& defaults,
                        const Defaults* own = nullptr);

/// How far a case strays by itself: `ab --aa` measures it.
struct Noise {
  double between_runs = 0;  ///< standard deviation of ln(value) over fresh processes
  double beyond = 0;        ///< the same against itself appeared to differ by up to this share
};
using Noises = std::map<std::string, Noise, std::less<>>;  ///< by name of the case

struct Comparable {
  std::string path;
  Json context;
  std::uint64_t runs = 1;
  std::size_t looks = 1;             ///< of `ab`: after how many numbers of blocks it could end
  std::vector<std::size_t> batches;  ///< of each run; empty: all are of one
  /// `ab` has two, with the same cases in the same order, and behind those the parts of mixes that
  /// both measure; else the second is empty.
  std::array<std::vector<ComparableCase>, 2> sides;
  Noises noise;
  std::vector<std::string> gates;  ///< that the measuring's plan asked for
  bool two_sides() const { return !sides[1].empty(); }
};

/// @throws UsageError  as read_result() does
Comparable read_comparable(const std::string& path);

/// Reads both files at once, if a second thread can be started.
/// @throws UsageError  as read_result() does; of two files that cannot be read it names `base`
std::pair<Comparable, Comparable> read_comparables(const std::string& base,
                                                   const std::string& other);

}  // namespace rdmameter
