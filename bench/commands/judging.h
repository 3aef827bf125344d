// SPDX-License-Identifier: Apache-2.0
// What `ci` is made of: subcommands as functions. Each prints, writes and throws as its subcommand
// does.
#pragma once

#include <string>
#include <vector>

#include "bench/options/command.h"
#include "bench/options/comparison_options.h"

namespace rdmameter {

struct AbArguments {
  std::string a, b, blocks, budget, output;
  bool against_itself = false, confirm = false;
  std::vector<std::string> common;
  VerdictOptions verdict;
};
ExitStatus measure_and_compare(const AbArguments& options, const Invocation& invocation);

struct CompareArguments {
  std::vector<std::string> files;
  bool allow_environment_change = false;
  VerdictOptions verdict;
};
ExitStatus compare_results(const CompareArguments& options);

struct MergeArguments {
  std::vector<std::string> files;
  std::string output;
  bool allow_environment_change = false;
};
ExitStatus write_merged(const MergeArguments& options, const Invocation& invocation);

struct ReportArguments {
  std::vector<std::string> files, cases;
  std::string output, memory_budget;
};
ExitStatus write_report(const ReportArguments& options);

}  // namespace rdmameter
