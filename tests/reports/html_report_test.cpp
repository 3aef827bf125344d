// SPDX-License-Identifier: Apache-2.0
// The page's parts, without a browser; report_browser_test.mjs opens it in one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "reports/html/assets.h"
#include "reports/html/chart_data.h"
#include "reports/html/html_table.h"
#include "reports/html/page_cases.h"
#include "reports/html/report.h"
#include "reports/html/sections.h"
#include "reports/html/topology_data.h"
#include "reports/html/topology_pictures.h"
#include "reports/text/text.h"
#include "tests/reports/samples.h"
#include "tests/reports/topology_samples.h"

namespace rdmameter {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using Json = nlohmann::ordered_json;

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++found;
  return found;
}

bool has(const std::string& page, std::string_view part) {  // a page in a message is too much
  return page.find(part) != page.npos;
}

/// The page without ECharts, which is not ours to look through.
std::string own_page(std::span<const ResultFile> files) {
  std::string page = html_report(files);
  if (const auto library = asset("echarts.js"); !library.empty())
    page.erase(page.find(library), library.size());
  return page;
}

constexpr const char* kHostile = "<img src=x onerror=alert(1)>'\"&</script><!--";

TEST(HtmlText, EscapesMarkupAndWhatSteers) {
  EXPECT_EQ(markup_text("<a b='c' d=\"e\">&\x1b\u202e"),
            "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;??");
}

TEST(ScriptJson, IsAsciiWithoutMarkupAndTheSameJson) {
  const Json json = {{"text", kHostile}, {"more", "µ\u2028"}};
  const std::string text = script_json(json);
  for (const char c : text) EXPECT_TRUE(c >= 0x20 && c < 0x7f && c != '<' && c != '>' && c != '&');
  EXPECT_EQ(Json::parse(text), json);
}

TEST(FragmentText, LeavesWhatNamesAreMadeOf) {
  EXPECT_EQ(fragment_text("write_lat/rc/size:64,loss:1.5"), "write_lat/rc/size:64,loss:1.5");
  EXPECT_EQ(fragment_text("a b&c\"#µ"), "a%20b%26c%22%23%C2%B5");
}

TEST(Table, HasACellOfEachColumnInEveryLine) {
  Table table;
  const auto add_line = [&table](std::initializer_list<const char*> heads) {
    TableLine line(table);
    for (const char* head : heads) line.add_text(head, "");
  };
  add_line({"graph", "over"});
  add_line({"graph", "over"});
  EXPECT_DEATH(add_line({"graph"}), "at_ == ");
  EXPECT_DEATH(add_line({"graph", "over", "path"}), "lines\\(\\) <= 1");
  EXPECT_DEATH(render({.key_columns = 2}, {}), "key_columns <= ");
}

TEST(Table, IsOneForATerminalAndAPage) {
  Table table{.columns = {{.head = "graph", .is_text = true}, {"latency", "µs", "mean"}},
              .key_columns = 1};
  table.add_line({"ring", {"2.0", "more than measured"}});
  table.add_line({"a|b", kUnknown});
  EXPECT_EQ(render(table, {}),
            "  graph    latency\n"
            "         mean [µs]\n"
            "  ring       2.0 *\n"
            "  a|b            –\n");
  EXPECT_THAT(html_table(table, ""),
              AllOf(HasSubstr("<th class=text scope=col>graph<th class=number scope=col>latency "
                              "<small>µs mean</small></thead>"),
                    HasSubstr("<tr><td>ring<td class=number>2.0 <small>more than measured<"),
                    HasSubstr("<tr><td>a|b<td class=number>–\n</tbody>")));
}

TEST(Table, HasRangesBeneathTheirLineOrBesideTheirNumber) {
  Table table{.columns = {{"size", "B"}, {"p50", "µs"}}, .key_columns = 1, .note_sign = "±"};
  table.add_line({"2", "4.31"});
  table.add_line({"64", {"4.30", "0.01"}});
  EXPECT_EQ(render(table, {}),
            "  size   p50\n"
            "   [B]  [µs]\n"
            "     2  4.31\n"
            "    64  4.30\n"
            "     ±  0.01\n");
  EXPECT_THAT(html_table(table, ""), HasSubstr("<td class=number>4.30 <small>± 0.01</small>"));
}

TEST(Table, IndentsTheLinesOfATitleAndKeepsATitleWithoutLines) {
  Table table{.columns = {{}, {"base"}},
              .key_columns = 2,
              .titles = {{0, "fail  a"}, {1, "pass  b"}, {1, "pass  c"}}};
  table.add_line({"p50", "4.0 µs"});
  EXPECT_EQ(render(table, {}),
            "           base\n"
            "  fail  a\n"
            "    p50  4.0 µs\n"
            "  pass  b\n"
            "  pass  c\n");
}

TEST(HtmlTable, EscapesEverything) {
  Table table;
  table.columns = {{kHostile, kHostile, kHostile}, {.head = "", .is_text = true}};
  table.add_line({{kHostile, kHostile}, kHostile});
  const std::string html = html_table(table, kHostile);
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_EQ(count(html, "&lt;img"), 7U);
}

