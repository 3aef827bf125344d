// SPDX-License-Identifier: Apache-2.0
#include "bench/check/plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/core/base/fake_tree.h"

namespace rdmameter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<CheckedEnds> pairs(std::size_t count) {
  std::vector<CheckedEnds> made;
  for (std::size_t i = 0; i < count; ++i)
    made.push_back(
        {.device = fmt::format("mlx5_{}", i), .peer = fmt::format("mlx5_{}", i), .gpu = {}});
  return made;
}

double seconds_of(const CheckPlan& plan) {
  double all = 0;
  for (const CheckCase& one : plan.cases)
    all += static_cast<double>(one.planned.test_case.duration_ns) / 1e9;
  return all;
}

TEST(CheckPlan, GivesOneDeviceHalfOfTheMinute) {
  const CheckPlan plan = plan_check(pairs(1), {});
  EXPECT_EQ(plan.cases.size(), 6U);
  EXPECT_THAT(plan.left_out, IsEmpty());
  EXPECT_NEAR(seconds_of(plan), kCheckTime_s / 2, 1);
}

TEST(CheckPlan, MeasuresEachTestForHalfASecondOrLeavesItOut) {
  EXPECT_EQ(plan_check(pairs(8), {}).cases.size(), 49U);
  const CheckPlan many = plan_check(pairs(16), {});
  EXPECT_EQ(many.cases.size(), 49U);
  EXPECT_THAT(many.left_out, ElementsAre("write_lat", "send_lat", "read both ways"));
  for (const CheckCase& one : many.cases)
    EXPECT_GE(one.planned.test_case.duration_ns, static_cast<std::uint64_t>(kLeastTest_s * 1e9));
  EXPECT_LE(seconds_of(many), kCheckTime_s / 2);
}

TEST(CheckPlan, MeasuresSeveralDevicesTogetherWhereThereIsTime) {
  const CheckPlan plan = plan_check(pairs(2), {});
  const CheckCase& last = plan.cases.back();
  EXPECT_EQ(last.pair, 2U);
  EXPECT_EQ(last.test->label, "write together");
  EXPECT_EQ(last.planned.test_case.initiator.device, "mlx5_0+mlx5_1");
  EXPECT_THAT(plan.left_out, IsEmpty());
  EXPECT_THAT(plan_check(pairs(2), {.time_s = kBriefTime_s, .tests = kBriefTests}).left_out,
              testing::Contains("write together"));
}

TEST(CheckPlan, OfAPrologueKeepsWithinItsTime) {
  const CheckLimits brief{.time_s = kBriefTime_s, .tests = kBriefTests};
  EXPECT_EQ(plan_check(pairs(1), brief).cases.size(), 3U);
  EXPECT_EQ(plan_check(pairs(8), brief).cases.size(), 8U);
  const CheckPlan many = plan_check(pairs(10), brief);
  EXPECT_EQ(many.cases.size(), 8U);
  EXPECT_EQ(many.left_out.back(), "mlx5_9");
  for (const std::size_t count : {1, 2, 3, 8, 20})
    EXPECT_LE(2 * seconds_of(plan_check(pairs(count), brief)), kBriefTime_s - kStart_s);
}

TEST(CheckPlan, NamesOfCasesAreThoseOfAnyOtherCheck) {
  const auto name = [](std::size_t devices) {
    return plan_check(pairs(devices), {}).cases.front().planned.name;
  };
  EXPECT_EQ(name(1), "write_bw/rc/size:65536/qps:8/device:mlx5_0/peer-device:mlx5_0");
  EXPECT_EQ(name(8), name(1));
}

TEST(CheckPlan, OfAllDevicesTogetherIsOneCaseInWhateverOrderTheyAreNamed) {
  std::vector<CheckedEnds> ends = {{"b", "y", ""}, {"a", "z", ""}};
  const std::string name = plan_check(ends, {}).cases.back().planned.name;
  EXPECT_EQ(name, "write_bw/rc/size:65536/qps:8/device:a+b/peer-device:z+y");
  std::ranges::reverse(ends);
  EXPECT_EQ(plan_check(ends, {}).cases.back().planned.name, name);
}

TEST(CheckPlan, MeasuresTogetherOnlyDevicesWithAPeerOfTheirOwn) {
  for (const std::vector<CheckedEnds>& ends :
       {std::vector<CheckedEnds>{{"a", "", ""}, {"b", "", ""}},
        {{"a", "x", ""}, {"b", "", ""}},
        {{"a", "x", ""}, {"b", "x", ""}}}) {
    const CheckPlan plan = plan_check(ends, {});
    EXPECT_EQ(plan.cases.back().pair, 1U);
    EXPECT_THAT(plan.left_out, IsEmpty()) << "it is not for want of time";
  }
}

TEST(CheckPlan, HasATestFromTheGpuWhereOneIsNear) {
  std::vector<CheckedEnds> two = pairs(2);
  two[1].gpu = "cuda:0000:17:00.0";
  const CheckPlan plan = plan_check(two, {});
  EXPECT_EQ(plan.cases.size(), 14U);
  EXPECT_EQ(plan.cases[12].planned.test_case.initiator.memory, "cuda:0000:17:00.0");
}

TEST(NearGpu, IsBehindTheSwitchOrElseTheHostBridgeOfTheDevice) {
  const FakeTree tree;
  const auto add = [&](const std::string& name, const std::string& place, const char* kind) {
    tree.write("devices/" + place + "/class", std::string(kind) + "\n");
    tree.write("devices/" + place + "/vendor", "0x10de\n");
    tree.link("bus/pci/devices/" + name, tree.root() / "devices" / place);
  };
  add("0000:19:00.0", "pci0000:15/0000:15:01.0/0000:16:01.0/0000:19:00.0", "0x020000");
  tree.link("class/infiniband/mlx5_0/device",
            tree.root() / "devices/pci0000:15/0000:15:01.0/0000:16:01.0/0000:19:00.0");
  add("0000:9a:00.0", "pci0000:99/0000:99:01.0/0000:9a:00.0", "0x030200");
  EXPECT_EQ(near_gpu("mlx5_0", tree.root()), "") << "of another host bridge";
  add("0000:18:00.0", "pci0000:15/0000:15:02.0/0000:18:00.0", "0x030200");
  EXPECT_EQ(near_gpu("mlx5_0", tree.root()), "cuda:0000:18:00.0");
  add("0000:1a:00.0", "pci0000:15/0000:15:01.0/0000:16:02.0/0000:1a:00.0", "0x030200");
  EXPECT_EQ(near_gpu("mlx5_0", tree.root()), "cuda:0000:1a:00.0") << "behind its switch";
}

}  // namespace
}  // namespace rdmameter
