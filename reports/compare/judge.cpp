// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/judge.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "reports/stats/mann_whitney.h"
#include "reports/stats/sample.h"

namespace rdmameter {
namespace {

constexpr double kNormal95 = 1.959963984540054;  ///< two-sided quantile of the normal
constexpr double kMedianEfficiency =
    1.2533141373155;  ///< sqrt(pi / 2): a median's error by a mean's

double upper_tail(double z) {
  return 0.5 * std::erfc(z / std::numbers::sqrt2);
}

std::vector<double> flat(const Runs& runs) {
  std::vector<double> values;
  for (const auto& run : runs) values.insert(values.end(), run.begin(), run.end());
  return values;
}

std::vector<double> replicates_of(const Runs& runs, Replication replication) {
  if (replication == Replication::repetitions) return flat(runs);
  std::vector<double> medians;
  for (const auto& run : runs) medians.push_back(median(run));
  return medians;
}

/// Variance of a side's mean log of run medians: what runs differ by, and what repetitions within
/// each add to it.
double variance_of(const Runs& runs, double between_runs) {
  double within = 0;
  for (const auto& run : runs) {
    const double deviation = kMedianEfficiency * standard_deviation(logarithms(run));
    within += deviation * deviation / static_cast<double>(run.size());
  }
  const auto count = static_cast<double>(runs.size());
  return between_runs * between_runs / count + within / (count * count);
}

/// Standard deviation among the runs themselves, both sides pooled; 0: there is one run a side.
double observed_between(std::span<const double> base, std::span<const double> other) {
  const double a = standard_deviation(logarithms(base)), b = standard_deviation(logarithms(other));
  const auto m = static_cast<double>(base.size() - 1), n = static_cast<double>(other.size() - 1);
  return m + n == 0 ? 0 : std::sqrt((m * a * a + n * b * b) / (m + n));
}

bool one_repetition(const Runs& runs) {
  return std::ranges::all_of(runs, [](const auto& run) { return run.size() == 1; });
}

/// By the normal distribution, with a component for what a run's luck is known, or assumed, to be.
void guess(Effect& effect, const Runs& base, const Runs& other, const std::vector<double>& x,
           const std::vector<double>& y, const EffectOptions& options) {
  const double between = std::max(options.between_runs, observed_between(x, y));
  const double error = std::sqrt(variance_of(base, between) + variance_of(other, between));
  const double log_ratio = std::log(effect.ratio);
  effect.interval = {std::exp(log_ratio - kNormal95 * error),
                     std::exp(log_ratio + kNormal95 * error)};
  const double z = error > 0 ? log_ratio / error : 0;
  effect.p_worse = upper_tail(options.higher_is_better ? -z : z);
  effect.p_better = upper_tail(options.higher_is_better ? z : -z);
}

struct Slowdown {
  double estimate, least, most;
};

/// The ratio turned so that above 1 is worse.
Slowdown slowdown_of(const Effect& effect, bool higher_is_better) {
  if (!higher_is_better) return {effect.ratio, effect.interval.low, effect.interval.high};
  return {1 / effect.ratio, 1 / effect.interval.high, 1 / effect.interval.low};
}

}  // namespace

Effect effect_of(const Runs& base, const Runs& other, const EffectOptions& options) {
  const std::vector<double> x = replicates_of(base, options.replication);
  const std::vector<double> y = replicates_of(other, options.replication);
  Effect effect{.replicates_base = x.size(), .replicates_other = y.size()};
  const auto positive = [](double value) { return value > 0; };
  if (x.empty() || y.empty()) {
    effect.problem = "too few samples for this metric";
    return effect;
  }
  effect.base = median(x);
  effect.other = median(y);
  if (!std::ranges::all_of(flat(base), positive) || !std::ranges::all_of(flat(other), positive)) {
    effect.problem = "a repetition measured 0, of which there is no ratio";
    return effect;
  }
  effect.ratio = hodges_lehmann_ratio(x, y);
  effect.interval = {effect.ratio, effect.ratio};
  effect.tested = std::min(x.size(), y.size()) >= kLeastRuns;
  if (effect.tested) {
    effect.interval = ratio_interval(x, y, kConfidence, options.seed, options.draws);
    const MannWhitney test = mann_whitney(x, y);
    effect.p_worse = options.higher_is_better ? test.less : test.greater;
    effect.p_better = options.higher_is_better ? test.greater : test.less;
  } else if (x.size() == 1 && y.size() == 1 && (one_repetition(base) || one_repetition(other))) {
    effect.problem = "one repetition says nothing of how repetitions differ";
  } else {
    guess(effect, base, other, x, y, options);
  }
  return effect;
}

double allowed_slowdown(double base, bool is_time, double noise, const Floors& floors) {
  double share = std::max(floors.relative, noise);
  if (is_time && base > 0) share = std::max(share, floors.absolute_ns / base);
  return 1 + share;
}

CaseVerdict verdict_of(const Effect& effect, bool higher_is_better, double q_worse, double q_better,
                       double allowed) {
  if (!effect.problem.empty()) return CaseVerdict::inconclusive;
  const Slowdown slowdown = slowdown_of(effect, higher_is_better);
  if (slowdown.estimate > allowed) {
    if (effect.tested && q_worse <= kSignificance) return CaseVerdict::fail;
    return effect.p_worse <= kSignificance ? CaseVerdict::suspect : CaseVerdict::inconclusive;
  }
  if (1 / slowdown.estimate > allowed && effect.tested && q_better <= kSignificance)
    return CaseVerdict::better;
  return slowdown.most <= allowed ? CaseVerdict::pass : CaseVerdict::inconclusive;
}

std::size_t replicates_needed(const Effect& effect, bool higher_is_better, double allowed,
                              std::size_t cases) {
  if (!effect.problem.empty()) return replicates_for(cases);
  const Slowdown slowdown = slowdown_of(effect, higher_is_better);
  const double gap = std::abs(std::log(slowdown.estimate / allowed));
  const double half_width = std::log(slowdown.most / slowdown.least) / 2;
  const auto present =
      static_cast<double>(std::min(effect.replicates_base, effect.replicates_other));
  constexpr double kHopeless = 1000;  // nobody measures as often
  if (gap * std::sqrt(kHopeless / present) < half_width) return 0;
  const double factor = gap > 0 ? half_width / gap : 1;
  const auto needed = static_cast<std::size_t>(std::ceil(present * factor * factor));
  const std::size_t least = slowdown.estimate > allowed ? replicates_for(cases) : kLeastRuns;
  return std::max({needed, least, static_cast<std::size_t>(present) + 1});
}

std::size_t replicates_for(std::size_t cases) {
  std::size_t replicates = kLeastRuns;
  while (least_p(replicates, replicates) * static_cast<double>(cases) > kSignificance) ++replicates;
  return replicates;
}

}  // namespace rdmameter
