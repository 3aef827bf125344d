// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "reports/compare/gate_check.h"
#include "tests/reports/compare/fake_results.h"

namespace rdmameter {
namespace {

using testing::HasSubstr;

std::string gate_refusal(const std::string& text) {
  try {
    read_gate(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

ComparableCase five(const std::string& name, double p50_ns) {
  return latency_case(name, 5, 1, [=](std::uint64_t run, std::uint64_t) {
    return p50_ns + static_cast<double>(run);
  });
}

CaseVerdict verdict(const std::string& gate, const ComparableCase& test_case) {
  return check_gates({read_gate(gate)}, {test_case}).front().verdict;
}

TEST(Gate, IsReadWithItsUnit) {
  const Gate gate = read_gate("write_lat/rc/size:64 half_round_trip.p99 <= 3us");
  EXPECT_EQ(gate.pattern, "write_lat/rc/size:64");
  EXPECT_EQ(gate.metric, Metric::p99);
  EXPECT_TRUE(gate.half);
  EXPECT_EQ(gate.limit, 3000);
  EXPECT_EQ(read_gate("* latency.p99.9 < 1.5 ms").limit, 1.5e6);
  EXPECT_EQ(read_gate("*_bw/* bandwidth.gbps >= 90").limit, 90);
  EXPECT_EQ(read_gate("* of_bound >= 90%").limit, 0.9);
  EXPECT_EQ(read_gate("* of_line >= 0.9").metric, Metric::of_line);
  EXPECT_EQ(read_gate("*_load/* load.service.p99 <= 5us").metric, Metric::service_p99);
  EXPECT_EQ(read_gate("*_load/* load.reached_share >= 0.99").metric, Metric::reached_share);
}

TEST(Gate, ThatIsNoneSaysWhatItTakes) {
  EXPECT_THAT(gate_refusal("write_lat"), HasSubstr("too few words"));
  EXPECT_THAT(gate_refusal("* latency.p98 <= 3us"), HasSubstr("latency.p99.9"));
  EXPECT_THAT(gate_refusal("* latency.p99 == 3us"), HasSubstr("none of < <= > >="));
  EXPECT_THAT(gate_refusal("* latency.p99 <= 3"), HasSubstr("ns, us, ms or s"));
  EXPECT_THAT(gate_refusal("* of_bound >= 90x"), HasSubstr("or one with %"));
  EXPECT_THAT(gate_refusal("* bandwidth.gbps >= 90%"), HasSubstr("no limit"));
  EXPECT_THAT(gate_refusal("* latency.p99 <= -3us"), HasSubstr("no limit"));
  EXPECT_THAT(gate_refusal("* latency.p99 <= nanus"), HasSubstr("no limit"));
  EXPECT_THAT(gate_refusal("* bandwidth.gbps >= 90us"), HasSubstr("no limit"));
  EXPECT_THAT(gate_refusal("* bandwidth.gbps >= 90 or so"), HasSubstr("goes on"));
}

TEST(Gate, FailsBeyondItsLimitAndNamesTheFigures) {
  EXPECT_EQ(verdict("* latency.p50 <= 1us", five("a", 900)), CaseVerdict::pass);
  EXPECT_EQ(verdict("* latency.p50 <= 1us", five("a", 1100)), CaseVerdict::fail);
  EXPECT_EQ(verdict("* latency.p50 >= 1us", five("a", 1100)), CaseVerdict::pass);
  const auto findings = check_gates({read_gate("* latency.p50 <= 1us")}, {five("a", 1100)});
  EXPECT_THAT(findings.front().text, HasSubstr("1.10 µs over 5 repetitions"));
}

TEST(Gate, HoldsItsLimitIfItsRelationDoes) {
  const ComparableCase constant = latency_case("a", 5, 1, [](auto, auto) { return 1000.0; });
  EXPECT_EQ(verdict("* latency.p50 <= 1us", constant), CaseVerdict::pass);
  EXPECT_EQ(verdict("* latency.p50 >= 1us", constant), CaseVerdict::pass);
  EXPECT_EQ(verdict("* latency.p50 < 1us", constant), CaseVerdict::fail);
  EXPECT_EQ(verdict("* latency.p50 > 1us", constant), CaseVerdict::fail);
  EXPECT_EQ(verdict("* latency.p50 > 999ns", constant), CaseVerdict::pass);
  EXPECT_EQ(verdict("* latency.p50 > 1001ns", constant), CaseVerdict::fail);
}

TEST(Gate, OnTheVeryLimitIsInconclusive) {
  EXPECT_EQ(verdict("* latency.p50 < 1002ns", five("a", 1000)), CaseVerdict::inconclusive);
}

TEST(Gate, WithoutANumberIsInconclusiveAndWithoutAMeasurementFails) {
  EXPECT_EQ(verdict("* latency.p99 <= 1us", five("a", 900)), CaseVerdict::inconclusive);
  EXPECT_EQ(verdict("* half_round_trip.p50 <= 1us", five("a", 900)), CaseVerdict::inconclusive);
  EXPECT_EQ(verdict("* latency.p50 <= 1us", latency_case("a", 0, 0, {})), CaseVerdict::fail);
}

TEST(Gate, OfPartsOfAWholeThatWasNotMeasuredFails) {
  const Gate gate = read_gate("mix*/part:read:* latency.p99 <= 50us");
  const auto findings =
      check_gates({gate}, {five("a", 900), latency_case("mix_load/rc", 0, 0, {})});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].name, "mix_load/rc");
  EXPECT_EQ(findings[0].verdict, CaseVerdict::fail);
  EXPECT_THROW(check_gates({gate}, {five("mix_load/rc", 900)}), UsageError) << "no reads in it";
}

TEST(Gate, OfHalfRoundTripsIsHalfOfThatOfRoundTrips) {
  ComparableCase ping_pong = five("a", 1000);
  ping_pong.half = true;  // as it is told
  EXPECT_EQ(verdict("* half_round_trip.p50 <= 1.1us", ping_pong), CaseVerdict::pass);
  EXPECT_EQ(verdict("* latency.p50 <= 1.1us", ping_pong), CaseVerdict::fail);
}

TEST(Gate, ThatMatchesNoCaseNamesSomeOfThem) {
  try {
    check_gates({read_gate("b* latency.p50 <= 1us")}, {five("apple", 900)});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("apple"));
  }
}

TEST(WorkGate, FailsWhereACounterPerMessageGrows) {
  ComparableCase base = five("a", 900), other = five("a", 9000);
  for (Replicate& replicate : base.replicates)
    replicate.work = {{"doorbells", 1.0}, {"polls", 3.0}, {"cqes", 0.5}};
  for (Replicate& replicate : other.replicates)
    replicate.work = {{"doorbells", 1.02}, {"polls", 30.0}, {"cqes", 0.5}};
  const auto findings = check_work(base, other, 0.01);
  ASSERT_EQ(findings.size(), 2U) << "polls are no work that repeats";
  EXPECT_EQ(findings[0].verdict, CaseVerdict::pass);
  EXPECT_EQ(findings[1].verdict, CaseVerdict::fail);
  EXPECT_EQ(findings[1].text, "doorbells per message 1.02, were 1");
  EXPECT_EQ(check_work(base, other, 0.05)[1].verdict, CaseVerdict::pass);
  EXPECT_EQ(check_work(base, base, 0)[1].verdict, CaseVerdict::pass);
}

}  // namespace
}  // namespace rdmameter
