// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/effect.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "reports/stats/sample.h"
#include "reports/stats/student_t.h"

namespace rdmameter {
namespace {

/// The least chance by ranks alone that a verdict rests on: complete separation of five runs a side
/// has 1 in 252. One run that was disturbed cannot make a regression.
constexpr double kRankChance = 0.01;
constexpr double kPromising = 0.05;  ///< greater p-values decide nothing, and ranks take time
constexpr double kNormalBound = 1.959963984540054, kNormalOneSided = 1.6448536269514722;

double turned(Metric metric, double logarithm) {
  return info_of(metric).higher_is_better ? -logarithm : logarithm;
}

/// By run, whatever is above 0; a repetition without the metric is left out. A run's mean is the
/// mean of its repetitions; of other metrics the median repetition stands for it.
std::map<std::uint64_t, double> run_values(const ComparableCase& test_case, Metric metric) {
  std::map<std::uint64_t, std::vector<double>> repetitions;
  for (const Replicate& one : test_case.replicates)
    if (const auto value = value_of(one, metric); value && *value > 0)
      repetitions[one.run].push_back(*value);
  std::map<std::uint64_t, double> values;
  for (const auto& [run, list] : repetitions)
    values[run] = metric == Metric::mean ? mean(list) : median(list);
  return values;
}

double median_run(const std::map<std::uint64_t, double>& by_run) {
  return known_median(mapped(by_run, [](const auto& run) { return run.second; })).value_or(0);
}

void set_problem(Effect& effect) {
  const bool base = effect.base > 0, other = effect.other > 0;
  if (base && other) return;
  effect.problem = base || other ? std::string(info_of(effect.metric).name) + " is not known in " +
                                       (base ? "NEW" : "BASE") + ": too few samples, or 0"
                                 : "too few samples for this metric";
}

/// The quantiles of a sweep by tail and degrees of freedom, each computed once: most cases have as
/// many degrees.
using StudentQuantiles = std::map<std::pair<double, double>, double>;

Interval student_bounds(double estimate, const CaseChange& change, double tail,
                        StudentQuantiles& quantiles) {
  const auto [quantile, is_new] = quantiles.try_emplace({tail, change.replicate_degrees}, 0);
  if (is_new) quantile->second = student_t_quantile(tail, change.replicate_degrees);
  const double half = quantile->second * change.replicate_error;
  return {estimate - half, estimate + half};
}

/// Of ratios. @param of  logarithms, turned
Interval ratios_of(Metric metric, const Interval& of) {
  return info_of(metric).higher_is_better ? Interval{std::exp(-of.high), std::exp(-of.low)}
                                          : Interval{std::exp(of.low), std::exp(of.high)};
}

void fill_in(Effect& effect, const CaseSides& sides, const CaseChange& change, bool as_batches,
             StudentQuantiles& quantiles) {
  const std::vector<double> x = replicates_of(sides.base, as_batches);
  const std::vector<double> y = replicates_of(sides.other, as_batches);
  const double estimate = hodges_lehmann_shift(x, y);
  effect.ratio = std::exp(turned(effect.metric, estimate));
  effect.replicates_base = x.size();
  effect.replicates_other = y.size();
  // By ranks where there are enough replicates for them, else by Student's t; widened by what
  // batches add to it.
  const auto at = [&](double tail, double normal_bound) -> Interval {
    Interval bounds = rank_interval(x, y, 1 - 2 * tail);
    if (!std::isfinite(bounds.low)) bounds = student_bounds(estimate, change, tail, quantiles);
    const double batch = normal_bound * change.batch_error;
    return {estimate - std::hypot(estimate - bounds.low, batch),
            estimate + std::hypot(bounds.high - estimate, batch)};
  };
  effect.interval = ratios_of(effect.metric, at(0.025, kNormalBound));
  effect.worst = std::exp(at(0.05, kNormalOneSided).high);
  effect.p_worse = change.p_worse;
  effect.p_better = change.p_better;
  effect.p_worse_runs = change.p_worse_runs;
  if (std::min(change.p_worse, change.p_better) > kPromising) return;
  const MannWhitney ranks = mann_whitney(x, y);
  effect.worse_by_rank = ranks.greater <= kRankChance;
  effect.better_by_rank = ranks.less <= kRankChance;
}

double noise_beyond(const Noises& noise, const Pair& pair) {
  for (const ComparableCase* each : {pair.other, pair.base})
    if (const auto found = noise.find(each->name); found != noise.end())
      return found->second.beyond;
  return 0;
}

void set_limits(Effect& effect, double between_runs, double recorded, const Floors& floors) {
  double share = std::max({floors.relative, floors.spreads * between_runs, recorded});
  if (is_time(effect.metric) && effect.base > 0)
    share = std::max(share, floors.absolute_ns / effect.base);
  effect.floor = 1 + share;
  effect.margin = 1 + floors.margin * info_of(effect.metric).judging.margin;
}

}  // namespace

bool judges(Metric metric, const ComparableCase& test_case) {
  if (!info_of(metric).judging.judges) return false;
  if (test_case.bandwidth) return metric == Metric::gbps || metric == Metric::p99;
  return metric != Metric::gbps;
}

double slowdown(Metric metric, double ratio) {
  return info_of(metric).higher_is_better ? 1 / ratio : ratio;
}

MetricSweep sweep_of_runs(const std::vector<Pair>& pairs, Metric metric, const Floors& floors,
                          const Noises& noise, const Batches& batches) {
  MetricSweep sweep{.effects = std::vector(pairs.size(), Effect{.metric = metric})};
  std::vector<CaseSides> sides;
  std::vector<std::size_t> at;  // of the pairs that have the metric on both sides
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto base = run_values(*pairs[i].base, metric);
    const auto other = run_values(*pairs[i].other, metric);
    Effect& effect = sweep.effects[i];
    effect.base = median_run(base);
    effect.other = median_run(other);
    set_problem(effect);
    if (!effect.problem.empty()) continue;
    const auto logarithm = [&](double value) { return turned(metric, std::log(value)); };
    sides.push_back({.base = by_batch(base, batches.base, logarithm),
                     .other = by_batch(other, batches.other, logarithm)});
    at.push_back(i);
  }
  const BatchChanges changes = batch_changes(sides, floors.batch * info_of(metric).judging.batch);
  StudentQuantiles quantiles;
  for (std::size_t k = 0; k < at.size(); ++k) {
    Effect& effect = sweep.effects[at[k]];
    fill_in(effect, sides[k], changes.cases[k], changes.batches_are_replicates, quantiles);
    set_limits(effect, changes.cases[k].between_runs, noise_beyond(noise, pairs[at[k]]), floors);
  }
  sweep.batches = {metric, changes.common, changes.by_case, changes.measured};
  return sweep;
}

