// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/error.h"
#include "reports/compare/fingerprint.h"
#include "reports/compare/gate.h"
#include "reports/stats/batch_change.h"
#include "reports/stats/sample.h"
#include "reports/summary/facts.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

std::string some_names(const std::vector<ComparableCase>& cases) {
  constexpr std::size_t kShown = 5;
  return cases.empty() ? "none" : first_names(mapped(cases, &ComparableCase::name), kShown);
}

void sort_worst_first(Comparison& comparison) {
  std::ranges::stable_sort(comparison.cases, {}, [](const CaseComparison& one) {
    if (one.effects.empty()) return std::pair(one.verdict, 0.0);
    const Effect& worst = one.effects.front();
    return std::pair(one.verdict, -slowdown(worst.metric, worst.ratio));
  });
  std::ranges::stable_sort(comparison.gates, {}, &GateFinding::verdict);
}

struct Gates {
  std::vector<Gate> limits;
  std::vector<RelativeGate> relative;
  std::vector<Metric> metrics;  ///< of the relative ones
};

/// Splits what was asked for into words, limits and relative ones.
Gates split_gates(const std::vector<std::string>& texts, Comparison& comparison) {
  Gates gates;
  bool times = false;
  for (const std::string& text : texts) {
    if (text == "work") {
      comparison.work_gate = true;
    } else if (text == "times") {
      times = true;
    } else if (const auto relative = read_relative_gate(text)) {
      gates.relative.push_back(*relative);
      add_once(gates.metrics, relative->metric);
    } else {
      gates.limits.push_back(read_gate(text));
    }
  }
  comparison.times_gate = times || !comparison.work_gate;
  return gates;
}

/// Of what failed or got lost alone.
CaseVerdict verdict_without_times(const CaseComparison& test_case) {
  CaseVerdict verdict = CaseVerdict::pass;
  for (const CaseFinding& finding : test_case.findings)
    if (!finding.of_times) verdict = std::min(verdict, finding.verdict);
  return verdict;
}

/// Under the work gate times are information; what failed or got lost is not.
void leave_out_times(const Comparison& comparison, CaseComparison& test_case) {
  if (!test_case.effects.empty() && comparison.gated(test_case))
    test_case.verdict = verdict_without_times(test_case);
}

Conclusion conclusion_of(const Comparison& comparison) {
  bool failed = false, open = comparison.strict && !comparison.only_base.empty();
  const auto weigh = [&](CaseVerdict verdict) {
    failed |= verdict == CaseVerdict::fail;
    open |= is_open(verdict);
  };
  for (const GateFinding& finding : comparison.gates) weigh(finding.verdict);
  for (const CaseComparison& one : comparison.cases)
    if (comparison.gated(one)) weigh(one.verdict);
  open |= !comparison.failed_in_new.empty();
  if (failed) return Conclusion::fail;
  return open && !comparison.inconclusive_ok ? Conclusion::not_proven : Conclusion::pass;
}

void finish(Comparison& comparison, const std::vector<Pair>& pairs, const Batches& batches,
            const Noises& noise, const Comparable& gated, const ComparisonOptions& options) {
  const Gates gates = split_gates(options.gates.empty() ? gated.gates : options.gates, comparison);
  JudgeOptions how{.floors = options.floors, .noise = noise, .others = gates.metrics};
  if (options.every_metric) how.others.push_back(Metric::mmsg_per_s);
  Judgement judgement = judge_cases(pairs, batches, how);
  comparison.cases = std::move(judgement.cases);
  comparison.significant = kMetricRate / static_cast<double>(batches.looks);
  if (!comparison.times_gate)
    for (CaseComparison& one : comparison.cases) leave_out_times(comparison, one);
  comparison.batches = std::move(judgement.batches);
  comparison.gates = check_gates(gates.limits, gated.sides[gated.two_sides()]);
  std::ranges::move(check_relative_gates(gates.relative, comparison.cases),
                    std::back_inserter(comparison.gates));
  if (comparison.work_gate)
    for (const Pair& pair : pairs)
      std::ranges::move(check_work(*pair.base, *pair.other, options.work_tolerance),
                        std::back_inserter(comparison.gates));
  const std::string remark =
      power_remark(judgement.replicates, judgement.family, batches.replication, batches.looks);
  if (judgement.replicates > 0 && comparison.times_gate && !remark.empty())
    comparison.remarks.push_back(remark);
  sort_worst_first(comparison);
  comparison.strict = options.strict;
  comparison.inconclusive_ok = options.inconclusive_ok;
  comparison.conclusion = conclusion_of(comparison);
}

