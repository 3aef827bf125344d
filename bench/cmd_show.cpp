// SPDX-License-Identifier: Apache-2.0
// rdmameter show: results at a terminal.
#include <fmt/format.h>

#include <memory>

#include "bench/command.h"
#include "bench/help_text.h"
#include "core/error.h"
#include "reports/show.h"

namespace rdmameter {
namespace {

struct Options {
  std::vector<std::string> files;
  bool csv = false, histogram = false, no_histogram = false;
};

ExitStatus show(const Options& options) {
  if (options.files.empty()) throw UsageError("show: name at least one result file");
  if (options.histogram && options.no_histogram)
    throw UsageError("--histogram and --no-histogram: give one");
  ShowOptions how{.csv = options.csv, .style = terminal_style()};
  if (options.histogram || options.no_histogram) how.histogram = options.histogram;
  fmt::print("{}", show_files(options.files, how));
  return ExitStatus::pass;
}

}  // namespace

Action declare_show(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("FILE", options->files, "results written by 'rdmameter run -o FILE'");
  app.add_flag("--csv", options->csv, "one line per row, for spreadsheets and scripts");
  app.add_flag("--histogram", options->histogram,
               help_text("a histogram for every latency case; else only where there are few"));
  app.add_flag("--no-histogram", options->no_histogram, "tables alone");
  app.footer(
      "Examples:\n"
      "  rdmameter show result.json\n"
      "  rdmameter show --csv old.json new.json > both.csv");
  return [options](const Invocation&) { return show(*options); };
}

}  // namespace rdmameter
