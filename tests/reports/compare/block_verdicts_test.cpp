// SPDX-License-Identifier: Apache-2.0
// As verdicts_test.cpp, of the two sides of one measuring run on a machine that drifts and is
// disturbed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "reports/compare/comparison.h"
#include "tests/reports/compare/simulated_files.h"

namespace rdmameter {
namespace {

constexpr std::size_t kCases = 100;

/// Both sides of a measuring run. Times are counted in measurements.
struct Turns {
  std::uint64_t blocks = 12;
  double drift = 0.5;                      ///< from the first measurement to the last
  double walk = 0;                         ///< deviation of the step to the next measurement
  double disturbance = 0;                  ///< slows down...
  std::uint64_t period = 4, duration = 1;  ///< ...so long in each period
  int changed = 0;                         ///< cases that are slower on side B...
  double slower = 1;                       ///< ...so many times
  double noise = 1;                        ///< times 2 % (p50, mean) and 10 % (p99)
};

/// How slow the machine is from measurement to measurement.
class Weather {
 public:
  Weather(const Turns& how, std::mt19937& engine) : how_(how), engine_(engine) {}

  double next() {
    const auto all = 2 * static_cast<double>(how_.blocks * kCases);
    const double drift = how_.drift * static_cast<double>(at_) / all;
    const double disturbed = at_ % how_.period < how_.duration ? how_.disturbance : 0;
    walked_ += how_.walk == 0 ? 0 : how_.walk * normal(engine_);
    ++at_;
    return (1 + drift + disturbed) * std::exp(walked_);
  }

 private:
  const Turns& how_;
  std::mt19937& engine_;
  std::uint64_t at_ = 0;
  double walked_ = 0;
};

/// Both sides of a measuring run, block by block.
class TurnsRun {
 public:
  TurnsRun(std::mt19937& engine, const Turns& how)
      : how_(how), engine_(engine), weather_(how, engine) {
    for (std::size_t i = 0; i < kCases; ++i)
      for (auto& side : file_.sides)
        side.push_back(latency_case("case" + std::to_string(i), 1, 0, {}));
  }

  /// @param open  the cases that are measured
  void add_block(const std::vector<bool>& open) {
    for (std::size_t i = 0; i < kCases; ++i) {
      if (!open[i]) continue;
      const bool b_first = engine_() % 2 == 0;
      for (const bool b_side : {b_first, !b_first}) measure(i, b_side);
    }
    ++block_;
  }

  Comparable& file() { return file_; }
  std::uint64_t blocks() const { return block_; }

 private:
  void measure(std::size_t i, bool b_side) {
    const bool changed = b_side && i < static_cast<std::size_t>(how_.changed);
    const double level = 5000 * weather_.next() * (changed ? how_.slower : 1);
    Replicate one{.repetition = block_};
    for (const Metric metric : kSimulated) {
      const double deviation = how_.noise * (metric == Metric::p99 ? 0.1 : 0.02);
      one.value[static_cast<std::size_t>(metric)] = level * std::exp(deviation * normal(engine_));
    }
    file_.sides[b_side ? 1 : 0][i].replicates.push_back(one);
  }

