// SPDX-License-Identifier: Apache-2.0
#include "reports/history/history_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/parse_value.h"
#include "core/base/printable.h"
#include "core/log/print.h"
#include "core/result/checked_json.h"
#include "core/result/json_text.h"
#include "core/result/output_file.h"
#include "reports/summary/facts.h"
#include "reports/summary/summary.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMaxHistoryBytes = 512U << 20;  ///< a line is some KB

Json to_json(const HistoryEntry& entry) {
  Json cases = Json::array();
  for (const HistoryCase& one : entry.cases) {
    Json numbers = Json::object();
    for (const auto& [key, number] : one.numbers)
      numbers[key] = {{"median", number.median}, {"half_range", number.half_range}};
    cases.push_back({{"name", one.name}, {"repetitions", one.repetitions}, {"numbers", numbers}});
  }
  return {{"schema", kHistorySchema},
          {"time", entry.time},
          {"commit", entry.commit},
          {"environment", entry.environment},
          {"cases", std::move(cases)}};
}

HistoryCase case_from(const CheckedJson& json) {
  constexpr std::uint64_t kMaxRepetitions = 1ULL << 53;
  HistoryCase history_case{
      json.at("name").text(), json.at("repetitions").count_within(1, kMaxRepetitions), {}};
  const CheckedJson numbers = json.at("numbers");
  for (const auto& [key, value] : numbers.object().items())
    history_case.numbers[key] = {numbers.at(key).at("median").not_negative(),
                                 numbers.at(key).at("half_range").not_negative()};
  return history_case;
}

HistoryEntry entry_from(const CheckedJson& json) {
  HistoryEntry entry{
      json.at("time").text(), json.at("commit").text(), json.at("environment").object(), {}};
  if (!epoch_seconds(entry.time)) json.at("time").fail("is no date");
  const CheckedJson cases = json.at("cases");
  for (std::size_t i = 0; i < cases.array_size(); ++i)
    entry.cases.push_back(case_from(cases.at(i)));
  return entry;
}

void add_line(History& history, const Json& value, const std::string& where) {
  const CheckedJson json(value, where);
  if (const CheckedJson schema = json.at("schema"); schema.text() != kHistorySchema)
    schema.fail(
        fmt::format("is \"{}\", and this version reads \"{}\"", schema.text(), kHistorySchema));
  if (const auto known = json.find("acknowledged"))
    history.acknowledged.push_back({known->at("name").text(), known->at("metric").text(),
                                    known->at("since").text(), known->at("note").text()});
  else
    history.entries.push_back(entry_from(json));
}

[[noreturn]] void fail(const std::string& path, int error) {
  throw ResultFileError("{}: the line could not be added: {}.", path, std::strerror(error));
}

/// Writes all of it at the end, or takes back what arrived.
void write_line(int file, const std::string& path, std::string line) {
  const off_t end = lseek(file, 0, SEEK_END);
  char last = '\n';
  if (end > 0 && pread(file, &last, 1, end - 1) != 1) fail(path, errno);
  if (last != '\n') line.insert(line.begin(), '\n');  // its last writer died in it
  if (const int error = write_patiently(file, line); error != 0) {
    // Nothing is left to do where even this fails: readers name and skip half a line.
    if (ftruncate(file, end) != 0) fail(path, error);
    fail(path, error);
  }
}

/// Every process that may read the history can hold its lock, for ever. Where a file system knows
/// no locks, one job at a time must do.
void lock(int file, const std::string& path) {
  constexpr std::chrono::milliseconds kBetween{50};
  constexpr std::chrono::seconds kLongest{30};
  const auto begun = std::chrono::steady_clock::now();
  for (bool told = false; flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
       told = true) {
    if (!told)
      tell("rdmameter: {}: another process holds its lock (flock); waiting for it, {} s at most\n",
           printable(path), kLongest.count());
    if (std::chrono::steady_clock::now() - begun > kLongest)
      throw MeasurementError(
          "{}: another process has held its lock for {} s, so nothing was added; who it is: fuser "
          "-v FILE, lslocks",
          path, kLongest.count());
    if (wait_or_end(kBetween)) throw Interrupted("interrupted");
  }
}

