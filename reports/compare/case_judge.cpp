// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/case_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "reports/stats/benjamini_hochberg.h"

namespace rdmameter {
namespace {

std::string settles(std::size_t needed, Replication replication) {
  const char* what = replication == Replication::runs ? "runs" : "repetitions";
  if (needed == 0) return fmt::format("even 1000 {} a side would not settle it", what);
  return fmt::format("some {} {} a side would settle it", needed, what);
}

}  // namespace

Metric primary_of(const ComparableCase& one_case) {
  return one_case.bandwidth ? Metric::gbps : Metric::p50;
}

Runs runs_of(const ComparableCase& one_case, Metric metric) {
  const auto values = one_case.values(metric);
  if (!values) return {};
  std::map<std::uint64_t, std::vector<double>> by_run;
  for (std::size_t i = 0; i < values->size(); ++i)
    by_run[one_case.replicates[i].run].push_back((*values)[i]);
  Runs runs;
  for (auto& [run, of_run] : by_run) runs.push_back(std::move(of_run));
  return runs;
}

Noise Judge::noise_for(const Pair& pair) const {
  for (const ComparableCase* each : {pair.other, pair.base})
    if (const auto found = noise_.find(each->name); found != noise_.end()) return found->second;
  return {.between_runs = options_.floors.between_runs};
}

MetricEffect Judge::effect(const Pair& pair, Metric metric) const {
  const EffectOptions how{.replication = replication_,
                          .higher_is_better = info_of(metric).higher_is_better,
                          .between_runs = noise_for(pair).between_runs,
                          .seed = std::hash<std::string>()(pair.other->name),
                          .draws = options_.draws};
  return {metric, effect_of(runs_of(*pair.base, metric), runs_of(*pair.other, metric), how)};
}

/// What failed now and did not before is worse, whatever its time.
bool Judge::not_measured(const Pair& pair, CaseComparison& made) const {
  const auto first = [](const std::vector<std::string>& errors,
                        const std::vector<std::string>& skips) {
    return errors.empty() ? fmt::format("skipped: {}", skips.empty() ? "" : skips.front())
                          : fmt::format("failed: {}", errors.front());
  };
  if (!pair.base->replicates.empty() && !pair.other->replicates.empty()) return false;
  const bool was_measured = !pair.base->replicates.empty();
  const ComparableCase& lacking = was_measured ? *pair.other : *pair.base;
  made.verdict =
      was_measured && !lacking.errors.empty() ? CaseVerdict::fail : CaseVerdict::inconclusive;
  made.note = fmt::format("not measured in {}; {}", was_measured ? "NEW" : "BASE",
                          first(lacking.errors, lacking.skips));
  return true;
}

void Judge::decide(CaseComparison& made, const Pair& pair, double q_worse, double q_better) const {
  const auto& [metric, effect] = made.effects.front();
  const bool higher = info_of(metric).higher_is_better;
  made.q_worse = q_worse;
  made.allowed =
      allowed_slowdown(effect.base, is_time(metric), noise_for(pair).beyond, options_.floors);
  made.verdict = verdict_of(effect, higher, q_worse, q_better, made.allowed);
  if (made.verdict == CaseVerdict::inconclusive || made.verdict == CaseVerdict::suspect) {
    made.note = effect.problem;
    const std::size_t needed = replicates_needed(effect, higher, made.allowed, family_);
    made.note += (made.note.empty() ? "" : "; ") + settles(needed, replication_);
  }
  if (const std::size_t failed = pair.other->errors.size(); failed > 0)
    made.note += fmt::format("{}{} failed repetition{} left out", made.note.empty() ? "" : "; ",
                             failed, failed == 1 ? "" : "s");
}

void Judge::add_metrics(CaseComparison& made, const Pair& pair) const {
  if (made.verdict == CaseVerdict::pass && !options_.every_metric) return;
  for (const MetricInfo& info : metrics()) {
    if (!info.compared || info.metric == made.effects.front().metric) continue;
    MetricEffect further = effect(pair, info.metric);
    if (further.effect.problem.empty()) made.effects.push_back(std::move(further));
  }
}

std::vector<CaseComparison> Judge::judge(const std::vector<Pair>& pairs) {
  std::vector<CaseComparison> made(pairs.size());
  std::vector<std::size_t> tested;
  std::vector<double> p_worse, p_better;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    made[i].name = pairs[i].other->name;
    made[i].half = pairs[i].other->half;
    if (not_measured(pairs[i], made[i])) continue;
    made[i].effects.push_back(effect(pairs[i], primary_of(*pairs[i].other)));
    const Effect& primary = made[i].effects.front().effect;
    if (primary.replicates_base > 0 && primary.replicates_other > 0)
      replicates_ = std::min({replicates_, primary.replicates_base, primary.replicates_other});
    if (!primary.tested) continue;
    tested.push_back(i);
    p_worse.push_back(primary.p_worse);
    p_better.push_back(primary.p_better);
  }
  family_ = tested.empty() ? made.size() : tested.size();
  const auto q_worse = benjamini_hochberg(p_worse), q_better = benjamini_hochberg(p_better);
  std::vector<double> worse(made.size(), 1), better(made.size(), 1);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    worse[tested[i]] = q_worse[i];
    better[tested[i]] = q_better[i];
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (made[i].effects.empty()) continue;
    decide(made[i], pairs[i], worse[i], better[i]);
    add_metrics(made[i], pairs[i]);
  }
  return made;
}

}  // namespace rdmameter
