// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/result/row_fields.h"
#include "core/result/row_json.h"
#include "tests/reports/topology_samples.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

Row read_back(const Json& json) {
  return row_from_json(Json::parse(json.dump()), "test");
}

TEST(TopologyJson, EveryKindOfRowSurvivesThereAndBack) {
  for (const Row& row : topology_rows()) {
    const Json json = row_to_json(row);
    EXPECT_EQ(row_to_json(read_back(json)).dump(), json.dump());
  }
}

TEST(TopologyJson, WhatDoesNotApplyIsAbsentAndReadAsNothing) {
  const TopologyData data{.graph = "star", .traffic = "token", .schedule = "rounds", .ranks = 3};
  const Json json = write_fields(data);
  EXPECT_EQ(json,
            Json({{"graph", "star"}, {"traffic", "token"}, {"schedule", "rounds"}, {"ranks", 3}}));
  const TopologyData read = read_fields<TopologyData>(CheckedJson(json, "test"));
  EXPECT_TRUE(read.edges.empty());
  EXPECT_TRUE(read.matrix_ns.empty());
  EXPECT_EQ(read.hops, std::nullopt);
  EXPECT_EQ(read.qps_total, std::nullopt);
  EXPECT_EQ(read.jain, std::nullopt);
  EXPECT_FALSE(read.yielding);
  EXPECT_TRUE(read.extra.is_null());
}

TEST(TopologyJson, TheMatrixKeepsWhatWasNotMeasuredAsNull) {
  const Json json = row_to_json(pairs_row("ring", 4, 8, 0, 1))["topology"];
  EXPECT_EQ(json["matrix_ns"][2][2], nullptr);
  EXPECT_GT(json["matrix_ns"][0][2].get<double>(), json["matrix_ns"][0][1].get<double>());
  EXPECT_EQ(read_fields<TopologyData>(CheckedJson(json, "test")).matrix_ns[2][2], std::nullopt);
}

TEST(TopologyJson, ASummaryOfAMatrixSurvivesThereAndBack) {
  Json json = row_to_json(summarised_row(300, 0, 1));
  EXPECT_EQ(json["topology"]["matrix_summary"]["slowest"].size(), kMaxSlowestPairs);
  EXPECT_EQ(row_to_json(read_back(json)).dump(), json.dump());
  json["topology"]["matrix_summary"]["slowest"][3]["to"] = 300;
  EXPECT_THROW(read_back(json), UsageError);
}

TEST(TopologyJson, AStragglerHasTheRanksThatGoWithItsVerdict) {
  TopologyData data{.graph = "mesh", .traffic = "pairs", .schedule = "rounds", .ranks = 4};
  const auto read = [&data](const Straggler& straggler) {
    data.straggler = straggler;
    const Json json = write_fields(data);
    return write_fields(read_fields<TopologyData>(CheckedJson(json, "test"))) == json;
  };
  using enum Straggler::Verdict;
  EXPECT_TRUE(read({.verdict = none, .measured_again = 12}));
  EXPECT_TRUE(read({.verdict = node, .rank = 3, .factor = 2}));
  EXPECT_TRUE(read({.verdict = path, .rank = 0, .to = 3, .factor = 2}));
  EXPECT_TRUE(read({.verdict = direction, .rank = 3, .to = 0, .factor = 2}));
  EXPECT_TRUE(read({.verdict = unknown, .reason = "rank 2 on here: timeout"}));
  for (const Straggler& wrong :
       {Straggler{.verdict = none, .rank = 3}, Straggler{.verdict = node, .factor = 2},
        Straggler{.verdict = node, .rank = 3, .to = 1, .factor = 2},
        Straggler{.verdict = path, .rank = 3, .factor = 2},
        Straggler{.verdict = direction, .rank = 3, .to = 1},
        Straggler{.verdict = node, .rank = 4, .factor = 2}})
    EXPECT_THROW(read(wrong), UsageError);
}

TEST(TopologyJson, LeavesOutTheEdgesOfALargeGraphAndTheMatrixOfManyRanks) {
  TopologyData data{.graph = "mesh", .traffic = "pairs", .schedule = "rounds", .ranks = 257};
  for (std::uint32_t a = 0; a < 91; ++a)
    for (std::uint32_t b = 0; b < a; ++b) data.edges.emplace_back(a, b);
  EXPECT_EQ(write_fields(data)["edges"].size(), 91U * 45);  // 4095
  data.edges.emplace_back(91, 0);
  data.edges.emplace_back(91, 1);
  EXPECT_FALSE(write_fields(data).contains("edges"));
  data.matrix_ns.assign(257, std::vector<std::optional<double>>(257, 1));
  EXPECT_FALSE(write_fields(data).contains("matrix_ns"));
  data.ranks = 256;
  data.matrix_ns.assign(256, std::vector<std::optional<double>>(256, 1));
  EXPECT_EQ(write_fields(data)["matrix_ns"].size(), 256U);
}

TEST(TopologyJson, AMeanThatRoundingPutBeyondItsMaximumIsThatMaximum) {
  Json json = row_to_json(pairs_row("mesh", 4, 8, 0, 1));
  json["topology"]["hops"]["mean"] = 1.0000000000000044;
  EXPECT_EQ(read_back(json).topology->hops->mean, 1);
}

