// SPDX-License-Identifier: Apache-2.0
// The formats of other tools. What HdrHistogram makes of ours is in hdr_histogram_test.mjs.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "reports/export/format.h"
#include "reports/summary/facts.h"
#include "reports/summary/summary.h"
#include "tests/reports/samples.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

std::string exported(std::string_view format, const ResultFile& file) {
  return export_results(export_format(format), std::span(&file, 1));
}

const Json& entry(const Json& list, const std::string& name) {
  for (const Json& candidate : list)
    if (candidate["name"] == name) return candidate;
  throw std::out_of_range(name);
}

TEST(Quantity, IsTheMedianOverRepetitionsWithItsExtremes) {
  const std::vector<Row> rows = {bandwidth_row(64, 0, 3), bandwidth_row(64, 2, 3),
                                 bandwidth_row(64, 1, 3)};
  const auto cases = case_numbers(rows);
  ASSERT_EQ(cases.size(), 1U);
  const CaseNumber* gbps = cases[0].find("gbps");
  ASSERT_NE(gbps, nullptr);
  EXPECT_DOUBLE_EQ(gbps->max, 8.0 * 64 / (1521 + 0));
  EXPECT_DOUBLE_EQ(gbps->median, 8.0 * 64 / (1521 + 31));
  EXPECT_DOUBLE_EQ(gbps->min, 8.0 * 64 / (1521 + 62));
  EXPECT_EQ(cases[0].find("p50_ns"), nullptr);
}

TEST(Quantity, IsAbsentWhereOneRepetitionHasTooFewSamples) {
  const std::vector<Row> rows = {latency_row("rc", 2, 0, 2, 2'000),
                                 latency_row("rc", 2, 1, 2, 500)};
  const auto cases = case_numbers(rows);
  EXPECT_NE(cases[0].find("p90_ns"), nullptr);
  EXPECT_EQ(cases[0].find("p99_ns"), nullptr);
}

TEST(Quantity, CasesOfOneNameAreToldApart) {
  std::vector<Row> rows = {latency_row("rc", 2, 0, 1), latency_row("rc", 2, 0, 1)};
  rows[1].case_object["mtu_bytes"] = 1024;
  const auto cases = case_numbers(rows);
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_NE(cases[0].name, cases[1].name);
}

TEST(Quantity, SidesOfOneMeasuringRunAreToldApart) {
  std::vector<Row> rows = {bandwidth_row(64, 0, 2), bandwidth_row(64, 1, 2)};
  rows[0].extra["side"] = "b";
  rows[1].extra["side"] = "a";
  const auto cases = case_numbers(rows);
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[0].name, "write_bw/rc/size:64 a");
  EXPECT_EQ(cases[1].name, "write_bw/rc/size:64 b");
}

TEST(Export, UnknownFormatNamesThoseThereAre) {
  try {
    export_format("prometheus");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("openmetrics, github-smaller"), std::string::npos);
  }
}

TEST(Export, OneResultAtATimeWhereTheFormatDescribesOne) {
  const std::vector<ResultFile> two = {sample_file(sample_rows()), sample_file(sample_rows())};
  EXPECT_THROW(export_results(export_format("bmf"), two), UsageError);
  EXPECT_NO_THROW(export_results(export_format("otava"), two));
}

TEST(Export, EveryFormatTakesAResultOfEveryKindOfRow) {
  for (const ExportFormat& format : export_formats()) {
    if (format.name == "hgrm") continue;  // of one case
    EXPECT_FALSE(exported(format.name, sample_file(sample_rows())).empty()) << format.name;
  }
}

