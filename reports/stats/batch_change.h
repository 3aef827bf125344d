// SPDX-License-Identifier: Apache-2.0
// Did cases change between two sides, each measured in batches? Runs of one batch (one boot,
// less than an hour between them) share its luck, and so do all cases of a batch.
#pragma once

#include <cstddef>
#include <vector>

#include "reports/stats/student_t.h"

namespace rdmameter {

/// Logarithms of one metric of a case on one side: a value for each run, batch by batch. Turned
/// so that greater is worse.
using BatchValues = std::vector<std::vector<double>>;

struct CaseSides {
  BatchValues base, other;
};

/// With fewer cases, the median case says nothing about what all share.
inline constexpr std::size_t kManyCases = 10;

/// With this many batches a side, their differences are measured: each batch is then one replicate.
inline constexpr std::size_t kBatchReplicates = 5;

struct CaseChange {
  double change = 0;             ///< of the logarithm: mean of NEW less that of BASE
  double between_runs = 0;       ///< the case's own standard deviation among its replicates
  double replicate_error = 0;    ///< standard error of the change that replicates show
  double replicate_degrees = 0;  ///< of freedom of it
  double batch_error = 0;        ///< standard error of the change that replicates do not show
  double p_worse = 1, p_better = 1;
  double p_worse_runs = 1;  ///< as if all batches were alike, where they are no replicates
  bool known = false;       ///< both sides have values
};

struct BatchChanges {
  std::vector<CaseChange> cases;
  bool batches_are_replicates = false;
  bool measured = false;           ///< how all cases of a batch differ; else it is the prior
  double common = 0, by_case = 0;  ///< standard deviations among batches: of all cases alike, of
                                   ///< each case by itself; as used
};

/// The replicates of a side: each run, or each batch by its mean.
std::vector<double> replicates_of(const BatchValues& batches, bool batches_are_replicates);

/// Tests all cases of a sweep by Student's t with variances shared among the cases.
///
/// Noise has three levels: runs within a batch (each case its own, moderated), batches that all
/// cases share, batches of each case. What is learnt of the latter two is added to `prior`. A
/// sweep of one batch a side has the prior alone, but never less than the cases' changes spread
/// themselves (up to three times the prior). Where batches are measured, a case is also held
/// against the other cases: what all cases share then cancels.
/// @param prior  the assumed differences between batches, until they are measured: the standard
///               deviation of the logarithm
BatchChanges batch_changes(const std::vector<CaseSides>& cases, double prior);

}  // namespace rdmameter
