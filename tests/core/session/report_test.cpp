// SPDX-License-Identifier: Apache-2.0
// What a peer's report may hold.
#include "core/session/report.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace rdmameter {
namespace {

const nlohmann::json kPlacement = nlohmann::json::parse(R"({
    "pinned": true, "reason": null, "cpus": [4, 5], "numa_nodes": [1, 1],
    "device_numa_node": 1, "device_cpus": "4-7"})");

TEST(PlacementOnTheWire, ComesAsItWas) {
  EXPECT_EQ(nlohmann::json(placement_json(read_message<PlacementData>(kPlacement))), kPlacement);
  nlohmann::json none = kPlacement;
  none["pinned"] = false;
  none["reason"] = "no node";
  none["cpus"] = none["numa_nodes"] = nlohmann::json::array();
  none["device_numa_node"] = none["device_cpus"] = nullptr;
  EXPECT_EQ(nlohmann::json(placement_json(read_message<PlacementData>(none))), none);
}

TEST(PlacementOnTheWire, IsRefusedWhereItIsNone) {
  EXPECT_THROW(read_message<PlacementData>({{"cpus", 1}}), MeasurementError);
  const std::vector<std::pair<const char*, nlohmann::json>> wrong{
      {"pinned", 1},
      {"pinned", false},  // without a reason
      {"reason", 7},
      {"reason", ""},
      {"reason", "it is pinned"},
      {"reason", std::string(1025, 'x')},
      {"cpus", 4},
      {"cpus", {-1}},
      {"cpus", {"4"}},
      {"cpus", {1U << 20}},
      {"numa_nodes", std::vector<unsigned>(2049)},
      {"device_numa_node", "1"},
      {"device_cpus", 4}};
  for (const auto& [key, value] : wrong) {
    nlohmann::json placement = kPlacement;
    placement[key] = value;
    EXPECT_THROW(read_message<PlacementData>(placement), MeasurementError)
        << key << " " << value.dump().substr(0, 20);
    const bool may_lack =
        std::string_view(key) == "reason" || std::string_view(key).starts_with("device");
    if (may_lack) continue;
    placement.erase(key);
    EXPECT_THROW(read_message<PlacementData>(placement), MeasurementError) << key;
  }
}

nlohmann::json message_with_gaps() {
  nlohmann::json message =
      make_message("", Report{.operations = 3, .elapsed_ns = 4, .totals = {3}});
  message["gap_limit_ns"] = 200;
  message["gaps"] = {7, 5000, 3, 9, 600, 2};
  return message;
}

TestCase blamed() {
  TestCase test_case = default_case(Opcode::send, Pattern::ping_pong);
  test_case.blame = true;
  return test_case;
}

TEST(GapsOnTheWire, ComeAsTheyWere) {
  auto report = read_message<Report>(message_with_gaps());
  keep_what_the_case_has(report, blamed());
  const WatchData& watched = report.watched;
  EXPECT_EQ(watched.gap_limit_ns, 200U);
  ASSERT_EQ(watched.gaps.size(), 2U);
  EXPECT_EQ(watched.gaps[0].message, 7U);
  EXPECT_EQ(watched.gaps[0].length_ns, 5000U);
  EXPECT_TRUE(watched.gaps[0].found && watched.gaps[0].first);
  EXPECT_TRUE(watched.gaps[1].found && !watched.gaps[1].first);
}

TEST(GapsOnTheWire, AreRefusedWhereTheyAreNone) {
  for (const char* gaps : {"null", "[1]", "[1,2,-3]", "[1,2,3.5]", "[[1,2,3]]"}) {
    nlohmann::json wrong = message_with_gaps();
    wrong["gaps"] = nlohmann::json::parse(gaps);
    EXPECT_THROW(read_message<Report>(wrong), MeasurementError) << gaps;
  }
  nlohmann::json many = message_with_gaps();
  many["gaps"] = std::vector<unsigned>(3 * (kMaxPollGaps + 1));
  EXPECT_THROW(read_message<Report>(many), MeasurementError);
  many.erase("gaps");
  EXPECT_THROW(read_message<Report>(many), MeasurementError);
}

}  // namespace
}  // namespace rdmameter