TEST(PageCases, AreOneWhereTheirNamesAre) {
  const std::vector<ResultFile> files = {
      sample_file({latency_row("rc", 2, 0, 1), latency_row("rc", 4, 0, 1)}, "a/base.json"),
      sample_file(
          {latency_row("rc", 4, 0, 1), latency_row("ud", 2, 0, 1), latency_row("rc", 8, 0, 1)},
          "a/new.json")};
  const PageCases page = page_cases(files, 100);
  EXPECT_THAT(page.labels, ElementsAre("base", "new"));
  std::vector<std::string> names;
  for (const PageCase& one : page.cases) names.push_back(one.name);
  EXPECT_THAT(names, ElementsAre("send_lat/rc/size:2", "send_lat/rc/size:4", "send_lat/rc/size:8",
                                 "send_lat/ud/size:2"));
  EXPECT_TRUE(page.cases[1].of_file[0].has_value() && page.cases[1].of_file[1].has_value());
  EXPECT_FALSE(page.cases[2].of_file[0].has_value());
}

TEST(PageCases, LabelsAreToldApart) {
  const std::vector<ResultFile> files = {sample_file({}, "a/x.json"), sample_file({}, "b/x.json"),
                                         sample_file({}, "b/x.json")};
  EXPECT_THAT(page_cases(files, 1).labels, ElementsAre("a/x.json", "b/x.json", "b/x.json (2)"));
}

TEST(PageCases, NoMoreThanAPageCanHold) {
  std::vector<Row> rows;
  for (std::uint64_t size = 1; size <= 50; ++size) rows.push_back(bandwidth_row(size, 0, 1));
  const ResultFile file = sample_file(std::move(rows));
  const PageCases page = page_cases(std::span(&file, 1), 30);
  EXPECT_THAT(page.cases, SizeIs(30));
  EXPECT_EQ(page.left_out, 20U);
  EXPECT_THAT(summary_section(page).html, HasSubstr("30 cases are here and 20 were left out"));
}

TEST(LatencyCurves, AreTheHistogram) {
  const HistogramData data = sample_histogram(100'000, 9'000, 7);
  const Json curves = latency_curves(data, 2);
  const auto curve = curves["curve"].get<std::vector<double>>();
  ASSERT_EQ(curve.size(), 101U) << "5 decades, 20 points each";
  EXPECT_TRUE(std::is_sorted(curve.begin(), curve.end()));
  EXPECT_DOUBLE_EQ(curve[20], static_cast<double>(percentile(data, 90)) / 2);
  EXPECT_DOUBLE_EQ(curve[60], static_cast<double>(percentile(data, 99.9)) / 2);
  EXPECT_DOUBLE_EQ(curves["max"], static_cast<double>(data.max_ns) / 2);
  const auto edges = curves["edges"].get<std::vector<double>>();
  const auto shares = curves["shares"].get<std::vector<double>>();
  ASSERT_EQ(edges.size(), shares.size() + 1);
  EXPECT_TRUE(std::is_sorted(edges.begin(), edges.end()));
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-4);
  EXPECT_LT(curves.dump().size(), 5'000U);
  // Half of the samples lie below the median's bin.
  double below = 0;
  for (std::size_t i = 0; edges[i + 1] <= curve[6]; ++i) below += shares[i];
  EXPECT_NEAR(below, 0.5, 0.06);
}

