// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/batch_change.h"

#include <algorithm>
#include <cmath>

#include "reports/stats/sample.h"

namespace rdmameter {
namespace {

constexpr double kMaxSpread = 3;     ///< times the prior: beyond that, cases have really changed
constexpr double kPriorWeight = 20;  ///< the prior counts as so many measured degrees of freedom

/// Batch by batch; NaN where a batch lacks the case.
std::vector<double> batch_means(const BatchValues& batches) {
  return mapped(batches, [](const auto& runs) { return runs.empty() ? NAN : mean(runs); });
}

std::vector<double> known_of(const std::vector<double>& values) {
  return filtered(values, [](double value) { return !std::isnan(value); });
}

/// @param values  two or more
VarianceEstimate variance_of(const std::vector<double>& values) {
  const auto degrees = static_cast<double>(values.size() - 1);
  return {squares_around(values, mean(values)) / degrees, degrees};
}

std::size_t count_of(const BatchValues& batches, bool batches_are_replicates) {
  return replicates_of(batches, batches_are_replicates).size();
}

/// What batches of one side do to the cases: their means by case, freed of the case's own mean.
struct SideResiduals {
  std::vector<std::vector<double>> of_case;  ///< [case][batch]
  std::vector<double> common;                ///< [batch] the median case
};

/// @param separable  else nothing is known of what cases share
SideResiduals residuals_of(const std::vector<CaseSides>& cases, BatchValues CaseSides::*side,
                           bool separable) {
  SideResiduals residuals;
  std::size_t batches = 0;
  for (const CaseSides& one : cases) {
    std::vector<double> means = batch_means(one.*side);
    const std::vector<double> known = known_of(means);
    const double centre = known.empty() ? 0 : mean(known);
    for (double& value : means) value -= centre;
    batches = std::max(batches, means.size());
    residuals.of_case.push_back(std::move(means));
  }
  for (std::size_t s = 0; s < batches; ++s) {
    std::vector<double> across;
    for (const auto& row : residuals.of_case)
      if (s < row.size() && !std::isnan(row[s])) across.push_back(row[s]);
    residuals.common.push_back(!separable || across.empty() ? 0 : median(across));
  }
  return residuals;
}

/// A case's batch means without what all cases share: their variance.
VarianceEstimate alone(const std::vector<double>& row, const std::vector<double>& common) {
  std::vector<double> values;
  for (std::size_t s = 0; s < row.size(); ++s)
    if (!std::isnan(row[s])) values.push_back(row[s] - common[s]);
  return values.size() < 2 ? VarianceEstimate() : variance_of(values);
}

VarianceEstimate pooled(const VarianceEstimate& a, const VarianceEstimate& b) {
  const double degrees = a.degrees + b.degrees;
  if (degrees == 0) return {};
  return {(a.variance * a.degrees + b.variance * b.degrees) / degrees, degrees};
}

VarianceEstimate mean_of(const std::vector<VarianceEstimate>& estimates) {
  VarianceEstimate sum;
  for (const VarianceEstimate& one : estimates) sum = pooled(sum, one);
  return sum;
}

/// Runs within their batches.
VarianceEstimate within(const BatchValues& batches) {
  VarianceEstimate sum;
  for (const std::vector<double>& runs : batches)
    if (runs.size() > 1) sum = pooled(sum, variance_of(runs));
  return sum;
}

double inverse(std::size_t count) {
  return count == 0 ? 0 : 1 / static_cast<double>(count);
}

/// A part of a change's variance that is not there.
constexpr VarianceEstimate kNoVariance{0, INFINITY};

/// Welch and Satterthwaite: P(T >= change / error).
double p_of(double change, const VarianceEstimate& a, const VarianceEstimate& b) {
  const double variance = a.variance + b.variance;
  if (variance <= 0) return change > 0 ? 0 : 1;
  const double spread = a.variance * a.variance / a.degrees + b.variance * b.variance / b.degrees;
  const double degrees = spread > 0 ? variance * variance / spread : INFINITY;
  return student_t_above(change / std::sqrt(variance), degrees);
}

class Sweep {
 public:
  Sweep(const std::vector<CaseSides>& cases, double prior)
      : cases_(cases),
        prior_(prior),
        separable_(cases.size() >= kManyCases),
        base_(residuals_of(cases, &CaseSides::base, separable_)),
        other_(residuals_of(cases, &CaseSides::other, separable_)) {}

