// SPDX-License-Identifier: Apache-2.0
// Whole reports against tests/reports/golden. RDMAMETER_REGENERATE_GOLDEN=1 writes them anew: then
// read the difference.
#include "reports/show.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "core/result/row_json.h"
#include "core/test_case/test_case.h"
#include "reports/export/format.h"
#include "reports/figures/figures.h"
#include "reports/summary/line_rate.h"
#include "reports/summary/summary.h"
#include "reports/text/histogram_text.h"
#include "reports/text/table.h"
#include "tests/reports/golden.h"
#include "tests/reports/samples.h"

namespace rdmameter {
namespace {

using ::testing::AllOf, ::testing::ContainsRegex, ::testing::ElementsAre, ::testing::HasSubstr,
    ::testing::Not;

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, text_width(line));
  return widest;
}

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

TEST(Show, WholeReport) {
  const std::string text = show_result(sample_file(sample_rows()), {.style = kPlain});
  expect_golden("whole.txt", text);
  EXPECT_LE(widest_line(text), 80U);
}

TEST(Show, WholeReportInAscii) {
  const std::string text = show_result(sample_file(sample_rows()), {.style = kAscii});
  expect_golden("whole_ascii.txt", text);
  EXPECT_TRUE(is_ascii(text));
  EXPECT_LE(widest_line(text), 80U);
}

/// As on machines of Arm.
TEST(Show, AMachineMayNotNameItsCpu) {
  ResultFile file = sample_file({latency_row("rc", 2, 0, 1)});
  for (const char* end : {"initiator", "responder"})
    file.context["rdmameter"][end]["cpu_model"] = nullptr;
  EXPECT_THAT(show_result(file, {.style = kPlain}), HasSubstr("driver rdma_rxe; 2 CPUs\n"));
}

TEST(Show, AsciiHasTheSameColumns) {
  std::istringstream utf8(show_result(sample_file(sample_rows()), {.style = kPlain}));
  std::istringstream ascii(show_result(sample_file(sample_rows()), {.style = kAscii}));
  std::string left, right;
  while (std::getline(utf8, left) && std::getline(ascii, right)) {
    EXPECT_EQ(text_width(left), right.size()) << left;
  }
}