std::size_t batch_count(const std::vector<std::size_t>& batches) {
  return batches.empty() ? 1 : std::ranges::max(batches) + 1;
}

/// What of the verdicts rests on how batches differ.
void add_batch_remark(Comparison& comparison, const Batches& batches) {
  const std::size_t base = batch_count(batches.base), other = batch_count(batches.other);
  if (!comparison.times_gate || std::min(base, other) >= kBatchReplicates) return;
  for (const BatchDeviations& one : comparison.batches) {
    if (one.metric != Metric::p50 && one.metric != Metric::gbps) continue;
    const std::string count = base == 1 && other == 1
                                  ? "Each side was measured in one batch"
                                  : fmt::format("BASE was measured in {} batch{}, NEW in {}", base,
                                                base == 1 ? "" : "s", other);
    const double deviation = std::hypot(one.common, one.by_case) * 100;
    comparison.remarks.push_back(fmt::format(
        "{}: batches are {} to differ by {:.2g} % ({}, standard deviation), and only a change "
        "beyond that fails. 'rdmameter ab', which measures both sides in turns, sees smaller ones.",
        count, one.measured ? "estimated" : "assumed", deviation, info_of(one.metric).name));
    return;
  }
}

void add_canary_remark(Comparison& comparison, const Json& base, const Json& other) {
  const auto changed = changed_canaries(base, other, comparison.cases);
  if (changed.empty() || !comparison.times_gate) return;
  comparison.remarks.push_back(
      fmt::format("The machine itself is not as it was: {} changed, in which the device has no "
                  "part. 'rdmameter ab' tells a changed machine from changed code.",
                  fmt::join(changed, "; ")));
}

Noises both_noises(const Comparable& base, const Comparable& other) {
  Noises noise = base.noise;
  for (const auto& [name, of_other] : other.noise) {
    Noise& known = noise[name];
    known = {std::max(known.between_runs, of_other.between_runs),
             std::max(known.beyond, of_other.beyond)};
  }
  return noise;
}

bool all_measured(const Comparable& file) {
  return std::ranges::all_of(file.sides[0],
                             [](const ComparableCase& one) { return one.failures.empty(); });
}

void check_environment(const Comparable& base, const Comparable& other,
                       const ComparisonOptions& options, Comparison& comparison) {
  for (const Comparable* file : {&base, &other})
    if (const auto mixed = merged_changes(file->context); !mixed.empty())
      comparison.remarks.push_back(
          fmt::format("{} was merged from runs of different environments: {}.", file->path,
                      fmt::join(mixed, "; ")));
  const std::vector<std::string> changes =
      changes_among_runs(base.context, other.context, all_measured(base) && all_measured(other));
  if (changes.empty()) return;
  if (!options.allow_environment_change)
    throw UsageError(
        "{} and {} were measured in different environments, and differences between "
        "them are no verdict on the program:\n  {}\nMeasure both in one environment, "
        "or compare them anyway with --allow-environment-change.",
        base.path, other.path, fmt::join(changes, "\n  "));
  comparison.remarks.push_back(
      fmt::format("The environments differ: {}.", fmt::join(changes, "; ")));
}

/// "A (--inline off)": what `ab` was told of a side.
std::string side_title(const Comparable& file, const std::string& side) {
  const std::string letter = side == "a" ? "A" : "B",
                    text = text_at(file.context, "/rdmameter/ab/" + side);
  return text.empty() ? letter : fmt::format("{} ({})", letter, text);
}

