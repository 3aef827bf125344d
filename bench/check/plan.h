// SPDX-License-Identifier: Apache-2.0
// What `rdmameter check` measures of each device, and of a GPU that is near it, in the time that it
// may take.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cases/cases.h"

namespace rdmameter {

// ---- Limits of a plan. docs/check.md has them, too.

inline constexpr double kCheckTime_s = 60;         ///< for all devices
inline constexpr double kBriefTime_s = 10;         ///< of --brief
inline constexpr double kPatience = 3;             ///< a check ends after so many times its time
inline constexpr double kLeastTest_s = 0.5;        ///< of one test of one device
inline constexpr double kMostTest_s = 5;           ///< likewise
inline constexpr double kSetUp_s = 0.05;           ///< beside it: QPs, memory
inline constexpr double kStart_s = 1;              ///< of the whole: doctor, sessions
inline constexpr std::size_t kBriefTests = 3;      ///< of a device, at most
inline constexpr const char* kCheckQps = "8";      ///< of a bandwidth
inline constexpr const char* kCheckDepth = "16";   ///< of each: 8 MiB under way, 80 us at 800 Gb/s
inline constexpr const char* kCheckSize = "64K";   ///< of its messages
inline constexpr const char* kLatencySize = "64";  ///< of those of a latency

/// A test of a device.
struct CheckTest {
  std::string_view label;    ///< "write both ways": as people read it
  std::string_view catalog;  ///< name there
  bool both_ways = false;
  bool gpu = false;  ///< its messages are in the memory of a GPU
};

/// The tests by what they tell: where time is short, the last ones are left out.
std::span<const CheckTest> check_tests();

/// A device, and the one at the other end.
struct CheckedEnds {
  std::string device;  ///< empty: the ends choose
  std::string peer;    ///< likewise
  std::string gpu;     ///< "cuda:0000:17:00.0": one that is near; empty: none
};

/// Has each device, and each peer, its own end? Only then can all be measured together.
bool are_apart(std::span<const CheckedEnds> pairs);

/// A GPU of NVIDIA behind the device's switch or, if there is none, behind its host bridge. AMD's are
/// not looked for: --memory takes them by a number that sysfs does not tell.
/// @param sysfs  the kernel's
/// @return  as --memory takes it: "cuda:0000:17:00.0"; empty: there is none
std::string near_gpu(std::string_view device, const std::filesystem::path& sysfs = "/sys");

struct CheckCase {
  std::size_t pair;  ///< its index; behind the last one: all of them together
  const CheckTest* test;
  PlannedCase planned;
};

struct CheckPlan {
  std::vector<CheckCase> cases;       ///< those of one pair follow each other
  std::vector<std::string> left_out;  ///< "send_lat": for want of time
};

struct CheckLimits {
  double time_s = kCheckTime_s;
  std::size_t tests = check_tests().size();  ///< of a device, at most
};

/// Half of the time is for a second measurement.
CheckPlan plan_check(std::span<const CheckedEnds> pairs, const CheckLimits& limits);

}  // namespace rdmameter
