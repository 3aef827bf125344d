// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/cases/dry_run.h"
#include "bench/options/plan.h"
#include "core/base/error.h"

namespace rdmameter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Given = std::vector<std::pair<std::string_view, std::string_view>>;

std::vector<PlannedCase> plan(const std::vector<std::string>& tests, const Given& axes = {}) {
  std::vector<GivenAxis> given;
  for (const auto& [option, list] : axes) {
    const Axis* axis = find_axis(option);
    given.push_back({axis, read_axis_list(*axis, list)});
  }
  return plan_cases(select_tests(tests), given);
}

std::vector<std::string> names(const std::vector<PlannedCase>& cases) {
  std::vector<std::string> list;
  for (const PlannedCase& planned : cases) list.push_back(planned.name);
  return list;
}

TEST(PlanCases, NamesTheAxesGivenInTheTablesOrder) {
  EXPECT_THAT(names(plan({"write_lat"})), ElementsAre("write_lat/rc"));
  EXPECT_THAT(names(plan({"write_lat"}, {{"inline", "max"}, {"size", "64,1K"}})),
              ElementsAre("write_lat/rc/size:64/inline:max", "write_lat/rc/size:1024/inline:max"));
}

TEST(PlanCases, MakesTheCrossProduct) {
  EXPECT_THAT(names(plan({"send_lat", "write_lat"}, {{"transport", "rc,uc"}, {"size", "1,2"}})),
              ElementsAre("send_lat/rc/size:1", "send_lat/rc/size:2", "send_lat/uc/size:1",
                          "send_lat/uc/size:2", "write_lat/rc/size:1", "write_lat/rc/size:2",
                          "write_lat/uc/size:1", "write_lat/uc/size:2"));
}

