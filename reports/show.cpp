// SPDX-License-Identifier: Apache-2.0
#include "reports/show.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "reports/summary/summary.h"
#include "reports/text/case_text.h"
#include "reports/text/csv.h"
#include "reports/text/environment_text.h"
#include "reports/text/histogram_text.h"
#include "reports/text/parts_table.h"
#include "reports/text/percentile_text.h"
#include "reports/text/result_tables.h"
#include "reports/topology/topology_text.h"

namespace rdmameter {
namespace {

constexpr std::size_t kFewHistograms = 4;  ///< whose histograms fill a screen, not a book

/// Bandwidth tests have a latency, too; their histograms are drawn where they are asked for.
std::vector<const CaseSummary*> drawable(const Group& group, bool asked_for) {
  std::vector<const CaseSummary*> cases;
  for (const CaseSummary& summary : group.cases) {
    const Row& row = *summary.repetitions.front();
    if (row.latency && (asked_for || !row.bandwidth)) cases.push_back(&summary);
  }
  return cases;
}

/// "size 64 B, half round trip, 3 repetitions merged"
std::string case_title(const Group& group, const CaseSummary& summary) {
  std::string title = case_text(summary.case_object, group.varying);
  if (title.empty()) title = printable(group.test);
  title += ", " + latency_title(group);
  if (summary.repetitions.size() > 1)
    title += fmt::format(", {} repetitions merged", summary.repetitions.size());
  return title;
}

std::string histograms(const Group& group, const ShowOptions& options) {
  if (options.histogram == false) return "";
  const auto cases = drawable(group, options.histogram == true);
  if (!options.histogram && cases.size() > kFewHistograms)
    return dim(fmt::format("  {} histograms left out; --histogram draws them.\n", cases.size()),
               options.style);
  std::string text;
  for (const CaseSummary* summary : cases) {
    text += "\n" + bold("  " + case_title(group, *summary), options.style) + "\n" +
            draw_histogram(merged_latency(*summary), latency_divisor(*summary->repetitions.front()),
                           options.style);
  }
  return text;
}

std::string percentiles(const Group& group, const TextStyle& style) {
  std::string text;
  for (const CaseSummary& summary : group.cases)
    if (merged_latency(summary).count > 0)
      text += "\n" + bold("  " + case_title(group, summary), style) + "\n" +
              percentile_table(summary, style);
  return text;
}

std::string show_group(const Group& group, const ShowOptions& options) {
  std::string text = "\n" + group_heading(group, options.style);
  const std::string bandwidth = bandwidth_table(group, options.style);
  const std::string latency = latency_table(group, options.style);
  text += bandwidth;
  if (!bandwidth.empty() && !latency.empty())
    text += "\n" + bold("  " + latency_title(group), options.style) + "\n";
  const std::string parts = parts_table(group, options.style);
  if (!parts.empty())
    text += latency + "\n" + bold("  threads and directions", options.style) + "\n" + parts;
  else
    text += latency;
  return text + (options.percentiles ? percentiles(group, options.style) : "") +
         histograms(group, options);
}

/// Such a group has tables of its own.
bool of_topologies(const Group& group) {
  return std::all_of(group.cases.begin(), group.cases.end(), [](const CaseSummary& summary) {
    return summary.repetitions.front()->topology.has_value();
  });
}

/// Says of repetitions that were interrupted what the tables above made of them.
std::string interruptions(const std::vector<Row>& rows, const TextStyle& style) {
  std::string list;
  for (const Row& row : rows)
    if (row.interrupted)
      list += fmt::format("{}{} (repetition {} of {}, {} iterations)", list.empty() ? "" : ", ",
                          printable(row.name), row.repetition + 1, row.repetitions, row.iterations);
  if (list.empty()) return "";
  return "\n" + bold("interrupted", style) + "\n" +
         wrap("  ",
              "The user ended the run before these were complete. Beside complete repetitions of "
              "the same case they are left out above.",
              style.width) +
         wrap("      ", list, style.width);
}

/// Rows without a measurement, those with the same reason together: "name ×3, name".
std::string failures(const std::vector<Row>& rows, Row::Status status, const char* title,
                     const TextStyle& style) {
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, int>>>> reasons;
  for (const Row& row : rows) {
    if (row.status != status) continue;
    auto reason = std::find_if(reasons.begin(), reasons.end(),
                               [&row](const auto& known) { return known.first == row.message; });
    if (reason == reasons.end()) reason = reasons.insert(reasons.end(), {row.message, {}});
    auto& names = reason->second;
    const auto name = std::find_if(names.begin(), names.end(),
                                   [&row](const auto& known) { return known.first == row.name; });
    if (name == names.end())
      names.emplace_back(row.name, 1);
    else
      ++name->second;
  }
  std::string text;
  for (const auto& [message, names] : reasons) {
    std::string list;
    for (const auto& [name, times] : names)
      list += (list.empty() ? "" : ", ") + printable(name) +
              (times > 1 ? fmt::format(" ×{}", times) : "");
    text += wrap("  ", printable(message), style.width) + wrap("      ", list, style.width);
  }
  return text.empty() ? "" : "\n" + bold(title, style) + "\n" + text;
}

}  // namespace

std::string show_result(const ResultFile& file, const ShowOptions& options) {
  const TextStyle& style = options.style;
  std::string text = describe_context(file, style);
  for (const Group& group : group_rows(file.rows))
    if (!of_topologies(group)) text += show_group(group, options);
  text += topology_text(file, {.predict = options.predict,
                               .memory_budget_bytes = options.memory_budget_bytes,
                               .all_matrices = options.histogram == true,
                               .judge_shared = options.judge_shared,
                               .style = style});
  text += interruptions(file.rows, style);
  text += failures(file.rows, Row::Status::skipped, "skipped", style);
  text += failures(file.rows, Row::Status::error, "failed", style);
  if (file.rows.empty()) text += "\nThere are no rows.\n";
  return style.utf8 ? text : to_ascii(text);
}

std::string show_files(const std::vector<std::string>& paths, const ShowOptions& options) {
  std::vector<ResultFile> files;
  for (const std::string& path : paths) files.push_back(read_result(path));
  if (options.csv) return options.tidy ? to_tidy_csv(files) : to_csv(files);
  std::string text;
  for (const ResultFile& file : files)
    text += (text.empty() ? "" : "\n\n") + show_result(file, options);
  return text;
}

}  // namespace rdmameter
