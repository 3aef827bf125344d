// SPDX-License-Identifier: Apache-2.0
// How often do comparisons of identical code fail, and how often is a change found? Simulated, with
// seeds; rates are judged by the lower end of their 99 % interval.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "reports/compare/comparison.h"
#include "reports/stats/student_t.h"
#include "tests/reports/compare/fake_results.h"

namespace rdmameter {
namespace {

constexpr int kCases = 100;
constexpr std::array kSimulated = {Metric::p50, Metric::mean, Metric::p99};

/// What a simulated file is made of. Standard deviations are of p50's and the mean's logarithms; of
/// p99's they are larger, as those of a real tail are.
struct Machine {
  std::size_t batches = 1, runs = 5;  ///< runs are of each batch
  double run = 0.02, common = 0, by_case = 0;
  std::function<double(std::mt19937&)> shape;  ///< of a run's noise; none: normal
  bool unequal = false;                        ///< cases differ in their noise, by far
};

double normal(std::mt19937& engine) {
  return std::normal_distribution<double>()(engine);
}
double heavy(std::mt19937& engine) {
  return std::student_t_distribution<double>(3)(engine) / std::sqrt(3.0);
}
double two_modes(std::mt19937& engine) {
  return 0.3 * normal(engine) + (engine() % 2 == 0 ? 0 : 4);
}

constexpr double kP99Run = 5, kP99Batch = 10.0 / 3;

class Laboratory {
 public:
  explicit Laboratory(std::uint32_t seed) : engine_(seed) {}

  /// Two files of the same cases. @param slower  ratio of a metric of case 0 in NEW
  std::pair<Comparable, Comparable> files(const Machine& machine,
                                          std::array<double, kSimulated.size()> slower = {1, 1,
                                                                                          1}) {
    std::vector<double> scales(kCases, 1);
    if (machine.unequal)
      for (double& scale : scales) scale = std::exp(normal(engine_));
    const auto base = file(machine, scales, {1, 1, 1});
    return {base, file(machine, scales, slower)};
  }

 private:
  Comparable file(const Machine& machine, const std::vector<double>& scales,
                  const std::array<double, kSimulated.size()>& slower) {
    Comparable made = file_of({});
    made.runs = machine.batches * machine.runs;
    for (std::size_t run = 0; run < made.runs; ++run) made.batches.push_back(run / machine.runs);
    for (int i = 0; i < kCases; ++i)
      made.sides[0].push_back(
          latency_case("case" + std::to_string(i), made.runs, 1, [](auto, auto) { return 0.0; }));
    for (std::size_t m = 0; m < kSimulated.size(); ++m)
      fill_in(made, m, machine, scales, slower[m]);
    return made;
  }

  void fill_in(Comparable& made, std::size_t m, const Machine& machine,
               const std::vector<double>& scales, double slower) {
    const bool tail = kSimulated[m] == Metric::p99;
    const double batch_scale = tail ? kP99Batch : 1;
    std::vector<double> common;
    for (std::size_t s = 0; s < machine.batches; ++s)
      common.push_back(batch_scale * machine.common * normal(engine_));
    for (std::size_t i = 0; i < kCases; ++i) {
      std::vector<double> level = common;
      for (double& value : level) value += batch_scale * machine.by_case * normal(engine_);
      const double spread = machine.run * scales[i] * (tail ? kP99Run : 1);
      for (Replicate& one : made.sides[0][i].replicates) {
        const double noise = spread * (machine.shape ? machine.shape(engine_) : normal(engine_));
        one.value[static_cast<std::size_t>(kSimulated[m])] =
            5000 * (tail ? 3 : 1) * (i == 0 ? slower : 1) *
            std::exp(level[made.batches[one.run]] + noise);
      }
    }
  }

  std::mt19937 engine_;
};

/// Wilson's lower end of the 99 % interval of a rate.
double at_least(int count, int all) {
  const double z = student_t_quantile(0.005, 1e9), n = all, p = count / n;
  return (p + z * z / (2 * n) - z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n))) /
         (1 + z * z / n);
}