namespace {

/// Logarithms of the blocks in which both sides have the metric, in order.
struct BlockLogarithms {
  std::vector<double> base, other;
  std::vector<double> differences;  ///< as block_differences() gives them
};

BlockLogarithms block_logarithms(const Pair& pair, Metric metric) {
  std::map<std::uint64_t, double> base;
  for (const Replicate& one : pair.base->replicates)
    if (const auto value = value_of(one, metric); value && *value > 0)
      base[one.repetition] = std::log(*value);
  BlockLogarithms blocks;
  for (const Replicate& one : pair.other->replicates) {
    const auto value = value_of(one, metric);
    const auto found = base.find(one.repetition);
    if (!value || *value <= 0 || found == base.end()) continue;
    blocks.base.push_back(found->second);
    blocks.other.push_back(std::log(*value));
    blocks.differences.push_back(turned(metric, blocks.other.back() - found->second));
  }
  return blocks;
}

/// The effect is the mean over the blocks, so the values beside it are, too: medians, which a few
/// slow blocks do not move, would contradict it.
double block_value(const ComparableCase& side, Metric metric, const std::vector<double>& blocks) {
  return blocks.empty() ? median_run(run_values(side, metric)) : std::exp(mean(blocks));
}

}  // namespace

std::vector<double> block_differences(const Pair& pair, Metric metric) {
  return block_logarithms(pair, metric).differences;
}

MetricSweep sweep_of_blocks(const std::vector<Pair>& pairs, Metric metric, const Floors& floors,
                            const Noises& noise) {
  MetricSweep sweep{.effects = std::vector(pairs.size(), Effect{.metric = metric}),
                    .batches = {.metric = metric}};
  std::vector<std::vector<double>> differences;
  std::vector<VarianceEstimate> own;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const BlockLogarithms blocks = block_logarithms(pairs[i], metric);
    sweep.effects[i].base = block_value(*pairs[i].base, metric, blocks.base);
    sweep.effects[i].other = block_value(*pairs[i].other, metric, blocks.other);
    differences.push_back(blocks.differences);
    const double deviation = standard_deviation(differences.back());
    const auto count = static_cast<double>(differences.back().size());
    own.push_back({deviation * deviation, std::max(0.0, count - 1)});
  }
  const VarianceEstimate shared = shared_variance(own);
  StudentQuantiles quantiles;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    Effect& effect = sweep.effects[i];
    set_problem(effect);
    effect.replicates_base = effect.replicates_other = differences[i].size();
    if (effect.problem.empty() && differences[i].size() < 2)
      effect.problem = "one block says nothing of how blocks differ";
    if (!effect.problem.empty()) continue;
    const double estimate = mean(differences[i]);
    const auto count = static_cast<double>(differences[i].size());
    const VarianceEstimate both = moderated(own[i], shared);
    const double error = std::sqrt(both.variance / count);
    const double t = error > 0       ? estimate / error
                     : estimate == 0 ? 0
                                     : std::copysign(INFINITY, estimate);
    effect.p_worse = effect.p_worse_runs = student_t_above(t, both.degrees);
    effect.p_better = student_t_above(-t, both.degrees);
    effect.ratio = std::exp(turned(metric, estimate));
    const CaseChange change{.replicate_error = std::sqrt(own[i].variance / count),
                            .replicate_degrees = own[i].degrees};
    effect.interval = ratios_of(metric, student_bounds(estimate, change, 0.025, quantiles));
    effect.worst = std::exp(student_bounds(estimate, change, 0.05, quantiles).high);
    set_limits(effect, std::sqrt(own[i].variance / 2), noise_beyond(noise, pairs[i]), floors);
  }
  return sweep;
}

}  // namespace rdmameter
