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
  EXPECT_EQ(nlohmann::json(placement_from_wire({{"placement", kPlacement}})), kPlacement);
  nlohmann::json none = kPlacement;
  none["pinned"] = false;
  none["reason"] = "no node";
  none["cpus"] = none["numa_nodes"] = nlohmann::json::array();
  none["device_numa_node"] = none["device_cpus"] = nullptr;
  EXPECT_EQ(nlohmann::json(placement_from_wire({{"placement", none}})), none);
}

TEST(PlacementOnTheWire, IsRefusedWhereItIsNone) {
  EXPECT_THROW(placement_from_wire({{"cpus", 1}}), MeasurementError);
  const std::vector<std::pair<const char*, nlohmann::json>> wrong{
      {"pinned", 1},
      {"reason", 7},
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
    EXPECT_THROW(placement_from_wire({{"placement", placement}}), MeasurementError)
        << key << " " << value.dump().substr(0, 20);
    placement.erase(key);
    EXPECT_THROW(placement_from_wire({{"placement", placement}}), MeasurementError) << key;
  }
}

}  // namespace
}  // namespace rdmameter
