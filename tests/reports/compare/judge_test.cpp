// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/judge.h"

#include <gtest/gtest.h>

namespace rdmameter {
namespace {

/// One repetition a run.
Runs each_its_run(const std::vector<double>& values) {
  Runs runs;
  for (const double value : values) runs.push_back({value});
  return runs;
}

const Runs kBase = each_its_run({1000, 1010, 990, 1005, 995});

TEST(Effect, OfFiveSlowerRunsIsSignificantAndHasItsInterval) {
  const Effect effect = effect_of(kBase, each_its_run({1100, 1110, 1095, 1105, 1100}), {});
  EXPECT_TRUE(effect.tested);
  EXPECT_NEAR(effect.ratio, 1.1, 0.01);
  EXPECT_GT(effect.interval.low, 1.05);
  EXPECT_NEAR(effect.p_worse, 1 / 252.0, 1e-9);
  EXPECT_EQ(verdict_of(effect, false, effect.p_worse, 1, 1.05), CaseVerdict::fail);
  EXPECT_EQ(verdict_of(effect, true, 1, effect.p_worse, 1.05), CaseVerdict::better)
      << "more of a rate is better";
}

TEST(Effect, WithinTheFloorIsNoFailureHoweverCertain) {
  const Effect effect = effect_of(kBase, each_its_run({1030, 1031, 1032, 1030, 1031}), {});
  EXPECT_LT(effect.p_worse, 0.01);
  EXPECT_EQ(verdict_of(effect, false, effect.p_worse, 1, 1.05), CaseVerdict::pass);
}

TEST(Effect, BeyondTheFloorButNotSignificantIsNoFailureEither) {
  const Effect effect = effect_of(kBase, each_its_run({1100, 1110, 1000, 1105, 1100}), {});
  EXPECT_EQ(verdict_of(effect, false, 0.2, 1, 1.05), CaseVerdict::suspect)
      << "of all cases together";
}

TEST(Effect, TakesARunsMedianForTheReplicate) {
  const Runs base{{1, 2, 3}, {2, 2, 2}, {9, 2, 1}, {2}, {2}};
  const Effect effect = effect_of(base, base, {});
  EXPECT_EQ(effect.replicates_base, 5U);
  EXPECT_EQ(effect.base, 2);
  EXPECT_EQ(effect_of(base, base, {.replication = Replication::repetitions}).replicates_base, 11U);
}

TEST(Effect, OfFewRunsRestsOnNoiseAndCanOnlyBeSuspect) {
  const Runs one{{1000, 1001, 999, 1000}}, slower{{1200, 1201, 1199, 1200}};
  const Effect effect = effect_of(one, slower, {.between_runs = 0.02});
  EXPECT_FALSE(effect.tested);
  EXPECT_EQ(verdict_of(effect, false, 1, 1, 1.05), CaseVerdict::suspect);
  const Effect noisy = effect_of(one, slower, {.between_runs = 0.2});
  EXPECT_EQ(verdict_of(noisy, false, 1, 1, 1.05), CaseVerdict::inconclusive);
  const Effect same = effect_of(one, one, {.between_runs = 0.005});
  EXPECT_EQ(verdict_of(same, false, 1, 1, 1.05), CaseVerdict::pass)
      << "a change of 5 % is ruled out";
  EXPECT_EQ(verdict_of(effect_of(one, one, {.between_runs = 0.05}), false, 1, 1, 1.05),
            CaseVerdict::inconclusive);
}

TEST(Effect, OfRunsThatDifferAmongThemselvesBelievesThemRatherThanTheRecord) {
  const Runs wild = each_its_run({1000, 1300, 800});
  const Effect effect = effect_of(wild, wild, {.between_runs = 0.001});
  EXPECT_GT(effect.interval.high, 1.2);
}

TEST(Effect, OfOneRepetitionSaysNothing) {
  const Effect effect = effect_of(Runs{{1000}}, Runs{{2000}}, {.between_runs = 0.02});
  EXPECT_NE(effect.problem, "");
  EXPECT_EQ(verdict_of(effect, false, 1, 1, 1.05), CaseVerdict::inconclusive);
}

TEST(Effect, OfNothingOrZeroSaysWhy) {
  EXPECT_NE(effect_of({}, kBase, {}).problem, "");
  EXPECT_NE(effect_of(kBase, each_its_run({0, 1, 1, 1, 1}), {}).problem, "");
}

TEST(Floors, AreTheLargestOfShareTimeAndNoise) {
  EXPECT_NEAR(allowed_slowdown(10'000, true, 0, {}), 1.05, 1e-12);
  EXPECT_NEAR(allowed_slowdown(500, true, 0, {}), 1.1, 1e-12) << "50 ns of 500";
  EXPECT_NEAR(allowed_slowdown(500, false, 0, {}), 1.05, 1e-12) << "a rate has no ns";
  EXPECT_NEAR(allowed_slowdown(10'000, true, 0.2, {}), 1.2, 1e-12);
}

TEST(Replicates, NeededGrowWithTheNumberOfCases) {
  EXPECT_EQ(replicates_for(1), 5U);
  EXPECT_EQ(replicates_for(12), 5U);
  EXPECT_EQ(replicates_for(13), 6U);
  EXPECT_EQ(replicates_for(500), 8U);
}

TEST(Replicates, NeededToSettleAreMoreThanThereAre) {
  const Effect effect = effect_of(kBase, each_its_run({1100, 1000, 1040, 980, 1030}), {});
  ASSERT_EQ(verdict_of(effect, false, 1, 1, 1.05), CaseVerdict::inconclusive);
  EXPECT_GT(replicates_needed(effect, false, 1.05, 1), 5U);
  EXPECT_EQ(replicates_needed(effect, false, effect.ratio, 1), 0U) << "on the very limit: never";
}

}  // namespace
}  // namespace rdmameter
