// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/result/row_json.h"

namespace rdmameter {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// 1000 messages of 64 KiB in 10 ms: 6250 MiB/s.
Row bandwidth_row() {
  Row row;
  row.case_object = {{"size_bytes", 65536}};
  row.bandwidth = BandwidthData{.messages = 900,
                                .bytes = 900 * 65536,
                                .window_ns = 8'000'000,
                                .traffic_messages = 1000,
                                .traffic_ns = 10'000'000};
  return row;
}

/// Round trips of 2 us (99 of them) and of 8 us.
Row latency_row_of_100() {
  Histogram histogram;
  for (int i = 0; i < 99; ++i) histogram.record(2000);
  histogram.record(8000);
  Row row;
  row.case_object = {{"size_bytes", 2}};
  row.latency = LatencyData{.definition = LatencyData::Definition::round_trip,
                            .histogram = snapshot(histogram),
                            .half_round_trip = true};
  return row;
}

TEST(PerftestReport, HasPerftestsHeaderAndColumnsOfABandwidth) {
  const PerftestReport report;
  EXPECT_EQ(
      perftest_header(report),
      "---------------------------------------------------------------------------------------\n"
      " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n");
  EXPECT_EQ(perftest_row(report, perftest_numbers(bandwidth_row())),
            " 65536      1000             0.00               6250.00\t\t     0.100000\n");
}

TEST(PerftestReport, CountsGigabitsInThousandsAndSmallOnesWithSixDigits) {
  PerftestReport report{.gbits = true};
  EXPECT_THAT(perftest_header(report), HasSubstr("BW peak[Gb/sec]    BW average[Gb/sec]"));
  EXPECT_EQ(perftest_row(report, perftest_numbers(bandwidth_row())),
            " 65536      1000             0.00               52.43  \t\t     0.100000\n");
  Row slow = bandwidth_row();
  slow.bandwidth->traffic_ns = 10'000'000'000;
  EXPECT_EQ(perftest_row(report, perftest_numbers(slow)),
            " 65536      1000           0.000000            0.052429            0.000100\n");
}

TEST(PerftestReport, CountsTheIterationsOfOneDirectionAndTheRateOfBoth) {
  Row row = bandwidth_row();
  row.extra["directions"] = {{"forward",
                              {{"messages", 400},
                               {"window_ns", 7'000'000},
                               {"traffic_messages", 500},
                               {"traffic_ns", 10'000'000}}},
                             {"backward", {{"messages", 400}, {"window_ns", 10'000'000}}}};
  EXPECT_EQ(perftest_row({}, perftest_numbers(row)),
            " 65536      500              0.00               6250.00\t\t     0.100000\n");
  const std::string text = perftest_row({.both = true}, perftest_numbers(row));
  EXPECT_THAT(text, HasSubstr("\n Local results: \n"));
  EXPECT_THAT(text, HasSubstr(" 500              0.00               3125.00\t\t "));
  EXPECT_THAT(text, HasSubstr("\n Remote results: \n"));
  EXPECT_THAT(text, HasSubstr(" 400              0.00               2500.00\t\t "));
  const std::string there = perftest_row({.both = true, .server = true}, perftest_numbers(row));
  EXPECT_LT(there.find(" 400              0.00"), there.find("Remote results"));
  for (const bool server : {false, true}) {  // as the last table
    const PerftestReport last{.both = true, .server = server};
    const PerftestNumbers one = perftest_last(last, perftest_numbers(row));
    EXPECT_NEAR(perftest_bandwidth(last, one).average, server ? 3125 : 2500, 0.01);
    EXPECT_EQ(one.iterations, server ? 500 : 400);
  }
  row.case_object["iterations"] = 300U;  // -n: of each direction, too
  const std::string asked = perftest_row({.both = true}, perftest_numbers(row));
  EXPECT_THAT(asked, HasSubstr(" 300              0.00               3125.00\t\t "));
  EXPECT_THAT(asked, HasSubstr(" 300              0.00               2500.00\t\t "));
}

TEST(PerftestReport, HasTheIterationsThatWereAskedForUnlessTheUserEndedThem) {
  Row row = bandwidth_row();  // 1000 messages, with those that filled and emptied the queue
  row.case_object["iterations"] = 850U;
  EXPECT_EQ(perftest_numbers(row).iterations, 850U);
  EXPECT_EQ(perftest_numbers(row).traffic->messages, 1000U);
  row.interrupted = true;
  EXPECT_EQ(perftest_numbers(row).iterations, 1000U);
}

TEST(PerftestReport, HasPerftestsHeaderAndColumnsOfALatency) {
  const PerftestReport report{.table = PerftestReport::Table::latency};
  EXPECT_THAT(perftest_header(report),
              HasSubstr("\n #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    "
                        "t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% "
                        "percentile[usec] \n"));
  EXPECT_EQ(perftest_row(report, perftest_numbers(latency_row_of_100())),
            " 2       100          1.00           4.00         1.00     \t       1.03        \t"
            "0.30   \t\t1.00    \t\t4.00   \n");
}

TEST(PerftestReport, DoesNotHalveACompletionLatency) {
  Row row = latency_row_of_100();
  row.latency->half_round_trip = false;
  row.latency->definition = LatencyData::Definition::completion;
  EXPECT_THAT(perftest_row({.table = PerftestReport::Table::latency}, perftest_numbers(row)),
              StartsWith(" 2       100          2.00           8.00         2.00 "));
}

TEST(PerftestReport, OfALatencyByTimeHasItsAverageAndItsRate) {
  const PerftestReport report{.table = PerftestReport::Table::latency_duration};
  EXPECT_THAT(perftest_header(report),
              HasSubstr("\n #bytes        #iterations       t_avg[usec]    tps average\n"));
  EXPECT_EQ(perftest_row(report, perftest_numbers(latency_row_of_100())),
            " 2             100            1.03           485436.89\n");
}

TEST(PerftestReport, IsOneNumberWhereOneIsAskedFor) {
  PerftestReport report{.output = PerftestReport::Output::bandwidth};
  EXPECT_EQ(perftest_header(report) + perftest_footer(report), "");
  EXPECT_EQ(perftest_row(report, perftest_numbers(bandwidth_row())), "6250.000000\n");
  report.output = PerftestReport::Output::message_rate;
  EXPECT_EQ(perftest_row(report, perftest_numbers(bandwidth_row())), "0.100000\n");
  report = {.table = PerftestReport::Table::latency, .output = PerftestReport::Output::latency};
  EXPECT_EQ(perftest_row(report, perftest_numbers(latency_row_of_100())), "1.030000\n");
}

TEST(PerftestReport, HasPerftestsKeysForScriptsThatReadItsFile) {
  EXPECT_EQ(perftest_results_json({.gbits = true}, perftest_numbers(bandwidth_row())),
            "\"results\": {\n\"MsgSize\": 65536,\n\"n_iterations\": 1000,\n\"BW_peak\": 0.00,\n"
            "\"BW_average\": 52.43,\n\"MsgRate\": 0.100000\n}");
  EXPECT_EQ(perftest_results_json({.table = PerftestReport::Table::latency},
                                  perftest_numbers(latency_row_of_100())),
            "\"results\": {\n\"MsgSize\": 2,\n\"n_iterations\": 100,\n\"t_min\": 1.00,\n\"t_max\": "
            "4.00,\n"
            "\"t_typical\": 1.00,\n\"t_avg\": 1.03,\n\"t_stdev\": 0.30,\n"
            "\"percentile_99\": 1.00,\n\"percentile_99.9\": 4.00\n}");
  PerftestNumbers of_time = perftest_numbers(latency_row_of_100());
  of_time.cpu_percent = 12.5;
  EXPECT_EQ(perftest_results_json(
                {.table = PerftestReport::Table::latency_duration, .cpu_util = true}, of_time),
            "\"results\": {\n\"MsgSize\": 2,\n\"n_iterations\": 100,\n\"t_avg\": 1.03,\n"
            "\"tps_average\": 485436.89,\n\"CPU_util\": 12.50\n}");
}

TEST(PerftestReport, PrintsEverySample) {
  const std::string text = perftest_samples(*latency_row_of_100().latency);
  EXPECT_THAT(text, StartsWith("#, usec\n1, 1\n2, 1\n"));
  EXPECT_THAT(text, EndsWith("\n99, 1\n100, 4\n"));
}

TEST(PerftestReport, OfTheOtherEndIsThatOfItsRow) {
  Row both_ways = bandwidth_row();
  both_ways.extra["directions"] = {{"forward", {{"messages", 500}, {"window_ns", 10'000'000}}},
                                   {"backward", {{"messages", 400}, {"window_ns", 10'000'000}}}};
  for (const Row& row : {bandwidth_row(), both_ways, latency_row_of_100()}) {
    const Row told = row_from_json(nlohmann::json::parse(row_to_json(row).dump()), "the row");
    for (const PerftestReport& report :
         {PerftestReport{.gbits = true, .both = true},
          PerftestReport{.table = PerftestReport::Table::latency},
          PerftestReport{.table = PerftestReport::Table::latency_duration}}) {
      ASSERT_EQ(perftest_fits(report, perftest_numbers(told)),
                perftest_fits(report, perftest_numbers(row)));
      if (!perftest_fits(report, perftest_numbers(row))) continue;
      EXPECT_EQ(perftest_row(report, perftest_numbers(told)),
                perftest_row(report, perftest_numbers(row)));
    }
  }
}

TEST(PerftestReport, OfTheOtherEndNeedsARowThatItCanShow) {
  Row row = bandwidth_row();
  row.case_object["size_bytes"] = "two";
  EXPECT_THROW(perftest_numbers(row), UsageError);
  const nlohmann::ordered_json good{{"messages", 1}, {"window_ns", 1}};
  for (const nlohmann::ordered_json& bad :
       {nlohmann::ordered_json(5), nlohmann::ordered_json{{"messages", 1}},
        nlohmann::ordered_json{{"messages", -1}, {"window_ns", 1}},
        nlohmann::ordered_json{{"messages", 1}, {"window_ns", 1}, {"peak", 0}}})
    for (const bool forward : {true, false}) {
      row = bandwidth_row();
      row.extra["directions"] = {{"forward", forward ? bad : good},
                                 {"backward", forward ? good : bad}};
      EXPECT_THROW(perftest_numbers(row), UsageError) << bad.dump();
    }
}

TEST(PerftestReport, ShowsTheUseOfTheCpu) {
  const PerftestReport report{.cpu_util = true};
  EXPECT_THAT(perftest_header(report), HasSubstr("MsgRate[Mpps]    CPU_Util[%]\n"));
  PerftestNumbers numbers = perftest_numbers(bandwidth_row());
  numbers.cpu_percent = 12.345;
  EXPECT_THAT(perftest_row(report, numbers), HasSubstr("0.100000\t    12.35\n"));
}

}  // namespace
}  // namespace rdmameter
