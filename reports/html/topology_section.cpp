// SPDX-License-Identifier: Apache-2.0
// Topologies: shapes over ranks, the model and what it predicts, pictures of matrix and graph. All
// of it but the growth curves is there without JavaScript.
#include <fmt/core.h>

#include <array>

#include "reports/html/assets.h"
#include "reports/html/html_table.h"
#include "reports/html/page_cases.h"
#include "reports/html/sections.h"
#include "reports/html/topology_data.h"
#include "reports/html/topology_pictures.h"
#include "reports/text/text.h"
#include "reports/topology/cases.h"
#include "reports/topology/decision_table.h"
#include "reports/topology/matrix_text.h"
#include "reports/topology/model_text.h"
#include "reports/topology/tables.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMaxPictures = 24;

std::string shapes_table(TopologyCases cases) {
  Table table = shapes_keys(cases);
  Table::Column size{"size", "B"}, traffic{.head = "traffic", .is_text = true};
  for (const TopologyCase& one : cases) {
    traffic.cells.emplace_back(exchange_name(*one.topology));
    size.cells.emplace_back(one.size_bytes);
  }
  table.columns.insert(table.columns.begin(), {traffic, size});
  add_measurements(table, cases);
  add_resources(table, cases, true);
  return html_table(table, "Shapes over ranks; memory and the kernel's objects are of a rank");
}

std::string failures_html(const ResultFile& file, const TopologyCase& one) {
  std::string html;
  for (const std::string& sentence : failed_pairs_text(one, file.context))
    html += note_html(sentence + ".", "slow");
  return html;
}

/// A figure of each case worth it: the graph, and the matrix beside it.
std::string pictures(const ResultFile& file, TopologyCases cases) {
  std::string html;
  std::size_t drawn = 0;
  for (const TopologyCase* one : pictured_cases(cases, false)) {
    const Matrix matrix = matrix_of(*one);
    const auto straggler = straggler_of(*one, matrix);
    const std::string heat = matrix_svg(matrix, straggler, failed_cells(*one), pair_numbers(*one));
    if (heat.empty() || ++drawn > kMaxPictures) continue;
    const std::string slow = straggler_text(straggler, file.context),
                      kinds = matrix_kinds_text(*one, matrix);
    html += fmt::format(
        "<figure class=topology><figcaption>{}</figcaption>\n<div>{}<div>{}</div>"
        "</div>{}{}{}</figure>\n",
        markup_text(case_title(*one)), graph_svg(*one->topology, straggler), heat, note_html(kinds),
        failures_html(file, *one), slow.empty() ? "" : note_html(slow + ".", "slow"));
  }
  if (html.empty()) return "";
  return "<h4>From rank (row) to rank (column), one way</h4>\n<div class=topologies>\n" + html +
         "</div>\n";
}

/// In place of matrices that are too large for a file.
std::string pair_times_html(const ResultFile& file, TopologyCases cases) {
  std::string html;
  for (const bool streams : {false, true}) html += html_table(pair_times_table(cases, streams));
  for (const TopologyCase& one : cases) {
    if (one.topology->matrix_summary) html += failures_html(file, one);
    html += html_table(slowest_pairs_table(one, file.context, false));
  }
  return html;
}

std::string model_table(const TopologyModel& model) {
  Table table{text_columns({"cost", "value"})};
  if (model.latency)
    for (const auto& [name, value] : cost_facts(model)) table.add_line({name, value});
  std::string html =
      html_table(table, "The fitted model: alpha + (hops − 1) · hop + hops · bytes · beta");
  for (const std::string& remark : model_remarks(model)) html += note_html(remark);
  return html;
}

std::string predictions_html(const TopologyModel& model) {
  const auto ranks = filtered(std::array<std::uint64_t, 3>{64, 1024, 16384},
                              [&](std::uint64_t n) { return n > *model.ranks.rbegin(); });
  std::string unknown;
  const std::string html = html_table(prediction_table(model, ranks, unknown));
  if (html.empty()) return "";
  return "<div class=predicted>" + html + "</div>\n" + note_html(prediction_remark(model));
}

}  // namespace

Section topology_section(const PageCases& page) {
  std::string html;
  for (std::size_t i = 0; i < page.files.size(); ++i) {
    const auto models = topology_models(page.files[i].rows, page.files[i].context);
    const auto cases = topology_cases(page.files[i].rows, models, page.files[i].context);
    for (const Decision& each :
         decisions(without_collectives(cases), models,
                   {least_max_qp(page.files[i].context), page.memory_budget_bytes})) {
      html += html_table(each.table);
      for (const std::string& limit : each.limits) html += note_html(limit);
    }
    for (std::size_t m = 0; m < models.size(); ++m) {
      const std::vector<TopologyCase> own = cases_of_model(cases, m);
      html += fmt::format("<h3>{}</h3>\n", markup_text(topology_title(page, i, models, m))) +
              pictures(page.files[i], own) + pair_times_html(page.files[i], own) +
              model_table(models[m]) + shapes_table(without_collectives(own)) +
              html_table(collectives_table(own)) + predictions_html(models[m]);
    }
  }
  const bool charts = !asset("echarts.js").empty();
  if (!html.empty() && charts) html = std::string(asset("topology.html")) + html;
  return {"topologies", "Topologies", html};
}

}  // namespace rdmameter
