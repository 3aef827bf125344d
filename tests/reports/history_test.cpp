// SPDX-License-Identifier: Apache-2.0
// Results over time: the file, and where a series changes.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/error.h"
#include "reports/history/history_file.h"
#include "reports/history/series.h"
#include "tests/reports/samples.h"

namespace rdmameter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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

TEST(History, IsReadFromItsEndWhereThatIsEnough) {
  const ScratchDirectory directory;
  const std::string path = history_with_a_step(directory, 3);
  write_file(path, "what is not read cannot be broken\n" + read_file(path) + "{\n");
  const History history = read_history(path, 4);
  EXPECT_THAT(history.entries, SizeIs(3));
  EXPECT_EQ(history.entries.front().commit, "c3");
  EXPECT_THAT(history.broken, ElementsAre(HasSubstr("line 1 from the end: is not JSON")));
}

TEST(History, FindsATimeByCommitOrDate) {
  const ScratchDirectory directory;
  const History history = read_history(history_with_a_step(directory, 8));
  EXPECT_EQ(history_time(history, "--since", "c9"), day(9));
  EXPECT_EQ(history_time(history, "--since", "2024-01-05T00:00"), day(4));
  EXPECT_EQ(history_time(history, "--since", "2023-12-31"), "2023-12-31T00:00:00");
  EXPECT_THROW(history_time(history, "--since", "deadbeef"), UsageError);
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

TEST(History, LeavesOutWhatWasInterrupted) {
  ResultFile file = result(day(0), 0, 3);
  file.rows[2].interrupted = true;
  EXPECT_EQ(history_entry(file, "").cases.at(0).repetitions, 2U);
  for (Row& row : file.rows) row.interrupted = true;
  EXPECT_THAT(history_entry(file, "").cases, IsEmpty());
}

TEST(Series, KnowsItsChangeAndWhatElseChangedThen) {
  const ScratchDirectory directory;
  const History history = read_history(history_with_a_step(directory, 8));
  const auto all = series_of(history, {});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].metric->key, "gbps");
  const auto changes = changes_in(all[0]);
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].at, 8U);
  const std::string text = check_history(all, {.width = 200});
  EXPECT_THAT(text, HasSubstr("worse -11.0 %: 0.333 to 0.296 Gb/s since c8 (2024-01-09T00:00)"));
  EXPECT_THAT(text, HasSubstr("the environment changed there: initiator: kernel: 6.1.0-18-amd64"));
  EXPECT_THAT(text, HasSubstr("1 change in 1 of 1 series"));
  EXPECT_THAT(text, HasSubstr("a hint, not a verdict"));
}

TEST(Series, AChangeWithinTheNoiseOfThePointsIsNone) {
  const ScratchDirectory directory;
  History history = read_history(history_with_a_step(directory, 8));
  for (std::size_t i = 0; i < history.entries.size(); ++i)
    history.entries[i].cases[0].numbers.at("gbps").median *= i % 2 == 0 ? 1.3 : 1;
  EXPECT_THAT(changes_in(series_of(history, {})[0]), IsEmpty());
}

TEST(Series, AChangeIsSeenHoweverWideTheRepetitionsOfTheResultsSpread) {
  const ScratchDirectory directory;
  History history = read_history(history_with_a_step(directory, 8));
  for (HistoryEntry& entry : history.entries) {
    entry.cases[0].repetitions = 100;  // more of them span more
    entry.cases[0].numbers.at("gbps").half_range = 0.2;
  }
  EXPECT_THAT(changes_in(series_of(history, {})[0]), SizeIs(1));
}

TEST(Series, OfAnotherMachineIsAnotherOneAndIsNamed) {
  const ScratchDirectory directory;
  History history = read_history(history_with_a_step(directory, 8));
  for (std::size_t i = 0; i < history.entries.size(); ++i)
    history.entries[i].environment["initiator"]["cpu_model"] = i < 8 ? "old CPU" : "new CPU";
  const auto all = series_of(history, {});
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_THAT(all[0].points, SizeIs(8));
  const std::string text = check_history(all, {.width = 400});
  EXPECT_THAT(text, HasSubstr("0 changes in 0 of 2 series"));
  EXPECT_THAT(show_history(all, {.width = 400}), HasSubstr("on initiator: CPU new CPU"));
}

TEST(Series, LeavesOutWhatMeasuredNothing) {
  const ScratchDirectory directory;
  History history = read_history(history_with_a_step(directory, 15));
  history.entries[2].cases[0].numbers.at("gbps").median = 0;
  const auto changes = changes_in(series_of(history, {})[0]);
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].at, 15U);
}