TEST(LatencyCurves, ArePackedWithoutAddingUpErrors) {
  const Json curves = latency_curves(sample_histogram(100'000, 9'000, 7), 2);
  const Json packed = packed_curves(curves);
  EXPECT_LT(packed.dump().size(), curves.dump().size() / 2);
  for (const char* key : {"curve", "edges"}) {
    ASSERT_EQ(packed[key].size(), curves[key].size());
    double at = 0;
    for (std::size_t i = 1; i < packed[key].size(); ++i) {
      at += packed[key][i].get<double>();
      EXPECT_NEAR(packed[key][0].get<double>() * std::exp(at / 1000) / curves[key][i].get<double>(),
                  1, 0.0006)
          << key << i;
    }
  }
  double sum = 0;
  for (const Json& share : packed["shares"]) sum += share.get<double>();
  EXPECT_NEAR(sum, 100'000, 10);
}

TEST(LatencyCurves, OfNoTimeAtAllArePacked) {
  Json curves = latency_curves({.count = 2, .buckets = {{0, 2}}}, 2);
  EXPECT_NO_THROW(packed_curves(curves));
  HistogramData beyond{
      .count = 1, .sum_ns = 1ULL << 42, .min_ns = 1ULL << 42, .max_ns = 1ULL << 42};
  beyond.overflow = 1;
  EXPECT_NO_THROW(packed_curves(latency_curves(beyond, 1)));
}

TEST(LatencyCurves, OfOneSample) {
  const Json curves = latency_curves(sample_histogram(1, 9'000, 7), 1);
  EXPECT_THAT(curves["curve"], SizeIs(1));
  EXPECT_THAT(curves["shares"], ElementsAre(1.0));
}

TEST(RatesOverTime, AreTheSeriesOfEachRepetition) {
  std::vector<Row> rows = {bandwidth_row(64, 0, 3), bandwidth_row(64, 1, 3),
                           bandwidth_row(64, 2, 3)};
  rows[0].extra["series"] =
      Json::parse("{\"end_ns\": [1000000000, 1500000000], \"messages\": [2000, 3000]}");
  rows[1].extra["series"] = Json::parse("{\"end_ns\": [1000000000], \"messages\": [2000]}");
  EXPECT_EQ(rates_over_time(case_numbers(rows)[0]), Json::parse("[[[1.0, 0.002], [1.5, 0.006]]]"));
}

TEST(RatesOverTime, PutNeighboursTogetherWhereThereAreMany) {
  std::vector<Row> rows = {bandwidth_row(64, 0, 1)};
  Json end_ns = Json::array(), messages = Json::array();
  for (std::uint64_t i = 1; i <= 1'001; ++i) {
    end_ns.push_back(i * 1'000);
    messages.push_back(7U);
  }
  rows[0].extra["series"] = {{"end_ns", end_ns}, {"messages", messages}};
  const Json rates = rates_over_time(case_numbers(rows)[0])[0];
  EXPECT_EQ(rates.size(), 167U);
  for (const Json& point : rates) EXPECT_DOUBLE_EQ(point[1], 7);
}

TEST(LatenciesOverTime, AreThoseOfEachRepetitionWithTwoIntervals) {
  std::vector<Row> rows = {latency_row("rc", 64, 0, 2), latency_row("rc", 64, 1, 2)};
  rows[0].over_time = OverTimeData{.interval_ns = 500'000'000,
                                   .count = {2000, 20},
                                   .p50_ns = {9'000.0, 9'100.0},
                                   .p99_ns = {12'000.0, std::nullopt},
                                   .max_ns = {15'000.0, 105'000'000.0},
                                   .lost = {}};
  rows[1].over_time = OverTimeData{.interval_ns = 500'000'000,
                                   .count = {1},
                                   .p50_ns = {std::nullopt},
                                   .p99_ns = {std::nullopt},
                                   .max_ns = {9'000.0},
                                   .lost = {}};
  EXPECT_EQ(latencies_over_time(case_numbers(rows)[0]).dump(),
            "[[[0.5,4500,6000,7500,0],[1,4550,null,52500000,0]]]");
  rows[0].over_time.reset();
  EXPECT_TRUE(latencies_over_time(case_numbers(rows)[0]).empty());
}

TEST(RatesOverTime, AreNoneWhereTheSeriesIsNoSeries) {
  for (const char* wrong :
       {"7", "[]", "{}", "{\"end_ns\": 5, \"messages\": []}",
        "{\"end_ns\": [1, 2], \"messages\": [1]}", "{\"end_ns\": [2, 1], \"messages\": [1, 1]}",
        "{\"end_ns\": [0, 0], \"messages\": [1, 1]}",
        "{\"end_ns\": [\"a\", {}], \"messages\": [1, 2]}"}) {
    std::vector<Row> rows = {bandwidth_row(64, 0, 1)};
    rows[0].extra["series"] = Json::parse(wrong);
    EXPECT_TRUE(rates_over_time(case_numbers(rows)[0]).empty()) << wrong;
  }
}

Row sweep_row(std::uint64_t size_bytes, std::uint64_t repetition, double saturation_per_s) {
  Row row = bandwidth_row(size_bytes, repetition, 2);
  row.bandwidth.reset();
  row.case_object["rate"] = "sweep";
  row.sweep = SweepData{.saturation_per_s = saturation_per_s,
                        .unloaded_p99_ns = 2000,
                        .slo_ns = 10'000,
                        .slo_rate_per_s = 700,
                        .points = {{.rate_per_s = 4000, .reached_per_s = 900, .saturated = true},
                                   {.rate_per_s = 500,
                                    .reached_per_s = 499,
                                    .p50_ns = 1000.0,
                                    .p99_ns = 3000.0 + 1000 * static_cast<double>(repetition)},
                                   {.rate_per_s = 1250,
                                    .reached_per_s = 1000,
                                    .p50_ns = 5000.0,
                                    .p99_ns = 9000.0,
                                    .saturated = true}}};
  return row;
}

TEST(LoadData, OfASweepIsItsCurveAndWhatItFound) {
  const ResultFile file = sample_file({sweep_row(64, 0, 900), sweep_row(64, 1, 1100)});
  const Json loads = load_data(page_cases(std::span(&file, 1), 100));
  ASSERT_EQ(loads.size(), 1U);
  EXPECT_EQ(loads[0]["name"], "write_bw rc");
  EXPECT_EQ(loads[0]["points"], Json::parse("[[500, 499.0, 1000.0, 3500.0, false], "
                                            "[1250, 1000.0, null, null, true]]"))
      << "short measurements have no percentiles, and those of a growing queue say nothing";
  EXPECT_EQ(loads[0]["saturation"], 1000.0);
  EXPECT_EQ(loads[0]["slo_ns"], 10'000.0);
  EXPECT_EQ(loads[0]["slo_rate"], 700.0);
}

TEST(Html, OfTwoSweepsHasWhatTheyFoundInItsSummaryAndNoChartOverAnAxisWithoutNumbers) {
  Row other = sweep_row(64, 0, 1100);
  other.name += "/memory:huge";
  other.case_object["memory"] = "huge";
  const ResultFile file = sample_file({sweep_row(64, 0, 900), other});
  const std::string page = own_page(std::span(&file, 1));
  EXPECT_TRUE(has(page, "<b>1100.0 msg/s</b><span>highest saturation</span>"));
  EXPECT_TRUE(has(page, "<b>700.0 msg/s</b><span>highest rate within the SLO</span>"));
  EXPECT_FALSE(has(page, "<section id=axes "));
}

TEST(LoadData, OfASweepThatFoundNothingIsNoChartAndItsTableIsASentence) {
  Row row = sweep_row(64, 0, 900);
  row.sweep = SweepData{};
  const ResultFile file = sample_file({row});
  EXPECT_TRUE(load_data(page_cases(std::span(&file, 1), 100)).empty());
  const std::string page = own_page(std::span(&file, 1));
  EXPECT_TRUE(has(page, "<p class=note>No saturation: the highest rate that was offered was"));
  EXPECT_FALSE(has(page, "Where latency over load bends"));
  EXPECT_FALSE(has(page, "<section id=load "));
}

TEST(LoadData, OfAListJoinsTheCasesThatDifferInTheirRate) {
  std::vector<Row> rows = {open_loop_row(2000, 1000), open_loop_row(500, 500),
                           open_loop_row(500, 500)};
  rows[2].case_object["size_bytes"] = 8;
  rows[2].name += "/size:8";
  const ResultFile file = sample_file(rows);
  const Json loads = load_data(page_cases(std::span(&file, 1), 100));
  ASSERT_EQ(loads.size(), 1U) << "one rate is no curve";
  ASSERT_EQ(loads[0]["points"].size(), 2U);
  EXPECT_EQ(loads[0]["points"][0][0], 500.0);
  EXPECT_EQ(loads[0]["points"][0][4], false);
  EXPECT_EQ(loads[0]["points"][1][1], 1000.0);
  EXPECT_EQ(loads[0]["points"][1][4], true);
}

TEST(Page, DrawsOverAnAxisWhereOneVariesInANumber) {
  if (asset("echarts.js").empty()) GTEST_SKIP() << "a page without charts";
  const auto drawn = [](const Row& one, const Row& other) {
    const ResultFile file = sample_file({one, other});
    return std::ranges::any_of(
        chart_sections(chart_data(page_cases(std::span(&file, 1), 100))),
        [](const Section& one) { return one.id == "axes" && !one.html.empty(); });
  };
  EXPECT_TRUE(drawn(latency_row("rc", 64, 0, 1), latency_row("rc", 128, 0, 1)));
  EXPECT_FALSE(drawn(latency_row("rc", 64, 0, 1), latency_row("uc", 64, 0, 1)));
  EXPECT_FALSE(drawn(pairs_row("mesh", 4, 64, 0, 1), pairs_row("ring", 4, 64, 0, 1)));
}

TEST(ChartData, HasTheVaryingAxesAlone) {
  const ResultFile file = sample_file(sample_rows());
  const Json data = chart_data(page_cases(std::span(&file, 1), 100));
  std::vector<std::string> axes;
  for (const Json& axis : data["axes"]) axes.push_back(axis["key"]);
  EXPECT_THAT(axes, ElementsAre("size_bytes", "depth"));
  EXPECT_EQ(data["cases"][0]["name"], "send_lat/rc/size:2");
  EXPECT_EQ(data["cases"][0]["files"][0]["latency"]["kind"], "half round trip");
  EXPECT_THAT(data["cases"][0]["files"][0]["values"]["p50_ns"], SizeIs(3));
}

/// Of a and b, two devices of 100 Gb/s on two hosts.
ResultFile file_on_link(std::vector<Row> rows) {
  ResultFile file = sample_file(std::move(rows));
  for (const auto& [end, host] : {std::pair{"initiator", "a"}, std::pair{"responder", "b"}}) {
    file.context["rdmameter"][end]["hostname"] = host;
    file.context["rdmameter"][end]["device"] = {
        {"name", "mlx5_0"}, {"link_layer", "Ethernet"}, {"rate_gbps", 100.0}};
  }
  return file;
}

TEST(HtmlReport, BeginsWithWhatWasMeasuredOnWhat) {
  const ResultFile file = file_on_link(sample_rows());
  const std::string page = own_page(std::span(&file, 1));
  EXPECT_THAT(page, HasSubstr("<title>mlx5_0, Ethernet 100 Gb/s: send_lat, write_bw"));
  const std::string subject = page.substr(page.find("<section id=subject"));
  for (const char* part : {" of send_lat, ", "<dt>initiator<dd>a; ", "<dt>settings<dd>"})
    EXPECT_THAT(subject.substr(0, subject.find("</section>")), HasSubstr(part));
  EXPECT_LT(page.find("<section id=subject"), page.find("<section id=summary"));
}

TEST(HtmlReport, SaysHowFarTheBestIsFromTheLineAndTheFloor) {
  ResultFile file = file_on_link(sample_rows());
  file.context["rdmameter"]["floor"]["send_lat_ns"] = 54.9;
  const std::string html = summary_section(page_cases(std::span(&file, 1), 100)).html;
  EXPECT_THAT(html, HasSubstr(" % of the line&#39;s 100 Gb/s"));
  EXPECT_THAT(html, HasSubstr("the tool&#39;s own overhead: 54.9 ns"));
  EXPECT_THAT(html, HasSubstr("widest spread of repetitions, of "));
  ResultFile loopback = file;
  loopback.context["rdmameter"]["responder"] = loopback.context["rdmameter"]["initiator"];
  EXPECT_THAT(summary_section(page_cases(std::span(&loopback, 1), 100)).html,
              Not(HasSubstr("of the line")));
}

TEST(HtmlReport, DoubtsTheRateOfOneDirectionWhereBothEndsSend) {
  Row row = bandwidth_row(4096, 0, 1);
  row.case_object["bidirectional"] = true;
  ResultFile file = file_on_link({row});
  for (const char* end : {"initiator", "responder"})
    file.context["rdmameter"][end]["device"]["rate_gbps"] = 0.25;
  EXPECT_THAT(summary_section(page_cases(std::span(&file, 1), 100)).html,
              HasSubstr("Messages were faster than the link&#39;s 0.25 Gb/s"));
}

TEST(PageCases, HaveLabelsWithoutWhatAllNamesHave) {
  std::vector<Row> rows = {latency_row("rc", 2, 0, 1), latency_row("rc", 4, 0, 1)};
  for (Row& row : rows) row.name += "/duration:1s";
  const ResultFile file = sample_file(rows);
  const PageCases page = page_cases(std::span(&file, 1), 100);
  EXPECT_THAT(page.common, ElementsAre("duration:1s"));
  EXPECT_EQ(page.cases[0].label, "send_lat/rc/size:2");
  EXPECT_EQ(case_link(page.cases[0]),
            "<a class=case href=\"#case=send_lat/rc/size:2/duration:1s\">send_lat/<wbr>rc/<wbr>"
            "size:2</a>");
  EXPECT_THAT(subject_section(page).html, HasSubstr("<dt>all cases<dd>duration:1s"));
}

TEST(HtmlReport, HasEveryKindOfRow) {
  const ResultFile file = sample_file(sample_rows());
  const std::string page = own_page(std::span(&file, 1));
  for (const char* part :
       {"<h3>send_lat over RC</h3>", "<h3>write_bw over RC</h3>", "Latency: half round trip",
        "size:1024</a>", "A UD message must fit the MTU", "The responder hung up", "6.6.13-amd64",
        "<td class=differs>beta", "rdmameter run beta send_lat"})
    EXPECT_TRUE(has(page, part)) << part;
  EXPECT_FALSE(has(page, "{{"));
}

TEST(HtmlReport, FetchesNothing) {
  const ResultFile file = sample_file(sample_rows());
  std::string page = own_page(std::span(&file, 1));
  constexpr std::string_view kNamespace = "http://www.w3.org/2000/svg";  // a name, not an address
  for (std::size_t at = 0; (at = page.find(kNamespace)) != page.npos;)
    page.erase(at, kNamespace.size());
  for (const char* part : {"http:", "https:", "url(", "@import", "src=", "<link"})
    EXPECT_FALSE(has(page, part)) << part;
}

TEST(HtmlReport, ShowsAFilesTextAsText) {
  std::vector<Row> rows = sample_rows();
  for (Row& row : rows) {
    row.name = kHostile + row.name;
    row.message = kHostile;
    row.case_object[kHostile] = row.name;
  }
  ResultFile file = sample_file(rows, kHostile);
  file.context["host_name"] = kHostile;
  file.context["rdmameter"]["command"] = kHostile;
  file.context["rdmameter"]["initiator"][kHostile] = kHostile;
  const std::string page = own_page(std::span(&file, 1));
  EXPECT_FALSE(has(page, "<img"));
  const ResultFile plain = sample_file(sample_rows());
  EXPECT_EQ(count(page, "</script>"), count(own_page(std::span(&plain, 1)), "</script>"));
}

/// One case of each fate.
Comparison sample_comparison() {
  Comparison comparison{.base = "results/base.json", .other = "results/new.json"};
  comparison.conclusion = Conclusion::fail;
  comparison.remarks = {"kernels differ"};
  CaseComparison worse{.name = "send_lat/rc/size:2", .verdict = CaseVerdict::fail};
  worse.effects = {{.metric = Metric::p50,
                    .base = 4000,
                    .other = 4800,
                    .ratio = 1.2,
                    .interval = {1.1, 1.3},
                    .verdict = CaseVerdict::fail}};
  CaseComparison unknown{.name = kHostile, .verdict = CaseVerdict::inconclusive, .note = kHostile};
  comparison.cases = {worse, unknown};
  comparison.gates = {{kHostile, kHostile, CaseVerdict::fail, kHostile}};
  comparison.only_other = {kHostile};
  return comparison;
}

TEST(HtmlReport, BeginsWithTheVerdict) {
  const std::vector<ResultFile> files = {sample_file(sample_rows(), "results/base.json"),
                                         sample_file(sample_rows(), "results/new.json")};
  const Comparison comparison = sample_comparison();
  const std::string html = comparison_section(page_cases(files, 100), comparison).html;
  EXPECT_THAT(html,
              HasSubstr("<p class=\"verdict fail\"><b>fail</b> <span>results/new.json against "
                        "results/base.json</span> <span>2 cases: 1 fail, 1 inconclusive"));
  EXPECT_THAT(html, HasSubstr("kernels differ"));
  EXPECT_THAT(html, HasSubstr("<td class=number>4.00 µs<td class=number>4.80 µs<td "
                              "class=number>+20.0 %<td><svg class=interval"));
  EXPECT_THAT(html, HasSubstr("A case of results/new.json alone"));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  const std::string page = html_report(files, &comparison);
  EXPECT_LT(page.find("<section id=comparison "), page.find("<section id=summary "));
  EXPECT_FALSE(has(html_report(files), "<section id=comparison "));
}

ResultFile topology_file(std::vector<Row> rows) {
  return {"topologies.json", topology_context(8), std::move(rows)};
}

TEST(TopologyData, OfTwoRepetitionsTheMedianIsTheMiddleOfBoth) {
  std::vector<Row> rows;
  for (const std::uint64_t repetition : {0, 1}) {
    rows.push_back(pairs_row("mesh", 4, 64, repetition, 2));
    rows.back().topology->connect_ns = {{"qps", 1'000'000 * (repetition + 1)}};
  }
  const ResultFile file = topology_file(rows);
  const Json quantities = topology_data(page_cases(std::span(&file, 1), 1000))[0].at("quantities");
  const auto connect = std::ranges::find(
      quantities, "connect", [](const Json& one) { return one.at("key").get<std::string>(); });
  EXPECT_EQ(connect->at("lines")[0].at("measured"),
            Json::parse("[[4, 1000000, 1500000, 2000000]]"));
}

TEST(TopologySection, HasTablesModelAndPicturesWithoutJavaScript) {
  const ResultFile file = topology_file(topology_rows());
  const std::string html = topology_section(page_cases(std::span(&file, 1), 1000)).html;
  for (const char* part :
       {"Shapes over ranks", "The fitted model", "Predicted, not measured", "<td>alltoall",
        "<td>same host: alpha", "aria-label=\"one-way times between 8 ranks\"", "<title>0 → 7: ",
        "aria-label=\"8 ranks and 12 edges\"", "<td class=number>16383 <small>more than measured",
        "rank 5 (beta) takes 3.0 times as long as the others", "class=frame", "class=slow><title>"})
    EXPECT_THAT(html, HasSubstr(part));
  EXPECT_TRUE(has(own_page(std::span(&file, 1)), "<section id=topologies "));
  const ResultFile plain = sample_file(sample_rows());
  EXPECT_EQ(topology_section(page_cases(std::span(&plain, 1), 1000)).html, "");
}

TEST(TopologySection, BeginsWithTheDecisionTableOfEachSizeAndWhatLimitsRuleOut) {
  const ResultFile file = topology_file(topology_rows());
  PageCases page = page_cases(std::span(&file, 1), 1000);
  const std::string html = topology_section(page).html;
  const std::size_t small = html.find("<caption>How to connect ranks, 64 B over rc</caption>");
  const std::size_t large = html.find("<caption>How to connect ranks, 4096 B over rc</caption>");
  EXPECT_LT(small, large);
  EXPECT_LT(large, html.find("<h3>"));
  EXPECT_TRUE(has(html, "rule out mesh from 4098 ranks"));
  EXPECT_FALSE(has(html, "memory budget"));
  page.memory_budget_bytes = 1 << 20;
  EXPECT_TRUE(
      has(topology_section(page).html, "The memory budget of 1M a rank: Not known of mesh"));
}

TEST(TopologySection, ShowsAFilesTextAsText) {
  std::vector<Row> rows = topology_rows();
  for (Row& row : rows) {
    if (!row.topology) continue;
    row.topology->graph = kHostile + row.topology->graph;
    row.topology->schedule = kHostile;
    row.case_object["transport"] = kHostile;
  }
  ResultFile file = topology_file(rows);
  for (Json& rank : file.context["rdmameter"]["ranks"]) rank["host"] = kHostile;
  const std::string page = own_page(std::span(&file, 1));
  EXPECT_TRUE(has(page, "<section id=topologies "));
  EXPECT_FALSE(has(page, "<img"));
}

TEST(TopologyPictures, OfFewRanksHaveNumbersAndTheirUnit) {
  const Matrix matrix = {{std::nullopt, 1500}, {12000, std::nullopt}};
  const std::string svg = matrix_svg(matrix, std::nullopt);
  EXPECT_THAT(svg, HasSubstr("<text x=1.5 y=0.5 class=\"n\">1.50</text>"));
  EXPECT_THAT(svg, HasSubstr("<text x=0.5 y=1.5 class=\"n light\">12.00</text>"));
  EXPECT_THAT(svg, HasSubstr("Numbers are in µs."));
  EXPECT_THAT(matrix_svg(Matrix(10, Matrix::value_type(10, 1500)), std::nullopt),
              Not(HasSubstr("class=\"n")));
}

TEST(TopologyPictures, OfManyRanksStaySmall) {
  Matrix matrix(256, std::vector<std::optional<double>>(256));
  for (std::size_t i = 0; i < 256; ++i)
    for (std::size_t j = 0; j < 256; ++j) matrix[i][j] = 1'000.0 + static_cast<double>(i * j);
  const std::string svg =
      matrix_svg(matrix, Straggler{.verdict = Straggler::Verdict::node, .rank = 200, .factor = 2});
  EXPECT_THAT(svg, HasSubstr("A cell is 4 ranks"));
  EXPECT_LT(svg.size(), 100'000U);
  EXPECT_EQ(matrix_svg({}, {}), "");
  EXPECT_THAT(matrix_svg(matrix, std::nullopt, {{0, 200}}), HasSubstr("<title>failed</title>"));
  EXPECT_THAT(matrix_svg(matrix, std::nullopt), Not(HasSubstr("failed")));
  EXPECT_EQ(graph_svg(TopologyData{.graph = "mesh", .ranks = 8}, {}), "") << "no edges known";
}

TEST(TopologyPictures, NoTwoRanksStandInOnePlace) {
  for (const char* graph : {"mesh", "ring", "star", "hypercube", "torus2d:4x8", "torus2d:1x32"}) {
    TopologyData topology{.graph = graph, .ranks = 32, .edges = {{0, 1}}};
    const std::string svg = graph_svg(topology, {});
    std::set<std::string> places;
    for (std::size_t at = 0; (at = svg.find("<circle ", at)) != svg.npos; ++at)
      places.insert(svg.substr(at, svg.find(" r=", at) - at));
    EXPECT_THAT(places, SizeIs(32)) << graph;
  }
}

TEST(TopologyData, HasMeasuredPointsAndPredictions) {
  ResultFile file = topology_file(topology_rows());
  auto& ranks = file.context["rdmameter"]["ranks"];  // one host after the other
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    ranks[rank]["host"] = rank < ranks.size() / 2 ? "alpha" : "beta";
  const Json data = chart_data(page_cases(std::span(&file, 1), 1000))["topologies"];
  ASSERT_THAT(data, SizeIs(1));
  std::vector<std::string> keys;
  for (const Json& quantity : data[0]["quantities"]) keys.push_back(quantity["key"]);
  EXPECT_THAT(keys, ElementsAre("latency64", "latency4096", "alltoall64", "alltoall4096", "qps",
                                "connect", "memory64", "memory4096"));
  const Json& ring = data[0]["quantities"][0]["lines"][1];
  EXPECT_EQ(ring["graph"], "ring");
  EXPECT_EQ(ring["measured"][0][0], 2);
  EXPECT_EQ(ring["predicted"].back()[0], 16384);
  EXPECT_GT(ring["predicted"].back()[1], ring["measured"].back()[3]);
  EXPECT_THAT(data[0]["quantities"][2]["lines"][1]["predicted"], SizeIs(0)) << "of a rate";
}

TEST(EnvironmentSection, HasRanksOfOneEnvironmentTogether) {
  const ResultFile file = topology_file(topology_rows());
  const std::string html = environment_section(page_cases(std::span(&file, 1), 1000)).html;
  EXPECT_THAT(html, HasSubstr("ranks 0, 2, 4, 6"));
  EXPECT_THAT(html, HasSubstr("<td class=differs>beta"));
}

TEST(HtmlReport, HasATableOfTheLoadOfOpenLoopsAlone) {
  const std::vector<ResultFile> files = {
      sample_file({open_loop_row(10'000, 8'000), open_loop_row(20'000, 8'000)})};
  const std::string page = own_page(files);
  EXPECT_TRUE(has(page, "<caption>Load</caption>"));
  for (const char* head : {"offered", "reached", "backlog", "unsent", "service p50", "service p99",
                           "late p50", "late p99"})
    EXPECT_TRUE(has(page, "scope=col>" + std::string(head) + " <small>") ||
                has(page, "scope=col>" + std::string(head) + "<"))
        << head;
  EXPECT_TRUE(has(page, "<td class=number>8000.0"));
  EXPECT_TRUE(has(page, "<td class=number>12000\n") || has(page, "<td class=number>12000<"));
  const std::vector<ResultFile> others = {sample_file(sample_rows())};
  EXPECT_FALSE(has(own_page(others), "<caption>Load</caption>"));
}

TEST(HtmlReport, HasALineForEachPartOfAMix) {
  const std::vector<ResultFile> files = {sample_file({mix_load_row()})};
  const std::string page = own_page(files);
  EXPECT_TRUE(has(page, "<caption>Parts of the mix</caption>"));
  EXPECT_TRUE(has(page, "<td>read 4096<td class=number>700<"));
  EXPECT_TRUE(has(page, "<td>write 8<td class=number>300<"));
  const std::vector<ResultFile> others = {sample_file({open_loop_row(1000, 1000)})};
  EXPECT_FALSE(has(own_page(others), "<caption>Parts of the mix</caption>"));
}

TEST(HtmlReport, HasALineForEachDeviceOfACase) {
  const std::vector<ResultFile> files = {sample_file({per_device_row()})};
  const std::string page = own_page(files);
  EXPECT_TRUE(has(page, "<caption>Devices, one by one</caption>"));
  EXPECT_TRUE(has(page, "<td>mlx5_0<td>mlx5_2<td class=number>96.000<"));
  EXPECT_TRUE(has(page, "<td>mlx5_1<td>mlx5_3<td class=number>48.000<"));
  EXPECT_TRUE(has(page, "s rate: mlx5_1."));
  const std::vector<ResultFile> others = {sample_file({bandwidth_row(64, 0, 1)})};
  EXPECT_FALSE(has(own_page(others), "Devices, one by one"));
}

TEST(LateByCause, HasTheLateSamplesOfAllRepetitions) {
  const std::vector<ResultFile> files = {sample_file({blamed_row(), blamed_row()})};
  const Json late = late_by_cause(*page_cases(files, 9).cases.front().of_file.front());
  EXPECT_EQ(late["limit"], 20'000);
  EXPECT_EQ(late["edges"].front(), 20'000);
  EXPECT_GE(late["edges"].back(), 5'000'000);
  const std::vector<std::uint64_t> local = late["local"], undecided = late["undecided"];
  ASSERT_EQ(late["edges"].size(), local.size() + 1);
  EXPECT_EQ(local.back(), 2U);  // 5 ms
  EXPECT_EQ(std::accumulate(local.begin(), local.end(), 0U), 2U);
  const auto at = static_cast<std::size_t>(std::ranges::find(undecided, 2U) - undecided.begin());
  ASSERT_LT(at, undecided.size());  // 30 us
  EXPECT_LE(late["edges"][at], 30'000);
  EXPECT_GT(late["edges"][at + 1], 30'000);
}

TEST(HtmlReport, NamesStallsWithTheirTimeWhereLateSamplesAreBlamed) {
  const std::vector<ResultFile> files = {sample_file({blamed_row()})};
  const std::string page = own_page(files);
  EXPECT_TRUE(has(page, "<caption>Late samples by cause, of all repetitions</caption>"));
  EXPECT_TRUE(has(page,
                  "<td>2027-01-15T08:00:00.000000019Z<td class=number>4990.0"
                  "<td class=number>0.000000123"));
  const std::vector<ResultFile> others = {sample_file({latency_row("rc", 64, 0, 1, 2100)})};
  EXPECT_FALSE(has(own_page(others), "by cause, of all repetitions"));
}

TEST(HtmlReport, FoldsAwayWhatIsBeyondAHundredCases) {
  Comparison comparison = sample_comparison();
  comparison.cases.assign(150, comparison.cases.front());
  const ResultFile file = sample_file(sample_rows());
  const std::string html =
      comparison_section(page_cases(std::span(&file, 1), 100), comparison).html;
  EXPECT_EQ(count(html, "<td class=fail>fail"), 151U) << "and a gate's";
  EXPECT_THAT(html, HasSubstr("<details><summary>The other 50 cases</summary>"));
}

TEST(HtmlReport, OfNoRows) {
  const ResultFile file = sample_file({});
  EXPECT_TRUE(has(own_page(std::span(&file, 1)), "No row of these results"));
}

TEST(HtmlReport, SaysSoWhereTheBuildHasNoCharts) {
  const ResultFile file = sample_file(sample_rows());
  const std::string page = own_page(std::span(&file, 1));
  EXPECT_EQ(has(page, "no charts"), asset("echarts.js").empty());
  EXPECT_EQ(has(page, "id=latency "), !asset("echarts.js").empty());
}

TEST(HtmlReport, SaysHowFarRunUntilCame) {
  const std::vector<ResultFile> files = {sample_file({settled_row()})};
  EXPECT_TRUE(has(html_report(files), "not reached, the time is up (--budget) after 20"));
}

}  // namespace
}  // namespace rdmameter
