// SPDX-License-Identifier: Apache-2.0
// rdmameter history: results over time.
#include <fmt/format.h>

#include <memory>

#include "bench/case_option.h"
#include "bench/command.h"
#include "bench/help_text.h"
#include "core/error.h"
#include "reports/history/history_text.h"

namespace rdmameter {
namespace {

struct HistoryArguments {
  std::vector<std::string> files;  ///< results to add, or one history
  std::string into, commit, last;
  SeriesChoice choice;
};

ExitStatus add(const HistoryArguments& options) {
  if (options.files.empty()) throw UsageError("history add: name at least one result file");
  if (options.into.empty())
    throw UsageError("history add: say where the history is: --into FILE (or a directory)");
  const std::string path = history_path(options.into);
  std::vector<HistoryEntry> entries;  // all are read before one is added
  for (const std::string& file : options.files)
    entries.push_back(history_entry(read_result(file), options.commit));
  for (const HistoryEntry& entry : entries) append_history(path, entry);
  return ExitStatus::pass;
}

using Print = std::string(const std::vector<HistorySeries>&, const TextStyle&);

/// Names the broken lines on stderr, and prints what the others say.
ExitStatus print(const HistoryArguments& options, Print* text_of) {
  if (options.files.size() != 1)
    throw UsageError("name one history: the file (or its directory) of 'history add --into'");
  SeriesChoice choice = options.choice;
  constexpr std::uint64_t kMost = 100'000;
  if (!options.last.empty()) choice.last = read_option("--last", options.last, 1, kMost);
  const History history = read_history(history_path(options.files.front()));
  for (const std::string& line : history.broken)
    fmt::print(stderr, "rdmameter: {} The line is left out.\n", line);
  if (history.entries.empty() && !history.broken.empty())
    throw UsageError(
        fmt::format("{}: no line of it can be read.", history_path(options.files.front())));
  fmt::print("{}", text_of(series_of(history, choice), terminal_style()));
  return ExitStatus::pass;
}

void declare_choice(CLI::App& app, HistoryArguments& options) {
  app.add_option("HISTORY", options.files, "the file, or its directory");
  add_case_option(app, options.choice.cases);
  app.add_option("--quantity", options.choice.quantity,
                 help_text("p50_ns, p99_ns, mean_ns, gbps, mmsg_per_s... Default: bandwidth, or "
                           "where there is none p50"))
      ->type_name("NAME");
  app.add_option(
         "--last", options.last,
         help_text(fmt::format("the newest N results alone. Default: {}", options.choice.last)))
      ->type_name("N");
}

}  // namespace

Action declare_history(CLI::App& app) {
  const auto options = std::make_shared<HistoryArguments>();
  CLI::App* added = app.add_subcommand("add", "Append what a result came to as a line of JSON.");
  added->add_option("FILE", options->files, "results written by 'rdmameter run -o FILE'");
  added
      ->add_option("--into", options->into,
                   help_text("the history: a file, or a directory for history.jsonl"))
      ->type_name("PATH");
  added
      ->add_option("--commit", options->commit,
                   help_text("what was measured. Default: the result's own, of "
                             "--benchmark_context=commit=..."))
      ->type_name("TEXT");
  CLI::App* shown = app.add_subcommand("show", "Draw each case's line.");
  declare_choice(*shown, *options);
  CLI::App* checked = app.add_subcommand("check", "Print where a case changed (never a gate).");
  declare_choice(*checked, *options);
  for (CLI::App* one : {&app, added, shown, checked})
    one->footer(
        "Examples:\n"
        "  rdmameter history add result.json --into history.jsonl --commit 3f2a1bc\n"
        "  rdmameter history show history.jsonl --case 'write_lat/*'\n"
        "  rdmameter history check history.jsonl");
  return [=](const Invocation&) {
    if (added->parsed()) return add(*options);
    if (shown->parsed()) return print(*options, show_history);
    if (checked->parsed()) return print(*options, check_history);
    throw UsageError("history: say add, show or check ('rdmameter history --help')");
  };
}

}  // namespace rdmameter
