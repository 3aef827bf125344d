// SPDX-License-Identifier: Apache-2.0
// Do repetitions fail, do messages get lost, does a load saturate, more often than before?
#pragma once

#include <vector>

#include "reports/compare/effect.h"
#include "reports/compare/pairing.h"

namespace rdmameter {

/// The shares of sweeps of identical code in which failures, and messages of each kind, may raise a
/// failure; beside that of the metrics.
inline constexpr double kFailureRate = 0.0125, kLossRate = 0.0025;

using PairFindings = std::vector<std::vector<CaseFinding>>;  ///< of each pair, if any

/// Of the pairs one by one, of each in this order:
///
/// Failed repetitions, by Fisher's exact test over all cases. Repetitions of a run that fail
/// together count for one (design effect of the intraclass correlation). A failure of the program
/// takes more than one run of NEW with failures; what is fewer, or not significant, is suspect. A
/// case without any good repetition in NEW, where BASE has good ones alone, fails.
///
/// Messages lost, duplicated and reordered, and requests of an open loop that were not sent: shares
/// by run, by the variance that runs show, since messages of a run are not lost independently of
/// each other.
///
/// Open loops that kept up with their rate in every repetition of BASE, and did not in half of
/// NEW's or more, are suspect, however little is missing: responses then say how long the run
/// lasted. Whether the case fails, the share of the rate that was reached says, and
/// the unsent requests.
PairFindings reliability_findings(const std::vector<Pair>& pairs, const Batches& batches);

}  // namespace rdmameter
