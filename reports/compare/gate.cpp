// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/gate.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr std::string_view kForm =
    "a gate is 'CASE METRIC RELATION LIMIT', such as 'write_lat/rc/size:64 half_round_trip.p99 <= "
    "3us' or 'write_bw/* bandwidth.gbps >= 90'";

[[noreturn]] void refuse(const Gate& gate, const std::string& why) {
  throw UsageError("--gate '{}': {}; {}", gate.text, why, kForm);
}

std::string metric_names() {
  std::string names;
  for (const MetricInfo& info : metrics()) {
    add_item(names, info.path);
    if (is_latency(info)) add_item(names, fmt::format("half_round_trip.{}", info.name));
  }
  return names;
}

void read_metric(Gate& gate, std::string_view text) {
  constexpr std::string_view kHalf = "half_round_trip.";
  gate.half = text.starts_with(kHalf);
  const std::string wanted =
      gate.half ? fmt::format("latency.{}", text.substr(kHalf.size())) : std::string(text);
  const auto found = std::ranges::find(metrics(), wanted, &MetricInfo::path);
  if (found == metrics().end())
    refuse(gate, fmt::format("there is no metric '{}' (metrics: {})", text, metric_names()));
  gate.metric = found->metric;
}

void read_relation(Gate& gate, std::string_view text) {
  static const std::map<std::string_view, decltype(Gate::keeps)> kRelations{
      {"<", std::less()},
      {"<=", std::less_equal()},
      {">", std::greater()},
      {">=", std::greater_equal()}};
  const auto found = kRelations.find(text);
  if (found == kRelations.end()) refuse(gate, fmt::format("'{}' is none of < <= > >=", text));
  gate.keeps = found->second;
}

/// @return  what one of the unit is in the metric's base unit; 0: there is no such unit
double unit_size(std::string_view unit, Metric metric) {
  if (is_share(metric) && unit == "%") return 0.01;
  if (!is_time(metric)) return unit.empty() ? 1 : 0;
  if (unit == "ns") return 1;
  if (unit == "us" || unit == "µs") return 1e3;
  if (unit == "ms") return 1e6;
  return unit == "s" ? 1e9 : 0;
}

void read_limit(Gate& gate, std::string_view text) {
  const auto [number, unit] = number_and_unit(text);
  const double size = unit_size(unit, gate.metric);
  const MetricInfo& info = info_of(gate.metric);
  // The dots of a latency's path are not all between its parts: "latency.p99.9".
  if (!(number >= 0 && number < 1e18) || size == 0)
    refuse(gate,
           fmt::format("'{}' is no limit of {}: it takes a number{}", text,
                       is_latency(info) ? info.name : info.path.substr(info.path.rfind('.') + 1),
                       is_time(gate.metric)    ? " with ns, us, ms or s"
                       : is_share(gate.metric) ? ", or one with %"
                                               : ""));
  gate.limit = number * size;
}

[[noreturn]] void refuse_relative(const std::string& text, const std::string& why) {
  throw UsageError(
      "--gate '{}': {}; a gate relative to BASE is '[CASE] METRIC=SHARE%', such as 'p99=20%' or "
      "'write_lat/* p99.9=50%'",
      text, why);
}

double read_share(const std::string& gate, const MetricInfo& metric, std::string_view text) {
  const auto [percent, unit] = number_and_unit(text);
  if (unit != "%" || !(percent >= 0 && percent <= 1e6))
    refuse_relative(gate, fmt::format("'{}' is no share: it takes a number with %{}", text,
                                      decimal_comma_hint(text)));
  if (metric.higher_is_better && percent >= 100)
    refuse_relative(gate, fmt::format("{} cannot fall by more than 100 %", metric.name));
  return percent / 100;
}

}  // namespace

Gate read_gate(const std::string& text) {
  Gate gate{.text = text};
  std::istringstream words(text);
  std::string metric, relation, limit, rest;
  words >> gate.pattern >> metric >> relation >> limit >> rest;
  if (limit.empty()) refuse(gate, "has too few words");
  if (!rest.empty() && unit_size(rest, Metric::p50) != 0) {
    limit += rest;  // "3 us"
    rest.clear();
    words >> rest;
  }
  if (!rest.empty()) refuse(gate, fmt::format("goes on with '{}'", rest));
  read_metric(gate, metric);
  read_relation(gate, relation);
  read_limit(gate, limit);
  return gate;
}

std::optional<RelativeGate> read_relative_gate(const std::string& text) {
  const std::size_t space = text.rfind(' ');
  const std::string last = space == text.npos ? text : text.substr(space + 1);
  const std::size_t equals = last.find('=');
  if (equals == last.npos || equals == 0 || last.find_first_of("<>") < equals) return std::nullopt;
  const MetricInfo* metric = typed_metric(last.substr(0, equals));
  if (metric == nullptr)
    refuse_relative(text, fmt::format("there is no metric '{}' (metrics: {})",
                                      last.substr(0, equals), typed_metric_names()));
  std::string pattern = space == text.npos ? "*" : text.substr(0, space);
  if (pattern.empty() || pattern.find(' ') != pattern.npos)
    refuse_relative(text, "has too many words");
  return RelativeGate{
      .text = text,
      .pattern = std::move(pattern),
      .metric = metric->metric,
      .share = read_share(text, *metric, std::string_view(last).substr(equals + 1))};
}

void require_gate(const std::string& text) {
  if (text != "work" && text != "times" && !read_relative_gate(text)) read_gate(text);
}

bool is_gated(const std::string& pattern, const std::string& name, bool part) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0 &&
         (!part || pattern.find("part:") != std::string::npos);
}

bool is_whole_gated(const std::string& pattern, const std::string& name) {
  const std::size_t part = pattern.find("/part:");
  return part != pattern.npos && is_gated(pattern.substr(0, part), name, false);
}

}  // namespace rdmameter
