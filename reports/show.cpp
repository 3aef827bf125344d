// SPDX-License-Identifier: Apache-2.0
#include "reports/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "reports/export/format.h"
#include "reports/figures/ablation.h"
#include "reports/figures/figures.h"
#include "reports/figures/retransmit_stalls.h"
#include "reports/summary/defaults.h"
#include "reports/summary/facts.h"
#include "reports/summary/line_rate.h"
#include "reports/summary/metric.h"
#include "reports/summary/summary.h"
#include "reports/text/case_text.h"
#include "reports/text/environment_text.h"
#include "reports/text/histogram_text.h"
#include "reports/text/table.h"
#include "reports/text/until_text.h"
#include "reports/topology/connections.h"
#include "reports/topology/topology_text.h"

namespace rdmameter {
namespace {

constexpr std::size_t kFewHistograms = 4;  ///< whose histograms fill a screen, not a book

/// "send_lat over RC"
std::string group_name(const Group& group) {
  if (group.transport.empty()) return printable(group.test);
  return printable(group.test) + " over " + upper_case(printable(group.transport));
}

/// A title: "send_lat over RC, size 64 B: half round trip, 3 repetitions merged"
std::string case_title(const Group& group, const CaseSummary& summary, const TextStyle& style) {
  std::string title = group_name(group);
  if (const std::string axes = case_text(summary.case_object, group.varying); !axes.empty())
    title += ", " + axes;
  title += ": " + latency_title(group);
  if (summary.repetitions.size() > 1)
    title += fmt::format(", {} repetitions merged", summary.repetitions.size());
  return "\n" + bold(wrap("", title, style.width), style);
}

std::string histograms(const std::vector<const Group*>& groups, const ShowOptions& options) {
  if (options.histogram == false) return "";
  std::vector<std::pair<const Group*, const CaseSummary*>> cases;
  for (const Group* group : groups)
    for (const CaseSummary& summary : group->cases)
      // Bandwidth tests have a latency, too; their histograms are drawn where they are asked for.
      if (const Row& row = summary.first(); row.latency && (options.histogram || !row.bandwidth))
        cases.emplace_back(group, &summary);
  if (!options.histogram && cases.size() > kFewHistograms)
    return dim(fmt::format("\n{} histograms left out; --histogram draws them.\n", cases.size()),
               options.style);
  std::string text;
  for (const auto& [group, summary] : cases)
    text +=
        case_title(*group, *summary, options.style) +
        draw_histogram(merged_latency(*summary), latency_divisor(summary->first()), options.style);
  return text;
}

std::string percentiles(const std::vector<const Group*>& groups, const TextStyle& style) {
  std::string text;
  for (const Group* group : groups)
    for (const CaseSummary& summary : group->cases)
      if (merged_latency(summary).count > 0)
        text += case_title(*group, summary, style) + percentile_table(summary, style);
  return text;
}

/// A thread of a case, or a direction: its name, where it stands in `more`, and its count there.
struct CasePart {
  std::string name, where;
  const char* count;
};

std::vector<CasePart> parts_of(const Row& row) {
  std::vector<CasePart> parts;
  for (std::size_t i = 0; i < list_at(row.extra, "per_thread").size(); ++i)
    parts.push_back({fmt::format("thread {}", i), fmt::format("/per_thread/{}", i), "operations"});
  if (row.extra.contains("directions"))
    for (const char* way : {"forward", "backward"})
      parts.push_back({way, fmt::format("/directions/{}", way), "messages"});
  return parts;
}

/// A line for each thread and direction of each case, medians over the repetitions; none where no
/// case has several.
Table parts_table(const Group& group) {
  Table table{.columns = {{"case"}, {"part"}, {"messages"}, {"", "Mmsg/s"}},
              .key_columns = 2,
              .title = group_name(group) + ": threads and directions"};
  for (const CaseSummary& summary : group.cases)
    for (const CasePart& part : parts_of(summary.first())) {
      const auto number = [&](const Row& row, const char* key) {
        return number_at(fact_at(row.extra, part.where), key);
      };
      const auto count = [&](const Row& row) { return number(row, part.count); };
      const auto per_us = [&](const Row& row) -> Number {
        const double time_ns =
            number(row, "elapsed_ns").value_or(number(row, "window_ns").value_or(0));
        return count(row) && time_ns > 0 ? std::optional(*count(row) / time_ns * 1e3)
                                         : std::nullopt;
      };
      table.add_line({name_among(group.varying, summary), part.name,
                      known_text(median_of(summary, count), 0),
                      known_text(median_of(summary, per_us), 4)});
    }
  return table;
}

/// Of cases with one kind of numbers.
/// @param known     what all groups have in common, which is told already
/// @param defaults  as common_of() takes them
std::string show_kind(const std::vector<const Group*>& groups, const Common& known,
                      const Defaults* defaults, const LinkRate& link, const ShowOptions& options) {
  const Group joined = join(groups);
  std::string text =
      "\n" + group_heading(joined, common_of(joined, defaults).text(known), options.style);
  const std::string bandwidth = figures_text(bandwidth_figures(link), joined, options.style);
  text += bandwidth;
  if (bandwidth.empty())
    text += figures_text(latency_figures(""), joined, options.style);
  else if (options.all)
    text += figures_text(latency_figures(latency_title(joined)), joined, options.style);
  for (const Figures& each : figures()) text += figures_text(each, joined, options.style);
  for (const Group* group : groups) text += titled(parts_table(*group), options.style, "");
  return text;
}

/// A remark that several tables have stands beneath the first of them alone.
void tell_once(std::string& text, const std::string& remark) {
  std::size_t at = text.find(remark);
  if (at == text.npos) return;
  at += remark.size();
  while ((at = text.find(remark, at)) != text.npos) text.erase(at, remark.size());
}

/// Kinds of numbers in the order of their first rows, a table for each.
std::string show_groups(const std::vector<const Group*>& groups, const Defaults& stated,
                        const LinkRate& link, const ShowOptions& options) {
  if (groups.empty()) return "";
  const Defaults* const defaults = options.all ? nullptr : &stated;
  const Common common = common_of(join(groups), defaults);
  std::string settings = common.text();
  if (!options.all) settings += settings.empty() ? "defaults" : "; others are defaults";
  std::string text = labelled("settings", settings, options.style);
  std::vector<std::pair<std::string, std::vector<const Group*>>> kinds;
  for (const Group* group : groups) entry_of(kinds, kind_of(*group)).push_back(group);
  for (const auto& [kind, members] : kinds)
    text += show_kind(members, common, defaults, link, options);
  for (const std::string& remark : {dash_text(kTooFewSamples), std::string(kTailMayBeMissing)})
    tell_once(text, note_text(remark, options.style));
  text += background_matrix(join(groups), options.style);
  if (options.percentiles) text += percentiles(groups, options.style);
  return text + histograms(groups, options);
}

/// Topologies have tables of their own, and connections a text that has all that most readers want.
bool told_elsewhere(const Group& group, bool all) {
  const auto of_topologies = [](const Row& row) { return row.topology.has_value(); };
  return std::ranges::all_of(group.cases, of_topologies, &CaseSummary::first) ||
         (!all && std::ranges::all_of(group.cases, of_connections, &CaseSummary::first));
}

/// Says of repetitions that were interrupted what the tables above made of them.
std::string interruptions(const std::vector<Row>& rows, const TextStyle& style) {
  std::string list;
  for (const Row& row : rows)
    if (row.interrupted)
      add_item(list, fmt::format("{} (repetition {} of {}, {} iterations)", printable(row.name),
                                 row.repetition + 1, row.repetitions, row.iterations));
  if (list.empty()) return "";
  return wrap("  ",
              "The user ended the run before these were complete. Beside complete repetitions of "
              "the same case they are left out above.",
              style.width) +
         wrap("      ", list, style.width);
}

/// Of rows: test and transport, then the name, and how many rows have it.
using Names = std::map<std::pair<std::string, std::string>, std::map<std::string, int>>;

/// "send_lat/ud/size:8192 ×3, write_lat/ud (5 cases)"
/// @param all  the name of each case
std::string names_text(const Names& names, bool all) {
  constexpr std::size_t kFewNames = 2;
  std::string list;
  for (const auto& [test, cases] : names) {
    if (!all && cases.size() > kFewNames) {
      add_item(list,
               fmt::format("{}{}{} ({} cases)", printable(test.first),
                           test.second.empty() ? "" : "/", printable(test.second), cases.size()));
      continue;
    }
    for (const auto& [name, times] : cases)
      add_item(list, printable(name) + (times > 1 ? fmt::format(" ×{}", times) : ""));
  }
  return list;
}

/// Rows without a measurement, those with the same reason together: "name ×3, name".
std::string failures(const std::vector<Row>& rows, Row::Status status, bool all,
                     const TextStyle& style) {
  // What names have in common is told above already.
  const std::vector<std::string> common =
      all ? std::vector<std::string>() : common_parts(mapped(rows, &Row::name));
  std::vector<std::pair<std::string, Names>> reasons;
  for (const Row& row : rows) {
    if (row.status != status) continue;
    Names& names = entry_of(reasons, row.message);
    ++names[{test_of(row), transport_of(row)}][shorten_name(row.name, common)];
  }
  std::string text;
  for (const auto& [message, names] : reasons)
    text += wrap("  ", printable(message), style.width) +
            wrap("      ", names_text(names, all), style.width, name_breaks(style));
  return text;
}

}  // namespace

std::string show_result(const ResultFile& file, const ShowOptions& options) {
  const TextStyle& style = options.style;
  std::string text = describe_context(file, options.all, style);
  const std::vector<Group> all = group_rows(file.rows);
  std::vector<const Group*> groups;
  for (const Group& group : all)
    if (!told_elsewhere(group, options.all)) groups.push_back(&group);
  text += show_groups(groups, Defaults(file.context), link_rate(file.context), options);
  text += connection_text(file, style);
  text += topology_text(file, options);
  if (options.loss) text += loss_report(file.rows, file.context, style);
  text += ablation_text(file.context, file.rows, style);
  text += chapter("repeated until medians are known", until_report(file.rows, style), style);
  text += chapter("interrupted", interruptions(file.rows, style), style);
  text += chapter("skipped", failures(file.rows, Row::Status::skipped, options.all, style), style);
  text += chapter("failed", failures(file.rows, Row::Status::error, options.all, style), style);
  if (file.rows.empty()) text += "\nThere are no rows.\n";
  return style.utf8 ? text : to_ascii(text);
}

std::string show_files(const std::vector<ResultFile>& files, const ShowOptions& options) {
  if (options.csv) return options.tidy ? to_tidy_csv(files) : to_csv(files);
  std::string text;
  for (const ResultFile& file : files) add_item(text, show_result(file, options), "\n\n");
  return text;
}

}  // namespace rdmameter
