// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "bench/running/lines/case_lines.h"

namespace rdmameter {
namespace {

using nlohmann::ordered_json;

ordered_json context_with(ordered_json initiator, ordered_json responder) {
  return {
      {"rdmameter", {{"initiator", std::move(initiator)}, {"responder", std::move(responder)}}}};
}

const ordered_json kDevice{{"name", "mlx5_0"},          {"port_num", 1},
                           {"link_layer", "Ethernet"},  {"rate_gbps", 100.0},
                           {"active_mtu_bytes", 4096},  {"gid_index", 3},
                           {"gid", "::ffff:192.0.2.1"}, {"gid_type", "roce_v2"},
                           {"numa_node", nullptr}};

TEST(RunHeader, NamesDeviceLinkMtuAndGidOfBothEnds) {
  const ordered_json end{{"hostname", "a"}, {"device", kDevice}};
  const std::string facts =
      "mlx5_0/1: Ethernet, 100.0 Gb/s, MTU 4096 B, GID 3 roce_v2 ::ffff:192.0.2.1\n";
  EXPECT_EQ(run_header(context_with(end, {{"hostname", "b"}, {"device", kDevice}}), {}, 200),
            "initiator  a " + facts + "responder  b " + facts);
  EXPECT_EQ(run_header(context_with(end, nullptr), {}, 40),
            "initiator  a mlx5_0/1: Ethernet, 100.0\n"
            "           Gb/s, MTU 4096 B, GID 3\n"
            "           roce_v2 ::ffff:192.0.2.1\n");
}

TEST(RunHeader, NamesEachOfSeveralHosts) {
  ordered_json context = context_with(nullptr, nullptr);
  context["rdmameter"]["responders"] = {{{"host", "b:1"}, {"hostname", "b"}, {"device", kDevice}},
                                        {{"host", "c"}}};
  EXPECT_EQ(run_header(context, {}, 200).substr(0, 27), "responder b:1  b mlx5_0/1: ");
}

TEST(RunHeader, IsEmptyWithoutADevice) {
  EXPECT_EQ(run_header(context_with({{"hostname", "a"}, {"device", nullptr}}, nullptr), {}, 80),
            "");
}

TEST(RunHeader, TellsWhatAllCasesHaveInCommonOnce) {
  EXPECT_EQ(run_header(context_with(nullptr, nullptr), {"size:64", "duration:1s"}, 80),
            "all cases  size:64, duration:1s\n");
}

TEST(RunSummary, CountsCasesAndSaysWhatToTypeNext) {
  EXPECT_EQ(run_summary({{.measured = 12, .skipped = 3, .failed = 1}, 4}, 65, "r.json", 100),
            "4 cases measured (12 repetitions), 3 skipped, 1 measurement failed in 1:05\n"
            "'rdmameter show r.json' prints tables\n");
  EXPECT_EQ(run_summary({{.measured = 1}, 1}, 1, "", 80), "1 case measured in 0:01\n");
  EXPECT_EQ(run_summary({{.measured = 1}, 1}, 1, "-", 80), "1 case measured in 0:01\n");
}

TEST(RunSummary, ListsTheReasonsOfSkippedCasesWhereThereAreSeveral) {
  const RunTally rows{.measured = 1, .skipped = 3};
  EXPECT_EQ(run_summary({rows, 1, {{"no UD", 3}}}, 1, "", 80),
            "1 case measured, 3 skipped in 0:01\n");
  EXPECT_EQ(run_summary({rows, 1, {{"no UD", 2}, {"too large for it", 1}}}, 1, "", 24),
            "1 case measured, 3\nskipped in 0:01\n"
            "  2 skipped: no UD\n"
            "  1 skipped: too large\n"
            "             for it\n");
}

}  // namespace
}  // namespace rdmameter
