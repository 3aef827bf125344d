// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/reliability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/compare/fake_results.h"

namespace rdmameter {
namespace {

using testing::HasSubstr;

/// `failed[run]` of the repetitions of each run fail.
ComparableCase with_failures(const std::vector<std::uint64_t>& failed, std::uint64_t repetitions) {
  ComparableCase test_case = latency_case("a", 0, 0, {});
  for (std::uint64_t run = 0; run < failed.size(); ++run)
    for (std::uint64_t i = 0; i < repetitions; ++i)
      if (i < failed[run])
        test_case.failures.push_back({.run = run, .repetition = i, .message = "the peer died"});
      else
        test_case.replicates.push_back({.run = run, .repetition = i});
  return test_case;
}

/// Among 99 cases that never fail.
CaseVerdict verdict_among_hundred(const ComparableCase& base, const ComparableCase& other) {
  const ComparableCase good = with_failures({0, 0, 0, 0, 0}, 3);
  std::vector<Pair> pairs(100, {&good, &good});
  pairs[7] = {&base, &other};
  const auto findings = reliability_findings(pairs, {});
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (i != 7) {
      EXPECT_TRUE(findings[i].empty());
    }
  return findings[7].empty() ? CaseVerdict::pass : findings[7].front().verdict;
}

TEST(FailedRepetitions, OfTwoInThreeInEveryRunFail) {
  EXPECT_EQ(
      verdict_among_hundred(with_failures({0, 0, 0, 0, 0}, 3), with_failures({2, 2, 2, 2, 2}, 3)),
      CaseVerdict::fail);
}

TEST(FailedRepetitions, AreAlsoThoseOfWhichPairsOfRanksFailed) {
  const ComparableCase base = with_failures({0, 0, 0}, 2);
  ComparableCase other = base;
  for (Replicate& one : other.replicates) one.failure = "from rank 0 to 3: no answer";
  const Pair pair{&base, &other};
  const auto findings = reliability_findings({pair}, {});
  ASSERT_EQ(findings[0].size(), 1u);
  EXPECT_EQ(findings[0][0].verdict, CaseVerdict::fail);
  EXPECT_THAT(findings[0][0].text, HasSubstr("6 of 6 repetitions failed (from rank 0 to 3"));
}

TEST(FailedRepetitions, OfOneRunAreSuspectHoweverMany) {
  EXPECT_EQ(verdict_among_hundred(with_failures({0, 0, 0, 0, 0}, 20),
                                  with_failures({19, 0, 0, 0, 0}, 20)),
            CaseVerdict::suspect);
}

TEST(FailedRepetitions, OfTheOnlyRunAreSuspectWhereBaseFailedToo) {
  EXPECT_EQ(verdict_among_hundred(with_failures({1}, 20), with_failures({19}, 20)),
            CaseVerdict::suspect);
}

TEST(FailedRepetitions, OfWholeRunsCountForOneEach) {
  EXPECT_EQ(verdict_among_hundred(with_failures({0, 0, 0, 0, 0}, 20),
                                  with_failures({20, 20, 0, 0, 0}, 20)),
            CaseVerdict::suspect);
}

TEST(FailedRepetitions, OfASingleOneAreSuspectWhereThereWereNone) {
  EXPECT_EQ(
      verdict_among_hundred(with_failures({0, 0, 0, 0, 0}, 10), with_failures({1, 0, 0, 0, 0}, 10)),
      CaseVerdict::suspect);
}

TEST(FailedRepetitions, AsManyAsBeforePass) {
  EXPECT_EQ(
      verdict_among_hundred(with_failures({2, 1, 2, 3, 2}, 10), with_failures({2, 2, 1, 2, 3}, 10)),
      CaseVerdict::pass);
}

TEST(FailedRepetitions, OfAllWhereNoneFailedBeforeFailInASingleRun) {
  EXPECT_EQ(verdict_among_hundred(with_failures({0}, 3), with_failures({3}, 3)), CaseVerdict::fail);
}

TEST(FailedRepetitions, OfABlockAreOfTheirOwn) {
  const ComparableCase base = with_failures({0}, 12), other = with_failures({10}, 12);
  const auto findings =
      reliability_findings({{&base, &other}}, {.replication = Replication::blocks});
  EXPECT_EQ(findings[0].front().verdict, CaseVerdict::fail);
  EXPECT_THAT(findings[0].front().text, HasSubstr("10 of 12 repetitions failed (the peer died)"));
}

/// `lost[run]` of a thousand messages, in each of two repetitions.
ComparableCase with_losses(const std::vector<std::uint64_t>& lost, std::size_t kind = 0) {
  ComparableCase test_case = latency_case("a", lost.size(), 2, [](auto, auto) { return 1.0; });
  for (Replicate& one : test_case.replicates) {
    one.sent = 1000;
    one.troubled[kind] = lost[one.run];
  }
  return test_case;
}

CaseVerdict verdict_of_losses(const ComparableCase& base, const ComparableCase& other) {
  const ComparableCase good = with_losses({0, 0, 0, 0, 0});
  std::vector<Pair> pairs(100, {&good, &good});
  pairs[3] = {&base, &other};
  const auto findings = reliability_findings(pairs, {});
  return findings[3].empty() ? CaseVerdict::pass : findings[3].front().verdict;
}

TEST(LostMessages, OfNearlyHalfInEveryRunFail) {
  EXPECT_EQ(verdict_of_losses(with_losses({0, 0, 0, 0, 0}), with_losses({450, 440, 460, 450, 455})),
            CaseVerdict::fail);
}

TEST(UnsentRequests, OfNearlyHalfInEveryRunFail) {
  const ComparableCase none = with_losses({0, 0, 0, 0, 0}, 3);
  const ComparableCase many = with_losses({450, 440, 460, 450, 455}, 3);
  const auto findings = reliability_findings({{&none, &many}}, {});
  ASSERT_EQ(findings[0].size(), 1U);
  EXPECT_EQ(findings[0].front().verdict, CaseVerdict::fail);
  EXPECT_THAT(findings[0].front().text, HasSubstr("45 % of the messages unsent, 0 % in BASE"));
}

TEST(LostMessages, OfManyInASingleRunDoNotFail) {
  EXPECT_NE(verdict_of_losses(with_losses({0, 0, 0, 0, 0}), with_losses({900, 0, 0, 0, 0})),
            CaseVerdict::fail);
}

TEST(LostMessages, ASingleOneOfFewIsSuspect) {
  const ComparableCase none = with_losses({0});
  ComparableCase one = with_losses({0});
  one.replicates.resize(1);
  one.replicates.front().sent = 2;
  one.replicates.front().troubled[0] = 1;
  const auto findings = reliability_findings({{&none, &one}}, {});
  ASSERT_EQ(findings[0].size(), 1U);
  EXPECT_EQ(findings[0].front().verdict, CaseVerdict::suspect);
}

TEST(LostMessages, OfTooFewRunsForRanksAreSuspectHoweverMany) {
  EXPECT_EQ(verdict_of_losses(with_losses({0, 0, 0}), with_losses({450, 440, 460})),
            CaseVerdict::suspect);
}

TEST(LostMessages, ThatVaryAsMuchAsBeforePass) {
  EXPECT_EQ(
      verdict_of_losses(with_losses({10, 300, 40, 500, 90}), with_losses({30, 200, 20, 700, 60})),
      CaseVerdict::pass);
}

TEST(LostMessages, OfLessThanAHundredthMorePass) {
  EXPECT_EQ(verdict_of_losses(with_losses({0, 0, 0, 0, 0}), with_losses({5, 5, 5, 5, 5})),
            CaseVerdict::pass);
}

}  // namespace
}  // namespace rdmameter
