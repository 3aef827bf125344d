// SPDX-License-Identifier: Apache-2.0
// Google Benchmark's own arguments (--benchmark_*), which it alone knows how to read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rdmameter {

/// The most repetitions of a case, also of --repetitions and a plan.
inline constexpr std::uint64_t kMaxRepetitions = 1'000'000;

/// Takes the arguments that are Google Benchmark's out of `arguments`.
std::vector<std::string> take_benchmark_arguments(std::vector<std::string>& arguments);

/// The flags of Google Benchmark that rdmameter must know of.
struct BenchmarkFlags {
  std::uint64_t repetitions = 1;
  bool list_tests = false, interleaved = false;
  std::string filter;                          ///< regular expression; a leading '-' turns it round
  std::map<std::string, std::string> context;  ///< --benchmark_context

  /// Does the filter let a case of this name through? Names are ours: Google Benchmark's would end
  /// in /iterations:1/manual_time, and no `$` would ever match.
  /// @throws UsageError where the filter is no regular expression
  bool selects(const std::string& name) const;
};

/// Hands the arguments to Google Benchmark's Initialize, and nothing else: it would
/// take `--help` too.
/// @param repetitions  --repetitions, unless --benchmark_repetitions is among the arguments
/// @throws UsageError naming an argument that it does not know, or a value that it does not take
BenchmarkFlags initialize_benchmark(std::vector<std::string> arguments, std::uint64_t repetitions);

}  // namespace rdmameter
