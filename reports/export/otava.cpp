// SPDX-License-Identifier: Apache-2.0
// CSV for Apache Otava (formerly Hunter), which looks for change points in a series: a line for
// each result, a column for each number of each case.
// https://github.com/apache/otava/blob/master/docs/CSV.md
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "reports/export/format.h"
#include "reports/summary/facts.h"
#include "reports/summary/summary.h"

namespace rdmameter {
namespace {

/// Names in Otava's configuration are the head's cells, so they hold nothing that YAML or CSV would
/// have to quote.
std::string column_name(const std::string& name, std::string_view key) {
  std::string text = fmt::format("{}.{}", name, key);
  for (char& c : text)
    if (std::string_view(",\"'\\ \t\r\n;:#").find(c) != std::string_view::npos) c = '_';
  return printable(text);
}

struct Line {
  std::string time, commit;
  std::map<std::string, double> numbers;  ///< by column
};

Line line_of(const ResultFile& file, std::vector<std::string>& columns) {
  Line line{text_at(file.context, "date"), text_at(file.context, "commit"), {}};
  if (!epoch_seconds(line.time))
    throw UsageError(
        "{}: context: date is missing or not a date, and a line of a time series needs one.",
        file.path);
  for (const CaseNumbers& numbers : case_numbers(file.rows))
    for (const CaseNumber& value : numbers.values) {
      const std::string column = column_name(numbers.name, value.metric->key);
      add_once(columns, column);
      line.numbers[column] = value.median;
    }
  std::erase_if(line.commit, [](char c) { return c == ',' || c == '"' || c == '\''; });
  line.commit = printable(line.commit);
  return line;
}

}  // namespace

std::string to_otava(std::span<const ResultFile> files) {
  std::vector<std::string> columns;
  auto lines = mapped(files, [&](const ResultFile& file) { return line_of(file, columns); });
  std::ranges::stable_sort(lines, {}, [](const Line& line) { return epoch_seconds(line.time); });
  std::string text = "time,commit";
  for (const std::string& column : columns) text += "," + column;
  text += "\n";
  for (const Line& line : lines) {
    text += line.time + "," + line.commit;
    for (const std::string& column : columns) {
      const auto found = line.numbers.find(column);
      text += found == line.numbers.end() ? "," : fmt::format(",{}", found->second);
    }
    text += "\n";
  }
  return text;
}

}  // namespace rdmameter
