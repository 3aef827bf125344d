// SPDX-License-Identifier: Apache-2.0
#include "reports/html/topology_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>

#include "reports/html/topology_title.h"
#include "reports/json_numbers.h"
#include "reports/row_json.h"
#include "reports/topology/cases.h"
#include "reports/topology/crossover.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;
using Number = std::optional<double>;
using Cases = std::span<const TopologyCase>;

/// Five digits say all that a chart can show, and take less room.
Json short_number(double value) {
  return number_to_json(std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr));
}

Json short_number(const std::optional<double>& value) {
  return value ? short_number(*value) : Json();
}

/// What is drawn over ranks: of a row, and of a prediction.
struct Quantity {
  std::string key, name, unit;
  std::optional<std::uint64_t> size_bytes;
  std::function<Number(const Row&)> of_row;
  std::function<std::optional<Estimate>(const Prediction&)> of_prediction;
};

/// A number of rows with this traffic; the schedule must be the plain one.
std::function<Number(const Row&)> of_traffic(std::string traffic, std::uint64_t size_bytes,
                                             std::function<Number(const Row&)> number) {
  return [traffic = std::move(traffic), size_bytes, number = std::move(number)](const Row& row) {
    const auto size = row.case_object.find("size_bytes");
    const bool same = size != row.case_object.end() && *size == Json(size_bytes) &&
                      exchange_name(*row.topology) == traffic;
    return same ? number(row) : Number();
  };
}

std::function<std::optional<Estimate>(const Prediction&)> at_size(
    std::uint64_t size_bytes,
    std::function<std::optional<Estimate>(const Prediction::AtSize&)> number) {
  return [size_bytes, number = std::move(number)](const Prediction& made) {
    for (const Prediction::AtSize& at : made.sizes)
      if (at.size_bytes == size_bytes) return number(at);
    return std::optional<Estimate>();
  };
}

Number rank_gbps(const Row& row) {
  if (!row.bandwidth || row.bandwidth->window_ns == 0) return std::nullopt;
  return bandwidth_gbps(*row.bandwidth) / static_cast<double>(row.topology->ranks);
}

Number sum_of(const TopologyData::Amounts& amounts) {
  double sum = 0;
  for (const auto& [name, amount] : amounts) sum += static_cast<double>(amount);
  return sum > 0 ? Number(sum) : std::nullopt;
}

std::vector<Quantity> quantities_of(const TopologyModel& model) {
  std::vector<Quantity> made;
  for (const std::uint64_t size : model.sizes_bytes)
    if (model.latency)
      made.push_back({fmt::format("latency{}", size), "mean latency over all pairs", "ns", size,
                      of_traffic("pairs", size, mean_latency_ns),
                      at_size(size, [](const auto& at) { return at.mean_ns; })});
  for (const Exchange& exchange : model.exchanges)
    for (const std::uint64_t size : model.sizes_bytes)
      made.push_back(
          {fmt::format("{}{}", exchange.name, size), exchange.name + ", a rank's rate", "Gb/s",
           size, of_traffic(exchange.name, size, rank_gbps),
           at_size(size, [name = exchange.name](const auto& at) -> std::optional<Estimate> {
             for (const auto& [exchanged, rate] : at.rank_gbps)
               if (exchanged == name) return rate;
             return std::nullopt;
           })});
  made.push_back({"qps",
                  "QPs of a rank",
                  "QPs",
                  {},
                  [](const Row& row) -> Number {
                    const auto& each = row.topology->qps_per_rank;
                    if (each.empty()) return std::nullopt;
                    return static_cast<double>(*std::max_element(each.begin(), each.end()));
                  },
                  [](const Prediction& at) {
                    const auto qps = static_cast<double>(at.qps_per_rank);
                    return std::optional(Estimate{qps, qps, qps});
                  }});
  made.push_back({"setup",
                  "set-up time",
                  "ns",
                  {},
                  [](const Row& row) { return sum_of(row.topology->setup_ns); },
                  [](const Prediction& at) { return at.setup_ns; }});
  for (const std::uint64_t size : model.sizes_bytes)
    made.push_back({fmt::format("memory{}", size), "memory of a rank", "bytes", size,
                    [size](const Row& row) -> Number {
                      const auto of = row.case_object.find("size_bytes");
                      if (of == row.case_object.end() || *of != Json(size)) return std::nullopt;
                      return sum_of(row.topology->memory_bytes);
                    },
                    at_size(size, [](const auto& at) { return at.memory_bytes; })});
  return made;
}

/// [[ranks, least, median, greatest]...] of all repetitions of all cases of a shape.
Json measured_points(Cases cases, const std::string& graph, const Quantity& quantity) {
  std::map<std::uint64_t, std::vector<double>> by_ranks;
  for (const TopologyCase& one : cases)
    if (one.topology->graph == graph)
      for (const Row* row : one.summary.repetitions)
        if (const Number value = quantity.of_row(*row); value && *value > 0)
          by_ranks[one.topology->ranks].push_back(*value);
  Json points = Json::array();
  for (auto& [ranks, values] : by_ranks) {
    std::sort(values.begin(), values.end());
    points.push_back({ranks, short_number(values.front()), short_number(values[values.size() / 2]),
                      short_number(values.back())});
  }
  return points;
}

Json predicted_points(const std::vector<Prediction>& predictions, const Quantity& quantity) {
  Json points = Json::array();
  for (const Prediction& at : predictions)
    if (const auto made = quantity.of_prediction(at); made && made->value > 0)
      points.push_back(
          {at.ranks, short_number(made->low), short_number(made->value), short_number(made->high)});
  return points;
}

std::vector<std::vector<Prediction>> predictions_of(const TopologyModel& model) {
  std::vector<std::vector<Prediction>> made;
  for (const std::string& graph : model.graphs) {
    made.emplace_back();
    for (std::uint64_t n = 2; n <= kMostComparedRanks; n *= 2)
      if (n >= model.ranks.front())
        if (auto at = predict(model, graph, n)) made.back().push_back(std::move(*at));
  }
  return made;
}

Json model_data(const TopologyModel& model, Cases cases, const std::string& name) {
  const auto predictions = predictions_of(model);
  Json quantities = Json::array();
  for (const Quantity& quantity : quantities_of(model)) {
    Json lines = Json::array();
    for (std::size_t i = 0; i < model.graphs.size(); ++i) {
      Json measured = measured_points(cases, model.graphs[i], quantity);
      if (measured.empty()) continue;
      lines.push_back({{"graph", model.graphs[i]},
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
    const auto models = topology_models(page.files[i].rows);
    const auto cases = topology_cases(page.files[i].rows, models);
    for (std::size_t m = 0; m < models.size(); ++m) {
      std::vector<TopologyCase> own;
      std::copy_if(cases.begin(), cases.end(), std::back_inserter(own),
                   [m](const TopologyCase& one) { return one.model == m; });
      all.push_back(model_data(models[m], own, topology_title(page, i, models, m)));
    }
  }
  return all;
}

}  // namespace rdmameter
