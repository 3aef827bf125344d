// SPDX-License-Identifier: Apache-2.0
// Results over time: the file, and where a series changes.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "core/error.h"
#include "reports/history/e_divisive.h"
#include "reports/history/history_file.h"
#include "reports/history/history_text.h"
#include "reports/history/series.h"
#include "tests/reports/samples.h"

namespace rdmameter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr EDivisiveOptions kAsPublished{.significance = 0.05};

std::vector<std::size_t> changes_at(std::span<const double> series,
                                    const EDivisiveOptions& options = {}) {
  std::vector<std::size_t> found;
  for (const ChangePoint& point : e_divisive(series, options)) found.push_back(point.at);
  return found;
}

// The two series of Apache Otava's own test, tests/series_test.py: test_change_point_detection.
TEST(EDivisive, FindsWhatOtavaFinds) {
  const std::vector<double> first = {1.02, 0.95, 0.99, 1.00, 1.12, 0.90,
                                     0.50, 0.51, 0.48, 0.48, 0.55};
  const std::vector<double> second = {2.02, 2.03, 2.01, 2.04, 1.82, 1.85,
                                      1.79, 1.81, 1.80, 1.76, 1.78};
  EXPECT_THAT(changes_at(first, kAsPublished), ElementsAre(6));
  EXPECT_THAT(changes_at(second, kAsPublished), ElementsAre(4));
}

// The annual flow of the Nile at Aswan, 1871 to 1970: it changed in 1899, when the dam was begun
// (G. Cobb, Biometrika 65 (1978); data set `Nile` of R).
TEST(EDivisive, FindsTheDamInTheNile) {
  const std::vector<double> flow = {
      1120, 1160, 963, 1210, 1160, 1160, 813,  1230, 1370, 1140, 995,  935,  1110, 994,  1020,
      960,  1180, 799, 958,  1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774,  840,
      874,  694,  940, 833,  701,  916,  692,  1020, 1050, 969,  831,  726,  456,  824,  702,
      1120, 1100, 832, 764,  821,  768,  845,  864,  862,  698,  845,  744,  796,  1040, 759,
      781,  865,  845, 944,  984,  897,  822,  1010, 771,  676,  649,  846,  812,  742,  801,
      1040, 860,  874, 848,  890,  744,  749,  838,  1050, 918,  986,  797,  923,  975,  815,
      1020, 906,  901, 1170, 912,  746,  919,  718,  714,  740};
  ASSERT_EQ(flow.size(), 100U);
  EXPECT_THAT(changes_at(flow), ElementsAre(1899 - 1871));
}

TEST(EDivisive, FindsSeveralChanges) {
  std::mt19937 engine(3);
  std::vector<double> series;
  for (const double level : {100, 110, 104})
    for (int i = 0; i < 25; ++i)
      series.push_back(level + static_cast<double>(engine() % 200) / 100);
  EXPECT_THAT(changes_at(series), ElementsAre(25, 50));
}

TEST(EDivisive, RarelyFindsWhatIsNotThere) {
  std::mt19937 engine(11);
  int alarms = 0;
  for (int i = 0; i < 300; ++i) {
    std::vector<double> series;
    for (int k = 0; k < 20; ++k) {
      // A heavy tail: one run in twenty is up to twice as slow.
      const double body = 1 + static_cast<double>(engine() % 1000) / 20'000;
      series.push_back(engine() % 20 == 0 ? body * 2 : body);
    }
    alarms += changes_at(series).empty() ? 0 : 1;
  }
  EXPECT_LE(alarms, 8) << "1 % of 300 is 3; more than 8 happens once in a hundred runs";
}

TEST(EDivisive, SaysNothingOfTooLittleOrOfWhatNeverChanges) {
  EXPECT_THAT(changes_at({}), IsEmpty());
  EXPECT_THAT(changes_at(std::vector<double>{1, 9, 1, 9, 1}), IsEmpty());
  EXPECT_THAT(changes_at(std::vector<double>(50, 7.25)), IsEmpty());
}

ResultFile result(const std::string& date, std::uint64_t slower_ns, std::uint64_t repetitions = 2) {
  ResultFile file{"new.json", sample_context(), {}};
  file.context["date"] = date;
  for (std::uint64_t i = 0; i < repetitions; ++i) {
    Row row = bandwidth_row(64, i, repetitions);
    row.bandwidth->window_ns += slower_ns * row.bandwidth->messages;
    file.rows.push_back(std::move(row));
  }
  return file;
}

std::string day(int number) {
  return fmt::format("2024-{:02}-{:02}T00:00:00+00:00", 1 + number / 28, 1 + number % 28);
}

/// `before` results, then as many that are an eighth slower.
std::string history_with_a_step(const ScratchDirectory& directory, int before) {
  const std::string path = directory.path("history.jsonl");
  for (int i = 0; i < 2 * before; ++i) {
    HistoryEntry entry =
        history_entry(result(day(i), (i >= before ? 190U : 0U) + static_cast<unsigned>(i % 3)),
                      fmt::format("c{}", i));
    if (i >= before) entry.environment["initiator"]["kernel"] = "6.7.0";
    append_history(path, entry);
  }
  return path;
}

