// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/gate_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "core/base/error.h"
#include "reports/compare/effect.h"
#include "reports/stats/sample.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

/// Round trips unless half of them are asked for; none where any repetition has no such number.
std::vector<double> gated_values(const Gate& gate, const ComparableCase& test_case) {
  if (gate.half && !test_case.half) return {};
  const double factor = is_time(gate.metric) && test_case.half && !gate.half ? 2 : 1;
  std::vector<double> values;
  for (const Replicate& replicate : test_case.replicates) {
    const auto value = value_of(replicate, gate.metric);
    if (!value) return {};
    values.push_back(factor * *value);
  }
  return values;
}

GateFinding check(const Gate& gate, const ComparableCase& test_case) {
  GateFinding finding{.gate = gate.text, .name = test_case.name};
  const std::vector<double> values = gated_values(gate, test_case);
  if (values.empty()) {
    finding.verdict = test_case.replicates.empty() ? CaseVerdict::fail : CaseVerdict::inconclusive;
    finding.text = test_case.replicates.empty()
                       ? "was not measured"
                       : "has no such number: too few samples, or another kind of test";
    return finding;
  }
  const double middle = median(values);
  const Interval interval = median_interval(values, kConfidence, values.size());
  const bool certain =
      !gate.keeps(interval.low, gate.limit) && !gate.keeps(interval.high, gate.limit);
  if (!gate.keeps(middle, gate.limit))
    finding.verdict = certain ? CaseVerdict::fail : CaseVerdict::inconclusive;
  finding.text = fmt::format("{} over {}", metric_text(gate.metric, middle),
                             count_text(values.size(), "repetition"));
  if (values.size() > 1)
    finding.text += fmt::format(", {} to {} at 95 %", metric_text(gate.metric, interval.low),
                                metric_text(gate.metric, interval.high));
  return finding;
}

/// Median of a counter per message; nothing where a repetition has none.
Number work_of(const ComparableCase& test_case, std::string_view counter) {
  std::vector<double> values;
  for (const Replicate& replicate : test_case.replicates) {
    const auto found = replicate.work.find(counter);
    if (found == replicate.work.end()) return std::nullopt;
    values.push_back(found->second);
  }
  return known_median(values);
}

const Effect* effect_in(const CaseComparison& one, Metric metric) {
  for (const auto* list : {&one.effects, &one.others})
    for (const Effect& each : *list)
      if (each.metric == metric) return &each;
  return nullptr;
}

GateFinding check_one(const RelativeGate& gate, const CaseComparison& one) {
  GateFinding finding{.gate = gate.text, .name = one.name};
  const Effect* found = effect_in(one, gate.metric);
  if (found == nullptr || !found->problem.empty()) {
    const bool failed = one.effects.empty() && one.verdict == CaseVerdict::fail;
    finding.verdict = failed ? CaseVerdict::fail : CaseVerdict::inconclusive;
    finding.text = found != nullptr      ? found->problem
                   : one.effects.empty() ? one.note
                                         : "has no such number on both sides";
    return finding;
  }
  const Effect& effect = *found;
  const bool more_is_better = info_of(gate.metric).higher_is_better;
  const auto worse = [&](double ratio) { return more_is_better ? 1 - ratio : ratio - 1; };
  if (worse(effect.ratio) > gate.share) {
    const double least = worse(more_is_better ? effect.interval.high : effect.interval.low);
    finding.verdict = least > gate.share ? CaseVerdict::fail : CaseVerdict::inconclusive;
  }
  finding.text =
      fmt::format("{} {} ({} to {} at 95 %)", info_of(gate.metric).name, change_text(effect.ratio),
                  change_text(effect.interval.low), change_text(effect.interval.high));
  return finding;
}

}  // namespace

std::vector<GateFinding> check_gates(const std::vector<Gate>& gates,
                                     const std::vector<ComparableCase>& cases) {
  std::vector<GateFinding> findings;
  for (const Gate& gate : gates) {
    const std::size_t before = findings.size();
    for (const ComparableCase& test_case : cases)
      if (is_gated(gate.pattern, test_case.name, test_case.part))
        findings.push_back(check(gate, test_case));
    if (findings.size() > before) continue;
    for (const ComparableCase& test_case : cases)
      if (test_case.replicates.empty() && is_whole_gated(gate.pattern, test_case.name))
        findings.push_back(check(gate, test_case));
    if (findings.size() > before) continue;
    const auto names = mapped(std::span(cases).first(std::min<std::size_t>(cases.size(), 5)),
                              [](const ComparableCase& one) { return printable(one.name); });
    throw UsageError("--gate '{}': no case of NEW has a name like '{}'; there are: {}{}", gate.text,
                     gate.pattern, fmt::join(names, ", "),
                     cases.size() > names.size() ? ", ..." : "");
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
    const bool more = *after > *before * (1 + tolerance);
    findings.push_back({.gate = "work",
                        .name = other.name,
                        .verdict = more ? CaseVerdict::fail : CaseVerdict::pass,
                        .text = fmt::format("{} per message {:.4g}, were {:.4g}",
                                            printable(counter), *after, *before)});
  }
  return findings;
}

std::vector<GateFinding> check_relative_gates(const std::vector<RelativeGate>& gates,
                                              const std::vector<CaseComparison>& cases) {
  std::vector<GateFinding> findings;
  for (const RelativeGate& gate : gates) {
    const std::size_t before = findings.size();
    bool skipped = false;
    const auto check_where = [&](const auto& gates_it) {
      for (const CaseComparison& one : cases) {
        if (!gates_it(one)) continue;
        const bool measured = !one.effects.empty();
        const bool neither_can = !measured && one.verdict == CaseVerdict::pass;
        const bool other_kind =
            gate.pattern == "*" && measured && effect_in(one, gate.metric) == nullptr;
        skipped |= neither_can;
        if (!other_kind && !neither_can) findings.push_back(check_one(gate, one));
      }
      return skipped || findings.size() > before;
    };
    const auto gated = [&](const CaseComparison& one) {
      return is_gated(gate.pattern, one.name, one.part);
    };
    const auto whole_gated = [&](const CaseComparison& one) {
      return one.effects.empty() && is_whole_gated(gate.pattern, one.name);
    };
    if (!check_where(gated) && !check_where(whole_gated))
      throw UsageError("--gate '{}': no case of NEW has a name like '{}' and {}",
                       printable(gate.text), printable(gate.pattern), info_of(gate.metric).name);
  }
  return findings;
}

}  // namespace rdmameter
