// SPDX-License-Identifier: Apache-2.0
// rdmameter report: results as one page.
#include <fmt/format.h>

#include <memory>

#include "bench/case_option.h"
#include "bench/command.h"
#include "bench/help_text.h"
#include "core/error.h"
#include "reports/html/report.h"
#include "reports/text_file.h"

namespace rdmameter {
namespace {

struct Options {
  std::vector<std::string> files, cases;
  std::string output;
};

ExitStatus report(const Options& options) {
  if (options.files.empty()) throw UsageError("report: name at least one result file");
  if (options.output.empty())
    throw UsageError("report: say where the page goes: -o report.html (-o - is stdout)");
  write_text_file(options.output, html_report(read_results(options.files, options.cases)));
  return ExitStatus::pass;
}

}  // namespace

Action declare_report(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("FILE", options->files,
                 help_text("results written by 'rdmameter run -o FILE'; several stand over each "
                           "other in the charts"));
  app.add_option("-o", options->output, help_text("the page to write; - is stdout"))
      ->type_name("FILE");
  add_case_option(app, options->cases);
  app.footer(
      "The page needs no network, and for its tables no JavaScript.\n\n"
      "Examples:\n"
      "  rdmameter report result.json -o report.html\n"
      "  rdmameter report old.json new.json --case 'write_lat/*' -o both.html");
  return [options](const Invocation&) { return report(*options); };
}

}  // namespace rdmameter
