// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "bench/running/lines/case_lines.h"
#include "reports/summary/line_rate.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

Row bandwidth_row_of(std::uint64_t family, std::uint64_t repetition, std::uint64_t repetitions,
                     std::uint64_t bytes) {
  Row row;
  row.name = "write_bw/rc/size:4096";
  row.family_index = family;
  row.repetition = repetition;
  row.repetitions = repetitions;
  row.case_object = {{"bidirectional", false}};
  row.bandwidth =
      BandwidthData{.messages = bytes / 4096, .bytes = bytes, .window_ns = 1'000'000'000};
  return row;
}

/// The first of two repetitions.
Row latency_row_of(std::uint64_t samples) {
  const auto histogram = std::make_unique<Histogram>();
  for (std::uint64_t i = 0; i < samples; ++i) histogram->record(5000);
  Row row;
  row.name = "send_lat/rc/size:64";
  row.repetitions = 2;
  row.latency = LatencyData{.histogram = snapshot(*histogram)};
  return row;
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    std::size_t columns = 0;
    for (std::size_t i = begin; i < end; ++i)
      columns += (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80 ? 1 : 0;
    widest = std::max(widest, columns);
    begin = end + 1;
  }
  return widest;
}

nlohmann::ordered_json ends(nlohmann::ordered_json a, nlohmann::ordered_json b) {
  return {{"rdmameter",
           {{"initiator", {{"hostname", "a"}, {"device", std::move(a)}}},
            {"responder", {{"hostname", "b"}, {"device", std::move(b)}}}}}};
}

TEST(CaseTable, HasOneLineForACaseWithMedianRangeAndShareOfTheLine) {
  CaseTable table(22, 100, {.gbps = 100.0});
  EXPECT_EQ(table.add(bandwidth_row_of(0, 0, 3, 5'000'000'000)), "");
  EXPECT_EQ(table.add(bandwidth_row_of(0, 1, 3, 6'000'000'000)), "");
  EXPECT_EQ(table.add(bandwidth_row_of(0, 2, 3, 5'500'000'000)),
            "                         bandwidth           ± of the line      messages\n"
            "write_bw/rc/size:4096    44.0 Gb/s  ±4.00 Gb/s      44.0 %   1.34 Mmsg/s\n");
  EXPECT_EQ(table.rest(), "");
}

TEST(CaseTable, DoubtsTheRateOfOneDirectionWhereBothEndsSend) {
  CaseTable table(22, 200, {.gbps = 25.0});
  Row row = bandwidth_row_of(0, 0, 1, 10'000'000'000);
  row.case_object["bidirectional"] = true;
  EXPECT_NE(
      table.add(row).find("Messages were faster than the link's 25 Gb/s: they passed no link, "
                          "or the driver tells another rate.\n"),
      std::string::npos);
}

TEST(CaseTable, SaysOfAnUnfinishedCaseHowMuchOfItWasMeasured) {
  CaseTable table(22, 100, {});
  table.add(bandwidth_row_of(0, 0, 3, 5'000'000'000));
  EXPECT_NE(table.rest().find("(1 of 3 repetitions)"), std::string::npos);
}

TEST(CaseTable, EndsACaseWhoseLastRepetitionFailed) {
  CaseTable table(22, 100, {});
  table.add(bandwidth_row_of(0, 0, 2, 5'000'000'000));
  Row failed = bandwidth_row_of(0, 1, 2, 1);
  failed.status = Row::Status::error;
  EXPECT_NE(table.add(failed).find("(1 of 2 repetitions)"), std::string::npos);
  EXPECT_EQ(table.rest(), "");
}

/// Fewer than 20 samples have no median.
TEST(CaseTable, HasItsColumnsWhereTheFirstIsNotKnown) {
  const auto table_of = [](std::uint64_t samples) {
    CaseTable table(22, 100, {});
    Row row = latency_row_of(samples);
    table.add(row);
    return table.add(row);
  };
  const std::string few = table_of(10), many = table_of(1000);
  EXPECT_EQ(few.find("repetitions"), std::string::npos) << few;
  EXPECT_EQ(text_width(few), text_width(many)) << few << many;
}

TEST(CaseTable, HasAPercentileOfAllRepetitionsOrNone) {
  const auto missing_of = [](std::uint64_t samples) {
    CaseTable table(22, 100, {});
    table.add(latency_row_of(1000));
    const std::string text = table.add(latency_row_of(samples));
    std::size_t missing = 0;
    for (std::size_t at = 0; (at = text.find(" –", at)) != text.npos; ++at) ++missing;
    return missing;
  };
  EXPECT_EQ(missing_of(999), missing_of(1000) + 1);  // too few for p99
}

/// As with --until.
TEST(CaseTable, OfACaseThatIsGivenUpTheLastRowSaysHowOftenItRan) {
  CaseTable table(22, 100, {});
  table.add(bandwidth_row_of(0, 0, 10'000, 5'000'000'000));
  Row failed = bandwidth_row_of(0, 1, 2, 1);
  failed.status = Row::Status::error;
  EXPECT_NE(table.add(failed).find("(1 of 2 repetitions)"), std::string::npos);
}

TEST(CaseTable, HasItsColumnsWhereACaseIsOfAnotherDevice) {
  CaseTable table(22, 200, {.gbps = 100.0, .ports = {{{"mlx5_0", 1}, {"mlx5_0", 1}}}});
  Row row = bandwidth_row_of(0, 0, 1, 5'000'000'000);
  row.case_object["device"] = "mlx5_1";
  const std::string without = table.add(row);
  row.family_index = 1;
  row.case_object["device"] = "mlx5_0";
  const std::string with = table.add(row);
  EXPECT_NE(without.find("of the line"), std::string::npos) << without;
  EXPECT_EQ(text_width(without.substr(without.find('\n') + 1)), text_width(with));
}

TEST(CaseTable, SaysWhatItsNumbersAreNot) {
  CaseTable table(22, 200, {});
  Row row = latency_row_of(1000);
  row.load = LoadData{.due = 1000, .window_ns = 1'000'000, .completed = 500, .unsent = 500};
  row.load->completing_ns = 1'000'000;
  table.add(row);
  EXPECT_NE(table.add(row).find("(saturated in 2 of 2)"), std::string::npos);
  Row plain = bandwidth_row_of(1, 0, 1, 5'000'000'000);
  plain.bandwidth->injected = plain.bandwidth->short_window = true;
  plain.bandwidth->duplicated = 3;
  const std::string text = table.add(plain);
  for (const char* said : {"(injected: delivery is unknown)", "(short window)", "duplicated 3"})
    EXPECT_NE(text.find(said), std::string::npos) << text;
}

TEST(CaseTable, FitsNarrowTerminals) {
  for (const std::size_t width : {60, 80, 200}) {
    CaseTable table(30, width, {.gbps = 100.0});
    Row row = bandwidth_row_of(0, 0, 1, 5'000'000'000);
    EXPECT_LE(widest_line(table.add(row)), width) << width;
    row.family_index = 1;
    row.name = "send_bw/rc/size:64/depth:4/post-list:1/wait:spin";  // wider than the names' column
    EXPECT_LE(widest_line(table.add(row)), width) << width;
  }
}

TEST(CaseTable, LeavesOutOfNamesWhatIsToldAboveIt) {
  CaseTable table(8, 100, {}, {"size:4096"});
  const std::string text = table.add(bandwidth_row_of(0, 0, 1, 5'000'000'000));
  EXPECT_NE(text.find("\nwrite_bw/rc  "), std::string::npos) << text;
}

TEST(CaseTable, SeparatesItsColumnsAlways) {
  CaseTable table(22, 100, {});
  for (std::uint64_t repetition = 0; repetition < 2; ++repetition)
    table.add(bandwidth_row_of(0, repetition, 3, 458'000'000 - repetition * 20'000'000));
  const std::string text = table.add(bandwidth_row_of(0, 2, 3, 456'789'012));
  EXPECT_NE(text.find(" 3.65 Gb/s  ±80.0 Mb/s  111.5 kmsg/s\n"), std::string::npos) << text;
}

TEST(NameLines, BreakAfterSlashes) {
  EXPECT_EQ(name_lines("write_lat/rc/size:64", 40), "write_lat/rc/size:64\n");
  EXPECT_EQ(name_lines("write_lat/rc/size:64/depth:4", 14),
            "write_lat/rc/\n    size:64/\n    depth:4\n");
}

TEST(LineRate, IsThatOfTheSlowerLinkWhereMessagesPassOne) {
  using nlohmann::ordered_json;
  const ordered_json quick{{"name", "mlx5_0"}, {"rate_gbps", 200.0}, {"driver", "mlx5_core"}};
  const ordered_json slow{{"name", "mlx5_0"}, {"rate_gbps", 100.0}, {"driver", "mlx5_core"}};
  const ordered_json rxe{{"name", "rxe0"}, {"rate_gbps", 10.0}, {"driver", "rdma_rxe"}};
  EXPECT_EQ(link_rate(ends(quick, slow)).gbps, 100.0);
  EXPECT_EQ(link_rate(ends(quick, rxe)).gbps, std::nullopt);
  EXPECT_EQ(link_rate(ends(quick, nullptr)).gbps, std::nullopt);
  ordered_json loopback = ends(quick, quick);
  loopback["rdmameter"]["responder"]["hostname"] = "a";
  EXPECT_EQ(link_rate(loopback).gbps, std::nullopt);
}

}  // namespace
}  // namespace rdmameter
