// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/case_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/stats/significance.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

/// Fewer runs a side and no ranks can tell a change from a run that was disturbed.
constexpr std::size_t kMinRuns = 5;

/// What failed now and did not before is worse, whatever its time; what failed before is better
/// now. What neither side can measure is no finding.
bool not_measured(const Pair& pair, CaseComparison& one) {
  if (!pair.base->replicates.empty() && !pair.other->replicates.empty()) return false;
  const bool was_measured = !pair.base->replicates.empty();
  const ComparableCase& lacking = was_measured ? *pair.other : *pair.base;
  const auto skipped = [](const ComparableCase& test_case) {
    return test_case.replicates.empty() && test_case.failures.empty() && test_case.interrupted == 0;
  };
  if (!lacking.failures.empty())
    one.verdict = was_measured                     ? CaseVerdict::fail
                  : pair.other->replicates.empty() ? CaseVerdict::inconclusive
                                                   : CaseVerdict::better;
  else
    one.verdict =
        skipped(*pair.base) && skipped(*pair.other) ? CaseVerdict::pass : CaseVerdict::inconclusive;
  std::string reason = "interrupted";
  if (!lacking.failures.empty())
    reason = "failed: " + lacking.failures.front().message;
  else if (lacking.interrupted == 0)
    reason = "skipped: " + (lacking.skips.empty() ? "" : lacking.skips.front());
  one.note = fmt::format("not measured in {}; {}", was_measured ? "NEW" : "BASE", reason);
  return true;
}

/// Half round trips against whole ones would be "better by half".
bool not_comparable(const Pair& pair, CaseComparison& one) {
  const auto what = [](const ComparableCase& test_case) {
    return fmt::format("{}{}", test_case.half ? "half of " : "", test_case.definition);
  };
  const bool told = !pair.base->definition.empty() && !pair.other->definition.empty();
  const bool same = pair.base->half == pair.other->half &&
                    (!told || pair.base->definition == pair.other->definition);
  if (same) return false;
  one.verdict = CaseVerdict::inconclusive;
  one.note = fmt::format("NEW measures {}, BASE {}", what(*pair.other), what(*pair.base));
  return true;
}

/// How much slower, in margins: what brings members of different kinds into an order.
double severity(const Effect& one) {
  if (!one.problem.empty()) return 0;
  const double slower = std::log(slowdown(one.metric, one.ratio));
  return one.margin > 1 ? slower / std::log(one.margin) : slower;
}

/// Of an open case: is it a member that is open, or a finding that more runs settle?
bool more_would_tell(const CaseComparison& one) {
  return is_open(one.verdict) &&
         (is_open(one.effects.front().verdict) ||
          std::ranges::any_of(one.findings, is_open, &CaseFinding::verdict));
}

struct Significance {
  bool worse = false, better = false;
  bool worse_runs = false;  ///< as if all batches were alike, and replicates enough
};

CaseVerdict verdict_of(const Effect& effect, const Significance& significance) {
  if (!effect.problem.empty()) return CaseVerdict::inconclusive;
  const double slower = slowdown(effect.metric, effect.ratio);
  if (slower > effect.floor) {
    if (significance.worse && effect.worse_by_rank) return CaseVerdict::fail;
    if (significance.worse || significance.worse_runs) return CaseVerdict::suspect;
  }
  const bool better = 1 / slower > effect.floor && significance.better && effect.better_by_rank;
  if (better) return CaseVerdict::better;
  return effect.worst <= effect.margin ? CaseVerdict::pass : CaseVerdict::inconclusive;
}

class Judge {
 public:
  Judge(const std::vector<Pair>& pairs, const Batches& batches, const JudgeOptions& options)
      : pairs_(pairs), batches_(batches), options_(options) {}

