// SPDX-License-Identifier: Apache-2.0
// rdmameter ab, as a function that `ci` calls, too: it prints, writes and throws as
// the subcommand does.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/commands/ab_variant.h"
#include "bench/options/command.h"
#include "bench/options/result_options.h"
#include "core/wire/wait.h"

namespace rdmameter {

// Both sides of `ab` in one measuring run. A block is one case on both sides, one right after the
// other in an order that is drawn, each in a process of its own with new QPs: drift cancels within
// a block, and any other disturbance falls on either side by chance.

struct AbPlan {
  Variant a, b;
  bool against_itself = false;      ///< --aa
  std::vector<std::string> common;  ///< what `run` is told on both sides
  /// Blocks of each case after which a look decides what is still open; ascending. The last is all.
  std::vector<std::uint64_t> looks = {12};
  std::uint64_t budget_ns = 0;  ///< no block begins after it; 0: there is none
  std::string command;          ///< for the result
};

/// Names of the cases of one side, in order.
/// @throws UsageError, as `run` ends with it
std::vector<std::string> names_of_side(const AbPlan& plan, const Variant& side,
                                       const InterruptSource& interrupt);

/// Indexes of the cases that are measured further, after so many blocks.
using OpenCases = std::function<std::vector<std::size_t>(std::uint64_t blocks)>;

/// Measures and writes a result that holds both sides; it is valid after each block.
/// @param only  indexes of cases; empty: all
/// @param open  asked after each look but the last; none: all cases are
/// @throws NoDevice, UsageError, MeasurementError, Interrupted  as the processes end
void measure_sides(const AbPlan& plan, const std::vector<std::size_t>& only,
                   const std::string& output, const InterruptSource& interrupt,
                   const OpenCases& open = {});

struct AbArguments {
  std::string a, b;
  std::optional<std::uint64_t> blocks;
  std::uint64_t budget_ns = 0;  ///< 0: no limit
  std::string output;
  bool against_itself = false, confirm = false;
  std::vector<std::string> common;
  VerdictOptions verdict;
};
ExitStatus measure_and_compare(const AbArguments& options, const Invocation& invocation);

}  // namespace rdmameter
