// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/topology_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "reports/summary/defaults.h"
#include "reports/summary/facts.h"
#include "reports/summary/unit.h"
#include "reports/text/case_text.h"
#include "reports/topology/cases.h"
#include "reports/topology/decision_table.h"
#include "reports/topology/matrix_text.h"
#include "reports/topology/model_text.h"
#include "reports/topology/tables.h"

namespace rdmameter {
namespace {

using Cases = std::span<const TopologyCase>;

/// What each graph needs, whatever the traffic.
std::string resources_table(Cases cases, const TextStyle& style) {
  Table table = shapes_keys(cases);
  add_resources(table, cases, false);
  return table.columns.size() > table.key_columns ? render(table, style) : "";
}

/// One traffic and size: shapes over ranks.
std::string measurements_table(Cases cases, const TextStyle& style) {
  Table table = shapes_keys(cases);
  add_measurements(table, cases);
  return render(table, style);
}

/// Of those cases whose pairs are at different distances. Empty: there is none.
std::string by_hops_table(Cases cases, const TextStyle& style) {
  std::vector<TopologyCase> chosen;
  for (const TopologyCase& one : cases)
    if (one.topology->by_hops.size() > 1) chosen.push_back(one);
  Table table = shapes_keys(chosen);
  add_times_by_hops(table, chosen);
  return table.columns.size() > table.key_columns ? render(table, style) : "";
}

/// "pairs, 64 B, half round trip"
std::string table_title(const TopologyCase& one) {
  const Row& row = *one.summary.repetitions.front();
  std::string title = fmt::format("{}, {} B", printable(one.topology->traffic), one.size_bytes);
  if (!usual_schedule(*one.topology)) title += ", " + printable(one.topology->schedule);
  if (row.latency) title += row.latency->half_round_trip ? ", half round trip" : ", latency";
  return title;
}

bool same_table(const TopologyCase& a, const TopologyCase& b) {
  return a.topology->traffic == b.topology->traffic && a.size_bytes == b.size_bytes &&
         a.topology->schedule == b.topology->schedule;
}

/// For each size: what each graph needs, from the first traffic that measured it.
std::string resources(Cases cases, const std::vector<std::uint64_t>& sizes,
                      const TextStyle& style) {
  std::string text;
  for (const std::uint64_t size : sizes) {
    std::vector<TopologyCase> chosen;
    for (const TopologyCase& one : cases)
      if (one.size_bytes == size &&
          std::none_of(chosen.begin(), chosen.end(), [&one](const TopologyCase& other) {
            return shape_label(other) == shape_label(one) &&
                   other.topology->ranks == one.topology->ranks;
          }))
        chosen.push_back(one);
    std::stable_sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) {
      return a.topology->ranks < b.topology->ranks;
    });
    if (const std::string table = resources_table(chosen, style); !table.empty())
      text += "\n" + bold(fmt::format("  what each graph needs, {} B", size), style) + "\n" + table;
  }
  return text;
}

std::string tables(Cases cases, const TextStyle& style) {
  std::string text;
  while (!cases.empty()) {
    const auto end = std::find_if(cases.begin(), cases.end(), [&cases](const TopologyCase& one) {
      return !same_table(one, cases.front());
    });
    const Cases together = cases.first(static_cast<std::size_t>(end - cases.begin()));
    text += "\n" + bold("  " + table_title(together.front()), style) + "\n" +
            measurements_table(together, style);
    if (const std::string table = by_hops_table(together, style); !table.empty())
      text += "\n" + bold("  p50 by hops: " + table_title(together.front()), style) + "\n" + table;
    cases = cases.subspan(together.size());
  }
  return text;
}

std::string collectives_text(Cases cases, const TextStyle& style) {
  const Table table = collectives_table(cases);
  if (table.columns.front().cells.empty()) return "";
  return "\n" + bold("  collectives: time of the slowest rank, from a barrier on", style) + "\n" +
         render(table, style);
}

std::string failures(const ResultFile& file, const TopologyCase& one, const TextStyle& style) {
  std::string text;
  for (const std::string& sentence : failed_pairs_text(one, file.context))
    text += bold(wrap("  ! ", sentence + ".", style.width), style);
  return text;
}

std::string matrices(const ResultFile& file, Cases cases, const TopologyTextOptions& options) {
  std::string text;
  for (const TopologyCase* one :
       pictured_cases(cases, options.all_matrices, options.judge_shared)) {
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
std::string pair_times(const ResultFile& file, Cases cases, const TopologyTextOptions& options) {
  std::string text;
  for (const auto& [streams, title] : {std::pair{false, "one way"}, std::pair{true, "bandwidth"}})
    if (const Table table = pair_times_table(cases, streams); table.lines() > 0)
      text += "\n" + bold(fmt::format("  {} between pairs of ranks", title), options.style) + "\n" +
              render(table, options.style);
  for (const TopologyCase& one : cases) {
    if (one.topology->matrix_summary) text += failures(file, one, options.style);
    if (const Table slowest = slowest_pairs_table(one, file.context, options.judge_shared);
        slowest.lines() > 0)
      text += "\n" + bold("  slowest pairs, not judged: " + case_title(one), options.style) + "\n" +
              render(slowest, options.style);
  }
  return text;
}

std::string heading(const TopologyModel& model, const Defaults& known, bool all,
                    const TextStyle& style) {
  std::vector<std::string> keys;
  bool defaults = false;
  for (const auto& [key, value] : model.setting.items()) {
    if (value == "auto" || key == "transport" || (!all && told_with_ends(key))) continue;
    if (!all && known.has_among_ranks(key, value))
      defaults = true;
    else
      keys.push_back(key);
  }
  std::string title = "topologies";
  if (const std::string over = value_text(fact_at(model.setting, "transport")); !over.empty())
    title += " over " + over;
  std::string facts = case_text(model.setting, keys);
  if (defaults) facts += facts.empty() ? "settings are defaults" : "; others are defaults";
  return "\n" + bold(title, style) + "\n" + (facts.empty() ? "" : wrap("  ", facts, style.width));
}

}  // namespace

std::string topology_text(const ResultFile& file, const TopologyTextOptions& options) {
  const std::vector<TopologyModel> models = topology_models(file.rows, file.context);
  const std::vector<TopologyCase> all = topology_cases(file.rows, models, file.context);
  std::string text =
      decision_text(without_collectives(all), models,
                    {least_max_qp(file.context), options.memory_budget_bytes}, options.style);
  const Defaults defaults(file.context);
  for (std::size_t i = 0; i < models.size(); ++i) {
    const std::vector<TopologyCase> cases = cases_of_model(all, i);
    text += heading(models[i], defaults, options.all_settings, options.style) +
            resources(cases, models[i].sizes_bytes, options.style) +
            tables(without_collectives(cases), options.style) +
            collectives_text(cases, options.style) + matrices(file, cases, options) +
            pair_times(file, cases, options) +
            model_text(models[i], options.predict, options.style, options.judge_shared);
  }
  return text;
}

}  // namespace rdmameter