  const Turns how_;
  std::mt19937& engine_;
  Weather weather_;
  Comparable file_ = file_of({});
  std::uint64_t block_ = 0;
};

Comparable turns(std::mt19937& engine, const Turns& how) {
  TurnsRun run(engine, how);
  while (run.blocks() < how.blocks) run.add_block(std::vector<bool>(kCases, true));
  return std::move(run.file());
}

void expect_few_false_alarms_of(const Turns& how) {
  std::mt19937 engine(static_cast<std::uint32_t>(how.period));
  int failed = 0;
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    failed += compare_sides(turns(engine, how), {}).conclusion == Conclusion::fail ? 1 : 0;
  EXPECT_LE(at_least(failed, kSweeps), 0.05) << failed << " with period " << how.period;
}

TEST(Blocks, OfIdenticalCodeFailHardlyEverUnderDriftAndDisturbancesOfAnyPeriod) {
  for (const std::uint64_t period : {2U, 3U, 4U, 200U, 400U})
    expect_few_false_alarms_of({.disturbance = 0.3, .period = period});
}

TEST(Blocks, OfIdenticalCodeFailHardlyEverWhereADisturbanceLastsForHalfOfItsPeriod) {
  for (const std::uint64_t period : {6U, 800U})  // measurements, and blocks
    expect_few_false_alarms_of({.disturbance = 0.3, .period = period, .duration = period / 2});
}

TEST(Blocks, OfIdenticalCodeFailHardlyEverOnARandomWalk) {
  expect_few_false_alarms_of({.drift = 0, .walk = 0.01});  // by half within a run
}

TEST(Blocks, FindTenPercentInTenCasesUnderDrift) {
  std::mt19937 engine(10);
  std::size_t right = 0, wrong = 0;
  constexpr int kFew = 20, kChanged = 10;
  for (int sweep = 0; sweep < kFew; ++sweep)
    for (const CaseComparison& one :
         compare_sides(turns(engine, {.changed = kChanged, .slower = 1.1}), {}).cases)
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

TEST(Blocks, HaveIntervalsThatHoldTheTruthNineteenTimesInTwenty) {
  for (const std::uint64_t blocks : {5U, 7U, 10U}) {
    std::mt19937 engine(static_cast<std::uint32_t>(blocks));
    int all = 0, held = 0;
    for (int sweep = 0; sweep < 10; ++sweep)
      for (const CaseComparison& one : compare_sides(turns(engine, {.blocks = blocks}), {}).cases)
        for (const Effect& each : one.effects) {
          const Interval interval = each.interval;
          held += interval.low <= 1 && 1 <= interval.high ? 1 : 0;
          ++all;
        }
    EXPECT_GE(at_most(held, all), 0.93) << held << " of " << all;
    EXPECT_LE(at_least(held, all), 0.97) << held << " of " << all;
  }
}

/// As `ab` measures by default: it looks after so many blocks, and goes on with what is open.
struct Looked {
  Comparison comparison;
  std::vector<std::uint64_t> blocks;  ///< of each case
  std::size_t looks = 0;              ///< that it took
};

Looked look_by_look(std::mt19937& engine, Turns how) {
  constexpr std::array<std::uint64_t, 4> kLooks = {12, 18, 27, 40};
  how.blocks = kLooks.back();
  TurnsRun run(engine, how);
  run.file().looks = kLooks.size();
  std::vector<bool> open(kCases, true);
  Looked looked;
  for (const std::uint64_t look : kLooks) {
    while (run.blocks() < look) run.add_block(open);
    looked.comparison = compare_sides(run.file(), {});
    ++looked.looks;
    for (const CaseComparison& one : looked.comparison.cases)
      open[std::stoul(one.name.substr(4))] =
          one.verdict == CaseVerdict::suspect || one.verdict == CaseVerdict::inconclusive;
    if (std::ranges::count(open, true) == 0) break;
  }
  for (const ComparableCase& one : run.file().sides[0])
    looked.blocks.push_back(one.replicates.size());
  return looked;
}

/// With noise enough that few cases are decided at the first look.
TEST(Looks, OfIdenticalCodeFailHardlyEverHoweverManyAreTaken) {
  std::mt19937 engine(20);
  int failed = 0;
  std::size_t looks = 0;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    const Looked looked =
        look_by_look(engine, {.disturbance = 0.3, .period = 6, .duration = 3, .noise = 3});
    failed += looked.comparison.conclusion == Conclusion::fail ? 1 : 0;
    looks += looked.looks;
  }
  EXPECT_LE(at_least(failed, kSweeps), 0.05) << failed;
  EXPECT_GE(looks, 3U * kSweeps) << "nearly all must be taken, or nothing is shown";
}

TEST(Looks, FindTenPercentInTenCasesAtTheFirst) {
  std::mt19937 engine(21);
  constexpr int kFew = 20, kChanged = 10;
  std::size_t found = 0, early = 0;
  for (int sweep = 0; sweep < kFew; ++sweep) {
    const Looked looked = look_by_look(engine, {.changed = kChanged, .slower = 1.1});
    for (const CaseComparison& one : looked.comparison.cases) {
      const std::size_t i = std::stoul(one.name.substr(4));
      if (i >= kChanged || one.verdict != CaseVerdict::fail) continue;
      ++found;
      early += looked.blocks[i] == 12 ? 1 : 0;
    }
  }
  EXPECT_GE(found, kFew * kChanged * 95U / 100);
  EXPECT_GE(early, kFew * kChanged * 90U / 100);
}

/// Twelve signs that are all alike are too few among 100 cases and four looks: 14 would do.
TEST(Looks, FindTenPercentInOneCaseAtTheSecond) {
  std::mt19937 engine(22);
  constexpr int kFew = 20;
  int early = 0;
  for (int sweep = 0; sweep < kFew; ++sweep) {
    const Looked looked = look_by_look(engine, {.changed = 1, .slower = 1.1});
    const CaseComparison& worst = looked.comparison.cases.front();
    early += worst.name == "case0" && worst.verdict == CaseVerdict::fail && looked.blocks[0] == 18
                 ? 1
                 : 0;
  }
  EXPECT_GE(early, kFew * 90 / 100);
}

TEST(Looks, ShareTheErrorRate) {
  ComparableCase slow = latency_case(
      "case0", 1, 6, [](auto, auto block) { return 7000.0 + static_cast<double>(block); });
  ComparableCase fast = latency_case(
      "case0", 1, 6, [](auto, auto block) { return 5000.0 + static_cast<double>(block); });
  Comparable file = file_of({fast});
  file.sides[1] = {slow};
  EXPECT_EQ(compare_sides(file, {}).cases[0].verdict, CaseVerdict::fail) << "1 in 64 is enough";
  file.looks = 4;
  EXPECT_EQ(compare_sides(file, {}).cases[0].verdict, CaseVerdict::suspect);
}

}  // namespace
}  // namespace rdmameter
