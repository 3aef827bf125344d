// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "reports/compare/gate_check.h"

namespace rdmameter {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string refusal_of_gate(const std::string& text) {
  try {
    read_relative_gate(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Gates, AreCheckedByTheirKind) {
  for (const char* text : {"work", "times", "p99=20%", "write_lat/* latency.p50 <= 3us"})
    EXPECT_NO_THROW(require_gate(text)) << text;
  for (const char* text : {"", "play", "p99=", "write_lat/* latency.p50"})
    EXPECT_THROW(require_gate(text), UsageError) << text;
}

TEST(RelativeGate, IsAMetricAShareAndPerhapsACase) {
  const auto gate = read_relative_gate("p99=20%");
  ASSERT_TRUE(gate);
  EXPECT_EQ(gate->pattern, "*");
  EXPECT_EQ(gate->metric, Metric::p99);
  EXPECT_DOUBLE_EQ(gate->share, 0.2);
  EXPECT_EQ(read_relative_gate("write_bw/* bandwidth=2.5%")->pattern, "write_bw/*");
}

TEST(RelativeGate, IsNoLimit) {
  EXPECT_FALSE(read_relative_gate("write_lat/* latency.p50 <= 3us"));
  EXPECT_FALSE(read_relative_gate("write_lat/* latency.p50 <=3us"));
}

TEST(RelativeGate, WithWhatItCannotHaveIsRefused) {
  EXPECT_THAT(refusal_of_gate("p98=20%"), HasSubstr("no metric 'p98' (metrics: min, p50"));
  EXPECT_THAT(refusal_of_gate("p99=20"), HasSubstr("takes a number with %"));
  EXPECT_THAT(refusal_of_gate("p99=-1%"), HasSubstr("takes a number with %"));
  EXPECT_THAT(refusal_of_gate("a b p99=1%"), HasSubstr("too many words"));
}

CaseComparison case_of(double ratio, double low, double high) {
  CaseComparison one{.name = "write_lat/rc/size:64"};
  one.effects.push_back({.metric = Metric::p99, .ratio = ratio, .interval = {low, high}});
  return one;
}

CaseVerdict verdict_of_gate(const CaseComparison& one) {
  return check_relative_gates({*read_relative_gate("p99=20%")}, {one}).front().verdict;
}

TEST(RelativeGate, FailsWhereTheWholeIntervalIsBeyond) {
  EXPECT_EQ(verdict_of_gate(case_of(1.5, 1.3, 1.7)), CaseVerdict::fail);
  EXPECT_EQ(verdict_of_gate(case_of(1.25, 1.1, 1.4)), CaseVerdict::inconclusive);
  EXPECT_EQ(verdict_of_gate(case_of(1.1, 1.0, 1.15)), CaseVerdict::pass);
}

TEST(RelativeGate, HoldsAChangeOfExactlyItsShare) {
  EXPECT_EQ(verdict_of_gate(case_of(1.2, 1.2, 1.2)), CaseVerdict::pass);
  EXPECT_EQ(verdict_of_gate(case_of(1.201, 1.201, 1.201)), CaseVerdict::fail);
}

TEST(RelativeGate, OfARateIsAShareOfBasesRate) {
  const auto of_rate = [](double ratio, double low, double high) {
    CaseComparison one{.name = "write_bw/rc"};
    one.effects.push_back({.metric = Metric::gbps, .ratio = ratio, .interval = {low, high}});
    return check_relative_gates({*read_relative_gate("bandwidth=20%")}, {one}).front().verdict;
  };
  EXPECT_EQ(of_rate(0.8, 0.8, 0.8), CaseVerdict::pass);
  EXPECT_EQ(of_rate(0.799, 0.79, 0.7995), CaseVerdict::fail);
  EXPECT_EQ(of_rate(0.79, 0.7, 0.81), CaseVerdict::inconclusive);
  EXPECT_THAT(refusal_of_gate("bandwidth=100%"), HasSubstr("cannot fall by more than 100 %"));
}

TEST(RelativeGate, OfWhatNeitherSideCanMeasureIsNoFinding) {
  const CaseComparison skipped{.name = "write_lat/xrc/size:64"};
  const std::vector gates{*read_relative_gate("write_lat/* p99=20%")};
  EXPECT_THAT(check_relative_gates(gates, {skipped}), IsEmpty());
  EXPECT_EQ(check_relative_gates(gates, {skipped, case_of(1.5, 1.3, 1.7)}).size(), 1u);
}

TEST(RelativeGate, OfPartsOfAWholeThatFailedFails) {
  const CaseComparison failed{
      .name = "mix_load/rc", .verdict = CaseVerdict::fail, .note = "the peer died"};
  const auto gate = *read_relative_gate("*/part:read:* p99=20%");
  const auto findings = check_relative_gates({gate}, {failed, case_of(1, 1, 1)});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].name, "mix_load/rc");
  EXPECT_EQ(findings[0].verdict, CaseVerdict::fail);
  CaseComparison part = case_of(1, 1, 1);
  part.name = "mix_load/uc/part:read:64";
  part.part = true;
  const auto of_part = check_relative_gates({gate}, {failed, part});
  ASSERT_EQ(of_part.size(), 1u) << "the case that failed need not have such a part";
  EXPECT_EQ(of_part[0].name, part.name);
}

TEST(RelativeGate, OfAMetricThatACaseLacksIsInconclusiveAndNamesNoneIsRefused) {
  CaseComparison one = case_of(1, 1, 1);
  const auto named = read_relative_gate("write_lat/* p99.9=20%");
  EXPECT_EQ(check_relative_gates({*named}, {one}).front().verdict, CaseVerdict::inconclusive);
  EXPECT_THROW(check_relative_gates({*read_relative_gate("read* p99=1%")}, {one}), UsageError);
}

}  // namespace
}  // namespace rdmameter
