// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "reports/compare/comparison.h"
#include "tests/reports/compare/fake_results.h"

namespace rdmameter {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;

void set(Replicate& replicate, Metric metric, double value) {
  replicate.value[static_cast<std::size_t>(metric)] = value;
}

/// Percentiles as multiples of p50, which drifts from run to run; all with some noise.
ComparableCase shaped(std::uint32_t seed, std::uint64_t runs, double p90, double p99) {
  std::mt19937 engine(seed);
  const auto noise = [&](double deviation) {
    return std::exp(std::normal_distribution<double>(0, deviation)(engine));
  };
  ComparableCase test_case = latency_case("a", runs, 1, [](auto, auto) { return 0.0; });
  for (Replicate& one : test_case.replicates) {
    const double p50 = 5000 * (1 + 0.02 * static_cast<double>(one.run));
    set(one, Metric::p50, p50);
    set(one, Metric::p90, p50 * p90 * noise(0.005));
    set(one, Metric::p99, p50 * p99 * noise(0.05));
    set(one, Metric::p99_9, p50 * p99 * 1.5 * noise(0.1));
  }
  return test_case;
}

std::vector<std::vector<CaseFinding>> among_hundred(const ComparableCase& base,
                                                    const ComparableCase& other,
                                                    const Batches& batches = {}) {
  std::vector<ComparableCase> good;
  for (std::uint32_t i = 0; i < 200; ++i)
    good.push_back(shaped(100 + i, base.replicates.size(), 1.1, 1.4));
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < 100; ++i) pairs.push_back({&good[2 * i], &good[2 * i + 1]});
  pairs[5] = {&base, &other};
  return changed_shapes(pairs, batches, 0.03);
}

TEST(Shape, OfASecondModeBelowTheTailIsSuspect) {
  const auto findings = among_hundred(shaped(1, 10, 1.1, 1.4), shaped(2, 10, 1.3, 1.4));
  ASSERT_EQ(findings[5].size(), 1U);
  EXPECT_EQ(findings[5][0].verdict, CaseVerdict::suspect);
  EXPECT_THAT(findings[5][0].text, ContainsRegex("BASE's p75 or more, 1[34] % in BASE"));
  const auto suspect = [](const std::vector<CaseFinding>& one) { return !one.empty(); };
  EXPECT_EQ(std::ranges::count_if(findings, suspect), 1);
}

TEST(Shape, OfATailThatGotLongerIsSuspectByTheShareAboveItsPercentile) {
  const auto findings = among_hundred(shaped(1, 10, 1.1, 1.4), shaped(2, 10, 1.1, 2.8));
  ASSERT_EQ(findings[5].size(), 1U);
  EXPECT_THAT(findings[5][0].text, ContainsRegex("BASE's p99 or more, 0\\.[89][0-9]* % in BASE"));
}

TEST(Shape, OfASecondModeIsSeenBetweenBlocksToo) {
  ComparableCase base = shaped(1, 12, 1.1, 1.4), other = shaped(2, 12, 1.3, 1.4);
  for (ComparableCase* side : {&base, &other})
    for (Replicate& one : side->replicates) one.repetition = std::exchange(one.run, 0);
  const std::vector<Pair> pairs = {{&base, &other}};
  EXPECT_EQ(changed_shapes(pairs, {.replication = Replication::blocks}, 0.03)[0].size(), 1U);
}

TEST(Shape, ThatOnlyMovedIsNone) {
  ComparableCase slower = shaped(2, 10, 1.1, 1.4);
  for (Replicate& one : slower.replicates)
    for (auto& value : one.value)
      if (value) *value *= 1.5;
  EXPECT_THAT(among_hundred(shaped(1, 10, 1.1, 1.4), slower)[5], IsEmpty());
}

TEST(Shape, ThatGotNarrowerIsNone) {
  EXPECT_THAT(among_hundred(shaped(1, 10, 1.3, 1.4), shaped(2, 10, 1.1, 1.4))[5], IsEmpty());
}

TEST(Shape, ThatChangedByLessThanTheFloorIsNone) {
  EXPECT_THAT(among_hundred(shaped(1, 10, 1.10, 1.4), shaped(2, 10, 1.11, 1.4))[5], IsEmpty());
}

TEST(Shape, OfOneRunIsNone) {
  ComparableCase other = shaped(2, 10, 1.1, 1.4);
  for (const Metric metric : {Metric::p90, Metric::p99, Metric::p99_9})
    set(other.replicates[3], metric, 50'000);
  EXPECT_THAT(among_hundred(shaped(1, 10, 1.1, 1.4), other)[5], IsEmpty());
}

TEST(Shape, OfPercentilesThatFallIsNoTrouble) {
  ComparableCase odd = shaped(2, 10, 1.3, 0.5);
  EXPECT_THAT(among_hundred(odd, odd)[5], IsEmpty());
}

TEST(Shape, OfCasesWithoutPercentilesIsNone) {
  const ComparableCase bare = latency_case("a", 5, 2, [](auto, auto) { return 5000.0; });
  ComparableCase bandwidth = shaped(2, 5, 1.3, 1.4);
  bandwidth.bandwidth = true;
  EXPECT_THAT(changed_shapes({{&bare, &bare}}, {}, 0.03)[0], IsEmpty());
  EXPECT_THAT(changed_shapes({{&bandwidth, &bandwidth}}, {}, 0.03)[0], IsEmpty());
  EXPECT_THAT(changed_shapes({}, {}, 0.03), IsEmpty());
}

TEST(Shape, ThatIsSuspectMakesTheComparisonNotProvenAndIsNamed) {
  const Comparison comparison =
      compare_files(file_of({shaped(1, 10, 1.1, 1.4)}), file_of({shaped(2, 10, 1.3, 1.4)}), {});
  EXPECT_EQ(comparison.conclusion, Conclusion::not_proven);
  EXPECT_THAT(comparison.cases[0].note, HasSubstr("above BASE's p75"));
  EXPECT_THAT(comparison.cases[0].note, HasSubstr("'rdmameter show --histogram'"));
}

}  // namespace
}  // namespace rdmameter
