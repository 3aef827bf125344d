// SPDX-License-Identifier: Apache-2.0
// The open loop on a virtual clock, in front of a server that takes one request at a time for a
// fixed time: what queueing theory says of it, and what the loop's records say.
#include "core/engine/loop/open_loop.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/instrument/histogram_data.h"
#include "core/result/row_json.h"
#include "virtual_server.h"

namespace rdmameter {
namespace {

/// Lindley's recursion: what waits is what waited, and one service more, less the time until the
/// next one came. @return the sum of all responses [ns]
std::uint64_t lindley_sum_ns(const std::vector<std::uint64_t>& gaps_ns) {
  std::uint64_t wait_ns = 0, sum_ns = kService_ns;
  for (std::size_t i = 1; i < gaps_ns.size(); ++i) {
    const std::uint64_t ahead_ns = wait_ns + kService_ns;
    wait_ns = ahead_ns > gaps_ns[i] ? ahead_ns - gaps_ns[i] : 0;
    sum_ns += wait_ns + kService_ns;
  }
  return sum_ns;
}

class Utilisation : public ::testing::TestWithParam<double> {};

TEST_P(Utilisation, GivesTheResponsesOfLindleysRecursionWhereverRequestsWait) {
  for (const std::uint64_t depth : {1, 8, 4096})  // in the loop, in both places, at the server
    for (const std::uint64_t qps : {1, 3}) {
      TestCase test_case = load_case(GetParam(), 100'000, depth);
      test_case.qps = qps;
      VirtualRun load{test_case};
      ASSERT_EQ(load.run().why, LoopResult::Why::done);
      ASSERT_EQ(load.tally.operations, 100'000U);
      const auto expected =
          static_cast<double>(lindley_sum_ns(load.gaps_ns)) / static_cast<double>(100'000);
      EXPECT_NEAR(load.mean_ns(), expected, 0.001 * expected) << depth << " x " << qps;
      EXPECT_FALSE(load_saturated(load.offered.result()));
    }
}

TEST_P(Utilisation, GivesTheMeanResponseOfMD1OverAMillionRequests) {
  const double rho = GetParam();
  VirtualRun load{load_case(rho, 1'000'000, 1)};
  ASSERT_EQ(load.run().why, LoopResult::Why::done);
  const double expected_ns = kService_ns * (1 + rho / (2 * (1 - rho)));
  EXPECT_NEAR(load.mean_ns(), expected_ns, 0.04 * expected_ns);
  EXPECT_EQ(load.server.posts, 1'000'000U);
}

INSTANTIATE_TEST_SUITE_P(OpenLoop, Utilisation, ::testing::Values(0.5, 0.8, 0.9));

TEST(OpenLoop, ServiceLeavesOutWhatResponseAndLatenessHold) {
  VirtualRun load{load_case(0.8, 10'000, 1)};
  ASSERT_EQ(load.run().why, LoopResult::Why::done);
  const LoadData data = load.offered.result();
  EXPECT_EQ(data.service.histogram.min_ns, kService_ns);
  EXPECT_EQ(data.service.histogram.max_ns, kService_ns);
  EXPECT_EQ(data.service.histogram.count, 10'000U);
  EXPECT_EQ(data.lateness.histogram.count, 10'000U);
  EXPECT_EQ(data.lateness.histogram.sum_ns + data.service.histogram.sum_ns,
            load.response->sum_ns());
  EXPECT_GT(data.backlog_max, 0U);
}

TEST(OpenLoop, OfABurstEachRequestWaitsForThoseBeforeIt) {
  TestCase test_case = load_case(0.5, 400, 64);
  test_case.arrivals = ArrivalPattern{4};
  VirtualRun load{test_case};
  ASSERT_EQ(load.run().why, LoopResult::Why::done);
  EXPECT_EQ(load.response->sum_ns(), 100 * (1 + 2 + 3 + 4) * kService_ns);
  EXPECT_EQ(load.response->max_ns(), 4 * kService_ns);
}

TEST(OpenLoop, AnOverloadIsSaturatedAndReachesWhatTheServerCan) {
  TestCase test_case = load_case(2, 1000, 16);
  test_case.arrivals = ArrivalPattern::fixed;
  test_case.warmup = 100;
  VirtualRun load{test_case};
  ASSERT_EQ(load.run().why, LoopResult::Why::done);
  const LoadData data = load.offered.result();
  EXPECT_EQ(data.due, 1000U);
  EXPECT_EQ(data.completed, 1000U);
  EXPECT_EQ(data.unsent, 0U);
  EXPECT_NEAR(load_offered_per_s(data), 2 * kCapacity_per_s, 1);
  EXPECT_NEAR(load_reached_per_s(data), kCapacity_per_s, 1);
  EXPECT_TRUE(load_saturated(data));
  EXPECT_NEAR(static_cast<double>(data.backlog_max), 550 - 16, 2);
  EXPECT_EQ(snapshot(*load.scratch).count, 100U);
}

TEST(OpenLoop, ADurationEndsAnOverloadAndCountsWhatWasLeft) {
  TestCase test_case = load_case(2, 0, 4);
  test_case.arrivals = ArrivalPattern::fixed;
  test_case.duration_ns = 1'000 * kService_ns;
  VirtualRun load{test_case};
  ASSERT_EQ(load.run().why, LoopResult::Why::done);
  const LoadData data = load.offered.result();
  EXPECT_NEAR(static_cast<double>(data.due), 2000, 2);
  EXPECT_EQ(data.completed + data.unsent, data.due);
  EXPECT_NEAR(static_cast<double>(data.completed), 1004, 3);
  EXPECT_TRUE(load_saturated(data));
  EXPECT_GE(load.tally.elapsed_ns, test_case.duration_ns);
}

TEST(OpenLoop, AnInterruptLeavesWhatWaitsThoughANumberOfRequestsRules) {
  TestCase test_case = load_case(2, 1000, 4);
  test_case.arrivals = ArrivalPattern::fixed;
  VirtualRun load{test_case};
  load.server.interrupted = &load.tally;
  load.server.interrupt_at_ns = 600 * kService_ns;  // all have fallen due by then
  ASSERT_EQ(load.run().why, LoopResult::Why::done);
  const LoadData data = load.offered.result();
  EXPECT_EQ(data.due, 1000U);
  EXPECT_EQ(data.completed + data.unsent, 1000U);
  EXPECT_NEAR(static_cast<double>(data.completed), 604, 3);
}

TEST(OpenLoop, AfterAStallWhatFellDueIsPostedAndNothingMore) {
  constexpr std::uint64_t kStall_ns = 100 * kService_ns;
  TestCase test_case = load_case(0.1, 1000, 256);
  test_case.arrivals = ArrivalPattern::fixed;
  VirtualRun load{test_case};
  load.server.stall_at_ns = 5'000 * kService_ns;
  load.server.stall_ns = kStall_ns;
  ASSERT_EQ(load.run().why, LoopResult::Why::done);
  const LoadData data = load.offered.result();
  EXPECT_EQ(load.server.posts, 1000U);
  EXPECT_EQ(data.completed, 1000U);
  // Ten fell due in the meantime, the first of them when it began.
  EXPECT_NEAR(static_cast<double>(data.lateness.histogram.max_ns), kStall_ns, kService_ns);
  EXPECT_NEAR(static_cast<double>(data.lateness.histogram.sum_ns),
              (100 + 90 + 80 + 70 + 60 + 50 + 40 + 30 + 20 + 10) * 1.0 * kService_ns,
              20.0 * kService_ns);
  EXPECT_NEAR(static_cast<double>(data.backlog_max), 10, 1);
  EXPECT_LE(data.service.histogram.max_ns, 12 * kService_ns);
}

double longer_than(const HistogramData& histogram, double ns) {
  std::uint64_t samples = 0;
  for (const auto& [index, n] : histogram.buckets)
    if (static_cast<double>(histogram_lowest(index)) > ns) samples += n;
  return static_cast<double>(samples);
}

/// A thousand requests fall due in a pause P of the server, and while it works them off at what it
/// has beyond the load come further ones: 1000 / (1 - rho) wait, spread evenly over 0 to P.
TEST(OpenLoop, OfAPauseOfTheServerResponseHasAllThatWaitedAndServiceThosePosted) {
  for (const double rho : {0.05, 0.1, 0.5})
    for (const std::uint64_t depth : {1U, 4096U}) {
      SCOPED_TRACE(fmt::format("utilisation {}, depth {}", rho, depth));
      TestCase test_case = load_case(rho, 6000, depth);
      test_case.arrivals = ArrivalPattern::fixed;
      VirtualRun load{test_case};
      const double pause_ns = 1000 * kService_ns / rho, waited = 1000 / (1 - rho);
      load.server.pause_at_ns = static_cast<std::uint64_t>(2 * pause_ns);
      load.server.pause_ns = static_cast<std::uint64_t>(pause_ns);
      ASSERT_EQ(load.run().why, LoopResult::Why::done);
      const HistogramData response = snapshot(*load.response);
      const HistogramData service = load.offered.result().service.histogram;
      for (const double part : {0.1, 0.25, 0.5, 0.75, 0.9}) {
        const double longer = (1 - part) * waited;
        EXPECT_NEAR(longer_than(response, part * pause_ns), longer, 3) << part;
        EXPECT_NEAR(longer_than(service, part * pause_ns), depth == 1 ? 1 : longer,
                    depth == 1 ? 0 : 3)
            << part;
      }
    }
}

TEST(OpenLoop, AnIntervalOfTheBacklogHasTheMostThatWaitedInIt) {
  TestCase test_case = load_case(2, 1000, 1);
  test_case.arrivals = ArrivalPattern::fixed;
  test_case.interval_ns = 100 * kService_ns;
  VirtualRun load{test_case};
  ASSERT_EQ(load.run().why, LoopResult::Why::done);
  const LoadData data = load.offered.result();
  EXPECT_EQ(data.interval_ns, test_case.interval_ns);
  ASSERT_GE(data.backlog.size(), 9U);
  for (std::size_t i = 0; i < 4; ++i)  // grows by one in each service
    EXPECT_NEAR(static_cast<double>(data.backlog[i]), 100.0 * static_cast<double>(i + 1), 2) << i;
  EXPECT_LT(data.backlog.back(), data.backlog[4]);
}

TEST(BacklogSeries, JoinsPairsOfIntervalsWhenItIsFull) {
  auto series = std::make_unique<BacklogSeries>();
  series->interval_ticks = 10;
  for (std::uint64_t i = 0; i <= BacklogSeries::kMostIntervals; ++i) series->add(i);
  EXPECT_EQ(series->count, BacklogSeries::kMostIntervals / 2 + 1);
  EXPECT_EQ(series->interval_ticks, 20U);
  EXPECT_EQ(series->most[0], 1U);
  EXPECT_EQ(series->most[1], 3U);
  EXPECT_EQ(series->most[series->count - 1], BacklogSeries::kMostIntervals);
}

TEST(Gaps, HaveTheMeanOfTheRateAndAreThoseOfTheirSeed) {
  TestCase test_case = load_case(0.5, 100'000, 1);
  const auto mean_ns = [&](std::uint64_t seed) {
    const auto gaps = draw_gaps_ns(test_case, seed);
    double sum = 0;
    for (const std::uint64_t gap : gaps) sum += static_cast<double>(gap);
    return sum / static_cast<double>(gaps.size());
  };
  EXPECT_NEAR(mean_ns(1), 2.0 * kService_ns, 0.02 * kService_ns * 2);
  EXPECT_NE(draw_gaps_ns(test_case, 1), draw_gaps_ns(test_case, 2));
  EXPECT_EQ(draw_gaps_ns(test_case, 1), draw_gaps_ns(test_case, 1));
  test_case.arrivals = ArrivalPattern::fixed;
  test_case.rate = 3;  // a third of a second is no whole number of ns
  test_case.iterations = 300;
  EXPECT_NEAR(mean_ns(1) * 300, 100e9, 1);
  test_case.arrivals = ArrivalPattern{7};
  const auto bursts = draw_gaps_ns(test_case, 1);
  EXPECT_EQ(bursts.size() % 7, 0U);
  for (std::size_t i = 0; i < bursts.size(); ++i) EXPECT_EQ(bursts[i] == 0, i % 7 != 0) << i;
}

/// When requests of all threads are due, in turn.
std::vector<std::uint64_t> due_of_threads(TestCase test_case, std::uint64_t threads) {
  std::vector<std::uint64_t> due;
  test_case.threads = threads;
  for (std::uint64_t thread = 0; thread < threads; ++thread) {
    test_case.path.first_qp = thread * test_case.qps;
    std::uint64_t due_ns = 0 - early_ns(test_case);
    for (const std::uint64_t gap : draw_gaps_ns(test_case, thread)) due.push_back(due_ns += gap);
  }
  std::ranges::sort(due);
  return due;
}

TEST(Gaps, OfThreadsAreTogetherThoseOfTheRate) {
  TestCase test_case = load_case(0.5, 300, 1);
  test_case.qps = 2;
  for (const std::uint64_t burst : {1, 4}) {
    test_case.arrivals = burst == 1 ? ArrivalPattern::fixed : ArrivalPattern{burst};
    TestCase of_three = test_case;
    of_three.threads = 3;
    EXPECT_EQ(draw_gaps_ns(of_three, 0).front(), 3 * burst * 2 * kService_ns) << "in a circle";
    const auto due = due_of_threads(test_case, 3);
    ASSERT_EQ(due.size(), 900U);
    for (std::size_t i = 0; i < due.size(); ++i)
      ASSERT_EQ(due[i], (i / burst + 1) * burst * 2 * kService_ns) << i << " of " << burst;
  }
  test_case.arrivals = ArrivalPattern::poisson;
  test_case.iterations = 100'000;
  const auto due = due_of_threads(test_case, 3);
  double squares = 0;
  std::uint64_t before = 0;
  constexpr std::size_t kWhole = 290'000;  // until then no thread has ended
  for (std::size_t i = 0; i < kWhole; before = due[i++]) {
    const auto gap = static_cast<double>(due[i] - before) / (2 * kService_ns);
    squares += gap * gap;
  }
  EXPECT_NEAR(static_cast<double>(before) / kWhole, 2.0 * kService_ns, 0.02 * kService_ns);
  EXPECT_NEAR(squares / kWhole, 2, 0.05);  // exponentially distributed, with a mean of 1
}

TEST(Loads, OfThreadsAddUp) {
  LoadData one{.due = 100, .window_ns = 1000, .completed = 90, .completing_ns = 1800, .unsent = 10};
  one.backlog_max = 7;
  one.interval_ns = 50;
  one.backlog = {1, 7, 2, 3, 4};
  one.service.histogram = {.count = 1, .sum_ns = 5, .min_ns = 5, .max_ns = 5, .buckets = {{5, 1}}};
  LoadData other{.due = 300, .window_ns = 1500, .completed = 300, .completing_ns = 1500};
  other.backlog_max = 3;
  other.interval_ns = 101;  // twice as long, but for a tick
  other.backlog = {1, 3};
  const LoadData sum = sum_of_loads(std::array{one, other});
  EXPECT_EQ(sum.due, 400U);
  EXPECT_EQ(sum.unsent, 10U);
  EXPECT_NEAR(load_offered_per_s(sum), 0.3e9, 1e5);
  EXPECT_NEAR(load_reached_per_s(sum), 0.25e9, 1e5);
  EXPECT_EQ(sum.backlog_max, 10U);
  EXPECT_EQ(sum.interval_ns, 101U);
  EXPECT_EQ(sum.backlog, (std::vector<std::uint64_t>{7 + 1, 3 + 3, 4}));
  EXPECT_EQ(sum.service.histogram.count, 1U);
  EXPECT_EQ(sum.lateness.histogram.count, 0U);
}

TEST(Gaps, OfARateInBitsDependOnTheSize) {
  TestCase test_case = load_case(1, 10, 1);
  test_case.arrivals = ArrivalPattern::fixed;
  test_case.size_bytes = 1250;
  set_axis(test_case, *find_axis("rate"), "10Gb/s");
  EXPECT_DOUBLE_EQ(messages_per_s(test_case), 1e6);
  EXPECT_EQ(draw_gaps_ns(test_case, 1).front(), 1000U);
}

}  // namespace
}  // namespace rdmameter