void append_json(const std::string& path, const Json& json) {
  if (look_at_output(path, Writing::appended).stream)
    throw UsageError("{}: is not a regular file, so no line can be added to it.", path);
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file < 0) throw UsageError("{}: cannot be written: {}.", path, std::strerror(errno));
  try {
    lock(file, path);
    write_line(file, path, json_text(json) + "\n");
  } catch (...) {
    close(file);
    throw;
  }
  if (close(file) != 0) fail(path, errno);
}

}  // namespace

HistoryEntry history_entry(const ResultFile& file, const std::string& commit) {
  const Json& ours = file.context.at("rdmameter");
  HistoryEntry entry{text_at(file.context, "date"),
                     commit.empty() ? text_at(file.context, "commit") : commit,
                     {{"initiator", ours.at("initiator")}, {"responder", ours.at("responder")}},
                     {}};
  if (const Json& several = list_at(ours, "responders"); !several.empty())
    entry.environment["responders"] = several;
  if (const Json& ranks = list_at(ours, "ranks"); !ranks.empty())
    entry.environment["ranks"] = Json::array({ranks.front()});
  if (!epoch_seconds(entry.time))
    throw UsageError(
        "{}: context: date is missing or not a date, and a history is in the order of dates.",
        file.path);
  for (const CaseNumbers& numbers : case_numbers(file.rows)) {
    if (numbers.summary.first().interrupted) continue;  // and so are all of them
    HistoryCase history_case{numbers.name, numbers.summary.repetitions.size(), {}};
    for (const CaseNumber& value : numbers.values)
      history_case.numbers[std::string(value.metric->key)] = {value.median, value.half_range()};
    entry.cases.push_back(std::move(history_case));
  }
  return entry;
}

std::string history_path(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) ? path + "/history.jsonl" : path;
}

std::vector<HistoryEntry> newest_entries(const std::string& path) {
  constexpr std::size_t kNewest = 1000;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  try {
    return read_history(path, kNewest).entries;
  } catch (const UsageError&) {  // append_history() tells why
    return {};
  }
}

bool is_among(const std::vector<HistoryEntry>& entries, const HistoryEntry& entry) {
  const Json line = to_json(entry);
  return std::ranges::any_of(entries, [&](const HistoryEntry& one) {
    return one.time == entry.time && to_json(one) == line;
  });
}

void append_history(const std::string& path, const HistoryEntry& entry) {
  append_json(path, to_json(entry));
}

void append_acknowledgement(const std::string& path, const Acknowledgement& acknowledged) {
  append_json(path, {{"schema", kHistorySchema},
                     {"acknowledged",
                      {{"name", acknowledged.name},
                       {"metric", acknowledged.metric},
                       {"since", acknowledged.since},
                       {"note", acknowledged.note}}}});
}

History read_history(const std::string& path, std::size_t newest) {
  const bool all = newest == ~std::size_t{0};
  const std::string text =
      read_input(path, {.max_bytes = kMaxHistoryBytes, .last_lines = all ? 0 : newest});
  const auto ends = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  const std::size_t lines = ends + (text.ends_with('\n') || text.empty() ? 0 : 1);
  const bool from_end = lines >= newest;  // what stands before is not counted
  std::istringstream file(text);
  History history;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string where =
        from_end ? fmt::format("{}: line {} from the end", path, lines - number + 1)
                 : fmt::format("{}: line {}", path, number);
    try {
      add_line(history, Json::parse(line), where);
    } catch (const Json::exception&) {
      history.broken.push_back(where + ": is not JSON, or cut off.");
    } catch (const UsageError& error) {
      history.broken.emplace_back(error.what());
    }
  }
  std::ranges::stable_sort(history.entries, {},
                           [](const HistoryEntry& entry) { return epoch_seconds(entry.time); });
  return history;
}

std::string history_time(const History& history, const std::string& option,
                         const std::string& text) {
  if (!text.empty())
    for (const HistoryEntry& entry : history.entries)
      if (entry.commit.starts_with(text) || entry.time.starts_with(text)) return entry.time;
  for (const char* clock : {"", "T00:00:00", ":00"})
    if (epoch_seconds(text + clock)) return text + clock;
  throw invalid_value(option, text,
                      "a commit of this history, or a date such as 2024-02-03 or 2024-02-03T02:00");
}

}  // namespace rdmameter