/// @pre both have as many cases
std::vector<Pair> pairs_of_sides(const Comparable& file) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < file.sides[0].size(); ++i)
    pairs.push_back({&file.sides[0][i], &file.sides[1][i]});
  return pairs;
}

/// An overhead is measured in milliseconds: smaller changes of it are noise.
constexpr double kOverheadChange = 0.2;

/// The instrument's overheads in a result's runs, by their names.
std::map<std::string, std::vector<double>> overheads_of(const Json& context) {
  std::map<std::string, std::vector<double>> overheads;
  for (const Json& run : run_contexts(context))
    if (const Json& each = fact_at(run, "/rdmameter/floor"); each.is_object())
      for (const auto& [name, value] : each.items())
        if (value.is_number() && value.get<double>() > 0) overheads[name].push_back(value);
  return overheads;
}

/// By more than the noise of an overhead, and in each run.
bool overhead_changed(const std::vector<double>& base, const std::vector<double>& other) {
  const double ratio = median(other) / median(base);
  const auto [base_min, base_max] = std::ranges::minmax(base);
  const auto [other_min, other_max] = std::ranges::minmax(other);
  const bool apart = other_min > base_max || other_max < base_min;
  return apart && std::max(ratio, 1 / ratio) > 1 + kOverheadChange;
}

/// Three digits, more where they stand before the point: never an exponent.
std::string digits(double value) {
  return value < 999.5 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

bool is_canary(const CaseComparison& one) {
  return one.name.starts_with("tcp_") || one.name.find("/device:null") != std::string::npos;
}

}  // namespace

bool Comparison::gated(const CaseComparison& test_case) const {
  return times_gate || test_case.effects.empty() ||
         verdict_without_times(test_case) != CaseVerdict::pass;
}

Comparison compare_files(const Comparable& base, const Comparable& other,
                         const ComparisonOptions& options) {
  for (const Comparable* file : {&base, &other})
    if (file->two_sides())
      throw UsageError("{}: holds both sides of a comparison ('rdmameter ab'): compare it alone",
                       file->path);
  Comparison comparison{.base = base.path, .other = other.path};
  check_environment(base, other, options, comparison);
  Pairing pairing = pair_cases(base, other);
  if (pairing.pairs.empty())
    throw UsageError("{} and {} have no case in common.\n  {} has: {}\n  {} has: {}", base.path,
                     other.path, base.path, some_names(base.sides[0]), other.path,
                     some_names(other.sides[0]));
  for (const std::string& difference : axis_differences(pairing.pairs))
    comparison.remarks.push_back("The two sides were not measured alike: " + difference + ".");
  comparison.only_base = std::move(pairing.only_base);
  comparison.only_other = std::move(pairing.only_other);
  for (const ComparableCase& one : other.sides[0])
    if (one.replicates.empty() && !one.failures.empty() &&
        std::ranges::count(comparison.only_other, one.name) > 0)
      comparison.failed_in_new.push_back(one.name);
  if (!comparison.failed_in_new.empty())
    comparison.remarks.push_back(
        fmt::format("Not in BASE, and failed in NEW, so nothing is proven: {}.",
                    first_names(comparison.failed_in_new, 3)));
  const Batches batches{
      .replication = Replication::runs, .base = base.batches, .other = other.batches};
  finish(comparison, pairing.pairs, batches, both_noises(base, other), other, options);
  add_batch_remark(comparison, batches);
  add_canary_remark(comparison, base.context, other.context);
  return comparison;
}

Comparison compare_sides(const Comparable& file, const ComparisonOptions& options) {
  if (!file.two_sides())
    throw UsageError("{}: has one side only: name the file to compare it with", file.path);
  const auto& [a, b] = file.sides;
  if (a.size() != b.size())
    throw UsageError("{}: side A has {} cases, side B {}: they cannot be paired", file.path,
                     a.size(), b.size());
  Comparison comparison{
      .base = side_title(file, "a"), .other = side_title(file, "b"), .sides = true};
  finish(comparison, pairs_of_sides(file),
         {.replication = Replication::blocks, .looks = file.looks}, file.noise, file, options);
  return comparison;
}

