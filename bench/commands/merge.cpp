// SPDX-License-Identifier: Apache-2.0
// rdmameter merge: several runs in one file.
#include "reports/merge.h"

#include <memory>

#include "bench/options/command.h"
#include "core/base/error.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

ExitStatus run_merge(const MergeRequest& request) {
  if (request.files.empty()) throw UsageError("merge: name the result files to merge");
  if (request.output.empty()) throw UsageError("merge: -o takes the name of the file to write");
  const std::string merged = write_merged(request);
  if (request.output != "-") print_lines("{}: {}\n", request.output, merged);
  return ExitStatus::pass;
}

}  // namespace

Action declare_merge(CLI::App& app) {
  const auto request = std::make_shared<MergeRequest>();
  add_option(app, "FILE", request->files, "", "results of the same cases, one for each run");
  add_option(app, "-o,--output", request->output, "FILE", "the merged result; -: stdout");
  add_flag(app, "--allow-environment-change", request->allow_environment_change,
           "merge what was measured in different environments");
  app.footer(
      "Rows stay unchanged, and each says which run it is from. Comparisons count runs,\n"
      "not rows, and need five runs on each side.\n\n"
      "Examples:\n"
      "  rdmameter merge run1.json run2.json run3.json run4.json run5.json -o base.json");
  return [request](const Invocation& invocation) {
    request->command = invocation.command_line;
    return run_merge(*request);
  };
}

}  // namespace rdmameter
