// SPDX-License-Identifier: Apache-2.0
// rdmameter show: results at a terminal.
#include "reports/show.h"

#include <memory>

#include "bench/options/command.h"
#include "bench/options/prediction_options.h"
#include "bench/options/result_options.h"
#include "core/base/error.h"
#include "core/log/print.h"

namespace rdmameter {
namespace {

struct ShowArguments : ShowOptions {
  std::vector<std::string> files, cases;
  bool with_histogram = false, no_histogram = false;
};

ExitStatus show(ShowArguments options) {
  if (options.files.empty()) throw UsageError("show: name at least one result file");
  if (options.tidy && !options.csv) throw UsageError("--tidy: give --csv, too, whose form it sets");
  if (options.csv && !options.predict.empty())
    throw UsageError("--csv and --predict: give one, since a prediction is not a row");
  if (options.csv && options.all)
    throw UsageError("--csv and --all: give one ('--csv --tidy' has a column for each setting)");
  if (options.csv && options.percentiles)
    throw UsageError("--csv and --percentiles: give one ('rdmameter export' has more formats)");
  if (options.csv && options.loss) throw UsageError("--csv and --loss-report: give one");
  if (options.with_histogram && options.no_histogram)
    throw UsageError("--histogram and --no-histogram: give one");
  if (options.with_histogram || options.no_histogram) options.histogram = options.with_histogram;
  options.style = terminal_style();
  const auto files = read_results(options.files, options.cases, Counters::keep);
  print_text(show_files(files, options));
  if (options.csv) tell_unmeasured(files);
  return ExitStatus::pass;
}

}  // namespace

Action declare_show(CLI::App& app) {
  const auto options = std::make_shared<ShowArguments>();
  add_option(app, "FILE", options->files, "", "results written by 'rdmameter run -o FILE'");
  add_flag(app, "--csv", options->csv, "one line per row, for spreadsheets and scripts");
  add_flag(app, "--tidy", options->tidy,
           "with --csv: a column for each axis, for pandas and the like");
  add_flag(app, "--all", options->all,
           "settings at their defaults and all facts of both ends, too");
  add_flag(app, "--percentiles", options->percentiles,
           "a table of percentiles for every latency case, up to the last with enough samples");
  add_flag(app, "--loss-report", options->loss,
           "what loss costs: samples that waited for a timeout, an RNR NAK or a "
           "sequence NAK, and what the drivers counted");
  add_flag(app, "--histogram", options->with_histogram,
           "a histogram for every latency case, a matrix for every topology; without "
           "it only if there are few");
  add_flag(app, "--no-histogram", options->no_histogram, "tables alone");
  add_case_option(app, options->cases);
  add_predict_option(app, options->predict);
  add_memory_budget_option(app, options->memory_budget_bytes);
  add_flag(app, "--judge-shared", options->judge_shared,
           "name slow ranks of a topology even where ranks shared cores");
  app.footer(
      "Examples:\n"
      "  rdmameter show result.json\n"
      "  rdmameter show topo.json --predict 64,1024,16384\n"
      "  rdmameter show result.json --percentiles --no-histogram\n"
      "  rdmameter show result.json --case 'write_lat/*size:64*' --histogram\n"
      "  rdmameter show --csv old.json new.json > both.csv\n"
      "  rdmameter show --csv --tidy result.json > result.csv");
  return [options](const Invocation&) { return show(*options); };
}

}  // namespace rdmameter
