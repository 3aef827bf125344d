// SPDX-License-Identifier: Apache-2.0
// HdrHistogram's files: the table of one histogram's percentiles (.hgrm), and the log (format 1.3),
// a tagged line for each histogram. The table has half round trips where the test's other figures
// are; the log holds the samples as they were recorded: whole round trips.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.h"
#include "reports/export/hdr_histogram.h"
#include "reports/export/writers.h"
#include "reports/summary/case_numbers.h"
#include "reports/summary/date.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr double kNsPerMs = 1e6, kNsPerUs = 1e3;

std::vector<CaseNumbers> latency_cases(const ResultFile& file) {
  std::vector<CaseNumbers> cases = case_numbers(file.rows);
  std::erase_if(cases, [](const auto& found) { return merged_latency(found.summary).count == 0; });
  if (cases.empty())
    throw UsageError(fmt::format("{}: no case here has latency samples.", file.path));
  return cases;
}

/// A tag holds no comma, space or line end, which part a line's fields.
std::string tag_of(const std::string& name) {
  std::string tag = printable(name);
  std::replace_if(
      tag.begin(), tag.end(), [](char c) { return c == ',' || c == ' '; }, '_');
  return tag;
}

}  // namespace

std::string to_hgrm(std::span<const ResultFile> files) {
  const std::vector<CaseNumbers> cases = latency_cases(files.front());
  if (cases.size() > 1) {
    std::string names;
    for (const CaseNumbers& found : cases) names += "\n  " + printable(found.name);
    throw UsageError(fmt::format(
        "--format hgrm is a table of one case; choose with --case NAME among:{}", names));
  }
  const CaseSummary& summary = cases.front().summary;
  const Row& row = *summary.repetitions.front();
  return hdr_percentiles(merged_latency(summary), kNsPerUs * latency_divisor(row),
                         "µs, " + latency_kind(*row.latency));
}

std::string to_hdr_log(std::span<const ResultFile> files) {
  const ResultFile& file = files.front();
  std::string text = "#[Histogram log format version 1.3]\n";
  const std::string date = text_at(file.context, "date");
  if (const auto seconds = epoch_seconds(date))
    text += fmt::format(
        "#[BaseTime: {0}.000 (seconds since epoch)]\n"
        "#[StartTime: {0}.000 (seconds since epoch), {1}]\n",
        *seconds, printable(date));
  text +=
      "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
  double start_s = 0;
  for (const CaseNumbers& found : latency_cases(file))
    for (const Row* row : found.summary.repetitions) {
      if (!row->latency || row->latency->histogram.count == 0) continue;
      const HistogramData& data = row->latency->histogram;
      const double length_s = static_cast<double>(data.sum_ns) / kNsPerSecond;
      text += fmt::format("Tag={},{:.3f},{:.3f},{:.3f},{}\n", tag_of(found.name), start_s, length_s,
                          static_cast<double>(data.max_ns) / kNsPerMs, hdr_base64(data));
      start_s += length_s;
    }
  return text;
}

}  // namespace rdmameter
