// SPDX-License-Identifier: Apache-2.0
// Ranks in virtual time, against the closed forms of what they do.
#include "topologies/simulator/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/base/error.h"
#include "topologies/axes/rank_axes.h"
#include "topologies/ranks/rank_plan.h"
#include "topologies/simulator/sim_fabric.h"

namespace rdmameter {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kUs = 1'000'000;  // [ps]

const StopFlag kGoOn;

/// 2 us, 3 us where a rank passes a message on, and 100 Gb/s.
SimNetwork one_network() {
  return {.paths = {{{.delay_ps = 2 * kUs, .relay_delay_ps = 3 * kUs, .ps_per_byte = 80}}}};
}

TestCase case_of(const std::string& graph, const std::string& traffic, std::uint64_t ranks,
                 std::uint64_t size_bytes) {
  TestCase test_case = default_topology_case();
  test_case.graph = graph;
  test_case.traffic = traffic;
  test_case.ranks = ranks;
  test_case.size_bytes = size_bytes;
  test_case.iterations = 3;
  test_case.warmup = 1;
  return test_case;
}

std::uint64_t round_trip_ns(std::uint64_t hops, std::uint64_t bytes) {
  return (2 * (2 * kUs + (hops - 1) * 3 * kUs + hops * bytes * 80) + 500) / 1000;
}

TEST(Simulator, ARoundTripTakesTwiceDelayAndSizeByRate) {
  for (const std::uint64_t size : {8u, 4096u, 1u << 20}) {
    const Outcome outcome = simulate(case_of("mesh", "pairs", 2, size), one_network(), kGoOn);
    const HistogramData& samples = outcome.latency->histogram;
    EXPECT_EQ(samples.count, 6u);
    EXPECT_EQ(samples.min_ns, round_trip_ns(1, size));
    EXPECT_EQ(samples.max_ns, round_trip_ns(1, size));
  }
}

/// Credits go over the same ports: four words take 1.3 ns there.
TEST(Simulator, ARelayAddsItsOwnDelayAndTheBytesOnceMore) {
  const Outcome outcome = simulate(case_of("ring", "pairs", 9, 1000), one_network(), kGoOn);
  ASSERT_EQ(outcome.topology->by_hops.size(), 4u);
  for (const auto& [hops, latency] : outcome.topology->by_hops) {
    EXPECT_EQ(latency.histogram.count, 9u * 2 * 3);
    EXPECT_GE(latency.histogram.min_ns, round_trip_ns(hops, 1000)) << hops;
    EXPECT_LE(latency.histogram.max_ns, round_trip_ns(hops, 1000) + 3) << hops;
  }
}

/// Each rank's port sends its n - 1 messages one after the other; no two of them meet at another
/// port, since each rank begins with the rank after it. The last one's acknowledgement ends it.
TEST(Simulator, AnAllToAllOverAMeshTakesTheTimeOfItsPorts) {
  constexpr std::uint64_t kRanks = 8, kSize = 1 << 16;
  TestCase test_case = case_of("mesh", "alltoall", kRanks, kSize);
  test_case.schedule = "staggered";
  test_case.iterations = 1;
  test_case.warmup = 0;
  const Outcome outcome = simulate(test_case, one_network(), kGoOn);
  const HistogramData& samples = outcome.latency->histogram;
  EXPECT_EQ(samples.count, kRanks);
  EXPECT_EQ(samples.min_ns, ((kRanks - 1) * kSize * 80 + 2 * 2 * kUs) / 1000);
  EXPECT_EQ(samples.max_ns, samples.min_ns);
}

/// If all begin with rank 0, its port takes one message at a time.
TEST(Simulator, MessagesThatMeetAtAPortWaitForEachOther) {
  constexpr std::uint64_t kRanks = 5, kSize = 1 << 16;
  TestCase test_case = case_of("mesh", "incast:4", kRanks, kSize);
  test_case.iterations = 100;
  test_case.warmup = 0;
  const Outcome outcome = simulate(test_case, one_network(), kGoOn);
  EXPECT_EQ(outcome.bandwidth->messages, 400u);
  const double least_ns = 400.0 * kSize * 80 / 1000;
  EXPECT_GE(static_cast<double>(outcome.bandwidth->window_ns), least_ns);
  EXPECT_LE(static_cast<double>(outcome.bandwidth->window_ns), 1.02 * least_ns);
}

/// Each pair of a round has its two ports for itself, and a relay sends while it receives.
TEST(Simulator, AStreamOfAPairHasTheBandwidthOfItsPorts) {
  constexpr std::uint64_t kRanks = 5, kSize = 1 << 16;
  for (const char* graph : {"mesh", "ring"}) {
    TestCase test_case = case_of(graph, "pairs-bw", kRanks, kSize);
    test_case.iterations = 400;
    test_case.warmup = 3;
    const Outcome outcome = simulate(test_case, one_network(), kGoOn);
    const auto& topology = *outcome.topology;
    const double message_ns = kSize * 80 / 1000.0;
    for (std::size_t from = 0; from < kRanks; ++from)
      for (std::size_t to = 0; to < kRanks; ++to) {
        ASSERT_EQ(topology.matrix_ns[from][to].has_value(), from != to) << graph;
        if (from == to) continue;
        EXPECT_GE(*topology.matrix_ns[from][to], message_ns) << graph << from << to;
        EXPECT_LE(*topology.matrix_ns[from][to], 1.01 * message_ns) << graph << from << to;
      }
    EXPECT_EQ(outcome.bandwidth->messages, 400 * kRanks * (kRanks - 1));
    EXPECT_EQ(outcome.operations, outcome.bandwidth->messages);
    EXPECT_NEAR(static_cast<double>(outcome.bandwidth->bytes) * 8 /
                    static_cast<double>(outcome.bandwidth->window_ns),
                kSize * 8 / message_ns, 0.01 * kSize * 8 / message_ns);
  }
}

TEST(Simulator, RanksOfOneHostHaveAPathOfTheirOwn) {
  SimNetwork network = one_network();
  network.ranks_per_host = 2;
  network.path(SimKind::same_host) = {
      .delay_ps = kUs / 2, .relay_delay_ps = kUs / 2, .ps_per_byte = 8};
  const Outcome outcome = simulate(case_of("mesh", "pairs", 4, 1000), network, kGoOn);
  const auto& matrix = outcome.topology->matrix_ns;
  EXPECT_EQ(matrix[0][1], 508.0);
  EXPECT_EQ(matrix[3][2], 508.0);
  EXPECT_NEAR(*matrix[1][2], 2080, 0.001 * 2080);
  EXPECT_NEAR(*matrix[0][3], 2080, 0.001 * 2080);
}

TEST(Simulator, RanksOfDifferentNumaNodesHaveAPathOfTheirOwn) {
  SimNetwork network = read_network(
      "delay:2us,ranks-per-host:4,host-delay:400ns,host-rate:800Gb/s,numa-delay:700ns,"
      "numa-rate:400Gb/s");
  const TestCase test_case = case_of("mesh", "pairs", 5, 1000);
  const auto times = [&](Rank from) {
    const Outcome outcome = simulate(test_case, network, kGoOn);
    std::vector<double> row;
    for (const auto& ns : outcome.topology->matrix_ns[from]) row.push_back(ns.value_or(0));
    return row;
  };
  network.ranks_per_numa = 2;
  EXPECT_THAT(times(0), ElementsAre(0, 410, 720, 720, DoubleNear(2080, 2)));
  EXPECT_THAT(times(3), ElementsAre(720, 720, 410, 0, DoubleNear(2080, 2)));
  network.ranks_per_numa = 0;
  network.numa_in_turn = 2;
  EXPECT_THAT(times(0), ElementsAre(0, 720, 410, 720, DoubleNear(2080, 2)));
}

/// Rank 1 is on the host of rank 0; the bytes of ranks 2 and 3 alone share rank 0's network port.
TEST(Simulator, RanksOfOneHostHaveAPortOfTheirOwn) {
  SimNetwork network = one_network();
  network.ranks_per_host = 2;
  network.path(SimKind::same_host) = network.path(SimKind::other_host);
  TestCase test_case = case_of("mesh", "incast:3", 4, 1 << 16);
  test_case.iterations = 100;
  test_case.warmup = 0;
  const Outcome outcome = simulate(test_case, network, kGoOn);
  const double least_ns = 200.0 * (1 << 16) * 80 / 1000;
  EXPECT_GE(static_cast<double>(outcome.bandwidth->window_ns), least_ns);
  EXPECT_LE(static_cast<double>(outcome.bandwidth->window_ns), 1.02 * least_ns);
}

TEST(Simulator, EveryTrafficOfEveryGraphArrivesWhole) {
  for (const auto& [graph, ranks] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"mesh", 4}, {"ring", 5}, {"star", 4}, {"torus2d:2x3", 6}})
    for (const char* traffic : {"pairs", "pairs-bw", "token", "neighbours", "alltoall", "allgather",
                                "incast:2", "bisection", "flood", "random"}) {
      SCOPED_TRACE(graph + " " + traffic);
      TestCase test_case = case_of(graph, traffic, ranks, 24);
      test_case.verify = 1;
      test_case.queues.depth = 2;
      test_case.iterations = 40;
      ASSERT_THAT(why_not_simulated(test_case), IsEmpty());
      const Outcome outcome = simulate(test_case, one_network(), kGoOn);
      EXPECT_GT(outcome.extra.at("verified_bytes"), 0);
    }
}

