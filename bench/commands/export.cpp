// SPDX-License-Identifier: Apache-2.0
// rdmameter export: results in the formats of other tools.
#include <fmt/format.h>

#include <memory>

#include "bench/options/command.h"
#include "bench/options/result_options.h"
#include "core/base/error.h"
#include "core/result/output_file.h"
#include "reports/export/format.h"

namespace rdmameter {
namespace {

struct ExportArguments {
  std::vector<std::string> files, cases;
  std::string format, output = "-";
};

ExitStatus run_export(const ExportArguments& options) {
  if (options.files.empty()) throw UsageError("export: name a result file");
  const ExportFormat& format = export_format(options.format);
  const auto files = read_results(options.files, options.cases);
  write_text_file(options.output, export_results(format, files));
  tell_unmeasured(files);
  return ExitStatus::pass;
}

std::string footer() {
  std::string text = "Formats:\n";
  for (const ExportFormat& format : export_formats())
    text += fmt::format("  {:16} {}\n", format.name, format.summary);
  return text +
         "\nExamples:\n"
         "  rdmameter export result.json --format openmetrics -o rdmameter.prom\n"
         "  rdmameter export result.json --format hgrm --case write_lat/rc/size:64\n"
         "  rdmameter export runs/*.json --format otava -o runs.csv";
}

}  // namespace

Action declare_export(CLI::App& app) {
  const auto options = std::make_shared<ExportArguments>();
  add_option(app, "FILE", options->files, "", "results written by 'rdmameter run -o FILE'");
  add_option(app, "--format", options->format, "NAME", "what to write; the list is below");
  add_option(app, "-o", options->output, "FILE", "where to write it. Default: stdout");
  add_case_option(app, options->cases);
  app.footer(footer());
  return [options](const Invocation&) { return run_export(*options); };
}

}  // namespace rdmameter
