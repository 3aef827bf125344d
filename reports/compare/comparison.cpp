// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "reports/compare/case_judge.h"
#include "reports/compare/fingerprint.h"
#include "reports/stats/sample.h"
#include "reports/text.h"

namespace rdmameter {
namespace {

std::string some_names(const std::vector<ComparableCase>& cases) {
  constexpr std::size_t kShown = 5;
  if (cases.empty()) return "none";
  std::string text;
  for (std::size_t i = 0; i < std::min(cases.size(), kShown); ++i)
    text += (text.empty() ? "" : ", ") + printable(cases[i].name);
  if (cases.size() > kShown) text += fmt::format(" and {} more", cases.size() - kShown);
  return text;
}

double slowdown_of(const CaseComparison& one_case) {
  if (one_case.effects.empty()) return 0;
  const auto& [metric, effect] = one_case.effects.front();
  return info_of(metric).higher_is_better ? 1 / effect.ratio : effect.ratio;
}

void sort_worst_first(Comparison& made) {
  std::ranges::stable_sort(made.cases, [](const CaseComparison& a, const CaseComparison& b) {
    if (a.verdict != b.verdict) return a.verdict < b.verdict;
    return slowdown_of(a) > slowdown_of(b);
  });
  std::ranges::stable_sort(made.gates, {}, &GateFinding::verdict);
}

/// Splits what was asked for into words and limits.
std::vector<Gate> read_gates(const std::vector<std::string>& texts, Comparison& made) {
  std::vector<Gate> limits;
  bool times = false;
  for (const std::string& text : texts) {
    if (text == "work")
      made.work_gate = true;
    else if (text == "times")
      times = true;
    else
      limits.push_back(read_gate(text));
  }
  made.times_gate = times || !made.work_gate;
  return limits;
}

Conclusion conclusion_of(const Comparison& made) {
  bool failed = false, unsettled = made.strict && !made.only_base.empty();
  for (const GateFinding& finding : made.gates) {
    failed |= finding.verdict == CaseVerdict::fail;
    unsettled |= made.strict && finding.verdict == CaseVerdict::inconclusive;
  }
  for (const CaseComparison& one_case : made.cases) {
    const bool asked = made.times_gate || one_case.effects.empty();
    const bool open =
        one_case.verdict == CaseVerdict::suspect || one_case.verdict == CaseVerdict::inconclusive;
    failed |= asked && one_case.verdict == CaseVerdict::fail;
    unsettled |= asked && open && (made.strict || (made.powerless && made.times_gate));
  }
  return failed ? Conclusion::fail : unsettled ? Conclusion::inconclusive : Conclusion::pass;
}

void finish(Comparison& made, const std::vector<Pair>& pairs, Judge& judge, Replication replication,
            const std::vector<ComparableCase>& gated, const ComparisonOptions& options) {
  const std::vector<Gate> limits = read_gates(options.gates, made);
  made.cases = judge.judge(pairs);
  made.gates = check_gates(limits, gated);
  if (made.work_gate)
    for (const Pair& pair : pairs)
      std::ranges::move(check_work(*pair.base, *pair.other, options.work_tolerance),
                        std::back_inserter(made.gates));
  if (judge.replicates() != ~std::size_t{0}) {
    const std::string remark = power_remark(judge.replicates(), judge.family(), replication);
    made.powerless = !remark.empty();
    if (made.powerless && made.times_gate) made.remarks.push_back(remark);
  }
  sort_worst_first(made);
  made.strict = options.strict;
  made.conclusion = conclusion_of(made);
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

void check_environment(const Comparable& base, const Comparable& other,
                       const ComparisonOptions& options, Comparison& made) {
  const std::vector<std::string> changes = environment_changes(base.context, other.context);
  if (changes.empty()) return;
  if (!options.allow_environment_change)
    throw UsageError(fmt::format(
        "{} and {} were measured in different environments, and differences between them are no "
        "verdict on the program:\n  {}\nMeasure both in one environment, or compare them all the "
        "same with --allow-environment-change.",
        base.path, other.path, fmt::join(changes, "\n  ")));
  made.remarks.push_back(fmt::format("The environments differ: {}.", fmt::join(changes, "; ")));
}

/// "A (--inline off)": what `ab` was told of a side.
std::string side_title(const Comparable& file, const char* side) {
  const nlohmann::ordered_json::json_pointer way(fmt::format("/rdmameter/ab/{}", side));
  const std::string letter = side == std::string("a") ? "A" : "B";
  if (!file.context.contains(way) || !file.context.at(way).is_string()) return letter;
  const std::string text = file.context.at(way).get<std::string>();
  return text.empty() ? letter : fmt::format("{} ({})", letter, text);
}

}  // namespace

std::size_t Comparison::count(CaseVerdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count(cases, verdict, &CaseComparison::verdict));
}

Comparison compare_files(const Comparable& base, const Comparable& other,
                         const ComparisonOptions& options) {
  for (const Comparable* file : {&base, &other})
    if (file->two_sides())
      throw UsageError(fmt::format(
          "{}: holds both sides of a comparison ('rdmameter ab'): compare it alone", file->path));
  Comparison made{.base = base.path, .other = other.path};
  check_environment(base, other, options, made);
  Pairing pairing = pair_cases(base, other);
  if (pairing.pairs.empty())
    throw UsageError(fmt::format("{} and {} have no case in common.\n  {} has: {}\n  {} has: {}",
                                 base.path, other.path, base.path, some_names(base.sides[0]),
                                 other.path, some_names(other.sides[0])));
  made.only_base = std::move(pairing.only_base);
  made.only_other = std::move(pairing.only_other);
  Judge judge(options, Replication::runs, both_noises(base, other));
  finish(made, pairing.pairs, judge, Replication::runs, other.sides[0], options);
  if (judge.replicates() < kLeastRuns && judge.family() > 0 && made.times_gate) {
    const bool known = !base.noise.empty() || !other.noise.empty();
    made.remarks.push_back(
        known ? "How runs differ is taken from the noise that the files record."
              : fmt::format("How runs differ is not recorded in the files ('rdmameter ab --aa' "
                            "does that): {:.3g} % is assumed.",
                            options.floors.between_runs * 100));
  }
  return made;
}

Comparison compare_sides(const Comparable& file, const ComparisonOptions& options) {
  if (!file.two_sides())
    throw UsageError(
        fmt::format("{}: has one side only: name the file to compare it with", file.path));
  const auto& [a, b] = file.sides;
  if (a.size() != b.size())
    throw UsageError(fmt::format("{}: side A has {} cases, side B {}: they cannot be paired",
                                 file.path, a.size(), b.size()));
  Comparison made{.base = side_title(file, "a"), .other = side_title(file, "b"), .sides = true};
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < a.size(); ++i) pairs.push_back({&a[i], &b[i]});
  Judge judge(options, Replication::repetitions, file.noise);
  finish(made, pairs, judge, Replication::repetitions, b, options);
  return made;
}