TEST(Show, ManySizes) {
  std::vector<Row> rows;
  for (std::uint64_t size = 2; size <= 8U << 20; size *= 4) {
    rows.push_back(latency_row("rc", size, 0, 1, 1'000));
    rows.push_back(bandwidth_row(size, 0, 1));
  }
  std::reverse(rows.begin(), rows.end());  // random interleaving must not matter
  const std::string text = show_result(sample_file(rows), {.style = kPlain});
  expect_golden("many_sizes.txt", text);
  EXPECT_LE(widest_line(text), 80U);
}

TEST(Show, ColumnsThatDoNotFitGoOnBelow) {
  const TextStyle narrow{.width = 48};
  const std::string text =
      show_result(sample_file({latency_row("ud", 64, 0, 2), latency_row("ud", 128, 0, 2)}),
                  {.histogram = false, .style = narrow});
  expect_golden("narrow.txt", text);
  EXPECT_LE(widest_line(text), 48U);
}

TEST(Show, KeysThatLeaveNoRoomForANumberAreTitles) {
  std::vector<Row> rows;
  for (const std::uint64_t size : {64, 128})
    for (const char* wait : {"spin", "event"}) {
      Row row = latency_row("rc", size, 0, 1);
      for (const char* key : {"post_list", "outstanding_reads", "completion_moderation"})
        row.case_object[key] = 1000 * size;  // as wide as such numbers are
      row.case_object["wait"] = wait;
      rows.push_back(std::move(row));
    }
  for (const std::size_t width : {40U, 60U, 80U, 200U}) {
    const std::string text = show_result(
        sample_file(rows), {.histogram = false, .style = {.width = width, .utf8 = true}});
    EXPECT_LE(widest_line(text), width) << text;
    EXPECT_EQ(text.find("size 64 B") != text.npos, width < 80) << text;
  }
}

TEST(Show, NamesEveryAxisAndFlagInWords) {
  Row row = latency_row("rc", 64, 0, 1);
  for (const Axis& axis : axes()) row.case_object[std::string(axis.key)] = "some value";
  for (const char* flag : {"data_in_order", "peer_thread_domain"}) row.extra[flag] = true;
  const std::string text =
      show_result(sample_file({row}), {.all = true, .histogram = false, .style = {.width = 400}});
  for (const Axis& axis : axes()) {
    if (axis.key.find('_') == axis.key.npos) continue;
    EXPECT_EQ(text.find(fmt::format("{} some", axis.key)), text.npos) << text;
  }
  EXPECT_THAT(text, AllOf(HasSubstr("signal every some value"), HasSubstr("data in order"),
                          HasSubstr("peer thread domain")));
}

TEST(Show, HeadsRowsWithTheWayBetweenGpuAndAdapterAndOfSeveralSaysWhose) {
  Row one = latency_row("rc", 64, 0, 1), other = latency_row("rc", 128, 0, 1);
  const auto with_other = [&](const char* way) {
    one.extra["gpu_pcie_path"] = "switch";
    other.extra["gpu_pcie_path"] = way;
    return show_result(sample_file({one, other}), {.histogram = false, .style = {.width = 400}});
  };
  EXPECT_THAT(with_other("switch"),
              AllOf(HasSubstr("gpu pcie path switch"), Not(HasSubstr("of 2 rows"))));
  EXPECT_THAT(with_other("socket"), HasSubstr("gpu pcie path switch in 1 of 2 rows, "
                                              "gpu pcie path socket in 1 of 2 rows"));
}

TEST(Show, OneCaseWithAPercentileThatOneRepetitionLacks) {
  const std::string text =
      show_result(sample_file({latency_row("rc", 64, 0, 2, 2'000), latency_row("rc", 64, 1, 2, 500),
                               latency_row("rc", 2, 0, 1, 2'000)}),
                  {.histogram = false, .style = kPlain});
  expect_golden("few_samples.txt", text);
}

TEST(Show, LatencyOverTimeIsOfHalfRoundTripsLikeTheTableAboveIt) {
  std::vector<Row> rows = {latency_row("rc", 64, 0, 1)};
  rows[0].over_time = OverTimeData{.interval_ns = 500'000'000,
                                   .count = {2000, 2000},
                                   .p50_ns = {9'000.0, 9'100.0},
                                   .p99_ns = {12'000.0, 13'000.0},
                                   .max_ns = {15'000.0, 105'000'000.0},
                                   .lost = {}};
  EXPECT_THAT(
      show_result(sample_file(rows), {.histogram = false, .style = kPlain}),
      testing::ContainsRegex("2  0[.]500 +4[.]50  4[.]55 +6[.]00  6[.]50  52500[.]0 +1[.]00"));
}

TEST(Show, SidesOfOneCaseHaveALineEach) {
  std::vector<Row> rows{latency_row("rc", 64, 0, 1), latency_row("rc", 64, 0, 1)};
  rows[0].extra["side"] = "a";
  rows[1].extra["side"] = "b";
  const auto groups = group_rows(rows);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].cases.size(), 2U);
  EXPECT_EQ(groups[0].varying, std::vector<std::string>{"side"});
}

TEST(Show, ThreadsAndDirectionsHaveALineEach) {
  Row row = bandwidth_row(64, 0, 1);
  row.extra["per_thread"] = {{{"core", 0}, {"operations", 1000}, {"elapsed_ns", 500000}},
                             {{"core", 1}, {"operations", 3000}, {"elapsed_ns", 1000000}}};
  row.extra["directions"] = {{"forward", {{"messages", 4000}, {"window_ns", 800000}}},
                             {"backward", {{"messages", 5000}, {"window_ns", 1000000}}}};
  const std::string text = show_result(sample_file({row}), {.style = kPlain});
  for (const char* part : {"thread 0", "thread 1", "forward", "backward", "2.0000", "3.0000"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(show_result(sample_file({bandwidth_row(64, 0, 1)}), {.style = kPlain}).find("thread 0"),
            std::string::npos);
}

TEST(Show, PercentilesGoAsFarAsTheSamples) {
  const std::string text =
      show_result(sample_file({latency_row("rc", 2, 0, 2), latency_row("rc", 2, 1, 2)}),
                  {.percentiles = true, .histogram = false, .style = kPlain});
  expect_golden("percentiles.txt", text.substr(text.find("  percentile")));
  EXPECT_EQ(text.find("p99.99 "), std::string::npos) << "20000 samples: two lie beyond";
}

TEST(Show, LeavesAnInterruptedRepetitionOutBesideWholeOnesAndNamesIt) {
  std::vector<Row> rows{latency_row("rc", 64, 0, 2), latency_row("rc", 64, 1, 2)};
  rows[1].interrupted = true;
  const auto groups = group_rows(rows);
  ASSERT_EQ(groups.front().cases.front().repetitions.size(), 1U);
  EXPECT_EQ(groups.front().cases.front().repetitions.front(), &rows[0]);
  const std::string text = show_result(sample_file(rows), {.style = kPlain});
  EXPECT_NE(text.find("interrupted\n"), text.npos) << text;
  EXPECT_NE(text.find("(repetition 2 of 2, "), text.npos) << text;
  EXPECT_EQ(show_result(sample_file({rows[0]}), {.style = kPlain}).find("interrupted"), text.npos);
}

TEST(Show, TellsAnInterruptedRepetitionWhereThereIsNoOther) {
  std::vector<Row> rows{latency_row("rc", 64, 0, 1)};
  rows[0].interrupted = true;
  EXPECT_EQ(group_rows(rows).front().cases.front().repetitions.size(), 1U);
}

TEST(Show, NoRows) {
  const std::string text = show_result(sample_file({}), {.style = kPlain});
  EXPECT_NE(text.find("There are no rows."), text.npos);
}

TEST(Show, PlainMeansNoEscapeSequence) {
  const ResultFile file = sample_file(sample_rows());
  EXPECT_EQ(show_result(file, {.style = kPlain}).find('\x1b'), std::string::npos);
  EXPECT_NE(show_result(file, {.style = {.color = true}}).find('\x1b'), std::string::npos);
}

TEST(Show, AFilesTextCannotSteerTheTerminal) {
  Row row = error_row(64);
  row.message = "red \x1b[31m alert\nsecond \u202e line \x9b";
  row.name = "read_lat/\x1b]0;title\x07";
  ResultFile file = sample_file({row, latency_row("r\x1b[c", 2, 0, 1)});
  file.context["rdmameter"]["command"] = "\x1b[2J";
  for (const std::string& text : {show_result(file, {.style = kPlain}), to_csv({file})}) {
    EXPECT_EQ(text.find('\x1b'), text.npos) << text;
    EXPECT_EQ(text.find("\u202e"), text.npos) << text;
  }
  EXPECT_NE(show_result(file, {.style = kPlain}).find("red ?[31m alert?second ? line ?"),
            std::string::npos);
}

TEST(Show, OptionsChooseHistograms) {
  std::vector<Row> rows;
  for (const std::uint64_t size : {2, 4, 8, 16, 32}) rows.push_back(latency_row("rc", size, 0, 1));
  const auto drawn = [&](std::optional<bool> histogram) {
    return show_result(sample_file(rows), {.histogram = histogram, .style = kPlain}).find("█") !=
           std::string::npos;
  };
  EXPECT_FALSE(drawn(std::nullopt));  // five: too many
  EXPECT_TRUE(drawn(true));
  rows.pop_back();
  EXPECT_TRUE(drawn(std::nullopt));
  EXPECT_FALSE(drawn(false));
}

TEST(Show, LostPongsHaveAColumnOnlyWhereSomeWereLost) {
  Row row = latency_row("ud", 64, 0, 1);
  row.lost = 0;
  const ShowOptions options{.histogram = false, .style = kPlain};
  EXPECT_EQ(show_result(sample_file({row}), options).find("lost"), std::string::npos);
  row.lost = 3;
  EXPECT_NE(show_result(sample_file({row}), options).find("lost"), std::string::npos);
}

TEST(Show, AllLostIsATableOfDashes) {
  Row row = latency_row("ud", 64, 0, 1);
  row.latency->histogram = {};
  row.lost = 10'000;
  const std::string text = show_result(sample_file({row}), {.style = kPlain});
  EXPECT_NE(text.find("10000"), text.npos) << text;
  EXPECT_NE(text.find("no samples"), text.npos) << text;
  EXPECT_EQ(text.find("nan"), text.npos) << text;
}

TEST(Show, NanosecondsAreNotPrintedFinerThanTheyAreMeasured) {
  Row row = latency_row("rc", 64, 0, 1);
  row.latency->histogram = sample_histogram(10'000, 20, 1);
  std::string text = show_result(sample_file({row}), {.style = kPlain});
  EXPECT_NE(text.find("[ns]"), text.npos) << text;
  EXPECT_EQ(text.find("9.50 "), text.npos) << text;
  row.latency->histogram = sample_histogram(10'000, 400, 1);
  row.latency->half_round_trip = false;
  row.latency->histogram.min_ns = 20;
  text = show_result(sample_file({row}), {.style = kPlain});
  EXPECT_NE(text.find(" 0.020 "), text.npos) << text;
}

TEST(Show, ControlPathTestsHaveNoTransport) {
  Row row = latency_row("rc", 64, 0, 1);
  row.name = "create_ah/objects:4";
  row.case_object = {{"objects", 4}};
  row.latency->definition = LatencyData::Definition::call;
  row.latency->half_round_trip = false;
  const std::string text = show_result(sample_file({row}), {.style = kPlain});
  EXPECT_NE(text.find("create_ah: time of a call\n"), text.npos) << text;
  EXPECT_EQ(transport_of(row), "");
}

TEST(Show, AxesThatNobodyChoseAreNotListed) {
  Row row = bandwidth_row(64, 0, 1);
  row.case_object["gid_index"] = "auto";
  row.case_object["signal_every"] = 32;  // the default of bandwidths
  row.case_object["post_list"] = 4;
  TextStyle wide = kPlain;
  wide.width = 200;
  const std::string text = show_result(sample_file({row}), {.style = wide});
  EXPECT_EQ(text.find("auto"), text.npos) << text;
  EXPECT_EQ(text.find("signal every 32"), text.npos) << text;
  EXPECT_NE(text.find("post list 4"), text.npos) << text;
  const std::string all = show_result(sample_file({row}), {.all = true, .style = wide});
  EXPECT_EQ(all.find("auto"), all.npos) << all;
  EXPECT_NE(all.find("signal every 32"), all.npos) << all;
}

TEST(Show, ADefaultOfAnotherKindOfTestIsASetting) {
  Row row = latency_row("rc", 64, 0, 1);
  row.case_object["signal_every"] = 32;
  EXPECT_NE(show_result(sample_file({row}), {.style = kPlain}).find("signal every 32"),
            std::string::npos);
}

TEST(Show, WhatAllCasesHaveInCommonIsToldOnce) {
  const auto with_wait = [](Row row) {
    row.case_object["wait"] = "event";
    return row;
  };
  const std::string text = show_result(
      sample_file({with_wait(latency_row("rc", 64, 0, 1)), with_wait(latency_row("uc", 64, 0, 1)),
                   with_wait(bandwidth_row(64, 0, 1)), with_wait(bandwidth_row(128, 0, 1))}),
      {.style = kPlain});
  const std::size_t first = text.find("wait event");
  ASSERT_NE(first, text.npos) << text;
  EXPECT_EQ(text.find("wait event", first + 1), text.npos) << text;
  EXPECT_NE(text.find("\nsend_lat: half round trip\n"), text.npos) << text;
}

TEST(Show, ManySkippedCasesOfATestAreCounted) {
  std::vector<Row> rows;
  for (const std::uint64_t size : {8192, 16384, 32768}) {
    rows.push_back(latency_row("ud", size, 0, 1));
    rows.back().status = Row::Status::skipped;
    rows.back().message = "too large";
  }
  const std::string text = show_result(sample_file(rows), {.style = kPlain});
  EXPECT_NE(text.find("      send_lat/ud (3 cases)\n"), text.npos) << text;
  EXPECT_NE(show_result(sample_file(rows), {.all = true, .style = kPlain}).find("size:32768"),
            text.npos);
}

TEST(Show, WhatRowsWithoutAMeasurementHaveInCommonIsLeftOutOfTheirNames) {
  std::vector<Row> rows = {latency_row("rc", 2, 0, 1), latency_row("rc", 64, 0, 1)};
  for (Row& row : rows) {
    row.status = Row::Status::error;
    row.message = "the cable fell out";
  }
  rows[0].name = "send_lat/rc/size:2/mtu:4096/side:a";
  rows[1].name = "send_lat/rc/size:64/mtu:4096/side:b";
  EXPECT_THAT(show_result(sample_file(rows), {.style = kPlain}),
              HasSubstr("send_lat/rc/size:2/side:a, send_lat/rc/size:64/side:b"));
  EXPECT_THAT(show_result(sample_file(rows), {.all = true, .style = kPlain}),
              HasSubstr(rows[0].name));
  rows.resize(1);
  EXPECT_THAT(show_result(sample_file(rows), {.style = kPlain}), HasSubstr(rows[0].name));
}

TEST(Show, TooFewSamplesIsExplainedOnce) {
  std::vector<Row> rows;
  for (const char* test : {"send_lat", "read_lat"})
    for (const std::uint64_t samples : {2'000, 50}) {
      rows.push_back(latency_row("rc", samples, 0, 1, samples));
      rows.back().case_object["test"] = test;
    }
  const std::string text = show_result(sample_file(rows), {.style = kPlain});
  EXPECT_THAT(text, AllOf(HasSubstr("\nsend_lat over RC"), HasSubstr("\nread_lat over RC")));
  const std::size_t first = text.find("too few samples");
  ASSERT_NE(first, text.npos) << text;
  EXPECT_EQ(text.find("too few samples", first + 1), text.npos) << text;
}

TEST(Show, ANumberThatAnOlderResultDoesNotHaveIsNoQuestionOfSamples) {
  const std::vector<Row> rows = {latency_row("rc", 2, 0, 1), latency_row("rc", 64, 0, 1)};
  const auto known = [](const Row& row) {
    return row.case_object.at("size_bytes") == 64 ? std::optional(7.0) : std::nullopt;
  };
  const auto told = [&](std::string_view missing) {
    const Figures kind{.has = all_have<&Row::latency>,
                       .by_axes = true,
                       .columns = {median_column("retries", {"", 1}, 0, known, missing)}};
    return figures_text(kind, group_rows(rows).front(), kPlain);
  };
  EXPECT_THAT(told(""), HasSubstr("–: retries is not in the result."));
  EXPECT_THAT(told(kTooFewSamples), HasSubstr("–: too few samples."));
}

TEST(Show, MediansOfAKindByCaseHaveTheirRangeBeneathAsThoseByAxes) {
  const std::vector<Row> rows = {latency_row("rc", 2, 0, 2), latency_row("rc", 2, 1, 2)};
  const Figures kind{.has = all_have<&Row::latency>,
                     .columns = {median_column("place", {"", 1}, 1, [](const Row& row) {
                       return std::optional(1.0 + static_cast<double>(row.repetition));
                     })}};
  EXPECT_EQ(figures_text(kind, group_rows(rows).front(), kPlain),
            "  case         place\n"
            "  send_lat rc    1.5\n"
            "  ±              0.5\n"
            "  Medians of 2 repetitions; ± is half their range.\n");
}

TEST(Table, ALongOneLeavesOutWhatItCanWhereItIsTooWide) {
  Table table{.columns = {{.head = "test", .is_text = true},
                          {.head = "count", .optional = true},
                          {.head = "p50"},
                          {.head = "mean", .optional = true}},
              .key_columns = 1};
  for (int line = 0; line < 8; ++line) table.add_line({"send_lat", "1000", "1.25", "1.30"});
  TextStyle style = kPlain;
  style.width = 22;
  EXPECT_THAT(render(table, style), HasSubstr("  test       p50  mean\n"));
  EXPECT_THAT(render(table, style), HasSubstr("left out:"));
  EXPECT_THAT(render(table, style), HasSubstr("count."));
  table.columns[1].optional = table.columns[3].optional = false;
  EXPECT_THAT(render(table, style), AllOf(HasSubstr("count"), Not(HasSubstr("left out"))));
}

TEST(Show, InjectedIsSaid) {
  Row row = bandwidth_row(64, 0, 1);
  row.bandwidth->injected = true;
  EXPECT_NE(show_result(sample_file({row}), {.style = kPlain}).find("Injected ("),
            std::string::npos);
}

TEST(Show, PutsOneFileBelowTheOther) {
  const ResultFile file = sample_file({latency_row("rc", 2, 0, 1)});
  const std::string one = show_result(file, {.style = kPlain});
  EXPECT_EQ(show_files({file, file}, {.style = kPlain}), one + "\n\n" + one);
}

TEST(LineRate, IsThatOfTheSlowerEndAndIsNotKnownOfADeviceInSoftware) {
  const auto context = [](const char* driver, double rate_gbps) {
    const auto end = [driver](const char* host, double gbps) {
      return nlohmann::ordered_json{
          {"hostname", host},
          {"device", {{"name", "dev0"}, {"driver", driver}, {"rate_gbps", gbps}}}};
    };
    return nlohmann::ordered_json{
        {"rdmameter", {{"initiator", end("a", 100)}, {"responder", end("b", rate_gbps)}}}};
  };
  EXPECT_EQ(link_rate(context("mlx5_core", 25)).gbps, 25);
  EXPECT_EQ(link_rate(context("rdma_rxe", 25)).gbps, std::nullopt);
  Row both_ways;
  both_ways.name = "write_bw/rc";
  both_ways.case_object = {{"bidirectional", true}};
  EXPECT_EQ(line_rate_gbps({.gbps = 25.0}, both_ways), 50);
  both_ways.name = "tcp_bw";
  EXPECT_EQ(line_rate_gbps({.gbps = 25.0}, both_ways), std::nullopt);
}

TEST(LineRate, OfOneEndIsThatOfTheOtherWhereItIsNotKnown) {
  nlohmann::ordered_json context = sample_context();
  for (const char* end : {"initiator", "responder"})
    context["rdmameter"][end]["device"] = {{"name", end}, {"rate_gbps", nullptr}};
  EXPECT_EQ(link_rate(context).gbps, std::nullopt);
  context["rdmameter"]["responder"]["device"]["rate_gbps"] = 400.0;
  EXPECT_EQ(link_rate(context).gbps, 400);
}

TEST(LineRate, IsNotThatOfAnotherDeviceOrPort) {
  const LinkRate link{.gbps = 100.0, .ports = {{{"mlx5_0", 1}, {"mlx5_0", 1}}}};
  Row row;
  row.case_object = {{"device", "mlx5_0"}, {"port_num", 1}, {"peer_device", "mlx5_0"}};
  EXPECT_EQ(line_rate_gbps(link, row), 100);
  row.case_object["device"] = "mlx5_1";
  EXPECT_EQ(line_rate_gbps(link, row), std::nullopt);
  row.case_object["device"] = "mlx5_0";
  row.case_object["peer_port_num"] = 2;
  EXPECT_EQ(line_rate_gbps(link, row), std::nullopt);
}

TEST(LineRate, CarriesAMulticastOnceForAllReceivers) {
  Row row;
  row.name = "mcast_bw/ud";
  row.case_object = {{"test", "mcast_bw"}, {"peers", 4}};
  EXPECT_EQ(line_rate_gbps({.gbps = 100.0}, row), 400);
}

TEST(LineRate, OfWhichMessagesTookMoreIsDoubted) {
  const Row row = bandwidth_row(4096, 0, 1);
  const double reached = bandwidth_gbps(*row.bandwidth);
  EXPECT_TRUE(line_percent({.gbps = reached / 1.04}, row).has_value());
  EXPECT_EQ(line_doubt({.gbps = reached / 1.04}, row), "");
  EXPECT_EQ(line_percent({.gbps = reached / 1.06}, row), std::nullopt);
  EXPECT_NE(line_doubt({.gbps = reached / 1.06}, row).find("Messages were faster than"),
            std::string::npos);
  ResultFile file = sample_file({row});
  for (const char* end : {"initiator", "responder"})
    file.context["rdmameter"][end]["device"] = {{"name", end}, {"rate_gbps", reached / 2}};
  const std::string shown = show_result(file, {.style = kPlain});
  EXPECT_EQ(shown.find("of line"), std::string::npos) << shown;
  EXPECT_NE(shown.find("Messages were faster than"), std::string::npos) << shown;
}

TEST(Csv, HoldsEveryRow) {
  expect_golden("rows.csv", to_csv({sample_file(sample_rows())}));
}

/// Those that scripts have read by their place. More go behind them: add those here, at the end.
constexpr const char* kCsvColumns =
    "file,name,test,transport,status,message,repetition,repetitions,iterations,real_time_ns,"
    "cpu_time_ns,size_bytes,qps,depth,post_list,signal_every,inline_bytes,mtu_bytes,"
    "latency_definition,latency_count,latency_min_ns,latency_p50_ns,latency_p90_ns,"
    "latency_p99_ns,latency_p99.9_ns,latency_p99.99_ns,latency_max_ns,latency_mean_ns,"
    "latency_stddev_ns,half_round_trip_min_ns,half_round_trip_p50_ns,half_round_trip_p90_ns,"
    "half_round_trip_p99_ns,half_round_trip_p99.9_ns,half_round_trip_p99.99_ns,"
    "half_round_trip_max_ns,half_round_trip_mean_ns,half_round_trip_stddev_ns,lost,"
    "bandwidth_messages,bandwidth_bytes,bandwidth_window_ns,bandwidth_gbps,"
    "bandwidth_mib_per_s,bandwidth_mmsg_per_s,bandwidth_counted_by,bandwidth_injected,"
    "bandwidth_sent,bandwidth_received,bandwidth_lost,case,bandwidth_duplicated,"
    "bandwidth_reordered,bandwidth_short_window,interrupted,load_offered_per_s,"
    "load_reached_per_s,load_reached_share,load_backlog_max,load_unsent,load_service_p50_ns,"
    "load_service_p99_ns,load_lateness_p50_ns,load_lateness_p99_ns,load_saturated,"
    "sweep_saturation_per_s,sweep_slo_rate_per_s,sweep_unloaded_p99_ns,per_qp_qps,"
    "per_qp_jain,per_qp_slowest,collective_bytes,collective_steps,collective_step_bytes,"
    "collective_messages,collective_sent_bytes,collective_relayed_hops,"
    "collective_rank_min_ns,collective_rank_mean_ns,collective_rank_max_ns,"
    "collective_algbw_gb_per_s,collective_busbw_gb_per_s,barrier_ns,bandwidth_line_percent";

TEST(Csv, ColumnsKeepTheirPlaces) {
  EXPECT_THAT(to_csv({}), testing::StartsWith(kCsvColumns));
}

TEST(Csv, HeadDoesNotDependOnTheRows) {
  const std::string some = to_csv({sample_file({bandwidth_row(64, 0, 1)})});
  const std::string none = to_csv({});
  EXPECT_EQ(some.substr(0, some.find('\n') + 1), none);
}

TEST(Csv, QuotesAsRfc4180Says) {
  Row row = error_row(64);
  row.message = "a \"quote\", a comma";
  EXPECT_NE(to_csv({sample_file({row})}).find(",\"a \"\"quote\"\", a comma\","), std::string::npos);
}

/// The cells of a line that has no quotes, by the names in the head.
std::map<std::string, std::string> cells_of(const std::string& head, const std::string& line) {
  std::istringstream names(head), values(line);
  std::map<std::string, std::string> cells;
  for (std::string name; std::getline(names, name, ',');) std::getline(values, cells[name], ',');
  return cells;
}

TEST(Csv, OfARowWithEveryFieldNoColumnOfAFieldIsEmpty) {
  const ResultFile file = sample_file({every_field_row()});
  for (const std::string& text : {to_csv({file}), to_tidy_csv({file})}) {
    const auto lines =
        lines_of(std::regex_replace(text, std::regex("\"[{].*[}]\""), "{}"));  // `case`
    std::vector<std::string> empty;
    for (const auto& [head, cell] : cells_of(lines[0], lines[1]))
      if (cell.empty()) empty.push_back(head);
    EXPECT_THAT(empty, ElementsAre("bandwidth_line_percent", "message"));
  }
}

TEST(TidyCsv, HasALineForEachRowAndAColumnForEachAxisOfAnyCase) {
  const auto lines = lines_of(to_tidy_csv({sample_file(
      {latency_row("rc", 2, 0, 2), latency_row("rc", 2, 1, 2), bandwidth_row(64, 0, 1)})}));
  ASSERT_EQ(lines.size(), 4U);
  const auto latency = cells_of(lines[0], lines[2]), bandwidth = cells_of(lines[0], lines[3]);
  EXPECT_EQ(latency.at("transport"), "rc");
  EXPECT_EQ(latency.at("size_bytes"), "2");
  EXPECT_EQ(latency.at("repetition"), "1");
  EXPECT_EQ(latency.at("status"), "ok");
  EXPECT_EQ(latency.at("bandwidth_gbps"), "");
  EXPECT_EQ(bandwidth.at("size_bytes"), "64");
  EXPECT_NE(bandwidth.at("bandwidth_gbps"), "");
  for (const std::string& line : lines)
    EXPECT_EQ(std::ranges::count(line, ','), std::ranges::count(lines[0], ',')) << line;
}

TEST(TidyCsv, HasTheFiguresOfTheTestAndSaysWhatTheyAre) {
  const Row row = latency_row("rc", 2, 0, 1);
  const auto lines = lines_of(to_tidy_csv({sample_file({row})}));
  const auto cells = cells_of(lines[0], lines[1]);
  EXPECT_EQ(cells.at("latency"), "half_round_trip");
  EXPECT_DOUBLE_EQ(std::stod(cells.at("mean_ns")), summarize(row.latency->histogram, 2).mean);
}

TEST(Csv, BothFormsHaveTheLoadOfAnOpenLoopAsItsRowHasIt) {
  const Row row = open_loop_row(10'000, 8'000);
  const auto load = row_to_json(row).at("load");
  Row plain = row;  // `case` is quoted, and has commas
  plain.case_object = {{"rate", 10'000}};
  for (const std::string& text :
       {to_csv({sample_file({plain, latency_row("rc", 2, 0, 1)})}),
        to_tidy_csv({sample_file({plain, latency_row("rc", 2, 0, 1)})})}) {
    const auto lines = lines_of(text);
    const auto cells = cells_of(lines[0], lines[1]);
    EXPECT_EQ(cells.at("load_offered_per_s"), "10000.0");
    EXPECT_EQ(cells.at("load_reached_per_s"), "8000.0");
    EXPECT_EQ(cells.at("load_reached_share"), "0.8");
    EXPECT_EQ(cells.at("load_backlog_max"), "2001");
    EXPECT_EQ(cells.at("load_unsent"), "2000");
    EXPECT_EQ(cells.at("load_saturated"), "true");
    EXPECT_EQ(cells.at("load_service_p50_ns"), load["service"]["p50"].dump());
    EXPECT_EQ(cells.at("load_service_p99_ns"), load["service"]["p99"].dump());
    EXPECT_EQ(cells.at("load_lateness_p50_ns"), load["lateness"]["p50"].dump());
    EXPECT_EQ(cells.at("load_lateness_p99_ns"), load["lateness"]["p99"].dump());
  }
}

TEST(Show, ALoadHasATableOfItsOwnWithUnsentRequestsOnlyWhereThereWereSome) {
  const auto shown = [](std::uint64_t reached) {
    return show_result(sample_file({open_loop_row(1000, reached), open_loop_row(2000, 2000)}),
                       {.histogram = false, .style = kPlain});
  };
  const std::string saturated = shown(800), kept_up = shown(1000);
  for (const char* head : {"offered", "reached", "backlog", "service", "late", "msg/s"})
    EXPECT_THAT(kept_up, HasSubstr(head));
  EXPECT_THAT(kept_up, Not(HasSubstr("unsent")));
  EXPECT_THAT(saturated, HasSubstr("unsent"));
  EXPECT_THAT(saturated, HasSubstr("Saturated in 1 of 2 rows"));
}

Row sweep_that_found(const SweepData& found, bool interrupted = false) {
  Row row = open_loop_row(1000, 1000);
  row.latency.reset();
  row.load.reset();
  row.case_object["rate"] = "sweep";
  row.sweep = found;
  row.interrupted = interrupted;
  return row;
}

TEST(Show, ASweepThatFoundNothingSaysWhyInPlaceOfAnEmptyTable) {
  const auto shown = [](const std::vector<Row>& rows) {
    return show_result(sample_file(rows), {.histogram = false, .style = kPlain});
  };
  const std::string endless = shown({sweep_that_found({})});
  EXPECT_THAT(endless, HasSubstr("No saturation: the highest rate that was offered was still"));
  EXPECT_THAT(endless, Not(HasSubstr("saturation  ")));
  EXPECT_THAT(shown({sweep_that_found({}, true)}),
              HasSubstr("Not all was found: the sweep was interrupted."));
  const std::string few = shown({sweep_that_found({.saturation_per_s = 900})});
  EXPECT_THAT(few, HasSubstr("No p99 without load: too few requests; take --iterations 1000"));
  EXPECT_THAT(few, HasSubstr("900"));
}

TEST(Show, OfASweepThatFoundEverythingHasNoLineOfBlanks) {
  const Row row = sweep_that_found(
      {.saturation_per_s = 900, .unloaded_p99_ns = 2000, .slo_ns = 10'000, .slo_rate_per_s = 700});
  const std::string shown = show_result(sample_file({row}), {.histogram = false, .style = kPlain});
  EXPECT_THAT(shown, HasSubstr("700"));
  EXPECT_THAT(shown, Not(HasSubstr(" \n")));
}

TEST(Show, OfSeveralSweepsSaysHowManyFoundNothing) {
  Row other = sweep_that_found({.saturation_per_s = 900, .unloaded_p99_ns = 2000});
  other.name += "/qps:2";
  other.case_object["qps"] = 2;
  EXPECT_THAT(show_result(sample_file({sweep_that_found({}), other}),
                          {.histogram = false, .style = kPlain}),
              HasSubstr("No saturation in 1 of 2 sweeps: "));
}

TEST(Show, ARateHasAUnitUnlessItIsAWord) {
  EXPECT_THAT(show_result(sample_file({open_loop_row(1000, 800), open_loop_row(2000, 2000)}),
                          {.histogram = false, .style = kPlain}),
              ContainsRegex("rate +[^\n]*\n +\\[1/s\\]"));
}

TEST(Show, AMixHasALineForEachPartWithMediansOverRepetitions) {
  const std::string shown = show_result(sample_file({mix_load_row(0, 2), mix_load_row(1, 2)}),
                                        {.histogram = false, .style = kPlain});
  EXPECT_THAT(shown, HasSubstr("parts of the mix"));
  for (const auto& [part, offered] : {std::pair{"read 4096", "700"}, std::pair{"write 8", "300"}}) {
    const auto at = shown.find(part);
    ASSERT_NE(at, shown.npos) << shown;
    EXPECT_THAT(shown.substr(at, shown.find('\n', at) - at), HasSubstr(offered));
  }
  EXPECT_THAT(show_result(sample_file({open_loop_row(1000, 1000)}), {.style = kPlain}),
              Not(HasSubstr("of the mix")));
}

TEST(Show, APartOfAMixHasAPercentileOfAllRepetitionsOrNone) {
  Row few = mix_load_row(1, 2);
  few.load->mix[0].response.histogram = few.load->mix[0].service.histogram =
      sample_histogram(19, 13'000, 5);
  const auto dashes_of = [](const Row& second) {
    const std::string shown = show_result(sample_file({mix_load_row(0, 2), second}),
                                          {.histogram = false, .style = kPlain});
    const std::string line = shown.substr(shown.find("read 4096"));
    return std::ranges::count(line.substr(0, line.find('\n')), '\x93');  // of "–"
  };
  EXPECT_EQ(dashes_of(few), dashes_of(mix_load_row(1, 2)) + 2);  // two of p50
}

TEST(TidyCsv, HasColumnsForThePartsOfAMix) {
  const Row row = mix_load_row();
  const auto lines = lines_of(to_tidy_csv({sample_file({row, latency_row("rc", 2, 0, 1)})}));
  const auto cells = cells_of(lines[0], lines[1]);
  const auto write = row_to_json(row).at("load").at("mix").at(1);
  EXPECT_EQ(cells.at("load_mix_0_operation"), "read");
  EXPECT_EQ(cells.at("load_mix_1_size_bytes"), "8");
  EXPECT_EQ(cells.at("load_mix_1_service_p50_ns"), write["service"]["p50"].dump());
  EXPECT_EQ(cells_of(lines[0], lines[2]).at("load_mix_1_size_bytes"), "");
  EXPECT_THAT(to_csv({sample_file({row})}), Not(HasSubstr("load_mix")));
}

TEST(Show, LateSamplesAreToldByCauseWithTheTimeOfTheLongestStalls) {
  const std::string text =
      show_result(sample_file({blamed_row()}), {.histogram = false, .style = kPlain});
  EXPECT_THAT(text, HasSubstr("late samples by cause"));
  EXPECT_THAT(text, ContainsRegex("case +from +late +local +peer +path +undecided"));
  EXPECT_THAT(text, ContainsRegex("send_lat rc +20 +2 +1 +0 +0 +1\n"));
  EXPECT_THAT(text, HasSubstr("4990.0 µs at 2027-01-15T08:00:00.000000019Z (monotonic 0.0000"));
  EXPECT_THAT(show_result(sample_file({latency_row("rc", 64, 0, 1, 2100)}), {.style = kPlain}),
              Not(HasSubstr("late samples by cause")));
}

/// The bars' characters of a drawing: what stands right of the vertical axis.
std::string bars_of(const std::string& text) {
  std::istringstream lines(text);
  std::string bars;
  for (std::string line; std::getline(lines, line);)
    for (const char* axis : {"│", "┤"})
      if (const auto at = line.find(axis); at != line.npos) bars += line.substr(at + 3);
  return bars;
}

TEST(DrawHistogram, OneSampleInAMillionIsSeen) {
  HistogramData data{
      .count = 1'000'001, .sum_ns = 5'000'000'000 + 90'000, .min_ns = 5'000, .max_ns = 90'000};
  data.buckets = {{histogram_index(5'000), 1'000'000}, {histogram_index(90'000), 1}};
  const std::string bars = bars_of(draw_histogram(data, 1, kPlain));
  EXPECT_NE(bars.find("█"), bars.npos);
  EXPECT_NE(bars.find("▁"), bars.npos);
}

TEST(DrawHistogram, ExtremesOfWhatAFileMayHold) {
  const std::uint64_t max = (1ULL << 41) - 1;
  const HistogramData zeros{.count = 20, .buckets = {{0, 20}}};
  const HistogramData whole_range{
      .count = 2, .sum_ns = max, .min_ns = 0, .max_ns = max, .buckets = {{0, 1}, {32767, 1}}};
  const HistogramData overflow{
      .count = 1, .sum_ns = ~0ULL, .min_ns = ~0ULL, .max_ns = ~0ULL, .overflow = 1};
  HistogramData both = whole_range;
  both.count = 3;
  both.overflow = 1;
  both.max_ns = ~0ULL;
  for (const HistogramData& data : {zeros, whole_range, overflow, both, HistogramData{}})
    for (const std::size_t width : {0, 40, 80, 400}) {
      const std::string text = draw_histogram(data, 2, {.width = width});
      EXPECT_LE(widest_line(text), std::max<std::size_t>(width, 70)) << text;
      EXPECT_EQ(text.find("nan"), text.npos) << text;
      EXPECT_EQ(text.find("inf"), text.npos) << text;
    }
}

TEST(TerminalStyle, FollowsColumnsLocaleAndNoColor) {
  const char* names[] = {"COLUMNS", "LC_ALL", "NO_COLOR"};
  setenv("COLUMNS", "100", 1);
  setenv("LC_ALL", "C", 1);
  setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(terminal_style().width, 100U);
  EXPECT_FALSE(terminal_style().utf8);
  EXPECT_FALSE(terminal_style().color);
  setenv("LC_ALL", "en_US.UTF-8", 1);
  setenv("COLUMNS", "7", 1);
  EXPECT_TRUE(terminal_style().utf8);
  EXPECT_EQ(terminal_style().width, 40U);
  for (const char* name : names) unsetenv(name);
}

TEST(Show, EachDeviceHasALineWithItsRateAndItsShareOfItsBound) {
  TextStyle wide = kPlain;
  wide.width = 200;
  const std::string text =
      show_result(sample_file({per_device_row(0, 3), per_device_row(1, 3), per_device_row(2, 3)}),
                  {.style = wide});
  EXPECT_NE(text.find("devices, one by one"), text.npos) << text;
  EXPECT_NE(text.find("mlx5_0  mlx5_2   96.000  187.50           100.0          96.0"), text.npos)
      << text;
  EXPECT_NE(text.find("mlx5_1  mlx5_3   48.000   93.75            50.0"), text.npos) << text;
  EXPECT_EQ(text.find("of its slot"), text.npos) << text;
  EXPECT_THAT(text, HasSubstr("Less than 90 % of the fastest one's rate: mlx5_1."));
  Row shared = per_device_row();
  for (DeviceData& device : shared.per_device) {
    device.slot_bound_gbps = 160;
    device.slot_gbps = 144;
  }
  const std::string of_slot = show_result(sample_file({shared}), {.style = wide});
  EXPECT_NE(of_slot.find("of its slot"), of_slot.npos) << of_slot;
  EXPECT_NE(of_slot.find("50.0             –         90.0\n"), of_slot.npos) << of_slot;
  EXPECT_NE(of_slot.find("Of its slot: what all devices in the same PCIe slot had together."),
            of_slot.npos);
  Row offered = open_loop_row(1000, 1000);
  offered.per_device = shared.per_device;
  Row slow_link = shared;
  slow_link.per_device[1].bound_gbps = 50;
  shared.per_device[1].bytes = shared.per_device[0].bytes * 9 / 10;
  for (const Row& row : {shared, offered, slow_link})
    EXPECT_THAT(show_result(sample_file({row}), {.style = wide}), Not(HasSubstr("fastest one")));
}

TEST(TidyCsv, HasColumnsForEachDeviceOfACase) {
  const Row row = per_device_row();
  const auto lines = lines_of(to_tidy_csv({sample_file({row, latency_row("rc", 2, 0, 1)})}));
  const auto cells = cells_of(lines[0], lines[1]);
  const auto devices = row_to_json(row).at("per_device");
  for (const char* key : {"gbps", "mmsg_per_s", "bound_gbps", "bound_percent"})
    EXPECT_EQ(cells.at(std::string("per_device_0_") + key), devices[0][key].dump()) << key;
  EXPECT_EQ(cells.at("per_device_1_device"), "mlx5_1");
  EXPECT_EQ(cells.at("per_device_1_peer_device"), "mlx5_3");
  EXPECT_EQ(cells.at("per_device_1_bound_percent") + cells.at("per_device_1_slot_percent"), "");
  EXPECT_EQ(cells_of(lines[0], lines[2]).at("per_device_0_device"), "");
  EXPECT_THAT(to_csv({sample_file({row})}), Not(HasSubstr("per_device")));
}

TEST(Show, NamesSlowQpsWithTheirPortsIfTheyAreSlowInMostRepetitions) {
  TextStyle wide = kPlain;
  wide.width = 200;
  std::vector<Row> rows = {per_qp_row(0, 3), per_qp_row(1, 3), per_qp_row(2, 3)};
  rows[0].per_qp->slow = {};
  rows[1].per_qp->slow = {2, 0};
  const std::string text = show_result(sample_file(rows), {.style = wide});
  EXPECT_NE(text.find("QPs, one by one"), text.npos) << text;
  EXPECT_NE(text.find(" 2 (port 49155)\n"), text.npos) << text;
  rows[1].per_qp->slow = {0};
  rows[2].per_qp->udp_source_ports[0] = 50000;
  rows[2].per_qp->slow = {0};
  const std::string other = show_result(sample_file(rows), {.style = wide});
  EXPECT_EQ(other.find("(port"), other.npos) << other;
}

TEST(Show, SaysWhatEachAxisOfAnAblationIsWorth) {
  TextStyle wide = kPlain;
  wide.width = 200;
  ResultFile file = ablation_file();
  std::string text = show_result(file, {.style = wide});
  EXPECT_NE(text.find("write_bw/rc/iterations:1000: time per message, 3 of 3 repetitions"),
            text.npos)
      << text;
  EXPECT_NE(text.find("off → max"), text.npos) << text;
  EXPECT_NE(text.find("+312"), text.npos) << text;   // 300, and half of what both do
  EXPECT_NE(text.find("-27.5"), text.npos) << text;  // -40, the same
  EXPECT_NE(text.find("+25.0"), text.npos) << text;
  file.rows.pop_back();
  text = show_result(file, {.style = wide});
  EXPECT_NE(text.find("2 of 3 repetitions are whole"), text.npos) << text;
  file.rows.resize(3);
  text = show_result(file, {.style = wide});
  EXPECT_NE(text.find("no whole repetition of 1"), text.npos) << text;
}

TEST(Show, SaysWhichCasesOfRunUntilHaveNotReachedTheirGoal) {
  TextStyle wide = kPlain;
  wide.width = 200;
  const std::string text = show_result(sample_file({settled_row()}), {.style = wide});
  EXPECT_NE(text.find("Medians as well known as --until asks: of 0 of 1 cases."), text.npos)
      << text;
  EXPECT_NE(text.find("until p50 ±1 %, p99 ±5 %: not reached, the time is up (--budget) after 20"),
            text.npos)
      << text;
  EXPECT_NE(text.find("(±0.5 %, ±11 %)"), text.npos) << text;
}

}  // namespace
}  // namespace rdmameter
