// SPDX-License-Identifier: Apache-2.0
// rdmameter merge: several runs in one file.
#include <fmt/format.h>

#include <memory>

#include "bench/command.h"
#include "bench/help_text.h"
#include "bench/run_output.h"
#include "core/error.h"
#include "reports/merge.h"
#include "reports/result_file.h"

namespace rdmameter {
namespace {

struct MergeArguments {
  std::vector<std::string> files;
  std::string output;
  bool allow_environment_change = false;
};

ExitStatus merge(const MergeArguments& options, const Invocation& invocation) {
  if (options.files.empty()) throw UsageError("merge: name the result files to merge");
  if (options.output.empty()) throw UsageError("merge: -o takes the name of the file to write");
  check_writable(options.output);
  const MergedResult merged =
      merge_results(options.files, invocation.command_line, options.allow_environment_change);
  for (const std::string& remark : merged.remarks) fmt::print(stderr, "rdmameter: {}\n", remark);
  ResultWriter writer(options.output, merged.context);
  for (const Row& row : merged.rows) writer.append(row);
  writer.finish();
  if (options.output != "-")
    fmt::print("{}: {} runs, {} rows\n", options.output, merged.context["rdmameter"]["runs"].size(),
               merged.rows.size());
  return ExitStatus::pass;
}

}  // namespace

Action declare_merge(CLI::App& app) {
  const auto options = std::make_shared<MergeArguments>();
  app.add_option("FILE", options->files, "results of one and the same sweep, run by run");
  app.add_option("-o,--output", options->output, "the merged result; -: stdout")->type_name("FILE");
  app.add_flag("--allow-environment-change", options->allow_environment_change,
               help_text("merge what was measured in different environments"));
  app.footer(
      "Rows stay as they are, each with the run it is of: comparisons take the run for\n"
      "the replicate, and need five of them a side.\n\n"
      "Examples:\n"
      "  rdmameter merge run1.json run2.json run3.json run4.json run5.json -o base.json");
  return [options](const Invocation& invocation) { return merge(*options, invocation); };
}

}  // namespace rdmameter