  BatchChanges test() {
    result_.batches_are_replicates = std::ranges::all_of(cases_, [](const CaseSides& one) {
      const std::size_t fewest = std::min(count_of(one.base, true), count_of(one.other, true));
      return fewest == 0 || fewest >= kBatchReplicates;
    });
    learn_batches();
    learn_replicates();
    find_changes();
    widen_by_spread();
    for (std::size_t i = 0; i < cases_.size(); ++i) test_case(i);
    if (as_batches())
      for (CaseChange& one : result_.cases) one.p_worse_runs = one.p_worse;
    result_.common = std::sqrt(common_.variance);
    result_.by_case = std::sqrt(by_case_.variance);
    return std::move(result_);
  }

 private:
  bool as_batches() const { return result_.batches_are_replicates; }

  double prior_variance() const { return prior_ * prior_; }

  VarianceEstimate with_prior(const VarianceEstimate& learnt) const {
    if (learnt.degrees == 0) return {prior_variance(), INFINITY};
    return pooled({prior_variance(), kPriorWeight}, learnt);
  }

  /// What all cases of a batch share, and each case's own part.
  void learn_batches() {
    VarianceEstimate common;
    for (const SideResiduals* side : {&base_, &other_}) {
      if (!separable_ || side->common.size() < 2) continue;
      const auto degrees = static_cast<double>(side->common.size() - 1);
      common = pooled(common, {squares_around(side->common, 0) / degrees, degrees});
    }
    for (std::size_t i = 0; i < cases_.size(); ++i) own_.push_back(own_batches(i));
    result_.measured = common.degrees > 0;
    common_ = result_.measured ? with_prior(common) : kNoVariance;
    by_case_ = with_prior(mean_of(own_));
  }

  /// Batches of a case by themselves; less what its runs within batches explain, where these are
  /// the replicates.
  VarianceEstimate own_batches(std::size_t i) const {
    VarianceEstimate own =
        pooled(alone(base_.of_case[i], base_.common), alone(other_.of_case[i], other_.common));
    if (separable_)
      own.variance *= static_cast<double>(cases_.size()) / static_cast<double>(cases_.size() - 1);
    if (as_batches()) return own;
    const auto count = [&](bool batches) {
      return count_of(cases_[i].base, batches) + count_of(cases_[i].other, batches);
    };
    const std::size_t per_batch =
        std::max<std::size_t>(1, count(false) / std::max<std::size_t>(1, count(true)));
    own.variance = std::max(0.0, own.variance - own_runs(i).variance * inverse(per_batch));
    return own;
  }

  /// Runs of a case within its batches.
  VarianceEstimate own_runs(std::size_t i) const {
    return pooled(within(cases_[i].base), within(cases_[i].other));
  }

  void learn_replicates() {
    if (!as_batches())
      for (std::size_t i = 0; i < cases_.size(); ++i) own_[i] = own_runs(i);
    shared_ = shared_variance(own_);
    if (as_batches()) {  // the prior is one of batches, not of runs
      // Few cases teach no more than one, since those of a batch share its luck; of many that is
      // taken out.
      const double all = mean_of(own_).degrees;
      const double learnt =
          separable_ ? all : all / static_cast<double>(std::max<std::size_t>(1, own_.size()));
      const double weight = kPriorWeight / (kPriorWeight + learnt);
      const double degrees = kPriorWeight * weight;
      shared_.variance = shared_.variance * (1 - weight) + prior_variance() * weight;
      shared_.degrees = separable_ ? std::max(shared_.degrees, degrees) : degrees;
    } else if (shared_.variance == 0 && mean_of(own_).degrees == 0) {
      shared_ = {prior_variance(), kPriorWeight};  // a run a side
    }
  }