Comparison replaced_by(const Comparison& first, const Comparison& second) {
  Comparison comparison = first;
  for (CaseComparison& test_case : comparison.cases) {
    // Beside a doubtful part of a mix the whole mix was measured again, and its other parts.
    if (test_case.verdict != CaseVerdict::fail && test_case.verdict != CaseVerdict::suspect)
      continue;
    const auto again = std::ranges::find(second.cases, test_case.name, &CaseComparison::name);
    if (again == second.cases.end()) continue;
    test_case = *again;
    if (!comparison.times_gate) leave_out_times(comparison, test_case);
    const bool confirmed = test_case.verdict == CaseVerdict::fail;
    test_case.note =
        fmt::format("measured again, {}{}{}", confirmed ? "confirmed" : "not confirmed",
                    again->note.empty() ? "" : "; ", again->note);
  }
  for (GateFinding& gate : comparison.gates) {
    if (gate.verdict == CaseVerdict::pass) continue;
    const auto again = std::ranges::find_if(second.gates, [&](const GateFinding& one) {
      return one.gate == gate.gate && one.name == gate.name;
    });
    if (again != second.gates.end()) gate = *again;
  }
  sort_worst_first(comparison);
  comparison.conclusion = conclusion_of(comparison);
  return comparison;
}

std::string power_remark(std::size_t replicates, std::size_t cases, Replication replication,
                         std::size_t looks) {
  const std::size_t enough = replicates_for(cases, replication, looks);
  if (replicates >= enough) return "";
  if (replication == Replication::runs)
    return fmt::format(
        "{} a side cannot confirm a regression, only raise a suspicion: it takes {}. Merge "
        "more runs ('rdmameter merge'), or measure both sides in turns ('rdmameter ab').",
        count_text(replicates, "run"), enough);
  return fmt::format(
      "With {}, a regression of one case alone cannot be confirmed among {}: it takes {} "
      "(--blocks).",
      count_text(replicates, "block"), cases, enough);
}

Noises noise_of(const Comparable& file) {
  const std::vector<Pair> pairs = pairs_of_sides(file);
  Noises noise;
  for (const Metric metric : {Metric::p50, Metric::gbps}) {
    const MetricSweep sweep = sweep_of_blocks(pairs, metric, {}, {});
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const Effect& effect = sweep.effects[i];
      if (!effect.problem.empty() || !judges(metric, *pairs[i].base)) continue;
      std::vector<double> all;
      for (const ComparableCase* side : {pairs[i].base, pairs[i].other})
        for (const Replicate& one : side->replicates)
          if (const auto value = value_of(one, metric); value && *value > 0)
            all.push_back(std::log(*value));
      noise[pairs[i].base->name] = {
          .between_runs = standard_deviation(all),
          .beyond = std::max(effect.interval.high, 1 / effect.interval.low) - 1};
    }
  }
  return noise;
}

std::vector<std::string> changed_canaries(const Json& base, const Json& other,
                                          const std::vector<CaseComparison>& cases) {
  std::vector<std::string> changed;
  const auto before = overheads_of(base), after = overheads_of(other);
  for (const auto& [name, values] : before)
    if (const auto found = after.find(name);
        found != after.end() && overhead_changed(values, found->second))
      changed.push_back(fmt::format("{} {} -> {}", printable(name), digits(median(values)),
                                    digits(median(found->second))));
  if (std::ranges::all_of(cases, is_canary)) return changed;  // they are what is asked about
  for (const CaseComparison& one : cases)
    if (is_canary(one) && !one.effects.empty() && one.verdict != CaseVerdict::pass &&
        one.verdict != CaseVerdict::inconclusive)
      changed.push_back(
          fmt::format("{} {}", printable(one.name), change_text(one.effects.front().ratio)));
  return changed;
}

}  // namespace rdmameter
