// SPDX-License-Identifier: Apache-2.0
#include "reports/history/batch_noise.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "reports/compare/batches.h"
#include "reports/compare/fingerprint.h"
#include "reports/stats/sample.h"
#include "reports/summary/date.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMinDifferences = 5;
/// For how many independent ones a difference counts: neighbours share a result, and a median
/// absolute deviation uses two fifths of what a standard deviation would.
constexpr double kWorthOfDifference = 1.0 / 3;

struct BatchStep {
  const HistoryEntry* before;
  const HistoryEntry* after;
};

/// Results of the newest one's machine, but for those that share a batch with the one before.
std::vector<const HistoryEntry*> own_batches_of(const History& history) {
  std::vector<const HistoryEntry*> entries;
  if (history.entries.empty()) return entries;
  const std::string machine = machine_of(history.entries.back().environment);
  for (const HistoryEntry& entry : history.entries) {
    if (machine_of(entry.environment) != machine) continue;
    const bool same_batch =
        !entries.empty() &&
        *epoch_seconds(entry.time) - *epoch_seconds(entries.back()->time) < kBatchPauseSeconds;
    if (!same_batch) entries.push_back(&entry);
  }
  return entries;
}

bool same_environment(const HistoryEntry& a, const HistoryEntry& b) {
  const auto context = [](const HistoryEntry& entry) {
    return nlohmann::ordered_json{{"rdmameter", entry.environment}};
  };
  return environment_changes(context(a), context(b)).empty();
}

std::vector<BatchStep> steps_of(const History& history) {
  const std::vector<const HistoryEntry*> entries = own_batches_of(history);
  std::vector<BatchStep> steps;
  for (std::size_t i = 1; i < entries.size(); ++i)
    if (same_environment(*entries[i - 1], *entries[i]))
      steps.push_back({entries[i - 1], entries[i]});
  return steps;
}

/// Of each case that both results have, the difference of the metric's logarithms.
std::vector<double> differences_of(const BatchStep& step, const std::string& key) {
  std::vector<double> differences;
  for (const HistoryCase& after : step.after->cases) {
    const auto before = std::ranges::find(step.before->cases, after.name, &HistoryCase::name);
    if (before == step.before->cases.end()) continue;
    const auto from = before->numbers.find(key), to = after.numbers.find(key);
    if (from == before->numbers.end() || to == after.numbers.end()) continue;
    if (from->second.median > 0 && to->second.median > 0)
      differences.push_back(std::log(to->second.median / from->second.median));
  }
  return differences;
}

/// Of what two batches differ by, the variance of one of them.
VarianceEstimate variance_of_one(std::vector<double> differences, std::size_t steps) {
  if (differences.empty()) return {};
  for (double& each : differences) each = std::abs(each);
  const double deviation = kMadOfNormal * median(std::move(differences));
  return {deviation * deviation / 2, static_cast<double>(steps) * kWorthOfDifference};
}

LearntBatches learnt_of(const std::vector<BatchStep>& steps, const std::string& key) {
  std::vector<double> common, by_case;
  std::size_t used = 0;
  for (const BatchStep& step : steps) {
    const std::vector<double> differences = differences_of(step, key);
    if (differences.empty()) continue;
    ++used;
    const double shared = differences.size() >= kManyCases ? median(differences) : 0;
    if (differences.size() >= kManyCases) common.push_back(shared);
    for (const double each : differences) by_case.push_back(each - shared);
  }
  if (used < kMinDifferences) return {};
  const std::size_t shared = common.size();
  return {.common = variance_of_one(std::move(common), shared),
          .by_case = variance_of_one(std::move(by_case), used)};
}

}  // namespace

std::map<Metric, LearntBatches> batch_noise(const History& history) {
  const std::vector<BatchStep> steps = steps_of(history);
  std::map<Metric, LearntBatches> learnt;
  for (const MetricInfo& info : metrics()) {
    if (!info.judging.judges || !info.exported) continue;
    const LearntBatches one = learnt_of(steps, std::string(info.key));
    if (one.by_case.degrees > 0) learnt.emplace(info.metric, one);
  }
  return learnt;
}

}  // namespace rdmameter
