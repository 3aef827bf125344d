// SPDX-License-Identifier: Apache-2.0
// Both sides of `ab` in one measuring run: A B B A A B B A ..., each repetition in a process of its
// own with new QPs, so that a machine's drift falls on both sides alike.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/ab_side.h"
#include "core/session/wait.h"

namespace rdmameter {

struct AbPlan {
  AbSide a, b;
  bool against_itself = false;      ///< --aa
  std::vector<std::string> common;  ///< what `run` is told on both sides
  std::uint64_t repetitions = 10;   ///< of each side
  std::string command;              ///< for the result
};

/// Names of the cases of one side, in order.
/// @throws UsageError, as `run` ends with it
std::vector<std::string> names_of_side(const AbPlan& plan, const AbSide& side,
                                       const InterruptSource& interrupt);

/// Measures and writes a result that holds both sides; it is valid after each block.
/// @param only  indexes of cases; empty: all
/// @throws NoDevice, UsageError, MeasurementError, Interrupted  as the processes end
void measure_sides(const AbPlan& plan, const std::vector<std::size_t>& only,
                   const std::string& output, const InterruptSource& interrupt);

}  // namespace rdmameter
