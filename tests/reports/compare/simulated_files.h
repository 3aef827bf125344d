// SPDX-License-Identifier: Apache-2.0
// Files of a simulated machine, with seeds, and how a rate of simulated outcomes is judged.
#pragma once

#include <array>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "reports/stats/student_t.h"
#include "tests/reports/compare/fake_results.h"

namespace rdmameter {

inline constexpr int kSweeps = 100;  ///< that a rate is taken from
inline constexpr std::array kSimulated = {Metric::p50, Metric::mean, Metric::p99};
using Slowdowns = std::array<double, kSimulated.size()>;

inline double normal(std::mt19937& engine) {
  return std::normal_distribution<double>()(engine);
}
inline double heavy(std::mt19937& engine) {
  return std::student_t_distribution<double>(3)(engine) / std::sqrt(3.0);
}
inline double two_modes(std::mt19937& engine) {
  return 0.3 * normal(engine) + (engine() % 2 == 0 ? 0 : 4);
}

/// What a simulated file is made of. Standard deviations are of p50's and the mean's logarithms; of
/// p99's they are larger, as those of a real tail are.
struct Machine {
  std::size_t cases = 100;
  std::size_t batches = 1, runs = 5;  ///< runs are of each batch
  double run = 0.02, common = 0, by_case = 0;
  std::size_t repetitions = 1;              ///< of each run
  double repetition = 0, correlation = 0;   ///< deviation; correlation of a run's neighbours
  double (*shape)(std::mt19937&) = normal;  ///< of a run's noise
  bool unequal = false;                     ///< cases differ in their noise, by far
};

class Laboratory {
 public:
  explicit Laboratory(std::uint32_t seed) : engine_(seed) {}

  /// Two files of the same cases. @param slower  ratio of each metric of case 0 in NEW
  std::pair<Comparable, Comparable> files(const Machine& machine, Slowdowns slower = {1, 1, 1}) {
    std::vector<double> scales(machine.cases, 1);
    if (machine.unequal)
      for (double& scale : scales) scale = std::exp(normal(engine_));
    const auto base = file(machine, scales, {1, 1, 1});
    return {base, file(machine, scales, slower)};
  }

  /// Adds a percentile to each replicate: another one times `ratio`, of case 0 times `of_first`.
  void add(Comparable& file, Metric metric, Metric from, double ratio, double of_first,
           double deviation) {
    for (std::size_t i = 0; i < file.sides[0].size(); ++i)
      for (Replicate& one : file.sides[0][i].replicates)
        one.value[static_cast<std::size_t>(metric)] = one.value[static_cast<std::size_t>(from)] *
                                                      ratio * (i == 0 ? of_first : 1) *
                                                      std::exp(deviation * normal(engine_));
  }

 private:
  static constexpr double kTailRun = 5, kTailBatch = 10.0 / 3;

  Comparable file(const Machine& machine, const std::vector<double>& scales,
                  const Slowdowns& slower) {
    Comparable made = file_of({});
    made.runs = machine.batches * machine.runs;
    for (std::size_t run = 0; run < made.runs; ++run) made.batches.push_back(run / machine.runs);
    for (std::size_t i = 0; i < machine.cases; ++i)
      made.sides[0].push_back(latency_case("case" + std::to_string(i), made.runs,
                                           machine.repetitions, [](auto, auto) { return 0.0; }));
    for (std::size_t m = 0; m < kSimulated.size(); ++m)
      fill_in(made, m, machine, scales, slower[m]);
    return made;
  }

  void fill_in(Comparable& made, std::size_t m, const Machine& machine,
               const std::vector<double>& scales, double slower) {
    const bool tail = kSimulated[m] == Metric::p99;
    const double batch_scale = tail ? kTailBatch : 1, run_scale = tail ? kTailRun : 1;
    std::vector<double> common;
    for (std::size_t s = 0; s < machine.batches; ++s)
      common.push_back(batch_scale * machine.common * normal(engine_));
    for (std::size_t i = 0; i < machine.cases; ++i) {
      std::vector<double> level = common;
      for (double& value : level) value += batch_scale * machine.by_case * normal(engine_);
      double of_run = 0, of_repetition = 0;
      for (Replicate& one : made.sides[0][i].replicates) {
        if (one.repetition == 0) of_run = machine.run * scales[i] * machine.shape(engine_);
        of_repetition = repetition_after(of_repetition, one, machine);
        one.value[static_cast<std::size_t>(kSimulated[m])] =
            5000 * (tail ? 3 : 1) * (i == 0 ? slower : 1) *
            std::exp(level[made.batches[one.run]] + run_scale * (of_run + of_repetition));
      }
    }
  }

  /// The next of a run's first-order autoregression, which begins anew with each run.
  double repetition_after(double before, const Replicate& one, const Machine& machine) {
    if (machine.repetition == 0) return 0;
    const double fresh = machine.repetition * normal(engine_);
    const double correlation = one.repetition == 0 ? 0 : machine.correlation;
    return correlation * before + std::sqrt(1 - correlation * correlation) * fresh;
  }

  std::mt19937 engine_;
};

/// Wilson's lower end of the 99 % interval of a rate.
inline double at_least(int count, int all) {
  const double z = student_t_quantile(0.005, 1e9), n = all, p = count / n;
  return (p + z * z / (2 * n) - z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n))) /
         (1 + z * z / n);
}

/// Its upper end.
inline double at_most(int count, int all) {
  return 1 - at_least(all - count, all);
}

}  // namespace rdmameter
