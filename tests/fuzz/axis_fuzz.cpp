// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: the values of an option as people type them. The first byte chooses the axis.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "bench/cases/cases.h"
#include "core/base/error.h"
#include "topologies/axes/rank_axes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rdmameter;
  if (size == 0) return 0;
  const Axis& axis = topology_axes()[data[0] % topology_axes().size()];
  const std::string_view list(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<std::string> values;
  try {
    values = read_axis_list(axis, list);
  } catch (const UsageError&) {
    return 0;
  }
  if (values.empty() || values.size() > kMaxCases) std::abort();
  // What was let in can be set, and is said as it was spelled.
  for (std::size_t at = 0; at < std::min<std::size_t>(values.size(), 100); ++at) {
    TestCase test_case;
    set_axis(test_case, axis, values[at]);
    if (axis_text(test_case, axis) != values[at]) std::abort();
  }
  return 0;
}
