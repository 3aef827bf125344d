// SPDX-License-Identifier: Apache-2.0
// --case: which of a result's cases a report is about.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "core/result/result_file.h"

namespace rdmameter {

/// Declares --case, which may be given more than once.
void add_case_option(CLI::App& app, std::vector<std::string>& patterns);

/// Does one of the globs match? Any name where there is no glob.
bool is_chosen(const std::string& name, const std::vector<std::string>& patterns);

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

}  // namespace rdmameter
