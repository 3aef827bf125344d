// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/relative_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

[[noreturn]] void refuse_relative(const std::string& text, const std::string& why) {
  throw UsageError(fmt::format(
      "--gate '{}': {}; a gate relative to BASE is '[CASE] METRIC=SHARE%', such as 'p99=20%' or "
      "'write_lat/* p99.9=50%'",
      text, why));
}

double read_share(const std::string& gate, std::string_view text) {
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || unit != "%" || !(percent >= 0 && percent <= 1e6))
    refuse_relative(gate, fmt::format("'{}' is no share: it takes a number with %{}", text,
                                      decimal_comma_hint(text)));
  return percent / 100;
}

const MetricEffect* effect_in(const CaseComparison& one, Metric metric) {
  for (const auto* list : {&one.effects, &one.others})
    for (const MetricEffect& each : *list)
      if (each.metric == metric) return &each;
  return nullptr;
}

GateFinding check_one(const RelativeGate& gate, const CaseComparison& one) {
  GateFinding finding{
      .gate = gate.text, .name = one.name, .verdict = CaseVerdict::pass, .text = {}};
  const MetricEffect* found = effect_in(one, gate.metric);
  if (found == nullptr || !found->effect.problem.empty()) {
    const bool failed = one.effects.empty() && one.verdict == CaseVerdict::fail;
    finding.verdict = failed ? CaseVerdict::fail : CaseVerdict::inconclusive;
    finding.text = found != nullptr      ? found->effect.problem
                   : one.effects.empty() ? one.note
                                         : "has no such number on both sides";
    return finding;
  }
  const Effect& effect = found->effect;
  const double limit = 1 + gate.share;
  const double low = std::min(slowdown(gate.metric, effect.interval.low),
                              slowdown(gate.metric, effect.interval.high));
  if (slowdown(gate.metric, effect.ratio) > limit)
    finding.verdict = low > limit ? CaseVerdict::fail : CaseVerdict::inconclusive;
  finding.text =
      fmt::format("{} {} ({} to {} at 95 %)", info_of(gate.metric).name, change_text(effect.ratio),
                  change_text(effect.interval.low), change_text(effect.interval.high));
  return finding;
}

}  // namespace

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
  return RelativeGate{.text = text,
                      .pattern = std::move(pattern),
                      .metric = metric->metric,
                      .share = read_share(text, std::string_view(last).substr(equals + 1))};
}

void check_gate(const std::string& text) {
  if (text != "work" && text != "times" && !read_relative_gate(text)) read_gate(text);
}

std::vector<GateFinding> check_relative_gates(const std::vector<RelativeGate>& gates,
                                              const std::vector<CaseComparison>& cases) {
  std::vector<GateFinding> findings;
  for (const RelativeGate& gate : gates) {
    const std::size_t before = findings.size();
    for (const CaseComparison& one : cases) {
      if (!is_gated(gate.pattern, one.name, one.part)) continue;
      const bool other_kind =
          gate.pattern == "*" && !one.effects.empty() && effect_in(one, gate.metric) == nullptr;
      if (!other_kind) findings.push_back(check_one(gate, one));
    }
    if (findings.size() == before)
      throw UsageError(fmt::format("--gate '{}': no case of NEW has a name like '{}' and {}",
                                   printable(gate.text), printable(gate.pattern),
                                   info_of(gate.metric).name));
  }
  return findings;
}

}  // namespace rdmameter
