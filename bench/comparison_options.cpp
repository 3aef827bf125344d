// SPDX-License-Identifier: Apache-2.0
#include "bench/comparison_options.h"

#include <fmt/format.h>

#include <charconv>

#include "bench/help_text.h"
#include "bench/run_output.h"
#include "core/error.h"
#include "reports/compare/output.h"
#include "reports/text_file.h"

namespace rdmameter {
namespace {

double read_number(std::string_view option, const std::string& text, double most) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= 0 && number <= most))
    throw UsageError(
        fmt::format("{} does not take '{}'; it takes a number from 0 to {}", option, text, most));
  return number;
}

ExitStatus status_of_conclusion(Conclusion conclusion) {
  switch (conclusion) {
    case Conclusion::pass:
      return ExitStatus::pass;
    case Conclusion::fail:
      return ExitStatus::regression;
    case Conclusion::inconclusive:
      return ExitStatus::inconclusive;
  }
  return ExitStatus::failed;
}

}  // namespace

void declare_verdict_options(CLI::App& app, VerdictOptions& options) {
  app.add_option("--gate", options.gates,
                 help_text("what must hold: 'CASE METRIC RELATION LIMIT'; work: what repeats (WRs, "
                           "doorbells, CQEs per message), times being information then; times: no "
                           "regression of times. May be given more than once. Default: times"))
      ->type_name("GATE")
      ->allow_extra_args(false);
  app.add_option("--floor", options.floor,
                 help_text("a change below this counts for nothing [percent]. Default: 5"))
      ->type_name("N");
  app.add_option("--floor-ns", options.floor_ns,
                 help_text("nor does one of a latency below this [ns]. Default: 50"))
      ->type_name("N");
  app.add_option("--work-floor", options.work_floor,
                 help_text("nor a growth of work per message below this [percent]. Default: 1"))
      ->type_name("N");
  app.add_option("--noise", options.noise,
                 help_text("a result of `rdmameter ab --aa`, whose recorded noise counts here"))
      ->type_name("FILE");
  app.add_option("--between-runs", options.between_runs,
                 help_text("how much runs differ where nothing is recorded, as a standard "
                           "deviation [percent]. Default: 2"))
      ->type_name("N");
  app.add_flag(
      "--strict", options.strict,
      help_text("end with 3 where any verdict is inconclusive or suspect, or NEW lacks a case"));
  app.add_flag("--all", options.all, help_text("print every case with every metric"));
  app.add_option("--junit", options.junit, help_text("write the verdicts as JUnit XML"))
      ->type_name("FILE");
  app.add_option("--markdown", options.markdown,
                 help_text("write the verdicts as a table, for a CI's summary page"))
      ->type_name("FILE");
  app.add_flag("--github", options.github,
               help_text("annotate a GitHub run: at most ten lines, on stdout"));
}

ComparisonOptions read_verdict_options(const VerdictOptions& options) {
  ComparisonOptions made;
  made.floors = {.relative = read_number("--floor", options.floor, 1000) / 100,
                 .absolute_ns = read_number("--floor-ns", options.floor_ns, 1e12),
                 .between_runs = read_number("--between-runs", options.between_runs, 1000) / 100};
  made.work_tolerance = read_number("--work-floor", options.work_floor, 1000) / 100;
  made.gates = options.gates;
  made.strict = options.strict;
  made.every_metric = options.all;
  for (const std::string& gate : made.gates)
    if (gate != "work" && gate != "times") read_gate(gate);  // wrong ones before anything is done
  return made;
}

void add_noise(const VerdictOptions& options, Comparable& file) {
  if (options.noise.empty()) return;
  const Comparable recorded = read_comparable(options.noise);
  if (recorded.noise.empty())
    throw UsageError(
        fmt::format("--noise {}: records no noise; 'rdmameter ab --aa -o FILE' makes a "
                    "file that does",
                    options.noise));
  file.noise.insert(recorded.noise.begin(), recorded.noise.end());
}

void check_verdict_files(const VerdictOptions& options) {
  check_writable(options.junit);
  check_writable(options.markdown);
}

ExitStatus tell(const Comparison& comparison, const VerdictOptions& options) {
  fmt::print("{}", comparison_text(comparison, options.all, terminal_style()));
  if (!options.junit.empty()) write_text_file(options.junit, comparison_junit(comparison));
  if (!options.markdown.empty()) write_text_file(options.markdown, comparison_markdown(comparison));
  if (options.github) fmt::print("{}", comparison_github(comparison));
  return status_of_conclusion(comparison.conclusion);
}

}  // namespace rdmameter