  VarianceEstimate replicate_part(std::size_t i) const {
    const VarianceEstimate one = moderated(own_[i], shared_);
    return {one.variance * share_of(i, as_batches()), std::max(1.0, one.degrees)};
  }

  /// What the change has of the variance of one run, or of one batch.
  double share_of(std::size_t i, bool batches) const {
    return inverse(count_of(cases_[i].base, batches)) + inverse(count_of(cases_[i].other, batches));
  }

  void find_changes() {
    std::vector<double> changes;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      CaseChange change;
      const auto centre = [&](const BatchValues& batches) {
        return mean(replicates_of(batches, as_batches()));
      };
      change.known = count_of(cases_[i].base, false) > 0 && count_of(cases_[i].other, false) > 0;
      if (change.known) {
        change.change = centre(cases_[i].other) - centre(cases_[i].base);
        changes.push_back(change.change);
      }
      change.between_runs = std::sqrt(own_[i].variance);
      change.replicate_error = std::sqrt(replicate_part(i).variance);
      change.replicate_degrees = replicate_part(i).degrees;
      result_.cases.push_back(change);
    }
    median_change_ = changes.empty() ? 0 : median(changes);
  }

  /// Batches a side differ no less than the changes of the cases do.
  void widen_by_spread() {
    if (!separable_) return;
    std::vector<double> distances, explained;
    double share = 0;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (!result_.cases[i].known) continue;
      distances.push_back(std::abs(result_.cases[i].change - median_change_));
      explained.push_back(replicate_part(i).variance);
      share = std::max(share, share_of(i, true));
    }
    if (distances.empty() || share == 0) return;
    const double spread = kMadOfNormal * median(distances);
    const double beyond = (spread * spread - median(explained)) / share;
    const double limit = kMaxSpread * prior_;
    by_case_.variance = std::max(by_case_.variance, std::min(beyond, limit * limit));
  }

  void test_case(std::size_t i) {
    CaseChange& change = result_.cases[i];
    if (!change.known) return;
    const VarianceEstimate replicates = replicate_part(i);
    const double share = share_of(i, true);
    VarianceEstimate own = as_batches() ? kNoVariance : by_case_;  // batches as replicates show it
    own.variance *= share;
    const VarianceEstimate all{common_.variance * share + own.variance,
                               (result_.measured ? common_ : by_case_).degrees};
    change.batch_error = as_batches() ? 0 : std::sqrt(all.variance);
    change.p_worse = p_of(change.change, replicates, all);
    change.p_better = p_of(-change.change, replicates, all);
    change.p_worse_runs = p_of(change.change, replicates, kNoVariance);
    if (!separable_ || !result_.measured) return;
    const double relative = change.change - median_change_;
    const auto either = [&](double p, double beyond) {
      return std::min(1.0, 2 * std::min(p, p_of(beyond, replicates, own)));
    };
    change.p_worse = either(change.p_worse, std::min(change.change, relative));
    change.p_better = either(change.p_better, -std::max(change.change, relative));
  }

  const std::vector<CaseSides>& cases_;
  const double prior_;
  const bool separable_;  ///< what all cases of a batch share
  SideResiduals base_, other_;
  BatchChanges result_;
  VarianceEstimate common_, by_case_;
  std::vector<VarianceEstimate> own_;
  VarianceEstimate shared_;
  double median_change_ = 0;
};

}  // namespace

std::vector<double> replicates_of(const BatchValues& batches, bool batches_are_replicates) {
  if (batches_are_replicates) return known_of(batch_means(batches));
  std::vector<double> all;
  for (const auto& runs : batches) all.insert(all.end(), runs.begin(), runs.end());
  return all;
}

BatchChanges batch_changes(const std::vector<CaseSides>& cases, double prior) {
  return Sweep(cases, prior).test();
}

}  // namespace rdmameter