TEST(PlanCases, AreRepeatedAtEachHost) {
  const std::vector<std::string> hosts{"a", "ssh://b"};
  const auto cases = at_each_host(plan({"send_lat"}, {{"size", "1,2"}}), hosts);
  EXPECT_THAT(names(cases),
              ElementsAre("send_lat/rc/size:1/host:a", "send_lat/rc/size:2/host:a",
                          "send_lat/rc/size:1/host:ssh://b", "send_lat/rc/size:2/host:ssh://b"));
  EXPECT_EQ(cases[1].host, "a");
  EXPECT_EQ(cases[2].host, "ssh://b");
  EXPECT_THROW(at_each_host(cases, std::vector<std::string>(30'000, "a")), UsageError);
}

TEST(PlanCases, AreMeasuredAloneAndBesideEachBackground) {
  const auto backgrounds = read_backgrounds(
      std::vector<std::string>{"write_bw --size=64K --verify", "'send_lat'  --transport ud"});
  const auto cases = at_each_background(plan({"send_lat"}, {{"size", "1,2"}}), backgrounds);
  EXPECT_THAT(names(cases),
              ElementsAre("send_lat/rc/size:1/background:none",
                          "send_lat/rc/size:1/background:write_bw,size:65536,verify:on",
                          "send_lat/rc/size:1/background:send_lat,transport:ud",
                          "send_lat/rc/size:2/background:none",
                          "send_lat/rc/size:2/background:write_bw,size:65536,verify:on",
                          "send_lat/rc/size:2/background:send_lat,transport:ud"));
  EXPECT_EQ(cases[0].beside, "none");
  EXPECT_EQ(cases[0].background, nullptr);
  EXPECT_EQ(cases[1].beside, "write_bw --size 65536 --verify on");
  const TestCase& other = cases[1].background->test_case;
  EXPECT_TRUE(other.until_interrupted());
  EXPECT_EQ(other.size_bytes, 65536);
  EXPECT_TRUE(other.verify);
  EXPECT_EQ(other.interval_ns, 10'000'000);
  EXPECT_EQ(cases[2].background->test_case.transport, Transport::ud);
}

TEST(PlanCases, CollapsesAnAxisWithoutMeaningForTheTest) {
  EXPECT_THAT(names(plan({"send_lat", "send_bw"}, {{"depth", "64,128"}})),
              ElementsAre("send_lat/rc", "send_bw/rc/depth:64", "send_bw/rc/depth:128"));
  EXPECT_THAT(
      names(plan({"send_lat"}, {{"transport", "rc,ud"}, {"loss-timeout", "1,2"}})),
      ElementsAre("send_lat/rc", "send_lat/ud/loss-timeout:1s", "send_lat/ud/loss-timeout:2s"));
}

TEST(PlanCases, NamesAControlPathTestByWhatHasAMeaningForItsVerb) {
  const Given axes = {
      {"transport", "rc,ud"}, {"size", "1,2"}, {"qps", "1,2"}, {"depth", "8"}, {"objects", "0,4"}};
  EXPECT_THAT(names(plan({"reg_mr"}, axes)),
              ElementsAre("reg_mr/size:1/objects:0", "reg_mr/size:1/objects:4",
                          "reg_mr/size:2/objects:0", "reg_mr/size:2/objects:4"));
  EXPECT_THAT(names(plan({"create_cq"}, axes)),
              ElementsAre("create_cq/depth:8/objects:0", "create_cq/depth:8/objects:4"));
  EXPECT_THAT(
      names(plan({"modify_qp_rts"}, axes)),
      ElementsAre("modify_qp_rts/rc/depth:8/objects:0", "modify_qp_rts/rc/depth:8/objects:4",
                  "modify_qp_rts/ud/depth:8/objects:0", "modify_qp_rts/ud/depth:8/objects:4"));
  EXPECT_THAT(names(plan({"create_ah"}, axes)),
              ElementsAre("create_ah/objects:0", "create_ah/objects:4"));
  EXPECT_THAT(names(plan({"write_lat"}, {{"objects", "0,4"}})), ElementsAre("write_lat/rc"));
}

TEST(PlanCases, RefusesNothingOfTheControlPathForWhatNoMessageCouldBe) {
  for (const PlannedCase& planned :
       plan({"create_qp", "modify_qp_rtr"}, {{"transport", "ud"}, {"depth", "1"}}))
    EXPECT_EQ(planned.why_skipped, "") << planned.name;
}

TEST(PlanCases, UsesTheDefaultsOfTheKindOfTest) {
  EXPECT_EQ(plan({"write_lat"})[0].test_case.size_bytes, 64U);
  EXPECT_EQ(plan({"write_bw"})[0].test_case.size_bytes, 64U << 10);
}

TEST(PlanCases, KeepsImpossibleCasesWithTheirReason) {
  const auto cases = plan({"read_lat", "send_lat"}, {{"transport", "ud"}, {"size", "64,8K"}});
  ASSERT_EQ(cases.size(), 4U);
  EXPECT_THAT(cases[0].why_skipped, HasSubstr("sends only"));
  EXPECT_EQ(cases[2].why_skipped, "");
  EXPECT_THAT(cases[3].why_skipped, HasSubstr("8192 bytes are more than the largest MTU"));
}

TEST(PlanCases, FitsDefaultsToWhatIsGiven) {
  for (const PlannedCase& planned : plan({"write_bw"}, {{"depth", "1..128"}}))
    EXPECT_EQ(planned.why_skipped, "") << planned.name;
  for (const PlannedCase& planned :
       plan({"write_bw"}, {{"signal-every", "1,256"}, {"post-list", "1,64"}}))
    EXPECT_EQ(planned.why_skipped, "") << planned.name;
  EXPECT_EQ(plan({"write_bw"}, {{"depth", "16"}})[0].test_case.queues.signal_every, 8U);
  EXPECT_EQ(plan({"write_bw"}, {{"depth", "64"}})[0].test_case.queues.signal_every, 32U);
  EXPECT_EQ(plan({"write_bw"}, {{"signal-every", "256"}})[0].test_case.queues.depth, 512U);
  EXPECT_EQ(plan({"write_bw"}, {{"post-list", "128"}})[0].test_case.queues.depth, 256U);
}

TEST(PlanCases, LeavesWhatIsGivenAsItIs) {
  const auto cases = plan({"write_bw"}, {{"depth", "16"}, {"signal-every", "32"}});
  EXPECT_THAT(cases[0].why_skipped, HasSubstr("use --depth 32 or more"));
  EXPECT_EQ(cases[0].test_case.queues.depth, 16U);
}

TEST(PlanCases, RefusesTooManyAndContradictions) {
  EXPECT_THROW(plan({"all"}, {{"size", "1..1000:1"}, {"warmup", "1..100:1"}}), UsageError);
  EXPECT_THROW(plan({"write_lat"}, {{"iterations", "5"}, {"duration", "1"}}), UsageError);
}

TEST(DryRun, SaysCasesSkipsMeasurementsTimeAndMemory) {
  const auto [text, measures] = dry_run(
      plan({"send_lat"}, {{"transport", "rc,ud"}, {"size", "1,8K"}, {"duration", "2"}}), 10);
  EXPECT_TRUE(measures);
  EXPECT_THAT(text, HasSubstr("send_lat/rc/size:1/duration:2s\n"));
  EXPECT_THAT(text, HasSubstr("send_lat/ud/size:8192/duration:2s  skipped: a UD message"));
  EXPECT_THAT(text, HasSubstr("4 cases, 1 skipped; 3 x 10 repetitions = 30 measurements"));
  EXPECT_THAT(text,
              HasSubstr("time: 60 s of measuring; warm-up and the like: 3000 operations, 0.1 s"));
  EXPECT_THAT(text, HasSubstr(" MiB at the initiator"));
}

TEST(DryRun, OfRepetitionsWithABudgetSaysThat) {
  const auto text = dry_run(plan({"send_lat"}, {{"size", "1,8"}, {"duration", "2"}}), 10'000,
                            std::uint64_t{60'000'000'000})
                        .text;
  EXPECT_THAT(text, HasSubstr("2 x at most 10000 repetitions"));
  EXPECT_THAT(text, HasSubstr("time: at most 60 s for each case and a repetition, 2 min in all\n"));
}

TEST(DryRun, CountsTheTimeOfLargeMessages) {
  // 2 GiB at 100 Gb/s take 172 ms.
  const auto [text, measures] = dry_run(plan({"write_bw"}, {{"size", "2G"},
                                                            {"iterations", "1000"},
                                                            {"warmup", "0"},
                                                            {"depth", "1"},
                                                            {"signal-every", "1"}}),
                                        3);
  EXPECT_TRUE(measures);
  EXPECT_THAT(text, HasSubstr("time: 3000 operations, 9 min at 10 us each and 100 Gb/s\n"));
  EXPECT_THAT(text, HasSubstr(" GiB at the initiator"));
}

TEST(DryRun, MeasuresNothingWhereEachCaseIsSkippedOrTooLarge) {
  EXPECT_FALSE(dry_run(plan({"send_lat"}, {{"transport", "ud"}, {"size", "8K"}}), 1).measures);
  const auto [text, measures] = dry_run(plan({"write_bw"}, {{"size", "2G"}, {"qps", "100"}}), 1);
  EXPECT_FALSE(measures);
  EXPECT_THAT(text, HasSubstr("1 case; 1 x 1 repetition = 1 measurement\ntoo large: 1 case needs "
                              "more than 16 GiB at one end"));
  EXPECT_THAT(text, testing::Not(HasSubstr("time:")));
}

}  // namespace
}  // namespace rdmameter
