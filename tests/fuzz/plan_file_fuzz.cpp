// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: a plan file (TOML) that anybody may have written. What is taken has tests, and
// values that its axes take.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "bench/options/plan.h"
#include "core/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rdmameter;
  static const int file = memfd_create("plan", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
    std::abort();
  try {
    const Plan plan = read_plan(path);
    if (plan.suites.empty()) std::abort();
    for (const Suite& suite : plan.suites) {
      if (suite.tests.empty()) std::abort();
      std::uint64_t cases = suite.tests.size();
      for (const GivenAxis& given : suite.given) cases *= given.values.size();
      constexpr std::uint64_t kMax = 200;  // the cross product of more takes too long here
      if (cases > kMax) return 0;
    }
    if (plan.suites.size() < 4) plan_cases(plan.suites);
  } catch (const UsageError&) {  // the only way out
  }
  return 0;
}
