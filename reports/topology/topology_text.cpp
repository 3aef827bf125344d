// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/topology_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "reports/summary/defaults.h"
#include "reports/text/case_text.h"
#include "reports/topology/cases.h"
#include "reports/topology/decision_table.h"
#include "reports/topology/matrix_text.h"
#include "reports/topology/model_text.h"
#include "reports/topology/tables.h"

namespace rdmameter {
namespace {

/// "pairs, 64 B, half round trip"
std::string table_title(const TopologyCase& one) {
  const Row& row = one.summary.first();
  std::string title = fmt::format("{}, {} B", printable(one.topology->traffic), one.size_bytes);
  if (!usual_schedule(*one.topology)) title += ", " + printable(one.topology->schedule);
  if (row.latency) title += row.latency->half_round_trip ? ", half round trip" : ", latency";
  return title;
}

bool same_table(const TopologyCase& a, const TopologyCase& b) {
  return a.topology->traffic == b.topology->traffic && a.size_bytes == b.size_bytes &&
         a.topology->schedule == b.topology->schedule;
}

/// With a title. Empty: it has no column beside the keys.
std::string shapes_text(Table table, std::string title, const TextStyle& style) {
  table.title = std::move(title);
  return table.columns.size() > table.key_columns ? titled(table, style) : "";
}

/// For each size: what each graph needs, from the first traffic that measured it.
std::string resources(TopologyCases cases, const std::set<std::uint64_t>& sizes,
                      const TextStyle& style) {
  std::string text;
  for (const std::uint64_t size : sizes) {
    std::vector<TopologyCase> chosen;
    std::set<std::pair<std::string, std::uint64_t>> known;
    for (const TopologyCase& one : cases)
      if (one.size_bytes == size && known.emplace(shape_label(one), one.topology->ranks).second)
        chosen.push_back(one);
    std::ranges::stable_sort(chosen, {}, [](const auto& one) { return one.topology->ranks; });
    Table table = shapes_keys(chosen);
    add_resources(table, chosen, false);
    text += shapes_text(std::move(table), fmt::format("what each graph needs, {} B", size), style);
  }
  return text;
}

/// For each traffic and size: shapes over ranks, and where pairs are at different distances, those.
std::string tables(TopologyCases cases, const TextStyle& style) {
  std::string text;
  while (!cases.empty()) {
    const auto end = std::ranges::find_if_not(
        cases, [&](const TopologyCase& one) { return same_table(one, cases.front()); });
    const TopologyCases together(cases.begin(), end);
    const std::string title = table_title(together.front());
    Table measured = shapes_keys(together);
    add_measurements(measured, together);
    measured.title = title;
    const auto distant = filtered(
        together, [](const TopologyCase& one) { return one.topology->by_hops.size() > 1; });
    Table by_hops = shapes_keys(distant);
    add_times_by_hops(by_hops, distant);
    text += titled(measured, style) + shapes_text(by_hops, "p50 by hops: " + title, style);
    cases = cases.subspan(together.size());
  }
  return text;
}

std::string failures(const ResultFile& file, const TopologyCase& one, const TextStyle& style) {
  std::string text;
  for (const std::string& sentence : failed_pairs_text(one, file.context))
    text += bold(wrap("  ! ", sentence + ".", style.width), style);
  return text;
}

std::string matrices(const ResultFile& file, TopologyCases cases, const ShowOptions& options) {
  std::string text;
  for (const TopologyCase* one :
       pictured_cases(cases, options.histogram == true, options.judge_shared)) {
    const Matrix matrix = matrix_of(*one);
    const PairNumbers numbers = pair_numbers(*one);
    const std::string drawn = draw_matrix(matrix, options.style, failed_cells(*one), numbers);
    if (drawn.empty()) continue;
    const char* const what = numbers.bandwidths() ? "bandwidth" : "one way";
    text += "\n" +
            bold(fmt::format("  {} between ranks: {}", what, case_title(*one)), options.style) +
            "\n" + drawn;
    if (const std::string kinds = matrix_kinds_text(*one, matrix); !kinds.empty())
      text += wrap("  ", kinds, options.style.width);
    text += failures(file, *one, options.style);
    if (const std::string slow =
            straggler_text(straggler_of(*one, matrix, options.judge_shared), file.context);
        !slow.empty())
      text += bold(wrap("  ! ", slow + ".", options.style.width), options.style);
  }
  return text;
}

/// In place of matrices that are too large for a file.
std::string pair_times(const ResultFile& file, TopologyCases cases, const ShowOptions& options) {
  std::string text;
  for (const bool streams : {false, true})
    text += titled(pair_times_table(cases, streams), options.style);
  for (const TopologyCase& one : cases) {
    if (one.topology->matrix_summary) text += failures(file, one, options.style);
    text += titled(slowest_pairs_table(one, file.context, options.judge_shared), options.style);
  }
  return text;
}

std::string heading(const TopologyModel& model, const Defaults& known, bool all,
                    const TextStyle& style) {
  std::vector<std::string> keys;
  bool defaults = false;
  for (const auto& [key, value] : model.setting.items()) {
    if (value == "auto" || key == "transport" || (!all && shown_with_environment(key))) continue;
    if (!all && known.has(Defaults::Kind::ranks, key, value))
      defaults = true;
    else
      keys.push_back(key);
  }
  std::string facts = case_text(model.setting, keys);
  if (defaults) facts += facts.empty() ? "settings are defaults" : "; others are defaults";
  return "\n" + bold("topologies" + over_text(model), style) + "\n" +
         (facts.empty() ? "" : wrap("  ", facts, style.width));
}

}  // namespace

std::string topology_text(const ResultFile& file, const ShowOptions& options) {
  const std::vector<TopologyModel> models = topology_models(file.rows, file.context);
  const std::vector<TopologyCase> all = topology_cases(file.rows, models, file.context);
  std::string text;
  for (const Decision& each :
       decisions(without_collectives(all), models,
                 {least_max_qp(file.context), options.memory_budget_bytes})) {
    text += titled(each.table, options.style, "");
    for (const std::string& limit : each.limits) text += wrap("  ", limit, options.style.width);
  }
  const Defaults defaults(file.context);
  for (std::size_t i = 0; i < models.size(); ++i) {
    const std::vector<TopologyCase> cases = cases_of_model(all, i),
                                    plain = without_collectives(cases);
    text += heading(models[i], defaults, options.all, options.style) +
            resources(plain.empty() ? cases : plain, models[i].sizes_bytes, options.style) +
            tables(plain, options.style) + titled(collectives_table(cases), options.style) +
            matrices(file, cases, options) + pair_times(file, cases, options) +
            model_text(models[i], options.predict, options.style, options.judge_shared);
  }
  return text;
}

}  // namespace rdmameter
