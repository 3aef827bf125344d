// SPDX-License-Identifier: Apache-2.0
// How often do comparisons of identical code raise a failure, and how often is a true one found?
// Simulated, with a seed.
#include <gtest/gtest.h>

#include <random>

#include "reports/compare/comparison.h"
#include "tests/reports/compare/fake_results.h"

namespace rdmameter {
namespace {

constexpr int kSweeps = 100, kCases = 500;
constexpr std::uint64_t kRepetitions = 10, kRuns = 5;
constexpr double kTypicalNs = 5000;  // so that 5 % is more than the absolute floor

/// The logarithm of what a repetition measures: a spread, and now and then a disturbance.
class Repetitions {
 public:
  explicit Repetitions(std::uint32_t seed) : engine_(seed) {}

  double normal(double spread) { return spread * normal_(engine_); }
  double with_heavy_tail(double spread) {
    const double tail = uniform_(engine_) < 0.05 ? 0.3 * uniform_(engine_) : 0;
    return normal(spread) + tail;
  }

 private:
  std::mt19937 engine_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
};

/// One measuring run of `ab`: the machine drifts by 3 % while the blocks go A B B A.
/// @param change  of the first `changed` cases
Comparable sides(Repetitions& random, double spread, bool heavy_tail, double change, int changed) {
  Comparable file = file_of({});
  for (int i = 0; i < kCases; ++i)
    for (const int side : {0, 1}) {
      const double effect = side == 1 && i < changed ? std::log(change) : 0;
      const auto value = [&](std::uint64_t, std::uint64_t repetition) {
        const std::uint64_t first = repetition % 2;  // A first, then B first
        const auto block =
            static_cast<double>(2 * repetition + (first ^ static_cast<unsigned>(side)));
        const double noise = heavy_tail ? random.with_heavy_tail(spread) : random.normal(spread);
        const double drift = 0.03 * block / (2 * kRepetitions);
        return kTypicalNs * std::exp(drift + effect + noise);
      };
      file.sides[static_cast<std::size_t>(side)].push_back(
          latency_case("case" + std::to_string(i), 1, kRepetitions, value));
    }
  return file;
}

/// Five runs in a file, whose luck (2 %) all repetitions of a case share.
Comparable runs(Repetitions& random, std::uint64_t count) {
  std::vector<ComparableCase> cases;
  for (int i = 0; i < kCases; ++i) {
    std::vector<double> luck;
    for (std::uint64_t run = 0; run < count; ++run) luck.push_back(random.normal(0.02));
    cases.push_back(latency_case(
        "case" + std::to_string(i), count, kRepetitions, [&](std::uint64_t run, std::uint64_t) {
          return kTypicalNs * std::exp(luck[run] + random.with_heavy_tail(0.03));
        }));
  }
  Comparable file = file_of(std::move(cases));
  file.runs = count;
  return file;
}

constexpr std::size_t kFewDraws = 10;  // intervals decide about pass, not about fail

TEST(Honesty, AtMostOneSweepOfIdenticalSidesInTwentyFails) {
  Repetitions random(1);
  int failed = 0;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    const Comparison made = compare_sides(sides(random, 0.03, true, 1, 0), {.draws = kFewDraws});
    failed += made.conclusion == Conclusion::fail ? 1 : 0;
  }
  RecordProperty("failed_sweeps", failed);
  EXPECT_LE(failed, kSweeps / 20);
}

TEST(Honesty, AtMostOneComparisonOfIdenticalFilesInTwentyFails) {
  Repetitions random(2);
  int failed = 0;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    const Comparison made =
        compare_files(runs(random, kRuns), runs(random, kRuns), {.draws = kFewDraws});
    failed += made.conclusion == Conclusion::fail ? 1 : 0;
  }
  RecordProperty("failed_sweeps", failed);
  EXPECT_LE(failed, kSweeps / 20);
}

TEST(Honesty, FilesOfOneRunNeverFail) {
  Repetitions random(3);
  for (int sweep = 0; sweep < 20; ++sweep) {
    const Comparison made = compare_files(runs(random, 1), runs(random, 1), {});
    EXPECT_EQ(made.count(CaseVerdict::fail), 0U);
    EXPECT_TRUE(made.powerless);
  }
}

TEST(Honesty, RepetitionsOfOneRunTakenForReplicatesWouldFailFarTooOften) {
  Repetitions random(4);  // why the run is the replicate: this is what would happen otherwise
  int failed = 0;
  for (int sweep = 0; sweep < 10; ++sweep) {
    Comparable file = file_of({});
    file.sides = {runs(random, 1).sides[0], runs(random, 1).sides[0]};
    failed += compare_sides(file, {.draws = kFewDraws}).conclusion == Conclusion::fail ? 1 : 0;
  }
  EXPECT_GT(failed, 5);
}

/// @return  of the changed cases' failures the share found, and how many others failed
std::pair<double, std::size_t> found_and_wrong(std::uint32_t seed, int changed, int sweeps) {
  Repetitions random(seed);
  int found = 0;
  std::size_t wrong = 0;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    const Comparison made =
        compare_sides(sides(random, 0.02, false, 1.08, changed), {.draws = kFewDraws});
    for (const CaseComparison& one_case : made.cases) {
      if (one_case.verdict != CaseVerdict::fail) continue;
      const bool is_changed = std::stoi(one_case.name.substr(4)) < changed;
      found += is_changed ? 1 : 0;
      wrong += is_changed ? 0 : 1;
    }
  }
  return {static_cast<double>(found) / (changed * sweeps), wrong};
}

TEST(Power, EightPercentInACaseAloneAmongFiveHundredAreFoundNineteenTimesInTwenty) {
  const auto [found, wrong] = found_and_wrong(5, 1, kSweeps);
  RecordProperty("found_per_mille", static_cast<int>(found * 1000));
  EXPECT_GE(found, 0.95);
  EXPECT_LE(wrong, 1U);
}

TEST(Power, EightPercentInManyCasesAreFoundNineteenTimesInTwenty) {
  const auto [found, wrong] = found_and_wrong(6, 100, kSweeps / 10);
  RecordProperty("found_per_mille", static_cast<int>(found * 1000));
  EXPECT_GE(found, 0.95);
  EXPECT_LE(wrong, 5U);
}

}  // namespace
}  // namespace rdmameter
