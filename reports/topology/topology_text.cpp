// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/topology_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "reports/case_text.h"
#include "reports/table.h"
#include "reports/topology/cases.h"
#include "reports/topology/growth_text.h"
#include "reports/topology/matrix_text.h"
#include "reports/topology/model_text.h"
#include "reports/unit.h"

namespace rdmameter {
namespace {

using Cases = std::span<const TopologyCase>;
using Number = std::optional<double>;

/// A column of numbers, where any case has one.
void add_column(Table& table, Cases cases, const char* head, const std::string& unit, double scale,
                int most_decimals, const std::function<Number(const TopologyCase&)>& number) {
  std::vector<double> known;
  for (const TopologyCase& one : cases)
    if (const Number value = number(one)) known.push_back(*value / scale);
  if (known.empty()) return;
  const int decimals = most_decimals == 0 ? 0 : decimals_for(known, most_decimals);
  Table::Column column{head, unit, {}};
  for (const TopologyCase& one : cases) {
    const Number value = number(one);
    column.cells.push_back(value ? fixed(*value / scale, decimals) : "–");
  }
  table.columns.push_back(std::move(column));
}

Unit unit_of(Cases cases, Number TopologyCase::*part) {
  double least = INFINITY;
  for (const TopologyCase& one : cases)
    if (one.*part && *(one.*part) > 0) least = std::min(least, *(one.*part));
  return time_unit(std::isinf(least) ? 1000 : least);
}

Number whole(std::uint64_t value) {
  return value == 0 ? Number() : Number(static_cast<double>(value));
}

std::string bracketed(const Unit& unit) {
  return fmt::format("[{}]", unit.name);
}

auto part(Number TopologyCase::*member) {
  return [member](const TopologyCase& one) { return one.*member; };
}

auto counted(const char* name) {
  return [name](const TopologyCase& one) { return kernel_count(one, name); };
}

/// Lines of ranks and shapes, for columns to come.
Table keys_table(Cases cases) {
  Table table;
  table.key_columns = 2;
  table.columns = {{"ranks", "", {}}, {"graph", "", {}}};
  for (const TopologyCase& one : cases) {
    table.columns[0].cells.push_back(fmt::format("{}", one.topology->ranks));
    table.columns[1].cells.push_back(printable(one.topology->graph));
  }
  return table;
}

/// What the shapes take, whatever the traffic.
std::string resources_table(Cases cases, const TextStyle& style) {
  Table table = keys_table(cases);
  add_column(table, cases, "QPs", "of a rank", 1, 0,
             [](const TopologyCase& one) { return whole(one.qps_most); });
  add_column(table, cases, "QPs", "in all", 1, 0,
             [](const TopologyCase& one) { return whole(one.topology->qps_total.value_or(0)); });
  const Unit setup = unit_of(cases, &TopologyCase::setup_ns);
  add_column(table, cases, "set-up", bracketed(setup), setup.size, 2,
             part(&TopologyCase::setup_ns));
  const Unit barrier = unit_of(cases, &TopologyCase::barrier_ns);
  add_column(table, cases, "barrier", bracketed(barrier), barrier.size, 2,
             part(&TopologyCase::barrier_ns));
  add_column(table, cases, "memory", "[KiB]", 1024, 1, part(&TopologyCase::memory_bytes));
  add_column(table, cases, "kernel:", "QPs", 1, 0, counted("qps"));
  add_column(table, cases, "pinned", "[KiB]", 1024, 1, counted("pinned_bytes"));
  return table.columns.size() > table.key_columns ? render(table, style) : "";
}

/// One traffic and size: shapes over ranks.
std::string shapes_table(Cases cases, const TextStyle& style) {
  Table table = keys_table(cases);
  add_column(table, cases, "hops", "mean", 1, 2, [](const TopologyCase& one) {
    return one.topology->hops ? Number(one.topology->hops->mean) : std::nullopt;
  });
  const Unit unit = unit_of(cases, &TopologyCase::p50_ns);
  add_column(table, cases, "p50", bracketed(unit), unit.size, most_decimals(unit),
             part(&TopologyCase::p50_ns));
  add_column(table, cases, "p99", bracketed(unit), unit.size, most_decimals(unit),
             part(&TopologyCase::p99_ns));
  add_column(table, cases, "rate", "[Gb/s]", 1, 4, part(&TopologyCase::gbps));
  add_column(table, cases, "of a rank", "[Gb/s]", 1, 4, part(&TopologyCase::rank_gbps));
  add_column(table, cases, "Jain", "", 1, 3, part(&TopologyCase::jain));
  add_column(table, cases, "of model", "[%]", 0.01, 0, part(&TopologyCase::share));
  return render(table, style);
}

/// "pairs, 64 B, half round trip"
std::string table_title(const TopologyCase& one) {
  const Row& row = *one.summary.repetitions.front();
  std::string title = fmt::format("{}, {} B", printable(one.topology->traffic), one.size_bytes);
  if (one.topology->schedule != "simultaneous") title += ", " + printable(one.topology->schedule);
  if (row.latency) title += row.latency->half_round_trip ? ", half round trip" : ", latency";
  return title;
}

bool same_table(const TopologyCase& a, const TopologyCase& b) {
  return a.topology->traffic == b.topology->traffic && a.size_bytes == b.size_bytes &&
         a.topology->schedule == b.topology->schedule;
}

/// Of each size, the shapes with what the first traffic that has them says of them.
std::string resources(Cases cases, const std::vector<std::uint64_t>& sizes,
                      const TextStyle& style) {
  std::string text;
  for (const std::uint64_t size : sizes) {
    std::vector<TopologyCase> chosen;
    for (const TopologyCase& one : cases)
      if (one.size_bytes == size &&
          std::none_of(chosen.begin(), chosen.end(), [&one](const TopologyCase& other) {
            return other.topology->graph == one.topology->graph &&
                   other.topology->ranks == one.topology->ranks;
          }))
        chosen.push_back(one);
    std::stable_sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) {
      return a.topology->ranks < b.topology->ranks;
    });
    if (const std::string table = resources_table(chosen, style); !table.empty())
      text += "\n" + bold(fmt::format("  what the shapes take, {} B", size), style) + "\n" + table;
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
            shapes_table(together, style);
    cases = cases.subspan(together.size());
  }
  return text;
}

