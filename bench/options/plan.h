// SPDX-License-Identifier: Apache-2.0
// A plan file: which tests over which axes, how often, and what must hold. TOML.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/cases/cases.h"
#include "bench/running/until.h"

namespace rdmameter {

// --background: traffic that goes on beside a case, as people type it.

/// @param texts  each a test with traffic, and axes with one value each: "write_bw --size 64K"
/// @throws UsageError  naming --background and what is wrong
std::vector<std::shared_ptr<const Background>> read_backgrounds(std::span<const std::string> texts);

/// Tests that share their axes.
struct Suite {
  std::vector<const Test*> tests;
  std::vector<GivenAxis> given;
};

struct Plan {
  std::vector<Suite> suites;     ///< each with the axes of all under its own
  std::vector<GivenAxis> given;  ///< the axes of all
  std::optional<std::uint64_t> repetitions;
  std::vector<UntilGoal> goals;  ///< as those of --until; empty: not said
  std::optional<std::uint64_t> budget_ns;
  std::vector<std::shared_ptr<const Background>> backgrounds;
  std::vector<std::string> gates;  ///< for `compare`; they travel in the result
};

/// @throws UsageError  naming file, line, and what is wrong: no TOML, an unknown key (with the
///                     nearest known one), a value that its axis does not take, no test, a gate
///                     that is none
Plan read_plan(const std::string& path);

/// Axes of `over` take the place of the same ones of `under`, and of what they rule out (--duration
/// and --iterations).
std::vector<GivenAxis> overlaid(std::vector<GivenAxis> under, const std::vector<GivenAxis>& over);

/// The cases of all suites, in order.
/// @throws UsageError  too many, one is there twice, or an axis is given that none has
std::vector<PlannedCase> plan_cases(const std::vector<Suite>& suites);

}  // namespace rdmameter
