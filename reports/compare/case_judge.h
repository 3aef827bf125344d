// SPDX-License-Identifier: Apache-2.0
// From pairs of cases to a verdict on each, all of them judged together.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "reports/compare/comparison.h"
#include "reports/compare/pairing.h"

namespace rdmameter {

using Noises = std::map<std::string, Noise, std::less<>>;

/// What cases are judged by: p50, or bandwidth where they measure that.
Metric primary_of(const ComparableCase& one_case);

/// The values of a case, run by run; empty: it has none of this metric.
Runs runs_of(const ComparableCase& one_case, Metric metric);

/// Works on the pairs of one comparison. Borrows the options.
class Judge {
 public:
  Judge(const ComparisonOptions& options, Replication replication, Noises noise)
      : options_(options), replication_(replication), noise_(std::move(noise)) {}

  std::vector<CaseComparison> judge(const std::vector<Pair>& pairs);
  std::size_t family() const { return family_; }          ///< cases tested together
  std::size_t replicates() const { return replicates_; }  ///< the fewest that a case has on a side

 private:
  Noise noise_for(const Pair& pair) const;
  MetricEffect effect(const Pair& pair, Metric metric) const;
  bool not_measured(const Pair& pair, CaseComparison& made) const;
  void decide(CaseComparison& made, const Pair& pair, double q_worse, double q_better) const;
  void add_metrics(CaseComparison& made, const Pair& pair) const;

  const ComparisonOptions& options_;
  Replication replication_;
  Noises noise_;
  std::size_t family_ = 0, replicates_ = ~std::size_t{0};
};

}  // namespace rdmameter
