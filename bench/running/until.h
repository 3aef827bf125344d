// SPDX-License-Identifier: Apache-2.0
// run --until: a case is repeated until the medians over its repetitions are known well enough, or
// it is plain that they will not be.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/result/row.h"
#include "reports/summary/metric.h"

namespace rdmameter {

/// Fewer repetitions say too little of how they are correlated.
inline constexpr std::uint64_t kMinUntilRepetitions = 20;
/// Unless --repetitions says otherwise.
inline constexpr std::uint64_t kMaxUntilRepetitions = 10'000;

struct UntilGoal {
  const MetricInfo* metric;  ///< null: the one to watch of each case
  double share;              ///< half of the median's interval at 95 %, of the median; above 0
};

struct Until {
  std::vector<UntilGoal> goals;              ///< not empty
  std::uint64_t repetitions;                 ///< at most, kMinUntilRepetitions or more
  std::uint64_t budget_ns = 60'000'000'000;  ///< of a case
};

/// "1%", or "p50=1%,p99=5%". @throws UsageError
std::vector<UntilGoal> read_until(const std::string& text);

/// "10min" is no time here, as elsewhere: "600", "600s". @return [ns] @throws UsageError
std::uint64_t read_budget(const std::string& text);

/// The repetitions of one case.
class Settling {
 public:
  explicit Settling(const Until& until) : until_(until) {}

  /// Takes a measured repetition.
  /// @param spent_ns  what all repetitions have taken up to now
  /// @return  why there is to be no further one; nothing: there is
  std::optional<UntilData> add(const Row& row, double spent_ns);

 private:
  struct Series {
    const MetricInfo* metric;
    double goal;
    std::vector<double> values;
    double mean = 0, squares = 0;  ///< of the values; the sum of squared deviations from it
    std::deque<double> noise;      ///< the latest: standard deviation over mean, as values came
  };

  static void take(Series& series, double value);
  static SettledMetric settled(const Series& series);
  static bool noise_converged(const Series& series);
  std::uint64_t count() const { return series_.front().values.size(); }

  const Until& until_;
  std::vector<Series> series_;
  std::uint64_t next_look_ = kMinUntilRepetitions;
};

}  // namespace rdmameter
