// SPDX-License-Identifier: Apache-2.0
// rdmameter history: results over time.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench/options/command.h"
#include "bench/options/result_options.h"
#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/log/print.h"
#include "reports/history/series.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

struct HistoryArguments {
  std::vector<std::string> files;  ///< results to add, or one history
  std::string into, commit, since, name, metric, note;
  SeriesChoice choice;
};

ExitStatus add(const HistoryArguments& options) {
  if (options.files.empty()) throw UsageError("history add: name at least one result file");
  if (options.into.empty())
    throw UsageError("history add: say where the history is: --into FILE (or a directory)");
  const std::string path = history_path(options.into);
  std::vector<HistoryEntry> entries;  // all are read before one is added
  for (const std::string& path_of_result : options.files) {
    const ResultFile file = read_result(path_of_result, Reading::metrics);
    if (const auto count = std::ranges::count_if(file.rows, &Row::interrupted); count > 0)
      tell_lines("rdmameter: {}: interrupted rows, which the history leaves out: {}\n",
                 printable(path_of_result), count);
    entries.push_back(history_entry(file, options.commit));
    if (entries.back().cases.empty())
      throw UsageError(
          "{}: no case of it has been measured, so there is nothing to add: leave it out",
          path_of_result);
  }
  std::vector<HistoryEntry> known = newest_entries(path);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (is_among(known, entries[i])) {
      tell_lines("rdmameter: {}: {} has this result already, so it is not added again\n",
                 printable(options.files[i]), printable(path));
      continue;
    }
    append_history(path, entries[i]);
    known.push_back(std::move(entries[i]));
  }
  return ExitStatus::pass;
}

/// The end of the history that was named. Names the broken lines on stderr.
History read_end(const HistoryArguments& options) {
  if (options.files.size() != 1)
    throw UsageError("name one history: the file (or its directory) of 'history add --into'");
  const std::string path = history_path(options.files.front());
  History history = read_history(path, options.choice.last);
  for (const std::string& line : history.broken)
    tell_lines("rdmameter: {} The line is left out.\n", printable(line));
  if (history.entries.empty() && !history.broken.empty())
    throw UsageError("{}: none of its lines can be read.", path);
  return history;
}

ExitStatus show(const HistoryArguments& options) {
  const History history = read_end(options);
  print_text(show_history(series_of(history, options.choice), terminal_style()));
  return ExitStatus::pass;
}

ExitStatus check(HistoryArguments options) {
  options.choice.every_metric = true;
  const History history = read_end(options);
  const std::string since =
      options.since.empty() ? "" : history_time(history, "--since", options.since);
  print_text(check_history(series_of(history, options.choice), terminal_style(),
                           history.acknowledged, since));
  return ExitStatus::pass;
}

/// Refuses a change that could not be found later: its acknowledgement would be lost.
ExitStatus acknowledge(const HistoryArguments& options) {
  if (options.name.empty() || options.since.empty())
    throw UsageError(
        "history ack: say which change is known: --case NAME --since COMMIT, as 'history check' "
        "names them");
  check_quantity(options.metric);
  const History history = read_end(options);
  const std::string since = history_time(history, "--since", options.since);
  const auto is_meant = [&](const HistoryEntry& entry) {
    return entry.time == since &&
           std::ranges::find(entry.cases, options.name, &HistoryCase::name) != entry.cases.end();
  };
  if (std::ranges::none_of(history.entries, is_meant))
    throw UsageError("history ack: no result of {} has a case '{}'", since, options.name);
  append_acknowledgement(history_path(options.files.front()),
                         {options.name, options.metric, since, options.note});
  return ExitStatus::pass;
}

void declare_last(CLI::App& app, HistoryArguments& options) {
  constexpr std::uint64_t kMost = 100'000;
  add_count(app, "--last", options.choice.last,
            fmt::format("only the newest N results. Default: {}", options.choice.last), 1, kMost);
}

void declare_choice(CLI::App& app, HistoryArguments& options) {
  add_option(app, "HISTORY", options.files, "", "the file, or its directory");
  add_case_option(app, options.choice.cases);
  add_option(app, "--quantity", options.choice.quantity, "NAME",
             "p50_ns, p99_ns, mean_ns, gbps, mmsg_per_s... Default: of 'show' the bandwidth, for a "
             "latency case p50; of 'check' all");
  declare_last(app, options);
}

}  // namespace

Action declare_history(CLI::App& app) {
  const auto options = std::make_shared<HistoryArguments>();
  CLI::App* added = app.add_subcommand("add", "Append a result's numbers as one line of JSON.");
  add_option(*added, "FILE", options->files, "", "results written by 'rdmameter run -o FILE'");
  add_option(*added, "--into", options->into, "PATH",
             "the history: a file, or a directory for history.jsonl");
  add_option(*added, "--commit", options->commit, "TEXT",
             "the commit that was measured. Default: the one in the result, from "
             "--benchmark_context=commit=...");
  CLI::App* shown = app.add_subcommand("show", "Draw each case over time.");
  declare_choice(*shown, *options);
  CLI::App* checked =
      app.add_subcommand("check", "Print since when a case changed (never a gate).");
  declare_choice(*checked, *options);
  add_option(*checked, "--since", options->since, "WHEN",
             "only changes since this commit or date. Default: all");
  CLI::App* known = app.add_subcommand("ack", "Say that a change is known; 'check' marks it so.");
  add_option(*known, "HISTORY", options->files, "", "the file, or its directory");
  add_option(*known, "--case", options->name, "NAME", "the case whose change it is");
  add_option(*known, "--since", options->since, "WHEN", "the change's commit or time");
  add_option(*known, "--quantity", options->metric, "NAME",
             "p50_ns, gbps... Default: all of the case's");
  declare_last(*known, *options);
  add_option(*known, "--note", options->note, "TEXT", "why it is accepted");
  for (CLI::App* one : {&app, added, shown, checked, known})
    one->footer(
        "Examples:\n"
        "  rdmameter history add result.json --into history.jsonl --commit 3f2a1bc\n"
        "  rdmameter history show history.jsonl --case 'write_lat/*'\n"
        "  rdmameter history check history.jsonl --since 3f2a1bc\n"
        "  rdmameter history ack history.jsonl --case send_lat/rc/size:2 --since 3f2a1bc");
  return [=](const Invocation&) {
    if (added->parsed()) return add(*options);
    if (shown->parsed()) return show(*options);
    if (checked->parsed()) return check(*options);
    if (known->parsed()) return acknowledge(*options);
    throw UsageError("history: say add, show, check or ack ('rdmameter history --help')");
  };
}

}  // namespace rdmameter
