// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/rank_result.h"

#include <gtest/gtest.h>

#include <memory>

#include "core/base/error.h"
#include "topologies/axes/rank_axes.h"
#include "topologies/graphs/graph.h"
#include "topologies/ranks/lost_pairs.h"

namespace rdmameter {
namespace {

HistogramData samples(std::initializer_list<std::uint64_t> values) {
  const auto histogram = std::make_unique<Histogram>();
  for (const std::uint64_t value : values) histogram->record(value);
  return snapshot(*histogram);
}

TestCase pairs_of_two() {
  TestCase test_case = default_topology_case();
  test_case.graph = "ring";
  test_case.traffic = "pairs";
  test_case.ranks = 2;
  return test_case;
}

RankResult result_with(double median, HistogramData histogram) {
  RankResult rank_result;
  rank_result.matrix_row_ns = {0, 0};
  rank_result.samples.by_hops[1] = std::move(histogram);
  rank_result.setup_ns = {{"memory", 10}, {"wait", 20}};
  rank_result.connect_ns = {{"create_qp", 100}, {"modify_qp", 200}};
  rank_result.connection_bytes = {{"buffers", static_cast<std::uint64_t>(median)}};
  rank_result.kernel = {{"qps", rank_result.connection_bytes[0].second + 2}};
  rank_result.qps = 1;
  rank_result.barrier_qps = 1;
  rank_result.operations = 2;
  return rank_result;
}

TEST(RankResult, ComesBackFromTheWireAsItWas) {
  RankResult sent = result_with(3, samples({1, 5, 1ULL << 40, 1ULL << 45}));
  sent.sending_ns = 4;
  sent.yielding = true;
  sent.cpu = 7;
  sent.not_pinned = "too few";
  const RankResult got = read_message_text<RankResult>(message_text(sent));
  EXPECT_EQ(got.connect_ns, sent.connect_ns);
  EXPECT_EQ(got.setup_ns, sent.setup_ns);
  EXPECT_EQ(got.kernel, sent.kernel);
  EXPECT_EQ(got.matrix_row_ns, sent.matrix_row_ns);
  EXPECT_EQ(got.sending_ns, 4u);
  EXPECT_TRUE(got.yielding);
  EXPECT_EQ(got.cpu, 7u);
  EXPECT_EQ(got.numa_node, std::nullopt);
  EXPECT_EQ(got.not_pinned, "too few");
}

TEST(RankSamples, ComeBackFromTheWireAsTheyWere) {
  RankSamples sent{.barrier = samples({9, 9}), .exchanges = samples({7})};
  sent.by_hops[2] = samples({1, 5, 1ULL << 40, 1ULL << 45});
  sent.collective_ns = {3, 1};
  const RankSamples got = read_message_text<RankSamples>(message_text(sent));
  EXPECT_EQ(got.by_hops, sent.by_hops);
  EXPECT_EQ(got.exchanges, sent.exchanges);
  EXPECT_EQ(got.barrier, sent.barrier);
  EXPECT_EQ(got.collective_ns, sent.collective_ns);
  for (const char* text : {"", "[]", R"({"barrier": 1})"})
    EXPECT_THROW(read_message_text<RankSamples>(text), MeasurementError) << text;
}

TEST(RankSamples, OfManyRanksTakeNoMoreRoomThanOfFew) {
  RankSamples all;
  std::size_t of_two = 0;
  for (std::uint64_t rank = 0; rank < 256; ++rank) {
    const auto histogram = std::make_unique<Histogram>();
    for (std::uint64_t i = 0; i < 1000; ++i) histogram->record(1000 + (i * 7 + rank) % 1000);
    merge(all, {.barrier = snapshot(*histogram), .by_hops = {{1, snapshot(*histogram)}}});
    if (rank == 1) of_two = message_text(all).size();
  }
  EXPECT_EQ(all.by_hops.at(1).count, 256'000u);
  EXPECT_LT(message_text(all).size(), 2 * of_two);  // numbers have more digits
}

TEST(RankResult, AFailureIsAllThatIsSaid) {
  RankResult failed;
  failed.failure = "no \xff luck";
  EXPECT_NE(read_message_text<RankResult>(message_text(failed)).failure.find("luck"),
            std::string::npos);
}

TEST(RankResult, WhatIsNoResultIsRefused) {
  for (const char* text : {"", "{}", "[]", "{\"setup_ns\": 1}"})
    EXPECT_THROW(read_message_text<RankResult>(text), MeasurementError) << text;
}

/// Each leaf of a message left out, null and of another type: `read` takes it, or refuses it in
/// words.
template <class Read>
void expect_words_or_a_value(const std::string& wire, const Read& read) {
  const auto message = nlohmann::json::parse(wire), leaves = message.flatten();
  for (const auto& [path, leaf] : leaves.items()) {
    const nlohmann::json::json_pointer at(path);
    std::vector<nlohmann::json> changed(3, message);
    auto& parent = changed[0][at.parent_pointer()];
    if (parent.is_object())
      parent.erase(at.back());
    else if (parent.is_array())
      parent.erase(std::stoul(at.back()));
    changed[1][at] = nullptr;
    changed[2][at] = leaf.is_string() ? nlohmann::json(1) : nlohmann::json("x");
    for (const auto& one : changed) try {
        read(one.dump());
      } catch (const MeasurementError& error) {
        EXPECT_EQ(std::string_view(error.what()).find("json"), std::string_view::npos)
            << path << ": " << error.what();
      }
  }
}

TEST(RankResult, EachLeafLeftOutNullOrOfAnotherTypeIsAnErrorInWords) {
  RankResult sent = result_with(3, samples({1, 5}));
  sent.lost_pairs = {{}};
  sent.cpu = 7;
  sent.failure = "failed";
  expect_words_or_a_value(message_text(sent), read_message_text<RankResult>);
  sent.failure.clear();
  expect_words_or_a_value(message_text(sent), read_message_text<RankResult>);
  expect_words_or_a_value(message_text(sent.samples), read_message_text<RankSamples>);
  const RefusedEdges refused{{{.rank = 0, .peer = 1, .reason = "none", .barrier = false}}};
  expect_words_or_a_value(message_text(refused), read_message_text<RefusedEdges>);
}

TEST(RankResult, HistogramsOfRanksAddUpExactly) {
  const TestCase test_case = pairs_of_two();
  std::vector<RankResult> results{result_with(3, samples({10, 20})),
                                  result_with(5, samples({20, 4000}))};
  results[0].matrix_row_ns[1] = 15;
  results[1].setup_ns[1].second = 50;
  results[0].connect_ns[0].second = 150;
  results[0].relay_bytes = {{"buffers", 70}};  // most of it at another rank
  const Outcome outcome = merge_results(plan_topology(test_case), results);
  EXPECT_EQ(outcome.latency->histogram, samples({10, 20, 20, 4000}));
  EXPECT_TRUE(outcome.latency->half_round_trip);
  ASSERT_EQ(outcome.topology->by_hops.size(), 1u);
  EXPECT_EQ(outcome.topology->by_hops[0].latency.histogram, outcome.latency->histogram);
  EXPECT_EQ(outcome.topology->matrix_ns[0][1], 15);
  EXPECT_EQ(outcome.topology->matrix_ns[1][0], std::nullopt);
  EXPECT_EQ(outcome.topology->setup_ns, (NamedCounts{{"memory", 10}, {"wait", 50}}));
  EXPECT_EQ(outcome.topology->connect_ns, (NamedCounts{{"create_qp", 150}, {"modify_qp", 200}}));
  EXPECT_EQ(outcome.topology->connection_bytes, (NamedCounts{{"buffers", 5}}));
  EXPECT_EQ(outcome.topology->relay_bytes, (NamedCounts{{"buffers", 70}}));
  EXPECT_EQ(outcome.topology->kernel, (NamedCounts{{"qps", 7}}));  // of the rank with most, as well
  EXPECT_EQ(outcome.topology->qps_total, 2u);
  EXPECT_EQ(outcome.operations, 4u);
}

TEST(RankResult, TheCaseHasWhatHoldsOfAllRanks) {
  const TestCase asked = pairs_of_two();
  std::vector<RankResult> results(2);
  EXPECT_EQ(as_measured(asked, results).path.mtu_bytes, asked.path.mtu_bytes) << "none has told it";
  results[0].mtu_bytes = 1024;
  results[1].mtu_bytes = 4096;
  results[0].thread_domain = results[0].yielding = true;
  const TestCase measured = as_measured(asked, results);
  EXPECT_EQ(measured.path.mtu_bytes, 1024U);
  EXPECT_EQ(measured.queues.thread_domain, 0U);
  EXPECT_EQ(measured.registration.relaxed_ordering, 0U);
  EXPECT_EQ(measured.wait, asked.wait) << "of simulated ranks";
  results[1].thread_domain = true;
  EXPECT_EQ(as_measured(asked, results).queues.thread_domain, 1U);
}

TEST(RankResult, PlacementsAreToldByRank) {
  const TestCase test_case = pairs_of_two();
  std::vector<RankResult> results{result_with(3, samples({10})), result_with(5, samples({20}))};
  results[0].cpu = 4;
  results[0].numa_node = results[0].device_numa_node = 1;
  results[1].not_pinned = "no node";
  const Outcome outcome = merge_results(plan_topology(test_case), results);
  EXPECT_EQ(outcome.extra.at("placement").dump(),
            R"({"ranks":{"pinned":1,"reason":"no node","cpus":[4,null],"numa_nodes":[1,null],)"
            R"("device_numa_nodes":[1,null]}})");
}

TEST(RankResult, TheBytesOfAnExchangeAreThePayloadOfWhatArrived) {
  TestCase test_case = pairs_of_two();
  test_case.traffic = "alltoall";
  test_case.size_bytes = 1000;
  std::vector<RankResult> results(2);
  results[0].arrived = 3;
  results[1].arrived = 4;
  const Outcome outcome = merge_results(plan_topology(test_case), results);
  EXPECT_EQ(outcome.bandwidth->bytes, 7000u);
  EXPECT_EQ(outcome.latency->definition, LatencyData::Definition::exchange);
  EXPECT_FALSE(outcome.latency->half_round_trip);
}

TEST(RankResult, ASampleOfACollectiveIsTheTimeOfTheRankThatTookLongestForIt) {
  TestCase test_case = pairs_of_two();
  test_case.traffic = "allreduce-ring";
  test_case.size_bytes = 1000;
  std::vector<RankResult> results(2);
  results[0].samples.collective_ns = {10, 20, 30};
  results[1].samples.collective_ns = {15, 5, 40};
  for (RankResult& result : results) result.collective_mean_ns = 20;
  // Samples may have been merged on their way.
  merge(results[0].samples, read_message_text<RankSamples>(message_text(results[1].samples)));
  results[1] = read_message_text<RankResult>(message_text(results[1]));
  const Outcome outcome = merge_results(plan_topology(test_case), results);
  EXPECT_EQ(outcome.latency->definition, LatencyData::Definition::collective);
  EXPECT_EQ(outcome.latency->histogram.count, 3u);
  EXPECT_EQ(outcome.latency->histogram.sum_ns, 15u + 20 + 40);
  EXPECT_EQ(outcome.latency->histogram.min_ns, 15u);
  EXPECT_FALSE(outcome.bandwidth);
  const CollectiveData& data = *outcome.topology->collective;
  EXPECT_EQ(data.bytes, 1000u);
  EXPECT_DOUBLE_EQ(data.rank_min_ns, 20);
  EXPECT_DOUBLE_EQ(data.rank_mean_ns, 20);
  EXPECT_DOUBLE_EQ(*data.algbw_gb_per_s, 1000 / 25.0);  // bytes / mean of the samples
  EXPECT_DOUBLE_EQ(*data.busbw_gb_per_s, 1000 / 25.0);  // 2 (n - 1) / n of 2 ranks is 1
  EXPECT_EQ(data.sent_bytes, 2000u);
  EXPECT_EQ(data.steps, 2u);
  test_case.traffic = "barrier-dissemination";
  const Outcome barrier = merge_results(plan_topology(test_case), results);
  EXPECT_EQ(barrier.topology->collective->bytes, 0u);
  EXPECT_FALSE(barrier.topology->collective->algbw_gb_per_s);
}

TEST(Jain, IsOneForEqualsAndOneNthForOne) {
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{3, 3, 3}), 1);
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{3, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{}), 1);
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{1, 2, 3}), 36.0 / 42.0);
}

