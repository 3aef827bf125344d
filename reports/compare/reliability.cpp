// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/reliability.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "reports/stats/ranks.h"
#include "reports/stats/significance.h"

namespace rdmameter {
namespace {

constexpr double kSuspicion = 0.05;  ///< of one case by itself
constexpr double kRankChanceOfLoss = 0.01;
constexpr double kLeastShare = 0.01;   ///< of messages: a smaller growth never fails
constexpr double kBatchOfLoss = 0.05;  ///< standard deviation of asin(sqrt(share)) among batches

/// By run: repetitions, or messages of one kind, and how many of them failed or had trouble.
using RunFailures = std::map<std::uint64_t, Failures>;

RunFailures by_run(const ComparableCase& test_case, Replication replication) {
  RunFailures runs;
  for (const Replicate& one : test_case.replicates) {
    Failures& run = runs[replicate_of(one, replication)];
    ++run.all;
    run.failed += one.failure.empty() ? 0 : 1;
  }
  for (const FailedRepetition& one : test_case.failures) {
    Failures& run = runs[replicate_of(one, replication)];
    ++run.all;
    ++run.failed;
  }
  return runs;
}

Failures total_of(const RunFailures& runs) {
  Failures sum;
  for (const auto& [run, one] : runs) {
    sum.failed += one.failed;
    sum.all += one.all;
  }
  return sum;
}

double share_in(const RunFailures& runs) {
  const Failures sum = total_of(runs);
  return sum.all == 0 ? 0 : static_cast<double>(sum.failed) / static_cast<double>(sum.all);
}

/// For how many repetitions one of them counts (Kish's design effect): as many as a run has where
/// those of a run always fail together, one where runs do not matter.
double design_effect(const RunFailures& base, const RunFailures& other) {
  double among = 0, within = 0;  // sums of squares: among the runs of a side, and within them
  double degrees_among = 0, degrees_within = 0;
  for (const RunFailures* side : {&base, &other}) {
    if (side->empty()) continue;
    const double share = share_in(*side);
    for (const auto& [run, one] : *side) {
      const auto all = static_cast<double>(one.all);
      const double own = static_cast<double>(one.failed) / all;
      among += all * (own - share) * (own - share);
      within += all * own * (1 - own);
      degrees_within += all - 1;
    }
    degrees_among += static_cast<double>(side->size()) - 1;
  }
  if (degrees_among == 0 || degrees_within == 0) return 1;
  among /= degrees_among;
  within /= degrees_within;
  const double per_run = static_cast<double>(total_of(base).all + total_of(other).all) /
                         static_cast<double>(base.size() + other.size());
  const double whole = among + (per_run - 1) * within;
  const double correlation = whole > 0 ? std::clamp((among - within) / whole, 0.0, 1.0) : 0;
  return 1 + (per_run - 1) * correlation;
}

Failures divided(const Failures& counts, double by, bool up) {
  const double failed = static_cast<double>(counts.failed) / by;
  const auto all = static_cast<std::uint64_t>(std::lround(static_cast<double>(counts.all) / by));
  const auto whole = static_cast<std::uint64_t>(up ? std::ceil(failed) : std::floor(failed));
  return {.failed = std::min(whole, all), .all = all};
}

struct FailureTest {
  Failures base, other;
  std::size_t runs = 0;  ///< of NEW that have failures
  double p = 1;
};

/// @pre a repetition has failed
const std::string& first_failure(const ComparableCase& test_case) {
  if (!test_case.failures.empty()) return test_case.failures.front().message;
  const auto failed = [](const Replicate& one) { return !one.failure.empty(); };
  return std::ranges::find_if(test_case.replicates, failed)->failure;
}

FailureTest failure_test(const Pair& pair, Replication replication) {
  const RunFailures base = by_run(*pair.base, replication);
  const RunFailures other = by_run(*pair.other, replication);
  FailureTest test{.base = total_of(base), .other = total_of(other)};
  test.runs = static_cast<std::size_t>(
      std::ranges::count_if(other, [](const auto& run) { return run.second.failed > 0; }));
  if (test.other.failed == 0) return test;
  const double effect = design_effect(base, other);
  test.p = fisher_exact(divided(test.base, effect, true), divided(test.other, effect, false));
  return test;
}

CaseVerdict verdict_of_failures(const FailureTest& test, double q, double rate) {
  const bool none_good = test.other.failed == test.other.all && test.base.failed == 0;
  if (none_good && test.base.all > 0) return CaseVerdict::fail;
  if (q <= rate && test.runs > 1) return CaseVerdict::fail;
  const bool first = test.base.failed == 0 && test.base.all > 0;
  return first || test.p <= kSuspicion ? CaseVerdict::suspect : CaseVerdict::pass;
}

RunFailures shares_of(const ComparableCase& test_case, std::size_t kind, Replication replication) {
  RunFailures runs;
  for (const Replicate& one : test_case.replicates) {
    if (!one.sent || *one.sent == 0 || !one.troubled[kind]) continue;
    Failures& run = runs[replicate_of(one, replication)];
    run.failed += *one.troubled[kind];
    run.all += *one.sent;
  }
  return runs;
}

/// A share on the scale on which its variance does not hang on it (Anscombe 1948).
double stabilised(const Failures& one) {
  const double share =
      (static_cast<double>(one.failed) + 0.375) / (static_cast<double>(one.all) + 0.75);
  return std::asin(std::sqrt(std::min(1.0, share)));
}

struct LossTest {
  std::size_t pair = 0;
  RunFailures base, other;
};

constexpr std::array<const char*, 4> kTroubles = {"lost", "duplicated", "reordered", "unsent"};
constexpr std::size_t kUnsent = 3;

void judge_kind(std::size_t kind, const std::vector<LossTest>& tests, const Batches& batches,
                PairFindings& findings) {
  std::vector<CaseSides> sides;
  for (const LossTest& test : tests)
    sides.push_back({.base = by_batch(test.base, batches.base, stabilised),
                     .other = by_batch(test.other, batches.other, stabilised)});
  const BatchChanges changes = batch_changes(sides, kBatchOfLoss);
  std::vector<double> p_values(findings.size(), 1);
  for (std::size_t i = 0; i < tests.size(); ++i) p_values[i] = changes.cases[i].p_worse;
  const std::vector<double> q_values = benjamini_hochberg(p_values);
  const double rate = kLossRate / static_cast<double>(batches.looks);
  const auto replicates = [&](const BatchValues& side) {
    return replicates_of(side, changes.batches_are_replicates);
  };
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const double base = share_in(tests[i].base), other = share_in(tests[i].other);
    if (other - base <= kLeastShare) continue;
    const MannWhitney ranks = mann_whitney(replicates(sides[i].base), replicates(sides[i].other));
    const bool fails = q_values[i] <= rate && ranks.greater <= kRankChanceOfLoss;
    if (!fails && !(changes.cases[i].p_worse_runs <= kSuspicion)) continue;
    findings[tests[i].pair].push_back(
        {.verdict = fails ? CaseVerdict::fail : CaseVerdict::suspect,
         .text = fmt::format("{:.2g} % of the messages {}, {:.2g} % in BASE", other * 100,
                             kTroubles[kind], base * 100),
         .of_times = kind == kUnsent});
  }
}

void add_failed_repetitions(const std::vector<Pair>& pairs, const Batches& batches,
                            PairFindings& findings) {
  const auto tests =
      mapped(pairs, [&](const Pair& pair) { return failure_test(pair, batches.replication); });
  const std::vector<double> q_values = benjamini_hochberg(mapped(tests, &FailureTest::p));
  const double rate = kFailureRate / static_cast<double>(batches.looks);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const FailureTest& test = tests[i];
    if (test.other.failed == 0) continue;
    findings[i].push_back(
        {.verdict = verdict_of_failures(test, q_values[i], rate),
         .text = fmt::format("{} of {} repetitions failed ({}), {} of {} in BASE",
                             test.other.failed, test.other.all, first_failure(*pairs[i].other),
                             test.base.failed, test.base.all)});
  }
}