TEST(Simulator, ComesToTheSameAgain) {
  const TestCase test_case = case_of("ring", "alltoall", 8, 512);
  const Outcome first = simulate(test_case, one_network(), kGoOn);
  const Outcome second = simulate(test_case, one_network(), kGoOn);
  EXPECT_EQ(first.elapsed_ns, second.elapsed_ns);
  EXPECT_EQ(first.latency->histogram.sum_ns, second.latency->histogram.sum_ns);
}

TEST(Simulator, SaysWhatItDoesNotKnow) {
  TestCase test_case = case_of("mesh", "flood", 4, 8);
  test_case.transport = Transport::uc;
  EXPECT_THAT(why_not_simulated(test_case), HasSubstr("RC"));
  test_case.transport = Transport::rc;
  test_case.rank_opcode = RankOpcode::write;
  EXPECT_THAT(why_not_simulated(test_case), HasSubstr("--opcode send"));
  EXPECT_THAT(why_not_simulated(case_of("mesh", "allreduce-ring", 4, 64)),
              HasSubstr("collectives"));
}

TEST(SimNetwork, IsReadFromWhatOneTypes) {
  const SimNetwork plain = read_network("delay:2us");
  EXPECT_EQ(plain.path(SimKind::other_host).delay_ps, 2 * kUs);
  EXPECT_EQ(plain.path(SimKind::other_host).relay_delay_ps, 2 * kUs);
  EXPECT_EQ(plain.path(SimKind::other_host).ps_per_byte, 80);
  EXPECT_EQ(plain.ranks_per_host, 1u);
  const SimNetwork hosts = read_network(
      "rate:400Gb/s,delay:2us,relay:2.5us,ranks-per-host:8,host-delay:400ns,host-relay:450ns,"
      "host-rate:800Gb/s");
  EXPECT_EQ(hosts.path(SimKind::other_host).relay_delay_ps, 2'500'000u);
  EXPECT_EQ(hosts.path(SimKind::other_host).ps_per_byte, 20);
  EXPECT_EQ(hosts.path(SimKind::same_host).delay_ps, 400'000u);
  EXPECT_EQ(hosts.path(SimKind::same_host).relay_delay_ps, 450'000u);
  EXPECT_EQ(hosts.path(SimKind::same_host).ps_per_byte, 10);
  EXPECT_EQ(hosts.kind(8, 15), SimKind::same_host);
  EXPECT_EQ(hosts.kind(7, 8), SimKind::other_host);
  EXPECT_EQ(hosts.path(SimKind::other_numa).relay_delay_ps, 450'000u);
}

TEST(SimNetwork, SaysWhatIsWrong) {
  for (const auto& [text, why] : std::map<std::string, std::string>{
           {"rate:100Gb/s", "delay is missing"},
           {"delay", "no value"},
           {"delay:2us,", "no value"},
           {"delay:2us,delay:3us", "twice"},
           {"delay:2s", "at most 1s"},
           {"delay:2us,rate:100", "of bits"},
           {"delay:2us,speed:3", "speed is not known"},
           {"delay:2us,ranks-per-host:0", "from 1 to"},
           {"delay:2us,ranks-per-numa:0", "from 1 to"},
           {"delay:2us,numa-relay:2s", "numa-relay is at most 1s"},
           {"delay:2us,ranks-per-numa:2,numa-in-turn:2", "exclude each other"}})
    try {
      read_network(text);
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
}

TEST(SimFabric, RanksThatWaitForWhatNeverComesAreAnError) {
  SimFabric fabric(one_network(), 2, false);
  const auto wait_at_one = [](Rank rank) {
    if (rank == 1) Fiber::wait();
  };
  EXPECT_THROW(fabric.run(wait_at_one, kGoOn), MeasurementError);
}

/// Its ranks end where they look next, so that what lives on their stacks is destroyed.
TEST(SimFabric, EndsAtOnceWhereItIsToStop) {
  SimFabric fabric(one_network(), 2, false);
  StopFlag stop;
  int ended = 0;
  const auto wait_for_stop = [&](Rank rank) {
    if (rank == 1) stop.request(StopReason::interrupted);
    while (!stop.requested()) Fiber::wait();
    ++ended;
  };
  EXPECT_THROW(fabric.run(wait_for_stop, stop), Interrupted);
  EXPECT_EQ(ended, 2);
}

}  // namespace
}  // namespace rdmameter