TEST(Jain, IsNeverBeyondOne) {
  for (std::size_t ranks = 1; ranks <= 100; ++ranks)
    for (const double share : {0.1, 1.9, 3.3, 26.7})
      EXPECT_LE(jain_index(std::vector<double>(ranks, share)), 1) << ranks << " of " << share;
}

/// A ring whose times are 1000 ns for each hop, and twice that from rank 7 to 20.
std::vector<RankResult> results_of_ring(Rank ranks) {
  std::vector<RankResult> results(ranks);
  for (Rank from = 0; from < ranks; ++from) {
    results[from].matrix_row_ns.resize(ranks);
    for (Rank to = 0; to < ranks; ++to)
      results[from].matrix_row_ns[to] = 1000.0 * around(from, to, ranks);
  }
  results[7].matrix_row_ns[20] *= 2;
  return results;
}

TEST(RankResult, AMatrixOfManyRanksIsSummarised) {
  TestCase test_case = pairs_of_two();
  test_case.ranks = 300;
  const Outcome outcome = merge_results(plan_topology(test_case), results_of_ring(300));
  EXPECT_TRUE(outcome.topology->matrix_ns.empty());
  ASSERT_TRUE(outcome.topology->matrix_summary);
  const MatrixSummary& summary = *outcome.topology->matrix_summary;
  EXPECT_EQ(summary.pairs, 300u * 299);
  // To 149 distances two ranks each, to the largest, 150, one.
  EXPECT_EQ(summary.min_ns, 1000);
  EXPECT_EQ(summary.p10_ns, 15000);
  EXPECT_EQ(summary.p50_ns, 75000);
  EXPECT_EQ(summary.p99_ns, 149000);
  EXPECT_EQ(summary.max_ns, 150000);
  ASSERT_EQ(summary.slowest.size(), kMaxSlowestPairs);
  EXPECT_EQ(summary.slowest[0].from, 7u);
  EXPECT_EQ(summary.slowest[0].to, 20u);
  EXPECT_EQ(summary.slowest[0].hops, 13u);
  EXPECT_EQ(summary.slowest[0].ns, 26000);
  EXPECT_EQ(summary.slowest[0].of_median, 2);
  for (std::size_t i = 1; i < kMaxSlowestPairs; ++i) EXPECT_EQ(summary.slowest[i].of_median, 1);
}

TEST(RankResult, AMatrixOfFewRanksIsKept) {
  TestCase test_case = pairs_of_two();
  test_case.ranks = 32;
  const Outcome outcome = merge_results(plan_topology(test_case), results_of_ring(32));
  EXPECT_EQ(outcome.topology->matrix_ns.size(), 32u);
  EXPECT_FALSE(outcome.topology->matrix_summary);
}

}  // namespace
}  // namespace rdmameter
