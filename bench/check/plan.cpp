// SPDX-License-Identifier: Apache-2.0
#include "bench/check/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "bench/cases/cases.h"
#include "core/base/kernel_files.h"
#include "core/doctor/examination.h"
#include "core/verbs/link_rate.h"

namespace rdmameter {
namespace {

constexpr std::array kCheckTests{
    CheckTest{"write", "write_bw"},
    CheckTest{"write both ways", "write_bw", true},
    CheckTest{"read", "read_bw"},
    CheckTest{"write_lat", "write_lat"},
    CheckTest{"send_lat", "send_lat"},
    CheckTest{"read both ways", "read_bw", true},
    CheckTest{"write from the GPU", "write_bw", false, true},
};
/// Of all devices in one case, where there are several and time is left.
constexpr CheckTest kTogether{"write together", "write_bw"};

/// Its name has no duration, so that checks of other lengths have the same cases. What is under way
/// at once fills any link, and takes no second on a slow one.
PlannedCase planned_case(const CheckTest& test, const CheckedEnds& ends, double test_s) {
  ChosenAxes axes;
  const bool rate = test.catalog.ends_with("_bw");
  axes.set("size", rate ? kCheckSize : kLatencySize);
  if (rate) axes.set("qps", kCheckQps);
  if (test.both_ways) axes.set("bidirectional", "on");
  if (test.gpu) axes.set("memory", ends.gpu);
  if (!ends.device.empty()) axes.set("device", ends.device);
  if (!ends.peer.empty()) axes.set("peer-device", ends.peer);
  ChosenAxes timed = axes;
  timed.set("duration", fmt::format("{:.0f}ms", test_s * 1e3));
  if (rate) {
    timed.set("depth", kCheckDepth);
    timed.set("warmup", "128");  // 8 MiB
  }
  PlannedCase planned = timed.plan(test.catalog);
  planned.name = axes.plan(test.catalog).name;
  return planned;
}

/// All pairs, which are apart, as one, whose name does not depend on their order.
CheckedEnds joined(std::span<const CheckedEnds> pairs) {
  std::vector<CheckedEnds> sorted(pairs.begin(), pairs.end());
  std::ranges::sort(sorted, {}, &CheckedEnds::device);
  CheckedEnds all = sorted.front();
  for (const CheckedEnds& ends : std::span(sorted).subspan(1)) {
    all.device += kDeviceSeparator + ends.device;
    all.peer += kDeviceSeparator + ends.peer;
  }
  return all;
}

}  // namespace

std::span<const CheckTest> check_tests() {
  return kCheckTests;
}

bool are_apart(std::span<const CheckedEnds> pairs) {
  std::set<std::string_view> devices, peers{""};
  return std::ranges::all_of(pairs, [&](const CheckedEnds& ends) {
    return devices.insert(ends.device).second && peers.insert(ends.peer).second;
  });
}

std::string near_gpu(std::string_view device, const std::filesystem::path& sysfs) {
  std::string behind_bridge;
  for (const auto& pci : entries_of(sysfs / "bus/pci/devices")) {
    if (!is_pci_gpu(pci, kNvidia)) continue;
    const std::string bus_id = pci.filename();
    const std::string_view path = pcie_path(bus_id, device, sysfs);
    if (path == "switch") return "cuda:" + bus_id;
    if (path == "root" && behind_bridge.empty()) behind_bridge = "cuda:" + bus_id;
  }
  return behind_bridge;
}

CheckPlan plan_check(std::span<const CheckedEnds> pairs, const CheckLimits& limits) {
  CheckPlan plan;
  const double time_s = (limits.time_s - kStart_s) / 2;
  const auto most = static_cast<std::size_t>(std::max(1.0, time_s / (kLeastTest_s + kSetUp_s)));
  const std::size_t measured = std::min(pairs.size(), most);
  std::size_t tests = std::min({most / measured, limits.tests, kCheckTests.size()});
  const bool no_gpu =
      std::ranges::none_of(pairs, [](const auto& ends) { return !ends.gpu.empty(); });
  if (no_gpu) tests = std::min(tests, kCheckTests.size() - 1);
  const bool several = pairs.size() > 1 && are_apart(pairs);
  const bool together = several && limits.tests == kCheckTests.size() && measured == pairs.size() &&
                        measured * tests < most;
  const std::size_t cases = measured * tests + (together ? 1 : 0);
  const double share_s = time_s / static_cast<double>(cases) - kSetUp_s;
  const double test_s = std::clamp(share_s, kLeastTest_s, kMostTest_s);
  for (std::size_t pair = 0; pair < measured; ++pair)
    for (const CheckTest& test : std::span(kCheckTests).first(tests))
      if (!test.gpu || !pairs[pair].gpu.empty())
        plan.cases.push_back({pair, &test, planned_case(test, pairs[pair], test_s)});
  if (together)
    plan.cases.push_back(
        {pairs.size(), &kTogether, planned_case(kTogether, joined(pairs), test_s)});
  else if (several)
    plan.left_out.emplace_back(kTogether.label);
  for (const CheckTest& test : std::span(kCheckTests).subspan(tests))
    if (!test.gpu || !no_gpu) plan.left_out.emplace_back(test.label);
  for (const CheckedEnds& ends : pairs.subspan(measured)) plan.left_out.push_back(ends.device);
  return plan;
}

}  // namespace rdmameter