std::string matrices(const ResultFile& file, Cases cases, const TopologyTextOptions& options) {
  std::string text;
  for (const TopologyCase* one : pictured_cases(cases, options.all_matrices)) {
    const Matrix matrix = matrix_of(*one);
    const std::string drawn = draw_matrix(matrix, options.style);
    if (drawn.empty()) continue;
    text +=
        "\n" + bold("  one way between ranks: " + case_title(*one), options.style) + "\n" + drawn;
    if (const std::string slow = straggler_text(*one, matrix, file.context); !slow.empty())
      text += bold(wrap("  ! ", slow + ".", options.style.width), options.style);
  }
  return text;
}

/// One line for each shape: what was measured, and what is predicted for the ranks asked for.
std::vector<GrowthLine> growth_lines(const TopologyModel& model, Cases cases,
                                     const std::vector<std::uint64_t>& ranks,
                                     const std::function<Number(const TopologyCase&)>& measured,
                                     const std::function<Number(const Prediction&)>& predicted) {
  std::vector<GrowthLine> lines;
  for (const std::string& graph : model.graphs) {
    GrowthLine line{graph, {}, {}};
    const auto add = [](auto& points, std::uint64_t n, const Number& value) {
      const auto x = static_cast<double>(n);
      const auto known = [x](const auto& point) { return point.first == x; };
      if (value && *value > 0 && std::none_of(points.begin(), points.end(), known))
        points.emplace_back(x, *value);
    };
    for (const TopologyCase& one : cases)
      if (one.topology->graph == graph) add(line.measured, one.topology->ranks, measured(one));
    for (const std::uint64_t n : ranks)
      if (const auto made = predict(model, graph, n)) add(line.predicted, n, predicted(*made));
    if (!line.measured.empty() || !line.predicted.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::string growth(const TopologyModel& model, Cases cases, const TopologyTextOptions& options) {
  std::string text;
  const auto add = [&](const std::string& title, const std::vector<GrowthLine>& lines,
                       const Unit& unit) {
    const std::string drawn = draw_growth(lines, unit, options.style);
    if (!drawn.empty()) text += "\n" + bold("  " + title, options.style) + "\n" + drawn;
  };
  add("QPs of a rank over ranks",
      growth_lines(
          model, cases, options.predict,
          [](const TopologyCase& one) { return whole(one.qps_most); },
          [](const Prediction& made) { return whole(made.qps_per_rank); }),
      {"QPs", 1});
  const auto first = std::find_if(cases.begin(), cases.end(), [](const TopologyCase& one) {
    return one.topology->traffic == "pairs" && one.p50_ns;
  });
  if (first == cases.end()) return text;
  const auto mean = [first](const TopologyCase& one) -> Number {
    if (!same_table(one, *first)) return std::nullopt;
    const auto made = spread(one.summary, mean_latency_ns);
    return made ? Number(made->median) : std::nullopt;
  };
  const auto predicted = [first](const Prediction& made) -> Number {
    for (const Prediction::AtSize& at : made.sizes)
      if (at.size_bytes == first->size_bytes && at.mean_ns) return at.mean_ns->value;
    return std::nullopt;
  };
  add(fmt::format("mean latency over ranks, {} B", first->size_bytes),
      growth_lines(model, cases, options.predict, mean, predicted), time_unit(*first->p50_ns));
  return text;
}

std::string heading(const TopologyModel& model, const TextStyle& style) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : model.setting.items())
    if (value != "auto" && key != "transport") keys.push_back(key);
  std::string title = "topologies";
  if (model.setting.contains("transport"))
    title += " over " + value_text(model.setting["transport"]);
  const std::string facts = case_text(model.setting, keys);
  return "\n" + bold(title, style) + "\n" + (facts.empty() ? "" : wrap("  ", facts, style.width));
}

}  // namespace

std::string topology_text(const ResultFile& file, const TopologyTextOptions& options) {
  const std::vector<TopologyModel> models = topology_models(file.rows);
  const std::vector<TopologyCase> all = topology_cases(file.rows, models);
  std::string text;
  for (std::size_t i = 0; i < models.size(); ++i) {
    std::vector<TopologyCase> cases;
    std::copy_if(all.begin(), all.end(), std::back_inserter(cases),
                 [i](const TopologyCase& one) { return one.model == i; });
    text += heading(models[i], options.style) +
            resources(cases, models[i].sizes_bytes, options.style) + tables(cases, options.style) +
            matrices(file, cases, options) + growth(models[i], cases, options) +
            model_text(models[i], options.predict, options.style);
  }
  return text;
}

}  // namespace rdmameter
