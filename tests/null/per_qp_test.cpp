// SPDX-License-Identifier: Apache-2.0
// What loops keep of each QP, and what is said of all of them.
#include "core/engine/account/per_qp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/null/null_case.h"

namespace rdmameter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kQps = 5;

TestCase over_qps(Opcode opcode, Pattern pattern, Transport transport = Transport::rc) {
  TestCase test_case = null_case(opcode, pattern, transport);
  test_case.qps = kQps;
  return test_case;
}

TEST(PerQp, OfALatencyEachHasTheSamplesOfItsTurnsWithoutTheWarmUp) {
  for (const TestCase& test_case : {over_qps(Opcode::send, Pattern::ping_pong),
                                    over_qps(Opcode::rdma_write, Pattern::ping_pong),
                                    over_qps(Opcode::write_imm, Pattern::ping_pong, Transport::uc),
                                    over_qps(Opcode::send, Pattern::ping_pong, Transport::ud),
                                    over_qps(Opcode::rdma_read, Pattern::completion_latency)}) {
    NullSide side{test_case};
    ASSERT_EQ(side.run().why, LoopResult::Why::done);
    std::uint64_t sum_ns = 0, max_ns = 0;
    for (std::uint32_t i = 0; i < kQps; ++i) {
      const QpSamples& samples = *side.work.loop_state().lanes[i].samples;
      EXPECT_EQ(samples.count, 1000 / kQps);
      EXPECT_EQ(std::accumulate(samples.buckets, samples.buckets + kQpSamplesBuckets, 0U),
                1000 / kQps);
      sum_ns += samples.sum_ns;
      max_ns = std::max(max_ns, samples.max_ns);
    }
    EXPECT_EQ(sum_ns, side.latency->sum_ns());
    EXPECT_EQ(max_ns, side.latency->max_ns());
  }
}

TEST(PerQp, OfAnOpenLoopTheyHaveAllServices) {
  for (const Opcode opcode : {Opcode::send, Opcode::rdma_read, Opcode::mix}) {
    NullSide side{over_qps(opcode, Pattern::open_loop)};
    ASSERT_EQ(side.run().why, LoopResult::Why::done);
    std::uint64_t count = 0, sum_ns = 0;
    for (std::uint32_t i = 0; i < kQps; ++i) {
      count += side.work.loop_state().lanes[i].samples->count;
      sum_ns += side.work.loop_state().lanes[i].samples->sum_ns;
    }
    EXPECT_EQ(count, 1000U);
    EXPECT_EQ(sum_ns, side.work.loop_state().open_loop->service.sum_ns());
  }
}

TEST(PerQp, OfABandwidthTheirRatesAddUpToThatOfAll) {
  TestCase test_case = over_qps(Opcode::rdma_write, Pattern::bandwidth);
  test_case.iterations = 100'000;
  NullSide side{test_case};
  ASSERT_EQ(side.run().why, LoopResult::Why::done);
  const PerQpData data = per_qp_data(side.work.per_qp(side.tally.elapsed_ns));
  const double all =
      static_cast<double>(side.tally.operations) / static_cast<double>(side.tally.elapsed_ns) * 1e9;
  ASSERT_EQ(data.messages_per_s.size(), kQps);
  EXPECT_NEAR(std::accumulate(data.messages_per_s.begin(), data.messages_per_s.end(), 0.0) / all, 1,
              1e-4);
  EXPECT_GT(*data.jain, 0.9);
  EXPECT_THAT(data.p50_ns, IsEmpty());
}

TEST(PerQp, OfABandwidthWithFewCompletionsHasNoRates) {
  TestCase test_case = over_qps(Opcode::rdma_write, Pattern::bandwidth);
  test_case.qps = 400;
  test_case.iterations = 1000;
  NullSide side{test_case};
  ASSERT_EQ(side.run().why, LoopResult::Why::done);
  const PerQpData data = per_qp_data(side.work.per_qp(side.tally.elapsed_ns));
  EXPECT_EQ(data.qps, 400U);
  EXPECT_THAT(data.messages_per_s, IsEmpty());
  EXPECT_THAT(data.slow, IsEmpty());
}