void add_troubled_messages(const std::vector<Pair>& pairs, const Batches& batches,
                           PairFindings& findings) {
  for (std::size_t kind = 0; kind < kTroubles.size(); ++kind) {
    std::vector<LossTest> tests;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      LossTest test{.pair = i,
                    .base = shares_of(*pairs[i].base, kind, batches.replication),
                    .other = shares_of(*pairs[i].other, kind, batches.replication)};
      if (test.base.empty() || total_of(test.other).failed == 0) continue;
      tests.push_back(std::move(test));
    }
    judge_kind(kind, tests, batches, findings);
  }
}

void add_saturated_loads(const std::vector<Pair>& pairs, PairFindings& findings) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto saturated = [](const ComparableCase& test_case) {
      return static_cast<std::size_t>(
          std::ranges::count(test_case.replicates, true, &Replicate::saturated));
    };
    const std::size_t other = saturated(*pairs[i].other);
    const std::size_t all = pairs[i].other->replicates.size();
    if (pairs[i].base->replicates.empty() || saturated(*pairs[i].base) > 0) continue;
    if (other == 0 || 2 * other < all) continue;
    findings[i].push_back(
        {.verdict = CaseVerdict::suspect,
         .text = fmt::format("{} in {} of {} repetitions, in none of BASE",
                             pairs[i].other->sweep ? "no rate within the SLO" : "saturated", other,
                             all),
         .of_times = true});
  }
}

}  // namespace

PairFindings reliability_findings(const std::vector<Pair>& pairs, const Batches& batches) {
  PairFindings findings(pairs.size());
  add_failed_repetitions(pairs, batches, findings);
  add_troubled_messages(pairs, batches, findings);
  add_saturated_loads(pairs, findings);
  return findings;
}

}  // namespace rdmameter
