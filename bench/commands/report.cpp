// SPDX-License-Identifier: Apache-2.0
// rdmameter report: results as one page.
#include "bench/commands/report.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "bench/options/command.h"
#include "bench/options/prediction_options.h"
#include "core/base/error.h"
#include "core/result/output_file.h"
#include "reports/compare/comparison.h"
#include "reports/compare/pairing.h"
#include "reports/html/report.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

Comparable chosen_cases(const std::string& path, const std::vector<std::string>& patterns) {
  Comparable file = read_comparable(path);
  for (auto& side : file.sides)
    std::erase_if(side, [&](const ComparableCase& one) { return !is_chosen(one.name, patterns); });
  return file;
}

bool has_sides(const ResultFile& file) {
  return std::ranges::any_of(file.rows, [](const Row& row) { return row.extra.contains("side"); });
}

/// Of two results, or of one that has two sides; of anything else there is none. A page is no gate,
/// so other environments are shown and not refused.
std::optional<Comparison> comparison_of(const ReportArguments& options,
                                        const std::vector<ResultFile>& files) {
  if (files.size() > 2 || (files.size() == 1 && !has_sides(files.front()))) return std::nullopt;
  ComparisonOptions how = options.how;
  how.allow_environment_change = true;
  Comparable base = chosen_cases(options.files.front(), options.cases);
  if (options.files.size() == 1) {
    if (!base.two_sides()) return std::nullopt;
    base.noise.clear();  // is of these very blocks
    add_noise(options.how, base);
    return compare_sides(base, how);
  }
  add_noise(options.how, base);
  const Comparable other = chosen_cases(options.files.back(), options.cases);
  if (pair_cases(base, other).pairs.empty()) return std::nullopt;
  return compare_files(base, other, how);
}

}  // namespace

ExitStatus write_report(const ReportArguments& options) {
  if (options.files.empty()) throw UsageError("report: name at least one result file");
  if (options.output.empty())
    throw UsageError(
        "report: -o takes the name of the page to write, such as report.html (-: stdout)");
  const auto files = read_results(options.files, options.cases);
  const auto comparison = comparison_of(options, files);
  write_text_file(options.output, html_report(files, comparison ? &*comparison : nullptr,
                                              options.memory_budget_bytes));
  tell_unmeasured(files);
  return ExitStatus::pass;
}

Action declare_report(CLI::App& app) {
  const auto options = std::make_shared<ReportArguments>();
  add_option(app, "FILE", options->files, "",
             "results written by 'rdmameter run -o FILE'; charts show several results together; "
             "with two, BASE and NEW, the page begins with their comparison");
  add_option(app, "-o", options->output, "FILE", "the page to write; - is stdout");
  add_memory_budget_option(app, options->memory_budget_bytes);
  add_case_option(app, options->cases);
  app.footer(
      "The page needs no network. Its tables need no JavaScript.\n\n"
      "Examples:\n"
      "  rdmameter report result.json -o report.html\n"
      "  rdmameter report old.json new.json --case 'write_lat/*' -o both.html");
  return [options](const Invocation&) { return write_report(*options); };
}

}  // namespace rdmameter