TEST(PerQp, IsNotKeptOfOneQpOrWhereTheReceiverCounts) {
  EXPECT_FALSE(keeps_each_qp(null_case(Opcode::send, Pattern::ping_pong)));
  EXPECT_FALSE(keeps_each_qp(over_qps(Opcode::send, Pattern::bandwidth, Transport::ud)));
  TestCase stamped = over_qps(Opcode::send, Pattern::ping_pong);
  stamped.queues.timestamps = true;
  EXPECT_FALSE(keeps_each_qp(stamped));
}

std::vector<QpFigures> with_p50(const std::vector<double>& all) {
  std::vector<QpFigures> figures;
  for (const double p50_ns : all)
    figures.push_back({.udp_source_port = static_cast<std::uint16_t>(49152 + figures.size()),
                       .mean_ns = p50_ns,
                       .p50_ns = p50_ns,
                       .max_ns = 2 * p50_ns});
  return figures;
}

TEST(SlowQps, AreThoseFarFromTheQuickerQuarterTheSlowestFirst) {
  EXPECT_THAT(per_qp_data(with_p50({10, 11, 5010, 10, 12, 11, 10, 6000})).slow, ElementsAre(7, 2));
  EXPECT_THAT(per_qp_data(with_p50({10, 12, 10, 10, 12, 11, 10, 13})).slow, IsEmpty());
  // Half of them, but not noise alone.
  EXPECT_THAT(per_qp_data(with_p50({10, 10, 10, 20, 10, 20})).slow, ElementsAre(3, 5));
  EXPECT_THAT(per_qp_data(with_p50({10, 12, 14, 16, 18, 20})).slow, IsEmpty());
}

TEST(SlowQps, OfABandwidthHaveTheLowestRate) {
  std::vector<QpFigures> figures(8);
  for (QpFigures& each : figures) each.messages_per_s = 1e6;
  figures[5].messages_per_s = 1e5;
  const PerQpData data = per_qp_data(figures);
  EXPECT_THAT(data.slow, ElementsAre(5));
  EXPECT_EQ(data.slowest, 5U);
  EXPECT_NEAR(*data.jain, 7.1 * 7.1 / (8 * 7.01), 1e-12);
}

TEST(PerQpData, ListsTheSlowestOfMoreThanARowHolds) {
  std::vector<double> p50s(3000, 10.0);
  p50s[2900] = 100;
  p50s[7] = 200;
  const PerQpData data = per_qp_data(with_p50(p50s));
  EXPECT_EQ(data.qps, 3000U);
  ASSERT_EQ(data.numbers.size(), kMaxListedQps);
  EXPECT_EQ(data.p50_ns.size(), kMaxListedQps);
  EXPECT_EQ((std::vector{data.numbers[0], data.numbers[1]}), (std::vector<std::uint64_t>{7, 2900}));
  EXPECT_EQ(data.udp_source_ports[1], 49152 + 2900);
  EXPECT_EQ(data.spread.front().max, 200);
  EXPECT_THAT(data.slow, ElementsAre(7, 2900));
}

TEST(QpSamples, HaveQuantilesWithinTheirBucketsAndNoneOfTooFew) {
  std::vector<Lane> lanes(2);
  const QpSampleSet set{lanes};
  EXPECT_EQ(qp_figures(lanes[1], 1, 0).mean_ns, std::nullopt);
  lanes[1].samples->record(7);
  EXPECT_EQ(*qp_figures(lanes[1], 1, 0).mean_ns, 7);
  for (std::uint64_t i = 1; i <= 1000; ++i) lanes[0].samples->record(100 * i);
  for (std::uint64_t i = 1; i < 19; ++i) lanes[1].samples->record(7);
  const QpFigures many = qp_figures(lanes[0], 1, 0), few = qp_figures(lanes[1], 1, 0);
  EXPECT_NEAR(*many.p50_ns / 50'000, 1, 0.008);
  EXPECT_NEAR(*many.p99_ns / 99'000, 1, 0.008);
  EXPECT_EQ(*many.max_ns, 100'000);
  EXPECT_EQ(few.p50_ns, std::nullopt);
  for (std::uint64_t i = 0; i < 19; ++i) lanes[1].samples->record(7000);
  EXPECT_LE(*qp_figures(lanes[1], 1, 0).p50_ns, 8);  // a bucket of half of them
  EXPECT_EQ(*few.mean_ns, 7);
  lanes[0].samples->count = 1ULL << 32;  // hours; a bucket may have wrapped
  EXPECT_EQ(qp_figures(lanes[0], 1, 0).p50_ns, std::nullopt);
}

}  // namespace
}  // namespace rdmameter
