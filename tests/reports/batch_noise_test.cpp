// SPDX-License-Identifier: Apache-2.0
#include "reports/history/batch_noise.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "reports/compare/comparison.h"
#include "tests/reports/compare/fake_results.h"

namespace rdmameter {
namespace {

using testing::IsEmpty;

/// Results of some cases' p50, two hours apart.
History batches_history(int results, int cases, double common, double by_case) {
  std::mt19937 engine(1);
  std::normal_distribution<double> normal;
  const nlohmann::ordered_json ours = sample_context()["rdmameter"];
  History history;
  for (int i = 0; i < results; ++i) {
    HistoryEntry entry{fmt::format("2024-01-{:02}T{:02}:00:00+00:00", 1 + i / 12, 2 * (i % 12)),
                       "",
                       {{"initiator", ours.at("initiator")}, {"responder", ours.at("responder")}},
                       {}};
    const double shared = common * normal(engine);
    for (int k = 0; k < cases; ++k)
      entry.cases.push_back(
          {fmt::format("case{}", k),
           3,
           {{"p50_ns", {5000 * std::exp(shared + by_case * normal(engine)), 1}}}});
    history.entries.push_back(std::move(entry));
  }
  return history;
}

TEST(BatchNoise, HasWhatAllCasesShareAndWhatEachDoesApart) {
  const auto learnt = batch_noise(batches_history(200, 30, 0.05, 0.01)).at(Metric::p50);
  EXPECT_NEAR(std::sqrt(learnt.common.variance), 0.05, 0.01);
  EXPECT_NEAR(std::sqrt(learnt.by_case.variance), 0.01, 0.002);
  EXPECT_NEAR(learnt.common.degrees, 199.0 / 3, 1);
}

TEST(BatchNoise, OfFewCasesIsEachCasesOwn) {
  const auto learnt = batch_noise(batches_history(200, 4, 0.05, 0.01)).at(Metric::p50);
  EXPECT_EQ(learnt.common.degrees, 0);
  EXPECT_NEAR(std::sqrt(learnt.by_case.variance), 0.051, 0.01);
}

TEST(BatchNoise, DoesNotTakeAChangeOfTheCodeForNoise) {
  History history = batches_history(60, 30, 0.01, 0.01);
  for (std::size_t i = 30; i < history.entries.size(); ++i)
    for (HistoryCase& one : history.entries[i].cases) one.numbers.at("p50_ns").median *= 2;
  EXPECT_NEAR(std::sqrt(batch_noise(history).at(Metric::p50).common.variance), 0.01, 0.005);
}

TEST(BatchNoise, IsOfOneMachineAndEnvironmentAndOfBatchesApart) {
  History other = batches_history(40, 30, 0.05, 0.05);
  for (std::size_t i = 0; i + 1 < other.entries.size(); ++i)
    other.entries[i].environment["initiator"]["cpu_model"] = "another CPU";
  EXPECT_THAT(batch_noise(other), IsEmpty());
  History changing = batches_history(40, 30, 0.05, 0.05);
  for (std::size_t i = 0; i < changing.entries.size(); ++i)
    changing.entries[i].environment["initiator"]["kernel"] = fmt::format("6.{}", i);
  EXPECT_THAT(batch_noise(changing), IsEmpty());
  History at_once = batches_history(40, 30, 0.05, 0.05);
  for (HistoryEntry& entry : at_once.entries) entry.time = "2024-01-01T00:00:00+00:00";
  EXPECT_THAT(batch_noise(at_once), IsEmpty());
  EXPECT_THAT(batch_noise({}), IsEmpty());
}

TEST(BatchNoise, HasNoDifferenceToAValueOfZero) {
  History history = batches_history(40, 1, 0.05, 0.05);
  for (std::size_t i = 0; i < history.entries.size(); i += 2)
    history.entries[i].cases[0].numbers.at("p50_ns").median = 0;
  EXPECT_THAT(batch_noise(history), IsEmpty());
}

TEST(BatchNoise, TakesFiveDifferences) {
  EXPECT_THAT(batch_noise(batches_history(6, 1, 0.05, 0.01)), testing::Not(IsEmpty()));
  EXPECT_THAT(batch_noise(batches_history(5, 1, 0.05, 0.01)), IsEmpty());
}

TEST(BatchNoise, IsOfSmallValuesToo) {
  History history = batches_history(200, 4, 0.05, 0.01);
  for (HistoryEntry& entry : history.entries)
    for (HistoryCase& one : entry.cases) one.numbers.at("p50_ns").median *= 1e-4;
  EXPECT_NEAR(std::sqrt(batch_noise(history).at(Metric::p50).by_case.variance), 0.051, 0.01);
}

TEST(BatchNoise, OfAQuietMachineMakesAFailureOfASuspicion) {
  const auto file = [](double slower) {
    std::mt19937 engine(static_cast<std::uint32_t>(slower * 1000));
    std::vector<ComparableCase> cases;
    for (int k = 0; k < 30; ++k)
      cases.push_back(latency_case(fmt::format("case{}", k), 8, 1, [&](auto, auto) {
        return 5000 * (k == 0 ? slower : 1) *
               std::exp(std::normal_distribution<double>(0, 0.003)(engine));
      }));
    return file_of(std::move(cases));
  };
  const Comparable base = file(1), slower = file(1.09);
  EXPECT_EQ(compare_files(base, slower, {}).cases[0].verdict, CaseVerdict::suspect);
  const auto learnt = batch_noise(batches_history(300, 30, 0.003, 0.003));
  EXPECT_EQ(compare_files(base, slower, {.learnt_batches = learnt}).cases[0].verdict,
            CaseVerdict::fail);
}

}  // namespace
}  // namespace rdmameter
