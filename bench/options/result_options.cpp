// SPDX-License-Identifier: Apache-2.0
#include "bench/options/result_options.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "bench/options/command.h"
#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "core/log/print.h"
#include "core/result/output_file.h"
#include "core/result/result_file.h"
#include "reports/compare/gate.h"
#include "reports/compare/output.h"
#include "reports/text/text.h"

namespace rdmameter {

void add_case_option(CLI::App& app, std::vector<std::string>& patterns) {
  add_option(app, "--case", patterns, "NAME",
             "only the case of this name, or the cases that match this glob "
             "('send_*size:64'); may be given more than once")
      ->allow_extra_args(false);
}

std::vector<ResultFile> read_results(const std::vector<std::string>& paths,
                                     const std::vector<std::string>& patterns, Counters counters) {
  std::vector<std::string> unmatched = patterns;
  const auto chosen = [&](const std::string& name) {
    std::erase_if(unmatched, [&](const auto& pattern) { return matches_name(name, pattern); });
    return is_chosen(name, patterns);
  };
  std::vector<ResultFile> files;
  for (const std::string& path : paths) {
    ResultFile& file = files.emplace_back(ResultFile{.path = path});
    read_rows(path, {[&](Json& context) { file.context = std::move(context); },
                     [&](Row row, const std::string&) {
                       if (counters == Counters::leave_out)
                         row.device_counters = row.work = row.resources = nullptr;
                       if (chosen(row.name)) file.rows.push_back(std::move(row));
                     }});
  }
  if (!unmatched.empty())
    throw UsageError("--case '{}' matches no case; 'rdmameter show --csv {}' has their names.",
                     unmatched.front(), paths.front());
  return files;
}

void tell_unmeasured(const std::vector<ResultFile>& files) {
  for (const ResultFile& file : files) {
    if (std::ranges::find(file.rows, Row::Status::ok, &Row::status) != file.rows.end()) continue;
    tell_lines("rdmameter: {}: {}\n", file.path,
               file.rows.empty() ? "there are no rows, so it has no numbers"
                                 : "no case was measured, so it has no numbers");
  }
}

namespace {

/// A number from 0 to max. @param unit  of what is typed, in that of the target
void add_number(CLI::App& app, const char* name, double& target, std::string_view description,
                double max, double unit) {
  add_option(app, name, target, "N", description, [=](const std::string& text) {
    const auto [number, rest] = number_and_unit(text);
    if (!rest.empty() || !(number >= 0 && number <= max))
      throw invalid_value(name, text, fmt::format("a number from 0 to {}", max));
    return number / unit;
  });
}

ExitStatus status_of_conclusion(Conclusion conclusion) {
  switch (conclusion) {
    case Conclusion::pass:
      return ExitStatus::pass;
    case Conclusion::fail:
      return ExitStatus::regression;
    case Conclusion::not_proven:
      return ExitStatus::inconclusive;
  }
  return ExitStatus::failed;
}

}  // namespace

void declare_verdict_options(CLI::App& app, VerdictOptions& options) {
  add_option<std::vector<std::string>>(
      app, "--gate", options.gates, "GATE",
      "what must hold: 'CASE METRIC RELATION LIMIT'; '[CASE] METRIC=N%': at most N % worse "
      "than BASE; work: what repeats (WRs, doorbells, CQEs per message), times being "
      "information then; times: no regression of times. May be given more than once. "
      "Default: the gates of the plan, else times",
      [](const std::vector<std::string>& gates) {
        for (const std::string& gate : gates) require_gate(gate);
        return gates;
      })
      ->allow_extra_args(false);
  constexpr double kPercent = 100, kMost = 1000;
  add_number(app, "--floor", options.floors.relative,
             "a change below this never fails, nor one below 1.5 times the deviation among the "
             "case's runs [percent]. Default: 3",
             kMost, kPercent);
  add_number(app, "--floor-ns", options.floors.absolute_ns,
             "nor does one of a latency below this [ns]. Default: 0", 1e12, 1);
  add_number(app, "--work-floor", options.work_tolerance,
             "nor a growth of work per message below this [percent]. Default: 1", kMost, kPercent);
  add_option(app, "--noise", options.noise, "FILE",
             "a result of `rdmameter ab --aa`, whose recorded noise counts here");
  add_number(app, "--margin", options.floors.margin,
             "a pass rules out a change of p50, mean or a rate beyond this; of p99 beyond 3 times, "
             "of p99.9 beyond 5 times this [percent]. Default: 10",
             kMost, kPercent);
  add_number(app, "--batch-noise", options.floors.batch,
             "how much p50, mean and rates differ from batch to batch until that is measured, as a "
             "standard deviation; p99 3.3 times, p99.9 6.7 times as much [percent]. Default: 3",
             kMost, kPercent);
  add_flag(app, "--strict", options.strict,
           "end with 3 (not proven) where NEW lacks a case of BASE");
  add_flag(app, "--inconclusive-ok", options.inconclusive_ok,
           "end with 0 where nothing fails, although a case is suspect or inconclusive");
  add_flag(app, "--all", options.every_metric, "print every case with every metric");
  add_option(app, "--junit", options.junit, "FILE", "write the verdicts as JUnit XML");
  add_option(app, "--markdown", options.markdown, "FILE",
             "add the verdicts as a table to a file, such as a CI's summary page");
  add_flag(app, "--github", options.github, "annotate a GitHub run: at most ten lines, on stdout");
}

void add_noise(const VerdictOptions& options, Comparable& file) {
  if (options.noise.empty()) return;
  const Comparable recorded = read_comparable(options.noise);
  if (recorded.noise.empty())
    throw UsageError(
        "--noise {}: records no noise; 'rdmameter ab --aa -o FILE' makes a file that does",
        options.noise);
  file.noise.insert(recorded.noise.begin(), recorded.noise.end());
}

void check_verdict_files(const VerdictOptions& options) {
  check_writable(options.junit, "--junit");
  check_writable(options.markdown, "--markdown");
}

ExitStatus write_verdict(const Comparison& comparison, const VerdictOptions& options) {
  print_text(comparison_text(comparison, options.every_metric, terminal_style()));
  if (!options.junit.empty()) write_text_file(options.junit, comparison_junit(comparison));
  if (!options.markdown.empty()) append_to_file(options.markdown, comparison_markdown(comparison));
  if (!options.annotations.empty())
    write_text_file(options.annotations, comparison_github(comparison));
  if (options.github) print_text(comparison_github(comparison));
  return status_of_conclusion(comparison.conclusion);
}

ExitStatus compare_results(const std::vector<std::string>& files, const VerdictOptions& options) {
  if (files.empty() || files.size() > 2)
    throw UsageError(
        "compare: name two results, BASE and NEW, or one of 'rdmameter ab' that has both sides");
  check_verdict_files(options);
  if (files.size() == 1) {
    Comparable both = read_comparable(files.front());
    both.noise.clear();  // is of these very blocks
    add_noise(options, both);
    return write_verdict(compare_sides(both, options), options);
  }
  auto [base, other] = read_comparables(files.front(), files.back());
  add_noise(options, base);
  return write_verdict(compare_files(base, other, options), options);
}

}  // namespace rdmameter