TEST(GithubBenchmark, DirectionsAreFilesOfTheirOwn) {
  const Json smaller = Json::parse(exported("github-smaller", sample_file(sample_rows())));
  const Json bigger = Json::parse(exported("github-bigger", sample_file(sample_rows())));
  const Json p50 = entry(smaller, "send_lat/rc/size:2 p50");
  EXPECT_EQ(p50["unit"], "ns");
  EXPECT_NEAR(p50["value"].get<double>(), 4320, 10);
  EXPECT_TRUE(p50["range"].get<std::string>().starts_with("± "));
  EXPECT_NEAR(entry(bigger, "write_bw/rc/size:65536 bandwidth")["value"].get<double>(), 22.443,
              0.001);
  for (const Json& one : smaller) EXPECT_EQ(one["unit"], "ns");
  for (const Json& one : bigger) EXPECT_NE(one["unit"], "ns");
}

TEST(Bmf, UsesBenchersOwnMeasuresInItsUnits) {
  const Json json = Json::parse(exported("bmf", sample_file(sample_rows())));
  const Json& latency = json["send_lat/rc/size:2"]["latency"];
  EXPECT_NEAR(latency["value"].get<double>(), 4320, 10);
  EXPECT_LE(latency["lower_value"], latency["value"]);
  EXPECT_GE(latency["upper_value"], latency["value"]);
  EXPECT_TRUE(json["send_lat/rc/size:2"].contains("latency-p99-9"));
  EXPECT_NEAR(json["write_bw/rc/size:64"]["throughput"]["value"].get<double>(), 650.9e3, 100);
  EXPECT_FALSE(json["send_lat/ud/size:64"]["latency"].contains("lower_value")) << "one repetition";
}

TEST(Bmf, NamesWhatIsNoLatencyByItsUnit) {
  Row row = latency_row("rc", 2, 0, 1);
  row.sweep = SweepData{.saturation_per_s = 9e4, .unloaded_p99_ns = 7e3, .slo_rate_per_s = 8e4};
  const Json entry = Json::parse(exported("bmf", sample_file({row})))[row.name];
  EXPECT_EQ(entry["saturation-per-s"]["value"], 9e4);
  EXPECT_EQ(entry["slo-rate-per-s"]["value"], 8e4);
  EXPECT_EQ(entry["unloaded-p99-ns"]["value"], 7e3);
}

TEST(OpenMetrics, HasEachFamilyOnceAndEndsWithEof) {
  const auto lines = lines_of(exported("openmetrics", sample_file(sample_rows())));
  EXPECT_EQ(lines.back(), "# EOF");
  std::vector<std::string> families;
  for (const std::string& line : lines)
    if (line.starts_with("# TYPE ")) families.push_back(line.substr(7, line.rfind(' ') - 7));
  for (const std::string& family : families)
    EXPECT_EQ(std::count(families.begin(), families.end(), family), 1) << family;
  // Samples follow their family's head.
  std::string current;
  for (const std::string& line : lines) {
    if (line.starts_with("# TYPE ")) current = line.substr(7, line.rfind(' ') - 7);
    if (!line.starts_with('#')) {
      EXPECT_TRUE(line.starts_with(current)) << line;
    }
  }
}

TEST(OpenMetrics, ValuesAreInBaseUnits) {
  const std::string text = exported("openmetrics", sample_file({bandwidth_row(64, 0, 1)}));
  EXPECT_NE(text.find("rdmameter_bandwidth_bits_per_second{case=\"write_bw/rc/size:64\","
                      "test=\"write_bw\",transport=\"rc\",size=\"64\"} 336620644."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("rdmameter_result_timestamp_seconds{host=\"alpha\"} 1704164645"),
            std::string::npos)
      << text;
}

TEST(OpenMetrics, EscapesLabels) {
  Row row = bandwidth_row(64, 0, 1);
  row.name = "write_bw/rc/a\"b\\c\nd";
  EXPECT_NE(
      exported("openmetrics", sample_file({row})).find("case=\"write_bw/rc/a\\\"b\\\\c\\nd\""),
      std::string::npos);
}

TEST(OpenMetrics, HasNothingThatATerminalObeys) {
  Row row = bandwidth_row(64, 0, 1);
  row.case_object["test"] = "z\x1b[2J\u009b\u202e\a";
  ResultFile file = sample_file({row});
  file.context["host_name"] = "\x1b[2J\u202e";
  const std::string text = exported("openmetrics", file);
  for (const char* bad : {"\x1b", "\u009b", "\u202e", "\a"})
    EXPECT_EQ(text.find(bad), std::string::npos) << text;
}

TEST(Otava, HasALineForEachResultInOrderOfTime) {
  std::vector<ResultFile> files = {sample_file({bandwidth_row(64, 0, 1)}),
                                   sample_file({bandwidth_row(128, 0, 1)})};
  files[0].context["date"] = "2024-01-03T03:04:05+00:00";
  files[0].context["commit"] = "a,b\"c";
  const auto lines = lines_of(export_results(export_format("otava"), files));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0],
            "time,commit,write_bw/rc/size_64.gbps,write_bw/rc/size_64.mmsg_per_s,"
            "write_bw/rc/size_128.gbps,write_bw/rc/size_128.mmsg_per_s");
  EXPECT_TRUE(lines[1].starts_with("2024-01-02T03:04:05+00:00,,,,0.")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with("2024-01-03T03:04:05+00:00,abc,0.")) << lines[2];
  EXPECT_TRUE(lines[2].ends_with(",,")) << lines[2];
}