Comparison replaced_by(const Comparison& first, const Comparison& second) {
  Comparison made = first;
  for (CaseComparison& one_case : made.cases) {
    const auto again = std::ranges::find(second.cases, one_case.name, &CaseComparison::name);
    if (again == second.cases.end()) continue;
    const bool confirmed = again->verdict == CaseVerdict::fail;
    one_case = *again;
    one_case.note = fmt::format("measured again, {}{}{}", confirmed ? "confirmed" : "not confirmed",
                                again->note.empty() ? "" : "; ", again->note);
  }
  sort_worst_first(made);
  made.powerless = made.powerless || second.powerless;
  made.conclusion = conclusion_of(made);
  return made;
}

std::string power_remark(std::size_t replicates, std::size_t cases, Replication replication) {
  const bool runs = replication == Replication::runs;
  const std::string have = fmt::format("{} {}{} a side", replicates, runs ? "run" : "repetition",
                                       replicates == 1 ? "" : "s");
  const std::size_t enough = replicates_for(cases);
  if (replicates < kLeastRuns)
    return fmt::format("{} cannot confirm a regression, only raise a suspicion: it takes {}. {}",
                       have, enough,
                       runs ? "Merge more runs ('rdmameter merge'), or measure both sides in turns "
                              "('rdmameter ab')."
                            : "Give more --repetitions.");
  if (replicates >= enough) return "";
  return fmt::format(
      "With {}, one case alone cannot become significant among {}: it takes {}. Only a regression "
      "of many cases together can fail here.",
      have, cases, enough);
}

Noises noise_of(const Comparable& file) {
  Noises noise;
  for (std::size_t i = 0; i < file.sides[0].size(); ++i) {
    const Pair pair{&file.sides[0][i], &file.sides[1][i]};
    const Metric metric = primary_of(*pair.base);
    const Runs a = runs_of(*pair.base, metric), b = runs_of(*pair.other, metric);
    const Effect effect = effect_of(a, b, {.replication = Replication::repetitions});
    if (!effect.problem.empty()) continue;
    std::vector<double> all;
    for (const Runs* side : {&a, &b})
      for (const auto& run : *side) all.insert(all.end(), run.begin(), run.end());
    const double beyond = std::max(effect.interval.high, 1 / effect.interval.low) - 1;
    noise[pair.base->name] = {.between_runs = standard_deviation(logarithms(all)),
                              .beyond = beyond};
  }
  return noise;
}

}  // namespace rdmameter
