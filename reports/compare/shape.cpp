// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>

#include "reports/stats/batch_change.h"
#include "reports/stats/families.h"
#include "reports/stats/mann_whitney.h"
#include "reports/stats/sample.h"

namespace rdmameter {
namespace {

constexpr double kOddsGrowth = std::numbers::ln2;  ///< of the logarithm: twice the odds
constexpr double kRankChanceOfShape = 0.01;
/// Standard deviation of the logarithm of the odds among batches, until it is measured.
constexpr double kBatchOfShape = 0.2;
constexpr double kMinOdds = 1e-5;  ///< that a share of 0 is taken for

struct Level {
  const char* name;
  double above;  ///< share of BASE's samples
};
constexpr std::array<Level, 3> kLevels{{{"p75", 0.25}, {"p90", 0.1}, {"p99", 0.01}}};

struct Known {
  Metric metric;
  double above;
};
constexpr std::array<Known, 5> kKnown{{{Metric::p50, 0.5},
                                       {Metric::p90, 0.1},
                                       {Metric::p99, 0.01},
                                       {Metric::p99_9, 0.001},
                                       {Metric::p99_99, 0.0001}}};

double log_odds(double share) {
  return std::log(std::max(share, kMinOdds) / (1 - std::min(share, 1 - kMinOdds)));
}

double share_of(double log_odds) {
  return 1 / (1 + std::exp(-log_odds));
}

/// Which share of a repetition's samples is above which multiple of its p50: straight lines between
/// its percentiles, of logarithms on either axis.
class ShapeCurve {
 public:
  ShapeCurve(const ComparableCase& test_case, const Replicate& replicate) {
    // Percentiles that fall, in a file of somebody else, are held level: share_above() searches.
    for (const Known& known : kKnown)
      if (const auto value = test_case.value(replicate, known.metric); value && *value > 0)
        points_.push_back(
            {std::max(std::log(*value), points_.empty() ? -INFINITY : points_.back().multiple),
             log_odds(known.above)});
    const auto& p50 = replicate.value[static_cast<std::size_t>(Metric::p50)];
    const auto& p90 = replicate.value[static_cast<std::size_t>(Metric::p90)];
    if (!p50 || !p90 || *p50 <= 0) points_.clear();
    const double middle = points_.empty() ? 0 : points_.front().multiple;
    for (Point& point : points_) point.multiple -= middle;
  }

  bool known() const { return !points_.empty(); }

  double share_above(double multiple) const {
    const auto after = std::ranges::upper_bound(points_, multiple, {}, &Point::multiple);
    if (after == points_.begin()) return share_of(points_.front().odds);
    const Point& before = *(after - 1);
    if (after == points_.end()) return share_of(before.odds);
    const double way = (multiple - before.multiple) / (after->multiple - before.multiple);
    return share_of(before.odds + way * (after->odds - before.odds));
  }

  /// Nothing where the percentiles do not reach as far.
  std::optional<double> multiple_at(double share) const {
    const double odds = log_odds(share);
    for (std::size_t i = 1; i < points_.size(); ++i) {
      if (points_[i].odds > odds) continue;
      const double way = (odds - points_[i - 1].odds) / (points_[i].odds - points_[i - 1].odds);
      return points_[i - 1].multiple + way * (points_[i].multiple - points_[i - 1].multiple);
    }
    return std::nullopt;
  }