int failed_sweeps(std::uint32_t seed, const Machine& machine, int sweeps) {
  Laboratory laboratory(seed);
  int failed = 0;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    const auto [base, other] = laboratory.files(machine);
    failed += compare_files(base, other, {}).conclusion == Conclusion::fail ? 1 : 0;
  }
  return failed;
}

constexpr int kSweeps = 100;

void expect_few_false_alarms(const Machine& machine) {
  for (const std::uint32_t seed : {1U, 2U}) {
    const int failed = failed_sweeps(seed, machine, kSweeps);
    EXPECT_LE(at_least(failed, kSweeps), 0.05) << failed << " of " << kSweeps << ", seed " << seed;
  }
}

TEST(FalseAlarms, OfExchangeableRunsAreFew) {
  expect_few_false_alarms({.batches = 5, .runs = 1});
  expect_few_false_alarms({.batches = 10, .runs = 1});
}

TEST(FalseAlarms, OfHeavyTailsAreFew) {
  expect_few_false_alarms({.batches = 5, .runs = 1, .shape = heavy});
}

TEST(FalseAlarms, OfTwoModesAreFew) {
  expect_few_false_alarms({.batches = 5, .runs = 1, .shape = two_modes});
}

TEST(FalseAlarms, OfCasesWithUnequalNoiseAreFew) {
  expect_few_false_alarms({.batches = 5, .runs = 1, .unequal = true});
}

TEST(FalseAlarms, OfOneBatchASideThatAllCasesShareAreFew) {
  expect_few_false_alarms({.runs = 5, .common = 0.03});
}

TEST(FalseAlarms, OfOneBatchASideThatEachCaseHasItselfAreFew) {
  expect_few_false_alarms({.runs = 5, .by_case = 0.03});
}

/// In how many of the sweeps does case 0 alone fail?
int found(std::uint32_t seed, const Machine& machine,
          const std::array<double, kSimulated.size()>& slower, int sweeps) {
  Laboratory laboratory(seed);
  int found = 0;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    const auto [base, other] = laboratory.files(machine, slower);
    const Comparison comparison = compare_files(base, other, {});
    const CaseComparison& worst = comparison.cases.front();
    found += worst.verdict == CaseVerdict::fail && worst.name == "case0" ? 1 : 0;
  }
  return found;
}

/// Of 2 % between runs in all, as much from batches as from runs.
Machine own_batches(std::size_t batches) {
  return {.batches = batches, .runs = 1, .run = 0.014, .common = 0.01, .by_case = 0.01};
}

TEST(Power, FivePercentInOneCaseOfAHundredAreFoundByTenRuns) {
  EXPECT_GE(found(3, own_batches(10), {1.05, 1.05, 1}, kSweeps), kSweeps * 80 / 100);
}

TEST(Power, FivePercentInOneCaseOfAHundredAreFoundByTwentyRuns) {
  EXPECT_GE(found(4, own_batches(20), {1.05, 1.05, 1}, kSweeps), kSweeps * 95 / 100);
}

TEST(Power, TenPercentInOneCaseOfAHundredAreFoundByFiveRuns) {
  EXPECT_GE(found(5, own_batches(5), {1.10, 1.10, 1}, kSweeps), kSweeps * 90 / 100);
}

TEST(Power, TenTimesSlowerFailsInOneBatchOfFiveRuns) {
  EXPECT_EQ(found(6, {.runs = 5}, {10, 10, 10}, 10), 10);
}

TEST(Power, AThreefoldTailFailsAndIsNamedAlthoughTheMedianIsAsBefore) {
  Laboratory laboratory(7);
  const auto [base, other] = laboratory.files({.runs = 10}, {1, 1, 3});
  const Comparison comparison = compare_files(base, other, {});
  EXPECT_EQ(comparison.conclusion, Conclusion::fail);
  EXPECT_EQ(comparison.cases[0].name, "case0");
  EXPECT_EQ(comparison.cases[0].effects[0].metric, Metric::p99);
  EXPECT_NEAR(comparison.cases[0].effects[0].effect.ratio, 3, 0.6);
}

