// SPDX-License-Identifier: Apache-2.0
// rdmameter show: results at a terminal.
#include <fmt/format.h>

#include <memory>

#include "bench/command.h"
#include "bench/help_text.h"
#include "bench/predict_option.h"
#include "core/error.h"
#include "reports/compare/comparison.h"
#include "reports/compare/output.h"
#include "reports/show.h"

namespace rdmameter {
namespace {

struct ShowArguments {
  std::vector<std::string> files;
  std::string predict;
  bool csv = false, percentiles = false, histogram = false, no_histogram = false, compare = false;
};

/// Side by side, for a person: no gate, so nothing that could fail, and no environment is refused.
ExitStatus show_side_by_side(const ShowArguments& options) {
  if (options.files.size() != 2) throw UsageError("show --compare: name two result files");
  if (options.csv || options.percentiles || options.histogram || options.no_histogram ||
      !options.predict.empty())
    throw UsageError(
        "show --compare has neither --csv nor percentiles, histograms or --predict: give it alone");
  const ComparisonOptions how{.allow_environment_change = true, .every_metric = true};
  const Comparison made = compare_files(read_comparable(options.files.front()),
                                        read_comparable(options.files.back()), how);
  fmt::print("{}", comparison_text(made, true, terminal_style()));
  return ExitStatus::pass;
}

ExitStatus show(const ShowArguments& options) {
  if (options.files.empty()) throw UsageError("show: name at least one result file");
  if (options.csv && !options.predict.empty())
    throw UsageError("--csv and --predict: a prediction is no row; give one");
  if (options.csv && options.percentiles)
    throw UsageError("--csv and --percentiles: give one ('rdmameter export' has more formats)");
  if (options.histogram && options.no_histogram)
    throw UsageError("--histogram and --no-histogram: give one");
  if (options.compare) return show_side_by_side(options);
  ShowOptions how{.csv = options.csv,
                  .percentiles = options.percentiles,
                  .predict = predicted_ranks(options.predict),
                  .style = terminal_style()};
  if (options.histogram || options.no_histogram) how.histogram = options.histogram;
  fmt::print("{}", show_files(options.files, how));
  return ExitStatus::pass;
}

}  // namespace

Action declare_show(CLI::App& app) {
  const auto options = std::make_shared<ShowArguments>();
  app.add_option("FILE", options->files, "results written by 'rdmameter run -o FILE'");
  app.add_flag("--csv", options->csv, "one line per row, for spreadsheets and scripts");
  app.add_flag("--percentiles", options->percentiles,
               help_text("a table of percentiles for every latency case, as far as samples go"));
  app.add_flag(
      "--histogram", options->histogram,
      help_text("a histogram for every latency case, a matrix for every topology; else only "
                "where there are few"));
  app.add_flag("--no-histogram", options->no_histogram, "tables alone");
  app.add_flag(
      "--compare", options->compare,
      help_text("two results side by side, every metric of every case; 'rdmameter compare' "
                "is for verdicts"));
  add_predict_option(app, options->predict);
  app.footer(
      "Examples:\n"
      "  rdmameter show result.json\n"
      "  rdmameter show topo.json --predict 64,1024,16384\n"
      "  rdmameter show --compare base.json new.json\n"
      "  rdmameter show result.json --percentiles --no-histogram\n"
      "  rdmameter show --csv old.json new.json > both.csv");
  return [options](const Invocation&) { return show(*options); };
}

}  // namespace rdmameter
