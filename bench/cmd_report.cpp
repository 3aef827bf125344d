// SPDX-License-Identifier: Apache-2.0
// rdmameter report: results as one page.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "bench/case_option.h"
#include "bench/command.h"
#include "bench/help_text.h"
#include "core/error.h"
#include "reports/compare/comparison.h"
#include "reports/compare/pairing.h"
#include "reports/html/report.h"
#include "reports/text_file.h"

namespace rdmameter {
namespace {

struct ReportArguments {
  std::vector<std::string> files, cases;
  std::string output;
};

Comparable chosen_cases(const std::string& path, const std::vector<std::string>& patterns) {
  Comparable file = read_comparable(path);
  for (auto& side : file.sides)
    std::erase_if(side, [&](const ComparableCase& one) { return !is_chosen(one.name, patterns); });
  return file;
}

/// Of two results, or of one that has two sides; of anything else there is none. A page is no gate,
/// so other environments are shown and not refused.
std::optional<Comparison> comparison_of(const ReportArguments& options) {
  if (options.files.size() > 2) return std::nullopt;
  ComparisonOptions how{.allow_environment_change = true};
  const Comparable base = chosen_cases(options.files.front(), options.cases);
  if (options.files.size() == 1) {
    if (!base.two_sides()) return std::nullopt;
    how.gates = base.gates;
    return compare_sides(base, how);
  }
  const Comparable other = chosen_cases(options.files.back(), options.cases);
  if (pair_cases(base, other).pairs.empty()) return std::nullopt;
  how.gates = other.gates;
  return compare_files(base, other, how);
}

ExitStatus report(const ReportArguments& options) {
  if (options.files.empty()) throw UsageError("report: name at least one result file");
  if (options.output.empty())
    throw UsageError("report: say where the page goes: -o report.html (-o - is stdout)");
  const auto files = read_results(options.files, options.cases);
  const auto comparison = comparison_of(options);
  write_text_file(options.output, html_report(files, comparison ? &*comparison : nullptr));
  return ExitStatus::pass;
}

}  // namespace

Action declare_report(CLI::App& app) {
  const auto options = std::make_shared<ReportArguments>();
  app.add_option("FILE", options->files,
                 help_text("results written by 'rdmameter run -o FILE'; several stand over each "
                           "other in the charts, and of two, BASE and NEW, the page begins with "
                           "the comparison"));
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