TEST(Pass, IsProvenOfIdenticalCodeByTenBatchesASide) {
  Laboratory laboratory(8);
  int passed = 0;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    const auto [base, other] = laboratory.files({.batches = 10, .runs = 1});
    passed += compare_files(base, other, {}).conclusion == Conclusion::pass ? 1 : 0;
  }
  EXPECT_GE(passed, kSweeps * 90 / 100);
}

TEST(Suspicion, IsWhatRunsAloneWouldCallARegression) {
  Laboratory laboratory(9);
  const auto [base, other] = laboratory.files({.runs = 10, .run = 0.005}, {1.08, 1.08, 1});
  const Comparison comparison = compare_files(base, other, {});
  EXPECT_EQ(comparison.conclusion, Conclusion::not_proven);
  EXPECT_EQ(comparison.cases[0].name, "case0");
  EXPECT_EQ(comparison.cases[0].verdict, CaseVerdict::suspect);
  EXPECT_NE(comparison.cases[0].note.find("rdmameter ab"), std::string::npos);
}

/// Both sides of a measuring run: the machine drifts by half, and is disturbed every few blocks.
struct Turns {
  std::uint64_t blocks = 12;
  double drift = 0.5, disturbance = 0, slower = 1;
  std::uint64_t period = 4;
  int changed = 0;
};

Comparable turns(std::mt19937& engine, const Turns& how) {
  Comparable made = file_of({});
  for (int i = 0; i < kCases; ++i)
    for (auto& side : made.sides)
      side.push_back(
          latency_case("case" + std::to_string(i), 1, how.blocks, [](auto, auto) { return 1.0; }));
  const double all = 2.0 * static_cast<double>(how.blocks) * kCases;
  std::uint64_t at = 0;
  for (std::uint64_t block = 0; block < how.blocks; ++block)
    for (std::size_t i = 0; i < kCases; ++i) {
      const bool b_first = engine() % 2 == 0;
      for (const bool b_side : {b_first, !b_first}) {
        const double drift = how.drift * static_cast<double>(at) / all;
        const double disturbed = at % how.period == 0 ? how.disturbance : 0;
        const bool changed = b_side && i < static_cast<std::size_t>(how.changed);
        ++at;
        Replicate& one = made.sides[b_side ? 1 : 0][i].replicates[block];
        for (const Metric metric : kSimulated)
          one.value[static_cast<std::size_t>(metric)] =
              5000 * (1 + drift + disturbed) * (changed ? how.slower : 1) *
              std::exp((metric == Metric::p99 ? 0.1 : 0.02) * normal(engine));
      }
    }
  return made;
}

TEST(Blocks, OfIdenticalCodeFailHardlyEverUnderDriftAndDisturbancesOfAnyPeriod) {
  for (const std::uint64_t period : {2U, 3U, 4U, 200U, 400U}) {
    std::mt19937 engine(static_cast<std::uint32_t>(period));
    int failed = 0;
    for (int sweep = 0; sweep < kSweeps; ++sweep)
      failed +=
          compare_sides(turns(engine, {.disturbance = 0.3, .period = period}), {}).conclusion ==
                  Conclusion::fail
              ? 1
              : 0;
    EXPECT_LE(at_least(failed, kSweeps), 0.05) << failed << " with period " << period;
  }
}

TEST(Blocks, FindTenPercentInTenCasesUnderDrift) {
  std::mt19937 engine(10);
  std::size_t right = 0, wrong = 0;
  constexpr int kFew = 20, kChanged = 10;
  for (int sweep = 0; sweep < kFew; ++sweep)
    for (const CaseComparison& one :
         compare_sides(turns(engine, {.slower = 1.1, .changed = kChanged}), {}).cases)
      if (one.verdict == CaseVerdict::fail)
        ++(std::stoi(one.name.substr(4)) < kChanged ? right : wrong);
  EXPECT_GE(right, kFew * kChanged * 90U / 100);
  EXPECT_LE(wrong, 3U);
}

TEST(Blocks, ProveThatIdenticalCodePasses) {
  std::mt19937 engine(11);
  int passed = 0;
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    passed += compare_sides(turns(engine, {}), {}).conclusion == Conclusion::pass ? 1 : 0;
  EXPECT_GE(passed, kSweeps * 90 / 100);
}

}  // namespace
}  // namespace rdmameter
