// SPDX-License-Identifier: Apache-2.0
// Options of the commands that read results.
#pragma once

#include <string>
#include <vector>

#include "core/base/error_text.h"
#include "core/result/result_file.h"
#include "reports/compare/comparison.h"

namespace CLI {
class App;
}

namespace rdmameter {

// --case: which of a result's cases a report is about.

/// Declares --case, which may be given more than once.
void add_case_option(CLI::App& app, std::vector<std::string>& patterns);

enum class Counters { keep, leave_out };

/// The files, read, with those cases alone.
/// @param counters  of the device, work and resources, which no page or export has
/// @throws UsageError  a file cannot be read; a glob matches no row of any file
std::vector<ResultFile> read_results(const std::vector<std::string>& paths,
                                     const std::vector<std::string>& patterns,
                                     Counters counters = Counters::leave_out);

/// Says on stderr which files have no number, since what is made of them does not look
/// like an error.
void tell_unmeasured(const std::vector<ResultFile>& files);

// What `compare` and `ab` take alike: gates, floors, where the verdict is written.

/// Must outlive the parsing.
struct VerdictOptions : ComparisonOptions {
  std::string noise, junit, markdown;
  std::string annotations;  ///< a file for what --github prints; set by `ci` alone
  bool github = false;
};

void declare_verdict_options(CLI::App& app, VerdictOptions& options);

/// Adds what --noise names to what the file records itself.
void add_noise(const VerdictOptions& options, Comparable& file);

/// @throws UsageError  a file that is to be written cannot be
void check_verdict_files(const VerdictOptions& options);

/// Prints the comparison, writes the files that were asked for, and says how the program ends.
ExitStatus write_verdict(const Comparison& comparison, const VerdictOptions& options);

/// All that `compare` does, for `ci`, too: reads the files, judges, and ends as write_verdict().
/// @param files    BASE and NEW, or a result of `ab`, which has both sides
/// @throws UsageError  of other numbers of files; of files that cannot be read or compared
ExitStatus compare_results(const std::vector<std::string>& files, const VerdictOptions& options);

}  // namespace rdmameter