TEST(Series, AnAcknowledgedChangeIsMarkedThoughFurtherResultsMovedIt) {
  const ScratchDirectory directory;
  const std::string path = history_with_a_step(directory, 8);
  append_acknowledgement(path, {"write_bw/rc/size:64", "gbps", day(10), "larger headers"});
  const History history = read_history(path);
  EXPECT_THAT(history.broken, IsEmpty());
  const auto all = series_of(history, {});
  const std::string text = check_history(all, {.width = 200}, history.acknowledged);
  EXPECT_THAT(text, HasSubstr("acknowledged (larger headers): worse -11.0 %"));
  EXPECT_THAT(text, HasSubstr("1 change (1 acknowledged) in 1 of 1 series"));
}

TEST(Series, AnAcknowledgementOfAnotherChangeOrMetricIsNone) {
  const ScratchDirectory directory;
  const History history = read_history(history_with_a_step(directory, 8));
  const HistorySeries series = series_of(history, {})[0];
  for (const Acknowledgement& other : {Acknowledgement{"write_bw/rc/size:64", "gbps", day(1), ""},
                                       Acknowledgement{"write_bw/rc/size:64", "p50_ns", day(8), ""},
                                       Acknowledgement{"write_bw/rc/size:8", "", day(8), ""}})
    EXPECT_EQ(changes_in(series, std::span(&other, 1)).at(0).state, ChangeState::fresh);
}

TEST(Series, AChangeThatWentBackIsResolved) {
  const ScratchDirectory directory;
  const std::string path = history_with_a_step(directory, 20);
  for (int i = 40; i < 60; ++i)
    append_history(path, history_entry(result(day(i), static_cast<unsigned>(i % 3)), ""));
  const History history = read_history(path);
  const auto changes = changes_in(series_of(history, {})[0]);
  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_EQ(changes[0].state, ChangeState::resolved);
  EXPECT_EQ(changes[1].state, ChangeState::fresh);
}

TEST(Series, AChangeThatWentBackBeyondWhatWasIsResolvedAndOneThatWentOnIsNot) {
  const auto state_of_first = [](std::array<unsigned, 3> levels_ns) {
    const ScratchDirectory directory;
    const std::string path = directory.path("history.jsonl");
    for (int i = 0; i < 60; ++i)
      append_history(path,
                     history_entry(result(day(i), levels_ns.at(static_cast<std::size_t>(i) / 20) +
                                                      static_cast<unsigned>(i % 3)),
                                   ""));
    const History history = read_history(path);
    return changes_in(series_of(history, {})[0]).at(0).state;
  };
  EXPECT_EQ(state_of_first({300, 600, 0}), ChangeState::resolved);
  EXPECT_EQ(state_of_first({300, 0, 600}), ChangeState::resolved);
  EXPECT_EQ(state_of_first({0, 300, 600}), ChangeState::fresh);
  EXPECT_EQ(state_of_first({600, 300, 0}), ChangeState::fresh);
}

TEST(Series, OfTopologiesAreApartByTheHardwareOfTheirRanks) {
  const ScratchDirectory directory;
  const std::string path = directory.path("history.jsonl");
  for (const int rate : {100, 400}) {
    ResultFile file = result(day(rate / 100), 0);
    Json &ours = file.context["rdmameter"], rank;
    rank["device"]["rate_gbps"] = rate;
    ours["initiator"] = ours["responder"] = nullptr;
    ours["ranks"] = Json::array({rank});
    append_history(path, history_entry(file, ""));
  }
  EXPECT_THAT(series_of(read_history(path), {}), SizeIs(2));
}

TEST(Series, IsCheckedSinceATime) {
  const ScratchDirectory directory;
  const auto checked = [&, history = read_history(history_with_a_step(directory, 8))](int since) {
    return check_history(series_of(history, {}), {.width = 200}, {}, day(since));
  };
  EXPECT_THAT(checked(8), HasSubstr("1 change in 1 of 1 series"));
  EXPECT_THAT(checked(9), HasSubstr("0 changes in 0 of 1 series"));
}

TEST(Series, AreOfEveryMetricWhereThatIsAsked) {
  const ScratchDirectory directory;
  const History history = read_history(history_with_a_step(directory, 8));
  std::vector<std::string_view> keys;
  for (const HistorySeries& series : series_of(history, {.every_metric = true}))
    keys.push_back(series.metric->key);
  EXPECT_THAT(keys, ElementsAre("gbps", "mmsg_per_s"));
}

TEST(Series, ChoosesByCaseQuantityAndAge) {
  const ScratchDirectory directory;
  const History history = read_history(history_with_a_step(directory, 8));
  EXPECT_THAT(series_of(history, {.cases = {"write_*"}})[0].points, SizeIs(16));
  EXPECT_THAT(series_of(history, {.last = 3})[0].points, SizeIs(3));
  EXPECT_EQ(series_of(history, {.quantity = "mmsg_per_s"})[0].metric->name, "message rate");
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
