// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "reports/html/report.h"
#include "reports/show.h"
#include "reports/topology/connections.h"
#include "tests/reports/samples.h"

namespace rdmameter {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

void mark(Row& row, const std::string& kind, const std::string& opcode, std::uint64_t active) {
  row.name =
      fmt::format("{}/rc/over:{}/active:{}", row.name.substr(0, row.name.find('/')), kind, active);
  row.case_object["qps"] = active;
  row.extra["connections"] = {{"kind", kind},
                              {"opcode", opcode},
                              {"active", active},
                              {"memory_bytes", active << 20},
                              {"peer_memory_bytes", active << 19}};
}

Row rate_row(std::uint64_t active, double mmsg_per_s, std::uint64_t repetition = 0,
             const std::string& kind = "rc") {
  Row row = bandwidth_row(32, repetition, 2);
  row.bandwidth->messages = 1'000'000;
  row.bandwidth->bytes = 32'000'000;
  row.bandwidth->window_ns = static_cast<std::uint64_t>(1e9 / mmsg_per_s);
  mark(row, kind, "write", active);
  return row;
}

Row latency_of(std::uint64_t active) {
  Row row = latency_row("rc", 32, 0, 1);
  mark(row, "rc", "write", active);
  return row;
}

std::vector<Row> rows_with_knee() {
  std::vector<Row> rows;
  for (const std::uint64_t repetition : {0, 1})
    for (const auto& [active, rate] :
         {std::pair{1, 4.0}, {8, 10.0}, {64, 10.1}, {65, 8.0}, {128, 5.0}})
      rows.push_back(rate_row(static_cast<std::uint64_t>(active), rate, repetition));
  rows.push_back(latency_of(8));
  for (const std::uint64_t active : {1, 8, 128}) rows.push_back(rate_row(active, 6.0, 0, "ud"));
  return rows;
}

TEST(ConnectionCurves, HaveRatesLatenciesAndMemoryOfEachNumber) {
  const auto curves = connection_curves(rows_with_knee());
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_EQ(curves[0].kind, "rc");
  EXPECT_EQ(curves[0].knee.fast, 64U);
  EXPECT_EQ(curves[0].knee.slow, 65U);
  ASSERT_EQ(curves[0].points.size(), 5U);
  const ConnectionPoint& eight = curves[0].points.at(8);
  EXPECT_EQ(eight.mmsg_per_s.size(), 2U);
  EXPECT_NEAR(eight.mmsg_per_s.front(), 10.0, 1e-6);
  EXPECT_FALSE(eight.p50_ns.empty() || eight.p99_ns.empty());
  EXPECT_EQ(eight.memory_bytes, 8U << 20);
  EXPECT_TRUE(curves[0].points.at(1).p50_ns.empty());
  EXPECT_FALSE(curves[1].knee.found());
}

TEST(ConnectionCurves, LeaveOutWhatFailedAndWhatOthersMeasured) {
  Row failed = rate_row(8, 1);
  failed.status = Row::Status::error;
  Row interrupted = rate_row(8, 1);
  interrupted.interrupted = true;
  EXPECT_THAT(connection_curves(std::vector{failed, interrupted, bandwidth_row(32, 0, 1)}),
              IsEmpty());
}

TEST(ConnectionText, SaysTheKneeAndHasATable) {
  ResultFile file = sample_file(rows_with_knee());
  file.context["rdmameter"]["connections"]["limits"] = {
      {{"kind", "write, rc"}, {"active", 128U}, {"reason", "no more QPs"}}};
  const std::string text = connection_text(file, {.width = 80, .utf8 = true});
  EXPECT_THAT(text, HasSubstr("write, rc: knee between 64 and 65 connections"));
  EXPECT_THAT(text, HasSubstr("write, ud: knee none, up to 128 destinations."));
  EXPECT_THAT(text, HasSubstr("write, rc ends at 128: no more QPs."));
  EXPECT_THAT(text, HasSubstr("10.1"));
}

TEST(ConnectionText, IsEmptyForOtherResults) {
  EXPECT_EQ(connection_text(sample_file({bandwidth_row(32, 0, 1)}), {}), "");
}

TEST(ConnectionText, TakesThePlaceOfTheTableOfCasesUnlessAllIsAskedFor) {
  const ResultFile file = sample_file(rows_with_knee());
  const std::string text = show_result(file, {.style = {.width = 100, .utf8 = true}});
  EXPECT_THAT(text, AllOf(HasSubstr("active connections"), Not(HasSubstr("write_bw over RC"))));
  EXPECT_THAT(show_result(file, {.all = true, .style = {.width = 100, .utf8 = true}}),
              AllOf(HasSubstr("active connections"), HasSubstr("write_bw over RC")));
}

TEST(ConnectionSection, DrawsEachKindAndMarksTheKnee) {
  const std::array files{sample_file(rows_with_knee())};
  const std::string page = html_report(files, nullptr, {});
  EXPECT_THAT(page, AllOf(HasSubstr("<section id=connections"), HasSubstr("class=l0"),
                          HasSubstr("class=l1"), HasSubstr("<title>write, rc: knee between 64")));
  const std::array others{sample_file({bandwidth_row(32, 0, 1)})};
  EXPECT_THAT(html_report(others, nullptr, {}), Not(HasSubstr("id=connections")));
}

}  // namespace
}  // namespace rdmameter