TEST(TopologyJson, KeepsKeysItDoesNotKnow) {
  Json json = row_to_json(pairs_row("ring", 4, 8, 0, 1));
  json["topology"]["inflated"] = 64;
  const Row row = read_back(json);
  EXPECT_EQ(row.topology->extra, Json({{"inflated", 64}}));
  EXPECT_EQ(row_to_json(row).dump(), json.dump());
}

TEST(TopologyJson, OurOwnMistakesAreTold) {
  Row row;
  TopologyData& data = row.topology.emplace();
  data.ranks = 3;
  data.extra = {{"ranks", 4}};
  EXPECT_THROW(row_to_json(row), std::logic_error);
  data.extra = nullptr;
  data.qps_per_rank = {1, 2};
  EXPECT_THROW(row_to_json(row), std::logic_error);
  data.qps_per_rank.clear();
  data.matrix_ns = {{1, 2, 3}, {1, 2}, {1, 2, 3}};
  EXPECT_THROW(row_to_json(row), std::logic_error);
}

/// A change that makes a good topology bad, and a piece of the reason it is refused with.
struct BadTopology {
  const char* pointer;
  const char* value;
  const char* reason;
};

void PrintTo(const BadTopology& bad, std::ostream* out) {
  *out << bad.pointer << " = " << bad.value;
}

class TopologyRefuses : public testing::TestWithParam<BadTopology> {};

TEST_P(TopologyRefuses, WithWhereAndWhy) {
  Json json = row_to_json(pairs_row("ring", 4, 8, 0, 1));
  json["topology"]["rank_gbps"] = {1, 2, 3, 4};
  json["topology"]["jain"] = 1;
  json["topology"]["model_share"] = 1.1;
  ASSERT_NO_THROW(row_from_json(json, "good"));
  json["topology"][Json::json_pointer(GetParam().pointer)] = Json::parse(GetParam().value);
  try {
    row_from_json(json, "some file: row 7");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()).find("some file: row 7: topology"), 0U) << error.what();
    EXPECT_NE(std::string(error.what()).find(GetParam().reason), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Topologies, TopologyRefuses,
    testing::Values(BadTopology{"", "7", "topology is not an object"},
                    BadTopology{"", "{}", "\"graph\" is missing"},
                    BadTopology{"/graph", "7", "graph is not a string"},
                    BadTopology{"/ranks", "0", "is 0, outside 1 to 1048576"},
                    BadTopology{"/ranks", "1048577", "outside 1 to 1048576"},
                    BadTopology{"/ranks", "-1", "is negative"},
                    BadTopology{"/ranks", "4.5", "is not a whole number"},
                    BadTopology{"/ranks", "3", "is 3, outside 0 to 2"},
                    BadTopology{"/edges", "{}", "edges is not an array"},
                    BadTopology{"/edges/0", "[0]", "is not a pair"},
                    BadTopology{"/edges/0", "[0, 4]", "is 4, outside 0 to 3"},
                    BadTopology{"/edges/0", "[2, 2]", "joins a rank with itself"},
                    BadTopology{"/hops/mean", "2.5", "is 2.5, greater than 2"},
                    BadTopology{"/hops/max", "null", "is not a whole number"},
                    BadTopology{"/qps_per_rank", "[2, 2, 2]",
                                "has 3 elements, one for each of 4 ranks"},
                    BadTopology{"/qps_per_rank/0", "4294967297", "outside 0 to 4294967296"},
                    BadTopology{"/qps_total", "9", "is not the sum of `qps_per_rank` (8)"},
                    BadTopology{"/setup_ns", "[1]", "setup_ns is not an object"},
                    BadTopology{"/setup_ns/connect", "-1", "connect is negative"},
                    BadTopology{"/connection_bytes/qps", "\"many\"", "is not the digits"},
                    BadTopology{"/kernel", "[1]", "kernel is not an object"},
                    BadTopology{"/kernel/qps", "-1", "qps is negative"},
                    BadTopology{"/barrier_ns", "-1", "barrier_ns is negative"},
                    BadTopology{"/barrier_ns", "\"1\"", "barrier_ns is not a number"},
                    BadTopology{"/matrix_ns/3", "[1, 2, 3]", "matrix_ns[3] has 3 elements"},
                    BadTopology{"/failed_pairs", R"([{"from": 0, "to": 99, "reason": "r"}])",
                                "failed_pairs[0] names a rank that is not there"},
                    BadTopology{"/matrix_ns/1/0", "-1", "matrix_ns[1][0] is negative"},
                    BadTopology{"/matrix_ns", "[]", "matrix_ns has 0 elements"},
                    BadTopology{"/by_hops/1/hops", "1", "is not greater than the one before it"},
                    BadTopology{"/by_hops/1/latency", "{}", "\"definition\" is missing"},
                    BadTopology{"/by_hops/0/latency/histogram/count", "1", "do not sum to `count`"},
                    BadTopology{"/rank_gbps", "[1]", "has 1 elements"},
                    BadTopology{"/rank_gbps/2", "-1", "rank_gbps[2] is negative"},
                    BadTopology{"/jain", "1.1", "is 1.1, greater than 1"},
                    BadTopology{"/model_share", "-0.1", "model_share is negative"},
                    BadTopology{"/yielding", "1", "is neither true nor false"}));

}  // namespace
}  // namespace rdmameter