  Judgement judge() {
    judgement_.cases.resize(pairs_.size());
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      CaseComparison& one = judgement_.cases[i];
      const ComparableCase& other = *pairs_[i].other;
      one.name = other.name;
      one.times = other.half ? "half round trip" : other.load ? "response" : "";
      one.part = other.part;
      if (!not_measured(pairs_[i], one) && !not_comparable(pairs_[i], one)) measured_.push_back(i);
    }
    judgement_.family = measured_.size();
    add_effects();
    if (batches_.replication == Replication::blocks) turn_blocks_round();
    decide();
    PairFindings findings = reliability_findings(pairs_, batches_);
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      judgement_.cases[i].findings = std::move(findings[i]);
      conclude(judgement_.cases[i], pairs_[i].base->interrupted + pairs_[i].other->interrupted);
    }
    return std::move(judgement_);
  }

 private:
  double rate() const { return kMetricRate / static_cast<double>(batches_.looks); }

  void add_effects() {
    const auto pairs = mapped(measured_, [&](std::size_t i) { return pairs_[i]; });
    std::size_t fewest = ~std::size_t{0};
    const auto add = [&](Metric metric, bool asked) {
      MetricSweep found =
          batches_.replication == Replication::blocks
              ? sweep_of_blocks(pairs, metric, options_.floors, options_.noise)
              : sweep_of_runs(pairs, metric, options_.floors, options_.noise, batches_);
      bool any = false;
      for (std::size_t k = 0; k < pairs.size(); ++k) {
        Effect& effect = found.effects[k];
        const bool has = effect.base > 0 || effect.other > 0;
        if (!has || judges(metric, *pairs[k].other) == asked) continue;
        any = true;
        if (effect.problem.empty())
          fewest = std::min({fewest, effect.replicates_base, effect.replicates_other});
        CaseComparison& one = judgement_.cases[measured_[k]];
        (asked ? one.others : one.effects).push_back(std::move(effect));
      }
      if (any && !asked) judgement_.batches.push_back(found.batches);
    };
    for (const MetricInfo& info : metrics())
      if (info.judging.judges) add(info.metric, false);
    for (const Metric metric : options_.others) add(metric, true);
    judgement_.replicates = fewest == ~std::size_t{0} ? 0 : fewest;
  }

  /// A case's members are turned round together, and none is surer than the whole of them.
  void turn_blocks_round() {
    for (const std::size_t i : measured_) {
      CaseComparison& one = judgement_.cases[i];
      const auto turn = [&](double Effect::*p, double sign) {
        const auto promising = [&](const Effect& each) {
          return each.problem.empty() && each.*p <= rate();
        };
        if (std::ranges::none_of(one.effects, promising)) return;
        std::vector<std::vector<double>> members = complete_differences(i);
        for (auto& member : members)
          for (double& difference : member) difference *= sign;
        const double chance = sign_randomisation(members);
        for (Effect& each : one.effects)
          if (each.problem.empty()) each.*p = std::max(each.*p, chance);
      };
      turn(&Effect::p_worse, 1);
      turn(&Effect::p_better, -1);
      for (Effect& each : one.effects)
        each.worse_by_rank = each.better_by_rank = true;  // signs stand for ranks
    }
  }

  /// Of members that every block knows; of those that some block lacks, none.
  std::vector<std::vector<double>> complete_differences(std::size_t i) const {
    std::vector<std::vector<double>> members;
    std::size_t blocks = 0;
    for (const Effect& each : judgement_.cases[i].effects)
      if (each.problem.empty()) {
        members.push_back(block_differences(pairs_[i], each.metric));
        blocks = std::max(blocks, members.back().size());
      }
    std::erase_if(members, [&](const auto& member) { return member.size() < blocks; });
    return members;
  }

  /// @return  p-values of the members of each measured case that have any
  std::vector<FamilyResult> families(double Effect::*p) const {
    const auto p_of = [&](const Effect& each) { return each.problem.empty() ? each.*p : 1; };
    const auto list =
        mapped(measured_, [&](std::size_t i) { return mapped(judgement_.cases[i].effects, p_of); });
    return judge_families(list, rate());
  }

  void decide() {
    const auto worse = families(&Effect::p_worse), better = families(&Effect::p_better),
               runs = families(&Effect::p_worse_runs);
    for (std::size_t k = 0; k < measured_.size(); ++k) {
      CaseComparison& one = judgement_.cases[measured_[k]];
      one.q_worse = worse[k].q;
      for (std::size_t m = 0; m < one.effects.size(); ++m) {
        const Significance significance{.worse = worse[k].significant[m],
                                        .better = better[k].significant[m],
                                        .worse_runs = runs[k].significant[m]};
        one.effects[m].verdict = verdict_of(one.effects[m], significance);
      }
    }
  }

  /// The worst member first; its verdict, or that of what failed or got lost, is the case's.
  void conclude(CaseComparison& one, std::size_t interrupted) const {
    std::ranges::stable_sort(one.effects, {}, [](const Effect& each) {
      return std::pair(each.verdict, -severity(each));
    });
    if (!one.effects.empty()) one.verdict = one.effects.front().verdict;
    if (one.effects.empty() && one.note.empty()) {
      one.verdict = CaseVerdict::inconclusive;
      one.note = "no metric that both sides have";
    }
    const auto add_note = [&one](const std::string& text) { add_item(one.note, text, "; "); };
    for (const CaseFinding& finding : one.findings) {
      one.verdict = std::min(one.verdict, finding.verdict);
      add_note(finding.text);
    }
    if (interrupted > 0) add_note(count_text(interrupted, "interrupted repetition") + " left out");
    if (one.effects.empty()) return;
    const Effect& worst = one.effects.front();
    if (!worst.problem.empty())
      add_note(worst.problem);
    else if (more_would_tell(one))
      add_note(what_settles(one));
  }

  std::string what_settles(const CaseComparison& one) const {
    const Effect& worst = one.effects.front();
    const std::size_t present = std::min(worst.replicates_base, worst.replicates_other);
    const std::size_t needed =
        replicates_for(judgement_.family, batches_.replication, batches_.looks);
    if (batches_.replication == Replication::blocks)
      return fmt::format("{} blocks would settle it", std::max(needed, present + present / 2));
    if (worst.verdict == CaseVerdict::suspect && present >= needed)
      return "batches alone could do that: 'rdmameter ab' settles it";
    return fmt::format("{} runs a side, each in a batch of its own, or 'rdmameter ab' settle it",
                       std::max(needed, 2 * present));
  }

  const std::vector<Pair>& pairs_;
  const Batches& batches_;
  const JudgeOptions& options_;
  Judgement judgement_;
  std::vector<std::size_t> measured_;  ///< indexes of pairs
};

}  // namespace

Judgement judge_cases(const std::vector<Pair>& pairs, const Batches& batches,
                      const JudgeOptions& options) {
  return Judge(pairs, batches, options).judge();
}

std::size_t replicates_for(std::size_t cases, Replication replication, std::size_t looks) {
  if (replication == Replication::runs) return kMinRuns;
  return pairs_for(kMetricRate / static_cast<double>(std::max<std::size_t>(1, cases) * looks));
}

}  // namespace rdmameter