 private:
  struct Point {
    double multiple, odds;  ///< logarithms
  };
  std::vector<Point> points_;
};

/// The repetitions' curves, by run or block.
using ShapeCurves = std::map<std::uint64_t, std::vector<ShapeCurve>>;

ShapeCurves curves_of(const ComparableCase& test_case, Replication replication) {
  ShapeCurves curves;
  if (test_case.bandwidth) return curves;
  for (const Replicate& one : test_case.replicates)
    if (ShapeCurve curve(test_case, one); curve.known())
      curves[replicate_of(one, replication)].push_back(std::move(curve));
  return curves;
}

/// Nothing where too few samples stand behind BASE's percentile.
std::optional<double> threshold_of(const ShapeCurves& base, double above, double floor) {
  std::vector<double> multiples;
  for (const auto& [run, curves] : base)
    for (const ShapeCurve& curve : curves)
      if (const auto multiple = curve.multiple_at(above)) multiples.push_back(*multiple);
  if (multiples.empty()) return std::nullopt;
  return median(multiples) + std::log1p(floor);
}

BatchValues odds_of(const ShapeCurves& runs, double threshold,
                    const std::vector<std::size_t>& batch_of_run) {
  BatchValues batches;
  for (const auto& [run, curves] : runs) {
    const std::size_t batch = run < batch_of_run.size() ? batch_of_run[run] : 0;
    if (batches.size() <= batch) batches.resize(batch + 1);
    double sum = 0;
    for (const ShapeCurve& curve : curves) sum += curve.share_above(threshold);
    batches[batch].push_back(log_odds(sum / static_cast<double>(curves.size())));
  }
  return batches;
}

/// One level of all cases.
struct LevelChanges {
  std::vector<CaseSides> sides;  ///< empty ones where a case has no such shares
  BatchChanges changes;
};

class Shapes {
 public:
  Shapes(const std::vector<Pair>& pairs, const Batches& batches, double floor)
      : batches_(batches), floor_(floor) {
    for (const Pair& pair : pairs) {
      base_.push_back(curves_of(*pair.base, batches.replication));
      other_.push_back(curves_of(*pair.other, batches.replication));
    }
    for (const Level& level : kLevels) levels_.push_back(changes_at(level.above));
  }

  std::vector<std::vector<CaseFinding>> findings() const {
    std::vector<std::vector<double>> p_values(base_.size());
    for (const LevelChanges& level : levels_)
      for (std::size_t i = 0; i < base_.size(); ++i)
        p_values[i].push_back(level.changes.cases[i].p_worse_runs);
    const auto families =
        judge_families(p_values, kShapeRate / static_cast<double>(batches_.looks));
    std::vector<std::vector<CaseFinding>> findings(base_.size());
    for (std::size_t i = 0; i < base_.size(); ++i)
      for (std::size_t k = 0; k < levels_.size() && findings[i].empty(); ++k)
        if (families[i].significant[k] && is_worse(levels_[k], i))
          findings[i].push_back({CaseVerdict::suspect, text_of(k, i), false});
    return findings;
  }

 private:
  LevelChanges changes_at(double above) const {
    LevelChanges level;
    for (std::size_t i = 0; i < base_.size(); ++i) {
      const auto threshold = threshold_of(base_[i], above, floor_);
      level.sides.push_back(threshold && !other_[i].empty()
                                ? CaseSides{odds_of(base_[i], *threshold, batches_.base),
                                            odds_of(other_[i], *threshold, batches_.other)}
                                : CaseSides{});
    }
    level.changes = batch_changes(level.sides, {.deviation = kBatchOfShape});
    return level;
  }

  static bool is_worse(const LevelChanges& level, std::size_t i) {
    if (level.changes.cases[i].change < kOddsGrowth) return false;
    const bool as_batches = level.changes.batches_are_replicates;
    return mann_whitney(replicates_of(level.sides[i].base, as_batches),
                        replicates_of(level.sides[i].other, as_batches))
               .greater <= kRankChanceOfShape;
  }

  std::string text_of(std::size_t k, std::size_t i) const {
    const auto percent = [](const BatchValues& values) {
      return 100 * share_of(median(replicates_of(values, false)));
    };
    return fmt::format(
        "{:.2g} % of the samples lie {:.2g} % above BASE's {} or more, {:.2g} % in BASE, as "
        "multiples of p50: look at both with 'rdmameter show --histogram'",
        percent(levels_[k].sides[i].other), floor_ * 100, kLevels[k].name,
        percent(levels_[k].sides[i].base));
  }

  const Batches& batches_;
  const double floor_;
  std::vector<ShapeCurves> base_, other_;
  std::vector<LevelChanges> levels_;
};

}  // namespace

std::vector<std::vector<CaseFinding>> changed_shapes(const std::vector<Pair>& pairs,
                                                     const Batches& batches, double floor) {
  return Shapes(pairs, batches, floor).findings();
}

}  // namespace rdmameter
