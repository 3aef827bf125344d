// SPDX-License-Identifier: Apache-2.0
#include "reports/html/topology_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>

#include "reports/html/chart_data.h"
#include "reports/stats/sample.h"
#include "reports/summary/facts.h"
#include "reports/summary/metric.h"
#include "reports/text/case_text.h"
#include "reports/topology/cases.h"

namespace rdmameter {
namespace {

/// What is drawn over ranks: of a row, and of a prediction.
struct Quantity {
  std::string key, name, unit;
  RowNumber of_row;
  std::function<Number(const Prediction&)> of_prediction = {};  ///< empty: not predicted
  std::optional<std::uint64_t> size_bytes = {};                 ///< of the rows; nothing: any
  std::string exchange = {};                                    ///< likewise; empty: any
};

std::function<Number(const Prediction&)> at_size(std::uint64_t size_bytes,
                                                 Number (*number)(const Prediction::AtSize&)) {
  return [size_bytes, number](const Prediction& prediction) {
    for (const Prediction::AtSize& at : prediction.sizes)
      if (at.size_bytes == size_bytes) return number(at);
    return Number();
  };
}

Number rank_gbps(const Row& row) {
  const Number gbps = info_of(Metric::gbps).value(row);
  const double senders = sending_ranks(*row.topology);
  return gbps && senders > 0 ? Number(*gbps / senders) : std::nullopt;
}

Number known_sum(const NamedCounts& amounts) {
  const double sum = sum_of_amounts(amounts);
  return sum > 0 ? Number(sum) : std::nullopt;
}

std::vector<Quantity> quantities_of(const TopologyModel& model) {
  std::vector<Quantity> list;
  for (const std::uint64_t size : model.sizes_bytes)
    if (model.latency)
      list.push_back(
          {fmt::format("latency{}", size), "mean latency over all pairs", "ns", mean_latency_ns,
           at_size(size, [](const Prediction::AtSize& at) { return at.all.mean_ns; }), size});
  for (const std::string& exchange : model.exchanges)
    for (const std::uint64_t size : model.sizes_bytes)
      list.push_back({exchange + std::to_string(size), exchange + ", a rank's rate", "Gb/s",
                      rank_gbps, nullptr, size, exchange});
  list.push_back({"qps", "QPs of a rank", "QPs",
                  [](const Row& row) { return Number(most_qps(*row.topology)); },
                  [](const Prediction& at) { return Number(at.qps_per_rank); }});
  list.push_back({"connect", "connect time", "ns",
                  [](const Row& row) { return known_sum(row.topology->connect_ns); }});
  for (const std::uint64_t size : model.sizes_bytes)
    list.push_back({fmt::format("memory{}", size), "memory of a rank", "bytes",
                    [](const Row& row) { return known_sum(row.topology->connection_bytes); },
                    at_size(size, [](const Prediction::AtSize& at) { return at.memory_bytes; }),
                    size});
  return list;
}

/// [[ranks, least, median, greatest]...] of all repetitions of all cases of a shape.
Json measured_points(TopologyCases cases, const ModelShape& shape, const Quantity& quantity) {
  std::map<std::uint64_t, std::vector<double>> by_ranks;
  // Beside others, those whose ranks have the QPs of a larger graph are none of their own one.
  const auto inflated = [](const TopologyCase& one) {
    return count_at(one.summary.first().case_object, "inflate") != 0;
  };
  const bool some_are_not = !std::ranges::all_of(cases, inflated);
  for (const TopologyCase& one : cases) {
    const std::string& exchange = quantity.exchange;
    if (shape_of(one.summary.first()) == shape && !(some_are_not && inflated(one)) &&
        quantity.size_bytes.value_or(one.size_bytes) == one.size_bytes &&
        (exchange.empty() || exchange_name(*one.topology) == exchange))
      for (const Row* row : one.summary.repetitions)
        if (const Number value = quantity.of_row(*row); value && *value > 0)
          by_ranks[one.topology->ranks].push_back(*value);
  }
  Json points = Json::array();
  for (auto& [ranks, values] : by_ranks) {
    std::ranges::sort(values);
    points.push_back({ranks, short_number(values.front()), short_number(median(values)),
                      short_number(values.back())});
  }
  return points;
}

Json predicted_points(const std::vector<Prediction>& predictions, const Quantity& quantity) {
  Json points = Json::array();
  if (!quantity.of_prediction) return points;
  for (const Prediction& at : predictions)
    if (const Number value = quantity.of_prediction(at); value && *value > 0)
      points.push_back({at.ranks, short_number(*value)});
  return points;
}

std::vector<std::vector<Prediction>> predictions_of(const TopologyModel& model) {
  constexpr std::uint64_t kMaxDrawnRanks = 16384;
  std::vector<std::vector<Prediction>> list;
  for (const ModelShape& shape : model.shapes) {
    list.emplace_back();
    for (std::uint64_t n = 2; n <= kMaxDrawnRanks; n *= 2)
      if (n >= *model.ranks.begin())
        if (auto at = predict(model, shape, n)) list.back().push_back(std::move(*at));
  }
  return list;
}

Json model_data(const TopologyModel& model, TopologyCases cases, const std::string& name) {
  const auto predictions = predictions_of(model);
  Json quantities = Json::array();
  for (const Quantity& quantity : quantities_of(model)) {
    Json lines = Json::array();
    for (std::size_t i = 0; i < model.shapes.size(); ++i) {
      Json measured = measured_points(cases, model.shapes[i], quantity);
      if (measured.empty()) continue;
      lines.push_back({{"graph", shape_text(model.shapes[i])},
                       {"measured", std::move(measured)},
                       {"predicted", predicted_points(predictions[i], quantity)}});
    }
    if (lines.empty()) continue;
    Json one = {{"key", quantity.key}, {"name", quantity.name}, {"unit", quantity.unit}};
    if (quantity.size_bytes) one["size"] = *quantity.size_bytes;
    one["lines"] = std::move(lines);
    quantities.push_back(std::move(one));
  }
  return {{"name", name}, {"quantities", std::move(quantities)}};
}

}  // namespace

Json topology_data(const PageCases& page) {
  Json all = Json::array();
  for (std::size_t i = 0; i < page.files.size(); ++i) {
    const auto models = topology_models(page.files[i].rows, page.files[i].context);
    const auto cases = topology_cases(page.files[i].rows, models, page.files[i].context);
    for (std::size_t m = 0; m < models.size(); ++m) {
      const std::vector<TopologyCase> own = cases_of_model(cases, m);
      all.push_back(model_data(models[m], own, topology_title(page, i, models, m)));
    }
  }
  return all;
}

std::string topology_title(const PageCases& page, std::size_t file, TopologyModels models,
                           std::size_t index) {
  const Json& setting = models[index].setting;
  std::string title = upper_case(value_text(fact_at(setting, "transport")));
  if (page.files.size() > 1) add_item(title, page.labels[file], " · ");
  std::vector<std::string> differing;
  for (const auto& [key, value] : setting.items())
    if (key != "transport" &&
        std::ranges::any_of(models, [&key = key, &value = value](const TopologyModel& other) {
          return fact_at(other.setting, key) != value;
        }))
      differing.push_back(key);
  const std::string facts = case_text(setting, differing);
  return title + (facts.empty() ? "" : " · " + facts);
}

}  // namespace rdmameter
