// SPDX-License-Identifier: Apache-2.0
// rdmameter merge: several runs in one file.
#include "bench/commands/merge.h"

#include <fmt/format.h>

#include <memory>

#include "bench/options/command.h"
#include "core/base/error.h"
#include "core/log/print.h"
#include "core/result/output_file.h"
#include "core/result/result_file.h"
#include "reports/merge.h"
#include "reports/text/terminal_lines.h"
#include "reports/text/text.h"

namespace rdmameter {
ExitStatus write_merged(const MergeArguments& options, const Invocation& invocation) {
  if (options.files.empty()) throw UsageError("merge: name the result files to merge");
  if (options.output.empty()) throw UsageError("merge: -o takes the name of the file to write");
  check_writable(options.output);
  const ResultFile merged =
      merge_results(options.files, invocation.command_line, options.allow_environment_change);
  ResultWriter writer(options.output, merged.context, Replacing::when_finished);
  for (const Row& row : merged.rows) writer.append(row);
  writer.finish();
  if (options.output != "-")
    print_lines("{}: {}, {}\n", options.output,
                count_text(merged.context.at("rdmameter").at("runs").size(), "run"),
                count_text(merged.rows.size(), "row"));
  return ExitStatus::pass;
}

Action declare_merge(CLI::App& app) {
  const auto options = std::make_shared<MergeArguments>();
  add_option(app, "FILE", options->files, "", "results of the same cases, one for each run");
  app.add_option("-o,--output", options->output, "the merged result; -: stdout")->type_name("FILE");
  app.add_flag("--allow-environment-change", options->allow_environment_change,
               help_text("merge what was measured in different environments"));
  app.footer(
      "Rows stay unchanged, and each says which run it is from. Comparisons count runs,\n"
      "not rows, and need five runs on each side.\n\n"
      "Examples:\n"
      "  rdmameter merge run1.json run2.json run3.json run4.json run5.json -o base.json");
  return [options](const Invocation& invocation) { return write_merged(*options, invocation); };
}

}  // namespace rdmameter
