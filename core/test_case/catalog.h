// SPDX-License-Identifier: Apache-2.0
// The tests there are. Adding one: its entry here.
#pragma once

#include <span>
#include <string_view>

#include "core/test_case/test_case.h"

namespace rdmameter {

struct Test {
  std::string_view name;  ///< perftest's, where it has the test
  Opcode opcode;
  Pattern pattern;
  std::string_view description;
  Verb verb = {};  ///< of Pattern::control, which has no opcode

  TestCase default_case() const;

  /// Has the axis a meaning for this test, over some transport, where the other axes are set so
  /// that it can have one?
  bool can_have(const Axis& axis) const;
};

/// Every test, in the order of `run --list` and of `all`.
std::span<const Test> catalog();

/// The test that measures such cases: of their opcode, pattern and verb. Null: there is none.
const Test* find_test(const TestCase& test_case);

}  // namespace rdmameter
