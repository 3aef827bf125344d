// SPDX-License-Identifier: Apache-2.0
// The tests there are. Adding one: its row here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// Is this text a test's name, `all`, or a glob that matches one?
bool names_test(std::string_view text);

/// The tests that the texts name, each once, in the order of the texts.
/// @throws UsageError for one that names none, with the nearest that does
std::vector<const Test*> select_tests(std::span<const std::string> texts);

/// `run --list`: a line per test.
std::string catalog_text();

}  // namespace rdmameter
