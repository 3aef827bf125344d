// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "bench/doctor/examination_text.h"
#include "core/base/error.h"

namespace rdmameter {
namespace {

const Finding kGovernor{"governor", Weight::warning, "the frequency governor is powersave",
                        "cpupower frequency-set -g performance"};
const Finding kMemlock{"memlock", Weight::problem, "this process may lock 8 bytes",
                       "ulimit -l unlimited"};
const Finding kLoad{"load", Weight::warning, "the load is 3", "end other work"};

nlohmann::ordered_json examination_with(const std::vector<Finding>& findings) {
  return {{"findings", findings_json(findings)},
          {"unknown", {"pcie", "iommu"}},
          {"versions",
           {{"rdmameter", "1.0"},
            {"kernel", nullptr},
            {"libibverbs", "1.14"},
            {"devices", {{{"name", "mlx5_0"}, {"driver", "mlx5_core"}, {"firmware", nullptr}}}}}},
          {"ports", nlohmann::ordered_json::array()}};
}

TEST(DoctorText, NamesVersionsFindingsRemediesAndWhatIsNotKnown) {
  EXPECT_EQ(examination_text(examination_with({kMemlock, kGovernor}), 80),
            "rdmameter 1.0, not known, libibverbs 1.14\n"
            "mlx5_0: driver mlx5_core, its version not known, firmware not known\n"
            "problem: memlock: this process may lock 8 bytes\n"
            "  remedy: ulimit -l unlimited\n"
            "warning: governor: the frequency governor is powersave\n"
            "  remedy: cpupower frequency-set -g performance\n"
            "not known here: pcie, iommu\n");
}

TEST(DoctorText, SaysThatNothingWasFound) {
  EXPECT_NE(examination_text(examination_with({}), 80).find("nothing found"), std::string::npos);
}

TEST(DoctorText, FitsItsWidth) {
  std::istringstream lines(examination_text(examination_with({kMemlock, kGovernor}), 40));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 40U) << line;
}

TEST(DoctorText, TellsTheTwoWorstInOneLineAndHowManyMoreThereAre) {
  EXPECT_EQ(worst_findings_line({}), "");
  EXPECT_EQ(worst_findings_line({kLoad}),
            "warning: load: the load is 3 (remedies: rdmameter doctor)\n");
  EXPECT_EQ(worst_findings_line({kMemlock, kGovernor, kLoad}),
            "problem: memlock: this process may lock 8 bytes; warning: governor: the frequency "
            "governor is powersave; 1 more (remedies: rdmameter doctor)\n");
}

TEST(DoctorText, TellsNoRunThatTheKernelHasNoDevice) {
  EXPECT_EQ(worst_findings_line({{"device", Weight::problem, "the kernel has none", "load it"}}),
            "");
}

/// An end whose first active port is an Ethernet port, but for what `changes` says.
nlohmann::ordered_json end_with(const nlohmann::ordered_json& changes) {
  nlohmann::ordered_json port{{"name", "mlx5_0/1"},
                              {"link_layer", "Ethernet"},
                              {"rate", "100 Gb/sec (4X EDR)"},
                              {"netdev_mtu", 9000},
                              {"gid_types", {"IB/RoCE v1", "RoCE v2"}}};
  if (changes.is_object()) port.update(changes);  // {} is null
  nlohmann::ordered_json device{{"name", "mlx5_0"},
                                {"driver", "mlx5_core"},
                                {"driver_version", nullptr},
                                {"firmware", "22.35.1012"}};
  nlohmann::ordered_json other = {{"name", "mlx5_1"}, {"driver", "mlx5_core"}, {"firmware", "1"}};
  return {{"versions", {{"libibverbs", "1.14.44.0"}, {"devices", {other, device}}}},
          {"ports", nlohmann::ordered_json::array({port})}};
}

TEST(TwoEnds, ThatAreAlikeHaveNoFinding) {
  EXPECT_TRUE(compare_ends(end_with({}), end_with({})).empty());
}

TEST(TwoEnds, ThatDoNotKnowSomethingHaveNoFinding) {
  const auto unknown = end_with({{"link_layer", nullptr},
                                 {"rate", nullptr},
                                 {"netdev_mtu", nullptr},
                                 {"gid_types", nlohmann::ordered_json::array()}});
  EXPECT_TRUE(compare_ends(end_with({}), unknown).empty());
  EXPECT_TRUE(compare_ends(unknown, end_with({})).empty());
  EXPECT_TRUE(compare_ends(end_with({}), {{"ports", nlohmann::ordered_json::array()}}).empty());
}

TEST(TwoEnds, OfOtherVersionsHaveOneFindingThatNamesThem) {
  nlohmann::ordered_json peer = end_with({});
  peer["versions"]["libibverbs"] = "1.14.50.0";
  peer["versions"]["devices"][1]["firmware"] = "22.36.1010";
  std::vector<Finding> findings = compare_ends(end_with({}), peer);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].check, "versions_of_ends");
  EXPECT_EQ(findings[0].weight, Weight::warning);
  EXPECT_NE(findings[0].cause.find("libibverbs 1.14.44.0 here, 1.14.50.0 there; "
                                   "firmware 22.35.1012 here, 22.36.1010 there"),
            std::string::npos)
      << findings[0].cause;
  peer["versions"]["libibverbs"] = nullptr;  // not known there
  peer["versions"]["devices"][1]["driver"] = "bnxt_re";
  EXPECT_TRUE(compare_ends(end_with({}), peer).empty());
  peer["versions"]["devices"] = {{{"name", "mlx5_0"}}};  // nor its driver
  EXPECT_TRUE(compare_ends(end_with({}), peer).empty());
  peer["versions"]["devices"] = nlohmann::ordered_json::array();
  EXPECT_TRUE(compare_ends(end_with({}), peer).empty());
}