TEST(History, KeepsMediansAndNoiseByCase) {
  const ScratchDirectory directory;
  const std::string path = directory.path("h.jsonl");
  append_history(path, history_entry(result(day(0), 0), "abc"));
  const History history = read_history(path);
  ASSERT_THAT(history.entries, SizeIs(1));
  EXPECT_THAT(history.broken, IsEmpty());
  const HistoryEntry& entry = history.entries[0];
  EXPECT_EQ(entry.commit, "abc");
  EXPECT_EQ(entry.environment["responder"]["kernel"], "6.6.13-amd64");
  ASSERT_THAT(entry.cases, SizeIs(1));
  EXPECT_EQ(entry.cases[0].name, "write_bw/rc/size:64");
  EXPECT_EQ(entry.cases[0].repetitions, 2U);
  const double quick = 8.0 * 64 / 1521, slow = 8.0 * 64 / 1552;
  EXPECT_DOUBLE_EQ(entry.cases[0].numbers.at("gbps").median, (quick + slow) / 2);
  EXPECT_DOUBLE_EQ(entry.cases[0].numbers.at("gbps").half_range, (quick - slow) / 2);
}

TEST(History, IsSortedByTimeWhateverTheOrderOfItsLines) {
  const ScratchDirectory directory;
  const std::string path = directory.path("h.jsonl");
  for (const int number : {5, 2, 9})
    append_history(path, history_entry(result(day(number), 0), ""));
  const History history = read_history(path);
  ASSERT_THAT(history.entries, SizeIs(3));
  EXPECT_EQ(history.entries[0].time, day(2));
  EXPECT_EQ(history.entries[2].time, day(9));
}

TEST(History, NamesABrokenLineAndKeepsTheRest) {
  const ScratchDirectory directory;
  const std::string path = history_with_a_step(directory, 2);
  std::vector<std::string> lines;
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::string text = lines[0] + "\n" + lines[1].substr(0, 40) + "\n\n" + lines[2] + "\n";
  text += "{\"schema\": \"rdmameter.history.v9\"}\n";
  std::string negative = lines[3];
  negative.replace(negative.find("\"median\":"), 9, "\"median\":-");
  text += negative + "\n" + "[NaN]\n";
  write_file(path, text);
  const History history = read_history(path);
  EXPECT_THAT(history.entries, SizeIs(2));
  EXPECT_THAT(
      history.broken,
      ElementsAre(HasSubstr("history.jsonl: line 2: is not JSON"), HasSubstr("line 5: schema"),
                  HasSubstr("line 6: cases[0]: numbers: gbps: median is negative"),
                  HasSubstr("line 7: is not JSON")));
}

TEST(History, ALineAfterHalfALineIsALineOfItsOwn) {
  const ScratchDirectory directory;
  const std::string path = directory.path("h.jsonl");
  write_file(path, "{\"schema\": \"rdmameter.hist");  // whoever wrote it died
  append_history(path, history_entry(result(day(0), 0), ""));
  const History history = read_history(path);
  EXPECT_THAT(history.entries, SizeIs(1));
  EXPECT_THAT(history.broken, SizeIs(1));
}

TEST(History, ADirectoryHasItsOwnFile) {
  const ScratchDirectory directory;
  EXPECT_EQ(history_path(directory.path("")), directory.path("") + "/history.jsonl");
  EXPECT_EQ(history_path(directory.path("x.jsonl")), directory.path("x.jsonl"));
}

TEST(History, RefusesAResultWithoutADate) {
  ResultFile file = result("someday", 0);
  EXPECT_THROW(history_entry(file, ""), UsageError);
}

TEST(Series, KnowsItsChangeAndWhatElseChangedThen) {
  const ScratchDirectory directory;
  const History history = read_history(history_with_a_step(directory, 8));
  const auto all = series_of(history, {});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].quantity->key, "gbps");
  const auto changes = changes_in(all[0]);
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].point.at, 8U);
  const std::string text = check_history(all, {.width = 200});
  EXPECT_THAT(text, HasSubstr("worse -11.0 %: 0.333 to 0.296 Gb/s since c8 (2024-01-09T00:00)"));
  EXPECT_THAT(text, HasSubstr("the environment changed there: initiator: kernel: 6.1.0-18-amd64"));
  EXPECT_THAT(text, HasSubstr("1 change in 1 of 1 cases"));
  EXPECT_THAT(text, HasSubstr("a hint, not a verdict"));
}

TEST(Series, AChangeWithinTheNoiseOfThePointsIsNone) {
  const ScratchDirectory directory;
  History history = read_history(history_with_a_step(directory, 8));
  for (HistoryEntry& entry : history.entries) entry.cases[0].numbers.at("gbps").half_range = 0.1;
  EXPECT_THAT(changes_in(series_of(history, {})[0]), IsEmpty());
}

TEST(Series, ChoosesByCaseQuantityAndAge) {
  const ScratchDirectory directory;
  const History history = read_history(history_with_a_step(directory, 8));
  EXPECT_THAT(series_of(history, {.cases = {"write_*"}})[0].points, SizeIs(16));
  EXPECT_THAT(series_of(history, {.last = 3})[0].points, SizeIs(3));
  EXPECT_EQ(series_of(history, {.quantity = "mmsg_per_s"})[0].quantity->name, "message rate");
  EXPECT_THAT(series_of(history, {.quantity = "p50_ns"}), IsEmpty());
  EXPECT_THROW(series_of(history, {.quantity = "p51"}), UsageError);
  EXPECT_THROW(series_of(history, {.cases = {"read_*"}}), UsageError);
}

TEST(ShowHistory, DrawsALineWithinTheWidth) {
  const ScratchDirectory directory;
  const History history = read_history(history_with_a_step(directory, 15));
  const std::string text = show_history(series_of(history, {}), {.width = 60});
  EXPECT_THAT(text, HasSubstr("write_bw/rc/size:64, bandwidth\n  0.333 "));
  EXPECT_THAT(text, HasSubstr("▁"));
  EXPECT_THAT(text, HasSubstr("█"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(text_width(line), 60U) << line;
  EXPECT_THAT(show_history({}, {}), HasSubstr("nothing in this history"));
}

}  // namespace
}  // namespace rdmameter
