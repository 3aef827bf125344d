// SPDX-License-Identifier: Apache-2.0
// Topologies: shapes over ranks, the model and what it predicts, pictures of matrix and graph. All
// of it but the growth curves is there without JavaScript.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "reports/html/assets.h"
#include "reports/html/case_link.h"
#include "reports/html/html_table.h"
#include "reports/html/sections.h"
#include "reports/html/topology_pictures.h"
#include "reports/html/topology_title.h"
#include "reports/text.h"
#include "reports/topology/cases.h"
#include "reports/topology/model_text.h"
#include "reports/unit.h"

namespace rdmameter {
namespace {

using Cases = std::span<const TopologyCase>;
using Number = std::optional<double>;

constexpr std::size_t kMostPictures = 24;

/// A column of a table: all its numbers in one unit, so that it can be sorted.
struct Column {
  std::string name, unit;
  double size;  ///< of the unit, in the number's own
  int most_decimals;
  std::function<Number(const TopologyCase&)> value;
};

std::string three(double value) {
  return fixed(value, decimals_for(std::vector{value}));
}

auto part(Number TopologyCase::*member) {
  return [member](const TopologyCase& one) { return one.*member; };
}

auto counted(const char* name) {
  return [name](const TopologyCase& one) { return kernel_count(one, name); };
}

Number count(std::uint64_t value) {
  return value > 0 ? Number(static_cast<double>(value)) : std::nullopt;
}

/// The unit of a column of times, by the least of them.
Column time_column(const char* name, Cases cases, Number TopologyCase::*member) {
  double least = INFINITY;
  for (const TopologyCase& one : cases)
    if (one.*member && *(one.*member) > 0) least = std::min(least, *(one.*member));
  const Unit unit = time_unit(std::isinf(least) ? 1000 : least);
  return {name, std::string(unit.name), unit.size, most_decimals(unit), part(member)};
}

std::vector<Column> columns_of(Cases cases) {
  return {{"hops", "mean", 1, 2,
           [](const TopologyCase& one) {
             return one.topology->hops ? Number(one.topology->hops->mean) : std::nullopt;
           }},
          {"QPs", "of a rank", 1, 0, [](const TopologyCase& one) { return count(one.qps_most); }},
          {"QPs", "in all", 1, 0,
           [](const TopologyCase& one) { return count(one.topology->qps_total.value_or(0)); }},
          time_column("p50", cases, &TopologyCase::p50_ns),
          time_column("p99", cases, &TopologyCase::p99_ns),
          {"rate", "Gb/s", 1, 4, part(&TopologyCase::gbps)},
          {"of a rank", "Gb/s", 1, 4, part(&TopologyCase::rank_gbps)},
          {"Jain", "", 1, 3, part(&TopologyCase::jain)},
          {"of model", "%", 0.01, 0, part(&TopologyCase::share)},
          time_column("set-up", cases, &TopologyCase::setup_ns),
          time_column("barrier", cases, &TopologyCase::barrier_ns),
          {"memory", "KiB of a rank", 1024, 1, part(&TopologyCase::memory_bytes)},
          {"kernel: QPs", "of a rank", 1, 0, counted("qps")},
          {"CQs", "of a rank", 1, 0, counted("cqs")},
          {"CQ entries", "of a rank", 1, 0, counted("cqes")},
          {"MRs", "KiB of a rank", 1024, 1, counted("mr_bytes")},
          {"pinned", "KiB of a rank", 1024, 1, counted("pinned_bytes")}};
}

std::string shapes_table(Cases cases) {
  struct Shown {
    Column column;
    int decimals;
  };
  std::vector<Shown> shown;
  for (Column& column : columns_of(cases)) {
    std::vector<double> known;
    for (const TopologyCase& one : cases)
      if (const Number value = column.value(one)) known.push_back(*value / column.size);
    if (known.empty()) continue;
    const int decimals = column.most_decimals == 0 ? 0 : decimals_for(known, column.most_decimals);
    shown.push_back({std::move(column), decimals});
  }
  HtmlTable table("Shapes over ranks");
  table.head("traffic");
  table.head("size", "B", "number");
  table.head("ranks", "", "number");
  table.head("graph");
  for (const auto& [column, decimals] : shown) table.head(column.name, column.unit, "number");
  for (const TopologyCase& one : cases) {
    table.line();
    table.cell(exchange_name(*one.topology));
    table.number(fmt::format("{}", one.size_bytes));
    table.number(fmt::format("{}", one.topology->ranks));
    table.cell(one.topology->graph);
    for (const auto& [column, decimals] : shown) {
      const Number value = column.value(one);
      table.number(value ? fixed(*value / column.size, decimals) : "–");
    }
  }
  return table.html();
}

/// A figure of each case worth it: the graph, and the matrix beside it.
std::string pictures(const ResultFile& file, Cases cases) {
  std::string html;
  std::size_t drawn = 0;
  for (const TopologyCase* one : pictured_cases(cases, false)) {
    const Matrix matrix = matrix_of(*one);
    const auto straggler = find_straggler(matrix, one->topology->edges);
    const std::string heat = matrix_svg(matrix, straggler);
    if (heat.empty() || ++drawn > kMostPictures) continue;
    const std::string slow = straggler_text(*one, matrix, file.context);
    html += fmt::format(
        "<figure class=topology><figcaption>{}</figcaption>\n<div>{}<div>{}</div>"
        "</div>{}</figure>\n",
        markup_text(case_title(*one)), graph_svg(*one->topology, straggler), heat,
        slow.empty() ? "" : "<p class=slow>" + markup_text(slow) + ".</p>\n");
  }
  if (html.empty()) return "";
  return "<h4>From rank (row) to rank (column), one way</h4>\n<div class=topologies>\n" + html +
         "</div>\n";
}

void add_model(HtmlTable& table, const std::string& of, const CostFit& fit) {
  for (const auto& [name, value, interval] : cost_facts(fit)) {
    table.line();
    table.cell(of);
    table.cell(name);
    table.cell(value);
    table.cell(interval);
  }
}

std::string model_table(const TopologyModel& model) {
  HtmlTable table("The fitted model: alpha + (hops − 1) · hop + hops · bytes · beta");
  for (const char* head : {"of", "cost"}) table.head(head);
  for (const char* head : {"value", "95 % interval"}) table.head(head);
  if (model.latency) add_model(table, "latency", *model.latency);
  for (const Exchange& exchange : model.exchanges)
    if (exchange.predictable() || exchange.time.has_knee())
      add_model(table, exchange.name + ", from message to message", exchange.time);
  std::string html = table.empty() ? "" : table.html();
  for (const std::string& remark : model_remarks(model))
    html += "<p class=note>" + markup_text(remark) + "</p>\n";
  return html;
}

std::string crossover_list(const TopologyModel& model) {
  std::string html;
  for (const auto& [said, of] : crossover_sentences(model))
    html += fmt::format("<li>{}: <b>{}</b>\n", markup_text(of), markup_text(said));
  return html.empty() ? "" : "<h4>Which shape, by the model</h4>\n<ul>\n" + html + "</ul>\n";
}

/// A value in a unit of this size, and its interval where that says anything.
void add_estimate(HtmlTable& table, const std::optional<Estimate>& made, double size) {
  if (!made) {
    table.number("–");
    return;
  }
  const auto text = [size](double value) {
    return std::isfinite(value) ? three(value / size) : std::string("–");
  };
  const bool wide = made->low && text(*made->low) != text(*made->high);
  table.number(text(made->value),
               wide ? fmt::format("{} to {}", text(*made->low), text(*made->high)) : "");
}

std::string prediction_table(const TopologyModel& model) {
  HtmlTable table(
      "Predicted, not measured (in parentheses where 95 % of new measurements lie, if "
      "the model holds that far)");
  table.head("ranks", "", "number");
  table.head("graph");
  table.head("size", "B", "number");
  table.head("QPs", "of a rank", "number");
  table.head("hops", "mean", "number");
  table.head("mean latency", "µs", "number");
  table.head("set-up", "ms", "number");
  table.head("memory", "KiB of a rank", "number");
  std::vector<std::string> exchanges;
  for (const Exchange& exchange : model.exchanges)
    if (exchange.predictable()) exchanges.push_back(exchange.name);
  for (const std::string& name : exchanges) table.head(name, "Gb/s of a rank", "number");
  for (const std::uint64_t n : {64U, 1024U, 16384U})
    for (const std::string& graph : model.graphs) {
      const auto made = n > model.ranks.back() ? predict(model, graph, n) : std::nullopt;
      if (!made) continue;
      for (const Prediction::AtSize& at : made->sizes) {
        table.line();
        table.number(fmt::format("{}", n));
        table.cell(made->figures.graph);
        table.number(fmt::format("{}", at.size_bytes));
        table.number(fmt::format("{}", made->qps_per_rank),
                     made->more_qps_than_measured ? "more than measured" : "");
        table.number(three(made->figures.hops_mean));
        add_estimate(table, at.mean_ns, 1e3);
        add_estimate(table, made->setup_ns, 1e6);
        add_estimate(table, at.memory_bytes, 1024);
        for (const std::string& name : exchanges) {
          const auto rate = std::find_if(at.rank_gbps.begin(), at.rank_gbps.end(),
                                         [&name](const auto& one) { return one.first == name; });
          add_estimate(table,
                       rate == at.rank_gbps.end() ? std::nullopt : std::optional(rate->second), 1);
        }
      }
    }
  return table.empty() ? "" : "<div class=predicted>" + table.html() + "</div>\n";
}

}  // namespace

Section topology_section(const PageCases& page) {
  std::string html;
  for (std::size_t i = 0; i < page.files.size(); ++i) {
    const auto models = topology_models(page.files[i].rows);
    const auto cases = topology_cases(page.files[i].rows, models);
    for (std::size_t m = 0; m < models.size(); ++m) {
      std::vector<TopologyCase> own;
      std::copy_if(cases.begin(), cases.end(), std::back_inserter(own),
                   [m](const TopologyCase& one) { return one.model == m; });
      html += fmt::format("<h3>{}</h3>\n", markup_text(topology_title(page, i, models, m))) +
              pictures(page.files[i], own) + crossover_list(models[m]) + model_table(models[m]) +
              shapes_table(own) + prediction_table(models[m]);
    }
  }
  const bool charts = !asset("echarts.js").empty();
  if (!html.empty() && charts) html = std::string(asset("topology.html")) + html;
  return {"topologies", "Topologies", html};
}

}  // namespace rdmameter