TEST(TwoEnds, HaveOneFindingOfEachDifference) {
  struct Difference {
    const char* check;
    Weight weight;
    nlohmann::ordered_json peer;
  };
  const std::vector<Difference> differences{
      {"mtu_of_ends", Weight::warning, {{"netdev_mtu", 1500}}},
      {"rate_of_ends", Weight::warning, {{"rate", "40 Gb/sec (4X QDR)"}}},
      {"gid_types_of_ends", Weight::problem, {{"gid_types", {"InfiniBand"}}}},
      {"link_layer_of_ends", Weight::problem, {{"link_layer", "InfiniBand"}, {"rate", "other"}}},
  };
  for (const Difference& difference : differences) {
    SCOPED_TRACE(difference.check);
    const std::vector<Finding> findings = compare_ends(end_with({}), end_with(difference.peer));
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].check, difference.check);
    EXPECT_EQ(findings[0].weight, difference.weight);
    EXPECT_FALSE(findings[0].remedy.empty());
  }
}

/// Each place in it that holds neither an object nor an array.
void add_leaves(const nlohmann::json& json, const nlohmann::json::json_pointer& at,
                std::vector<nlohmann::json::json_pointer>& leaves) {
  if (!json.is_structured()) return leaves.push_back(at);
  for (const auto& [key, value] : json.items())
    add_leaves(value, json.is_array() ? at / std::stoul(key) : at / key, leaves);
}

TEST(TwoEnds, OfWhichOneSaysAnythingElseAreRefusedOrCompared) {
  nlohmann::json whole = end_with({});
  whole.update({{"unknown", {"pcie"}}, {"findings", findings_json({kGovernor})}});
  whole["versions"].update({{"rdmameter", "1.0"}, {"kernel", "6.1"}});
  std::vector<nlohmann::json::json_pointer> leaves;
  add_leaves(whole, nlohmann::json::json_pointer(), leaves);
  ASSERT_GT(leaves.size(), 15U);
  const std::size_t own = leaves.size();
  for (std::size_t i = 0; i < own; ++i)  // and what they are within
    for (auto at = leaves[i].parent_pointer(); !at.empty(); at = at.parent_pointer())
      leaves.push_back(at);
  const auto look = [](const nlohmann::json& said) {
    try {
      const auto peer = checked_examination(said);
      examination_text(peer, 80);
      return compare_ends(end_with({}), peer).size() + compare_ends(peer, end_with({})).size();
    } catch (const MeasurementError& error) {
      EXPECT_EQ(std::string(error.what()).find("json.exception"), std::string::npos);
      return std::size_t{0};
    }
  };
  for (const auto& leaf : leaves) {
    SCOPED_TRACE(leaf.to_string());
    for (const nlohmann::json& other :
         {nlohmann::json(), nlohmann::json(-1), nlohmann::json(2.5), nlohmann::json(true),
          nlohmann::json("text"), nlohmann::json::array(), nlohmann::json::object()}) {
      nlohmann::json said = whole;
      said[leaf] = other;
      look(said);
    }
    nlohmann::json said = whole, &within = said[leaf.parent_pointer()];
    if (within.is_array())
      within.erase(within.begin());
    else
      within.erase(leaf.back());
    look(said);
  }
}

}  // namespace
}  // namespace rdmameter
