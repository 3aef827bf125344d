// SPDX-License-Identifier: Apache-2.0
#include "reports/history/history_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "reports/checked_json.h"
#include "reports/date.h"
#include "reports/quantity.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

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
  constexpr std::uint64_t kMostRepetitions = 1ULL << 53;
  HistoryCase made{
      json.at("name").text(), json.at("repetitions").count_within(1, kMostRepetitions), {}};
  const CheckedJson numbers = json.at("numbers");
  for (const auto& [key, value] : numbers.object().items())
    made.numbers[key] = {numbers.at(key).at("median").not_negative(),
                         numbers.at(key).at("half_range").not_negative()};
  return made;
}

HistoryEntry entry_from(const Json& value, const std::string& where) {
  const CheckedJson json(value, where);
  if (const CheckedJson schema = json.at("schema"); schema.text() != kHistorySchema)
    schema.fail(
        fmt::format("is \"{}\", and this version reads \"{}\"", schema.text(), kHistorySchema));
  HistoryEntry entry{
      json.at("time").text(), json.at("commit").text(), json.at("environment").object(), {}};
  if (!epoch_seconds(entry.time)) json.at("time").fail("is no date");
  const CheckedJson cases = json.at("cases");
  for (std::size_t i = 0; i < cases.array_size(); ++i)
    entry.cases.push_back(case_from(cases.at(i)));
  return entry;
}

[[noreturn]] void fail(const std::string& path, int error) {
  throw ResultFileError(
      fmt::format("{}: the line could not be added: {}.", path, std::strerror(error)), error);
}

/// Writes all of it at the end, or takes back what arrived.
void write_line(int file, const std::string& path, std::string line) {
  const off_t end = lseek(file, 0, SEEK_END);
  char last = '\n';
  if (end > 0 && pread(file, &last, 1, end - 1) != 1) fail(path, errno);
  if (last != '\n') line.insert(line.begin(), '\n');  // somebody died while writing the line before
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t written = write(file, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int error = written < 0 ? errno : ENOSPC;
      // Nothing is left to do where even this fails: readers name and skip half a line.
      if (ftruncate(file, end) != 0) fail(path, error);
      fail(path, error);
    }
    done += static_cast<std::size_t>(written);
  }
}

}  // namespace

HistoryEntry history_entry(const ResultFile& file, const std::string& commit) {
  const Json& ours = file.context.at("rdmameter");
  HistoryEntry entry{text_at(file.context, "date"),
                     commit.empty() ? text_at(file.context, "commit") : commit,
                     {{"initiator", ours.at("initiator")}, {"responder", ours.at("responder")}},
                     {}};
  if (!epoch_seconds(entry.time))
    throw UsageError(fmt::format(
        "{}: context: date is missing or no date, and a history goes by it.", file.path));
  for (const CaseNumbers& numbers : case_numbers(file.rows)) {
    HistoryCase made{numbers.name, numbers.summary.repetitions.size(), {}};
    for (const CaseNumber& value : numbers.values)
      made.numbers[std::string(value.quantity->key)] = {value.median,
                                                        (value.greatest - value.least) / 2};
    entry.cases.push_back(std::move(made));
  }
  return entry;
}

std::string history_path(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) ? path + "/history.jsonl" : path;
}

void append_history(const std::string& path, const HistoryEntry& entry) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0)
    throw UsageError(fmt::format("{}: cannot be written: {}.", path, std::strerror(errno)));
  flock(file, LOCK_EX);  // where a file system knows no locks, one job at a time must do
  try {
    write_line(file, path,
               to_json(entry).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  } catch (...) {
    close(file);
    throw;
  }
  if (close(file) != 0) fail(path, errno);
}

History read_history(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError(fmt::format("{}: cannot be read: {}.", path, std::strerror(errno)));
  History history;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string where = fmt::format("{}: line {}", path, number);
    try {
      history.entries.push_back(entry_from(Json::parse(line), where));
    } catch (const Json::exception&) {
      history.broken.push_back(where + ": is not JSON, or cut off.");
    } catch (const UsageError& error) {
      history.broken.emplace_back(error.what());
    }
  }
  std::stable_sort(history.entries.begin(), history.entries.end(),
                   [](const HistoryEntry& a, const HistoryEntry& b) {
                     return epoch_seconds(a.time) < epoch_seconds(b.time);
                   });
  return history;
}

}  // namespace rdmameter
