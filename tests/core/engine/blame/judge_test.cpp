// SPDX-License-Identifier: Apache-2.0
// To whom the judge gives late samples, by what both ends noted.
#include "core/engine/blame/judge.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

namespace rdmameter {
namespace {

using Gap = WatchData::Gap;

constexpr std::uint64_t kUsual_ns = 10'000, kLimit_ns = 20'000, kWarmup = 100;

/// 1000 samples of 10 us and some late ones.
struct Noted {
  WatchData own{.gap_limit_ns = 1000}, peer{.gap_limit_ns = 1000};
  std::unique_ptr<Histogram> samples = std::make_unique<Histogram>();
  std::uint64_t message = kWarmup;

  Noted() {
    for (int i = 0; i < 1000; ++i) usual();
  }
  void usual() {
    samples->record(kUsual_ns);
    ++message;
  }
  /// @return its message
  std::uint64_t late(std::uint64_t length_ns) {
    samples->record(length_ns);
    own.samples.push_back({message, length_ns});
    return message++;
  }
  BlameData judge(std::uint64_t late_ns = kLimit_ns) {
    for (int i = 0; i < 3; ++i) usual();
    return judge_late_samples({.samples = snapshot(*samples),
                               .late_ns = late_ns,
                               .warmup = kWarmup,
                               .own = own,
                               .peer = &peer});
  }
};

/// {local, peer, path, undecided}
std::vector<std::uint64_t> counts(const BlameData& data) {
  return {data.local.count, data.peer.count, data.path.count, data.undecided.count};
}
using Counts = std::vector<std::uint64_t>;

TEST(Blame, APongFoundRightAfterAGapIsLocal) {
  Noted run;
  run.own.gaps = {{.message = run.late(5'000'000), .length_ns = 4'995'000, .found = true}};
  const BlameData data = run.judge();
  EXPECT_EQ(counts(data), (Counts{1, 0, 0, 0}));
  EXPECT_EQ(data.local.max_ns, 5'000'000U);
  EXPECT_EQ(data.late, 1U);
}

TEST(Blame, APongThatWasNotThereAfterAGapIsNotLocal) {
  Noted run;
  run.own.gaps = {{.message = run.late(5'000'000), .length_ns = 4'000'000}};
  EXPECT_EQ(counts(run.judge()), (Counts{0, 0, 1, 0}));
}

TEST(Blame, AGapBeforeThePostIsLocalIfTheRestWasInTime) {
  Noted run;
  run.own.gaps = {{.message = run.late(5'000'000), .length_ns = 4'990'000, .first = true},
                  {.message = run.late(5'000'000), .length_ns = 3'000'000, .first = true}};
  EXPECT_EQ(counts(run.judge()), (Counts{1, 0, 1, 0}));
}

TEST(Blame, APingFoundRightAfterTheResponderWasAwayIsThePeers) {
  Noted run;
  run.peer.gaps = {{.message = run.late(5'000'000), .length_ns = 6'000'000, .found = true}};
  EXPECT_EQ(counts(run.judge()), (Counts{0, 1, 0, 0}));
}

TEST(Blame, ALongTurnaroundIsThePeers) {
  Noted run;
  run.peer.gaps = {{.message = run.late(5'000'000) + 1, .length_ns = 4'990'000, .first = true}};
  EXPECT_EQ(counts(run.judge()), (Counts{0, 1, 0, 0}));
}

TEST(Blame, ATurnaroundIsThePeersThoughTheLookBehindItFindsSomething) {
  Noted run;
  run.peer.gaps = {
      {.message = run.late(5'000'000) + 1, .length_ns = 4'990'000, .found = true, .first = true}};
  EXPECT_EQ(counts(run.judge()), (Counts{0, 1, 0, 0}));
}

TEST(Blame, TheTurnaroundOfTheLastMessageCounts) {
  Noted run;
  for (int i = 0; i < 3; ++i) run.usual();
  const std::uint64_t last = run.late(5'000'000);
  run.peer.gaps = {{.message = last + 1, .length_ns = 4'990'000, .first = true}};
  const BlameData data = judge_late_samples({.samples = snapshot(*run.samples),
                                             .late_ns = kLimit_ns,
                                             .warmup = kWarmup,
                                             .own = run.own,
                                             .peer = &run.peer});
  EXPECT_EQ(counts(data), (Counts{0, 1, 0, 0}));
}

TEST(Blame, AResponderThatWaitedInVainIsNotToBlame) {
  Noted run;
  const std::uint64_t message = run.late(5'000'000);
  run.peer.gaps = {{.message = message, .length_ns = 4'000'000},
                   {.message = message + 1, .length_ns = 4'000'000, .found = true, .first = true}};
  EXPECT_EQ(counts(run.judge()), (Counts{0, 0, 1, 0}));
}

TEST(Blame, WhatBothAccountForIsUndecided) {
  Noted run;
  const std::uint64_t message = run.late(5'000'000);
  run.own.gaps = {{.message = message, .length_ns = 4'000'000, .found = true}};
  run.peer.gaps = {{.message = message, .length_ns = 4'000'000, .found = true}};
  const BlameData data = run.judge();
  EXPECT_EQ(counts(data), (Counts{0, 0, 0, 1}));
  EXPECT_EQ(data.both, 1U);
}

TEST(Blame, WhatTheyAccountForTogetherAloneIsUndecided) {
  Noted run;
  const std::uint64_t message = run.late(5'000'000);
  run.own.gaps = {{.message = message, .length_ns = 1'500'000, .found = true}};
  run.peer.gaps = {{.message = message, .length_ns = 1'500'000, .found = true}};
  EXPECT_EQ(counts(run.judge()), (Counts{0, 0, 0, 1}));
}

TEST(Blame, LessThanHalfOfWhatItTookLongerIsNotTheCause) {
  Noted run;
  run.own.gaps = {{.message = run.late(1'010'000), .length_ns = 499'000, .found = true}};
  run.peer.gaps = {{.message = run.late(1'010'000), .length_ns = 501'000, .found = true}};
  EXPECT_EQ(counts(run.judge()), (Counts{0, 1, 1, 0}));
}

TEST(Blame, GapsOfTheWarmUpAndOfOtherMessagesDoNotCount) {
  Noted run;
  const std::uint64_t message = run.late(5'000'000);
  run.own.gaps = {{.message = message - 1, .length_ns = 4'000'000, .found = true},
                  {.message = kWarmup - 1, .length_ns = 9'000'000, .found = true}};
  run.peer.gaps = {{.message = 0, .length_ns = 9'000'000'000, .found = true, .first = true}};
  const BlameData data = run.judge();
  EXPECT_EQ(counts(data), (Counts{0, 0, 1, 0}));
  EXPECT_EQ(data.local_gaps.histogram.count, 1U);
  EXPECT_EQ(data.peer_gaps->histogram.count, 0U);
}

TEST(Blame, WhereSuchShortGapsWereNotKeptNobodyKnows) {
  Noted run;
  run.late(30'000);
  run.peer.gap_limit_ns = 11'000;
  const BlameData data = run.judge();
  EXPECT_EQ(counts(data), (Counts{0, 0, 0, 1}));
  EXPECT_EQ(data.not_kept, 1U);
}

TEST(Blame, CausesSumToTheLateSamplesOfWhichSomeWereNotKept) {
  Noted run;
  run.late(5'000'000);
  for (int i = 0; i < 7; ++i) {
    run.samples->record(40'000);
    ++run.message;
  }
  const BlameData data = run.judge();
  EXPECT_EQ(data.late, 8U);
  EXPECT_EQ(counts(data), (Counts{0, 0, 1, 7}));
  EXPECT_EQ(data.not_kept, 7U);
}

TEST(Blame, LateIsByDefaultWhatLiesBeyondTheBucketOfP99) {
  Noted run;
  run.late(5'000'000);
  const BlameData data = run.judge(kAuto);
  EXPECT_EQ(data.limit_ns, 10'000U + 8 - 10'000 % 8);  // its bucket is 8 ns wide
  EXPECT_EQ(data.late, 1U);
  EXPECT_EQ(data.p50_ns, 10'000U + 4 - 10'000 % 8);
}

TEST(Blame, ALimitBeginsABucket) {
  Noted run;
  run.late(20'000);
  run.late(20'016);
  const BlameData data = run.judge(20'001);
  EXPECT_EQ(data.limit_ns, 20'016U);
  EXPECT_EQ(data.late, 1U);
}

TEST(Blame, WhereTheUsualIsLateItIsJudgedByHalfOfTheLimit) {
  Noted run;
  const std::uint64_t message = run.late(12'000);
  run.own.gaps = {{.message = message, .length_ns = 6'000, .found = true}};
  for (std::uint64_t i = 0; i < 900; ++i) run.own.samples.push_back({kWarmup + i, kUsual_ns});
  const BlameData data = run.judge(9'000);
  EXPECT_EQ(counts(data), (Counts{1, 0, 900, 103}));
  EXPECT_EQ(data.not_kept, 103U);
}

TEST(Blame, StallsAreNamedWithTheirTimeTheLongestFirst) {
  Noted run;
  for (std::uint64_t i = 1; i <= kMaxStalls + 3; ++i)
    run.own.gaps.push_back({.message = run.late(i * 1'000'000),
                            .length_ns = i * 1'000'000 - 5000,
                            .found = true,
                            .begun_ns = i,
                            .begun_utc_ns = 1'800'000'000'000'000'000 + static_cast<int>(i)});
  const BlameData data = run.judge();
  ASSERT_EQ(data.stalls.size(), kMaxStalls);
  EXPECT_EQ(data.stalls.front().duration_ns, 18'995'000U);
  EXPECT_EQ(data.stalls.front().monotonic_ns, 19U);
  EXPECT_EQ(data.stalls.front().utc, "2027-01-15T08:00:00.000000019Z");
}

TEST(Blame, ARunWithoutSamplesHasNoLateOnes) {
  const WatchData nothing;
  const BlameData data =
      judge_late_samples({.samples = {}, .warmup = kWarmup, .own = nothing, .peer = &nothing});
  EXPECT_EQ(data.late, 0U);
}

TEST(LongestOf, KeepsAllThatAreAsLongAsItsLimit) {
  std::mt19937_64 random(7);
  std::vector<LongSample> place(64), all(5000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = {.length = random() % 10'000, .message = i};
  LongestOf<LongSample> longest{.entries = place.data(), .capacity = place.size()};
  for (const LongSample& one : all)
    if (one.length >= longest.limit) longest.add(one);
  const auto long_enough = [&](const LongSample& one) { return one.length >= longest.limit; };
  EXPECT_EQ(std::ranges::count_if(all, long_enough),
            std::count_if(place.begin(), place.begin() + static_cast<std::ptrdiff_t>(longest.count),
                          long_enough));
  EXPECT_GE(longest.count, 32U);
}

TEST(LongestOf, OfEqualsKeepsHalfAndTakesNoMore) {
  std::vector<LongSample> place(8);
  LongestOf<LongSample> longest{.entries = place.data(), .capacity = 8};
  for (int i = 0; i < 9; ++i) longest.add({.length = 5});
  EXPECT_EQ(longest.count, 5U);
  EXPECT_EQ(longest.limit, 6U);
}

}  // namespace
}  // namespace rdmameter
