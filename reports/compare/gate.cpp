// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/gate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "core/base/error.h"
#include "reports/compare/effect.h"
#include "reports/stats/sample.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr std::string_view kForm =
    "a gate is 'CASE METRIC RELATION LIMIT', such as 'write_lat/rc/size:64 half_round_trip.p99 <= "
    "3us' or 'write_bw/* bandwidth.gbps >= 90'";

[[noreturn]] void refuse(const Gate& gate, const std::string& why) {
  throw UsageError(fmt::format("--gate '{}': {}; {}", gate.text, why, kForm));
}

std::string metric_names() {
  std::string names = "lost";
  for (const MetricInfo& info : metrics())
    if (is_latency(info))
      names += fmt::format(", latency.{0}, half_round_trip.{0}", info.field);
    else if (!info.group.empty())
      names += fmt::format(", {}.{}", info.group, info.field);
  return names;
}

void read_metric(Gate& gate, std::string_view text) {
  constexpr std::string_view kHalf = "half_round_trip.";
  gate.half = text.starts_with(kHalf);
  const std::string wanted =
      gate.half ? fmt::format("latency.{}", text.substr(kHalf.size())) : std::string(text);
  for (const MetricInfo& info : metrics()) {
    const std::string name =
        info.group.empty() ? std::string(info.field) : fmt::format("{}.{}", info.group, info.field);
    if (name != wanted) continue;
    gate.metric = info.metric;
    return;
  }
  refuse(gate, fmt::format("there is no metric '{}' (metrics: {})", text, metric_names()));
}

void read_relation(Gate& gate, std::string_view text) {
  using enum Gate::Relation;
  constexpr std::pair<std::string_view, Gate::Relation> kRelations[] = {
      {"<", less}, {"<=", at_most}, {">", greater}, {">=", at_least}};
  const auto found =
      std::ranges::find(kRelations, text, &std::pair<std::string_view, Gate::Relation>::first);
  if (found == std::end(kRelations)) refuse(gate, fmt::format("'{}' is none of < <= > >=", text));
  gate.relation = found->second;
}

/// @return  what one of the unit is in the metric's base unit; 0: there is no such unit
double unit_size(std::string_view unit, bool time) {
  if (!time) return unit.empty() ? 1 : 0;
  if (unit == "ns") return 1;
  if (unit == "us" || unit == "µs") return 1e3;
  if (unit == "ms") return 1e6;
  return unit == "s" ? 1e9 : 0;
}

void read_limit(Gate& gate, std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const double size = unit_size(unit, is_time(gate.metric));
  if (error != std::errc() || !(number >= 0 && number < 1e18) || size == 0)
    refuse(gate, fmt::format("'{}' is no limit of {}: it takes a number{}", text,
                             info_of(gate.metric).field,
                             is_time(gate.metric) ? " with ns, us, ms or s" : ""));
  gate.limit = number * size;
}

bool keeps(const Gate& gate, double value) {
  switch (gate.relation) {
    case Gate::Relation::less:
      return value < gate.limit;
    case Gate::Relation::at_most:
      return value <= gate.limit;
    case Gate::Relation::greater:
      return value > gate.limit;
    case Gate::Relation::at_least:
      return value >= gate.limit;
  }
  return false;
}

/// Round trips unless half of them are asked for; nothing where the case has no such number.
std::optional<std::vector<double>> gated_values(const Gate& gate, const ComparableCase& test_case) {
  if (gate.half && !test_case.half) return std::nullopt;
  auto values = test_case.values(gate.metric);
  if (values && is_time(gate.metric) && test_case.half && !gate.half)
    for (double& value : *values) value *= 2;
  return values;
}

GateFinding check(const Gate& gate, const ComparableCase& test_case) {
  GateFinding finding{
      .gate = gate.text, .name = test_case.name, .verdict = CaseVerdict::pass, .text = {}};
  const auto values = gated_values(gate, test_case);
  if (!values) {
    finding.verdict = test_case.replicates.empty() ? CaseVerdict::fail : CaseVerdict::inconclusive;
    finding.text = test_case.replicates.empty()
                       ? "was not measured"
                       : "has no such number: too few samples, or another kind of test";
    return finding;
  }
  const double middle = median(*values);
  const Interval interval = median_interval(*values, kConfidence, values->size());
  const bool certain = !keeps(gate, interval.low) && !keeps(gate, interval.high);
  if (!keeps(gate, middle))
    finding.verdict = certain ? CaseVerdict::fail : CaseVerdict::inconclusive;
  finding.text = fmt::format("{} over {} repetition{}", metric_text(gate.metric, middle),
                             values->size(), values->size() == 1 ? "" : "s");
  if (values->size() > 1)
    finding.text += fmt::format(", {} to {} at 95 %", metric_text(gate.metric, interval.low),
                                metric_text(gate.metric, interval.high));
  return finding;
}

/// Median of a counter per message; nothing where a repetition has none.
std::optional<double> work_of(const ComparableCase& test_case, std::string_view counter) {
  std::vector<double> values;
  for (const Replicate& replicate : test_case.replicates) {
    const auto found = replicate.work.find(counter);
    if (found == replicate.work.end()) return std::nullopt;
    values.push_back(found->second);
  }
  if (values.empty()) return std::nullopt;
  return median(values);
}

}  // namespace

Gate read_gate(const std::string& text) {
  Gate gate{.text = text, .pattern = {}};
  std::istringstream words(text);
  std::string metric, relation, limit, rest;
  words >> gate.pattern >> metric >> relation >> limit >> rest;
  if (limit.empty()) refuse(gate, "has too few words");
  if (!rest.empty() && unit_size(rest, true) != 0) {
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

bool is_gated(const std::string& pattern, const std::string& name, bool part) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0 &&
         (!part || pattern.find("part:") != std::string::npos);
}

std::vector<GateFinding> check_gates(const std::vector<Gate>& gates,
                                     const std::vector<ComparableCase>& cases) {
  std::vector<GateFinding> findings;
  for (const Gate& gate : gates) {
    const std::size_t before = findings.size();
    for (const ComparableCase& test_case : cases)
      if (is_gated(gate.pattern, test_case.name, test_case.part))
        findings.push_back(check(gate, test_case));
    if (findings.size() > before) continue;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min<std::size_t>(cases.size(), 5); ++i)
      names.push_back(printable(cases[i].name));
    throw UsageError(fmt::format(
        "--gate '{}': no case of NEW has a name like '{}'; there are: {}{}", gate.text,
        gate.pattern, fmt::join(names, ", "), cases.size() > names.size() ? ", ..." : ""));
  }
  return findings;
}

std::vector<GateFinding> check_work(const ComparableCase& base, const ComparableCase& other,
                                    double tolerance) {
  std::vector<GateFinding> findings;
  if (base.replicates.empty() || other.replicates.empty()) return findings;
  for (const auto& [counter, ignored] : base.replicates.front().work) {
    if (counter == "polls") continue;
    const auto before = work_of(base, counter), after = work_of(other, counter);
    if (!before || !after) continue;
    GateFinding finding{
        .gate = "work", .name = other.name, .verdict = CaseVerdict::pass, .text = {}};
    if (*after > *before * (1 + tolerance)) finding.verdict = CaseVerdict::fail;
    finding.text =
        fmt::format("{} per message {:.4g}, were {:.4g}", printable(counter), *after, *before);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace rdmameter
