// SPDX-License-Identifier: Apache-2.0
// Topologies: shapes over ranks, the model and what it predicts, pictures of matrix and graph. All
// of it but the growth curves is there without JavaScript.
#include <fmt/core.h>

#include <algorithm>
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

struct Column {
  const char* name;
  const char* unit;
  std::function<Number(const TopologyCase&)> value;
  std::function<std::string(double)> text;
};

std::string plain(double value) {
  return fmt::format("{:.0f}", value);
}
std::string three(double value) {
  return fixed(value, decimals_for(std::vector{value}));
}
std::string percent(double value) {
  return fmt::format("{:.0f} %", 100 * value);
}

auto part(Number TopologyCase::*member) {
  return [member](const TopologyCase& one) { return one.*member; };
}

const std::vector<Column>& columns() {
  static const std::vector<Column> all = {
      {"hops", "mean",
       [](const TopologyCase& one) {
         return one.topology->hops ? Number(one.topology->hops->mean) : std::nullopt;
       },
       three},
      {"QPs", "of a rank",
       [](const TopologyCase& one) {
         return one.qps_most > 0 ? Number(static_cast<double>(one.qps_most)) : std::nullopt;
       },
       plain},
      {"QPs", "in all",
       [](const TopologyCase& one) {
         const auto& total = one.topology->qps_total;
         return total ? Number(static_cast<double>(*total)) : std::nullopt;
       },
       plain},
      {"p50", "", part(&TopologyCase::p50_ns), time_value},
      {"p99", "", part(&TopologyCase::p99_ns), time_value},
      {"rate", "Gb/s", part(&TopologyCase::gbps), three},
      {"of a rank", "Gb/s", part(&TopologyCase::rank_gbps), three},
      {"Jain", "", part(&TopologyCase::jain), [](double value) { return fixed(value, 3); }},
      {"of model", "", part(&TopologyCase::share), percent},
      {"set-up", "", part(&TopologyCase::setup_ns), time_value},
      {"barrier", "", part(&TopologyCase::barrier_ns), time_value},
      {"memory of a rank", "", part(&TopologyCase::memory_bytes), bytes_value}};
  return all;
}

std::string shapes_table(Cases cases) {
  std::vector<const Column*> shown;
  for (const Column& column : columns())
    if (std::any_of(cases.begin(), cases.end(),
                    [&column](const TopologyCase& one) { return column.value(one).has_value(); }))
      shown.push_back(&column);
  HtmlTable table("Shapes over ranks");
  table.head("traffic");
  table.head("size", "B", "number");
  table.head("ranks", "", "number");
  table.head("graph");
  for (const Column* column : shown) table.head(column->name, column->unit, "number");
  for (const TopologyCase& one : cases) {
    table.line();
    table.cell(exchange_name(*one.topology));
    table.number(fmt::format("{}", one.size_bytes));
    table.number(fmt::format("{}", one.topology->ranks));
    table.cell(one.topology->graph);
    for (const Column* column : shown) {
      const Number value = column->value(one);
      table.number(value ? column->text(*value) : "–");
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
    table.number(value);
    table.cell(interval);
  }
}

std::string model_table(const TopologyModel& model) {
  HtmlTable table("The fitted model: alpha + (hops − 1) · hop + hops · bytes · beta");
  for (const char* head : {"of", "cost"}) table.head(head);
  table.head("value", "", "number");
  table.head("95 % interval");
  if (model.latency) add_model(table, "latency", *model.latency);
  for (const Exchange& exchange : model.exchanges)
    if (exchange.uniform || exchange.direct)
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

std::string with_interval(const std::optional<Estimate>& made, std::string (*text)(double)) {
  if (!made) return "–";
  if (!made->low || text(*made->low) == text(*made->high)) return text(made->value);
  return fmt::format("{} ({} to {})", text(made->value), text(*made->low), text(*made->high));
}

std::string prediction_table(const TopologyModel& model) {
  HtmlTable table(
      "Predicted, not measured (in parentheses where 95 % of new measurements lie, if "
      "the model holds that far)");
  table.head("ranks", "", "number");
  table.head("graph");
  table.head("size", "B", "number");
  for (const char* head :
       {"QPs of a rank", "mean hops", "mean latency", "set-up", "memory of a rank"})
    table.head(head, "", "number");
  std::vector<std::string> exchanges;
  for (const Exchange& exchange : model.exchanges)
    if (exchange.uniform || exchange.direct) exchanges.push_back(exchange.name);
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
        table.number(with_interval(at.mean_ns, time_value));
        table.number(with_interval(made->setup_ns, time_value));
        table.number(with_interval(at.memory_bytes, bytes_value));
        for (const std::string& name : exchanges) {
          const auto rate = std::find_if(at.rank_gbps.begin(), at.rank_gbps.end(),
                                         [&name](const auto& one) { return one.first == name; });
          table.number(with_interval(
              rate == at.rank_gbps.end() ? std::nullopt : std::optional(rate->second), three));
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