TEST(Otava, NeedsADate) {
  ResultFile file = sample_file({bandwidth_row(64, 0, 1)});
  file.context["date"] = "yesterday";
  EXPECT_THROW(exported("otava", file), UsageError);
}

TEST(Hgrm, HasHalfRoundTripsAndTheirUnit) {
  const std::string table = exported("hgrm", sample_file({latency_row("rc", 2, 0, 1)}));
  EXPECT_TRUE(table.ends_with("\n#[Values in µs, half round trip]\n")) << table;
}

TEST(Hgrm, ARepetitionWithoutSamplesDoesNotSayWhatTheOthersAre) {
  Row without = latency_row("rc", 2, 0, 2);
  without.latency.reset();
  const Row with = latency_row("rc", 2, 1, 2);
  EXPECT_EQ(exported("hgrm", sample_file({without, with})), exported("hgrm", sample_file({with})));
}

TEST(Hgrm, IsOfOneCase) {
  try {
    exported("hgrm", sample_file(sample_rows()));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("--case NAME among:\n  send_lat/rc/size:2\n"),
              std::string::npos);
  }
  EXPECT_THROW(exported("hgrm", sample_file({bandwidth_row(64, 0, 1)})), UsageError);
}

TEST(HdrLog, TagsHoldNoSeparator) {
  Row row = latency_row("rc", 2, 0, 1);
  row.name = "send_lat/rc, odd";
  const auto lines = lines_of(exported("hdr-log", sample_file({row})));
  EXPECT_TRUE(lines.back().starts_with("Tag=send_lat/rc__odd,0.000,0.0")) << lines.back();
}

/// Six bytes and what is known of a histogram of them; base64's padding in all its lengths.
TEST(HdrHistogram, EncodesWhateverTheLength) {
  for (std::uint64_t samples = 1; samples < 50; ++samples) {
    const std::string text = hdr_base64(sample_histogram(samples, 9'000, 1));
    EXPECT_TRUE(text.starts_with("HISTFAAA")) << text;
    EXPECT_EQ(text.size() % 4, 0U);
  }
}

TEST(EpochSeconds, KnowsZonesAndRefusesTheRest) {
  EXPECT_EQ(epoch_seconds("1970-01-01T00:00:00+00:00"), 0);
  EXPECT_EQ(epoch_seconds("1970-01-02T00:00:00Z"), 86400);
  EXPECT_EQ(epoch_seconds("1970-01-01T01:30:00+01:30"), 0);
  EXPECT_EQ(epoch_seconds("1969-12-31T19:00:00-05:00"), 0);
  for (const char* wrong :
       {"", "yesterday", "1970-01-01", "1970-01-01T00:00:00+1", "1970-13-01T00:00:00Z",
        "1970-01-01T00:00:00+25:00", "1970-01-01T00:00:00+00:00x"})
    EXPECT_EQ(epoch_seconds(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace rdmameter
