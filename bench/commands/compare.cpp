// SPDX-License-Identifier: Apache-2.0
// rdmameter compare: is NEW worse than BASE?
#include "bench/commands/compare.h"

#include <memory>

#include "bench/options/command.h"
#include "bench/options/result_options.h"
#include "core/base/error.h"

namespace rdmameter {
ExitStatus compare_results(const CompareArguments& options) {
  ComparisonOptions how = options.verdict;
  if (options.files.empty() || options.files.size() > 2)
    throw UsageError(
        "compare: name two results, BASE and NEW, or one of 'rdmameter ab' that has both sides");
  check_verdict_files(options.verdict);
  if (options.files.size() == 1) {
    Comparable both = read_comparable(options.files.front());
    add_noise(options.verdict, both);
    take_gates_of(both, how);
    return write_verdict(compare_sides(both, how), options.verdict);
  }
  auto [base, other] = read_comparables(options.files.front(), options.files.back());
  add_noise(options.verdict, base);
  take_gates_of(other, how);
  return write_verdict(compare_files(base, other, how), options.verdict);
}

Action declare_compare(CLI::App& app) {
  const auto options = std::make_shared<CompareArguments>();
  add_option(app, "FILE", options->files, "", "BASE and NEW; or one result of 'rdmameter ab'");
  app.add_flag("--allow-environment-change", options->verdict.allow_environment_change,
               help_text("compare what was measured on different devices, kernels, links..."));
  declare_verdict_options(app, options->verdict);
  app.footer(
      "Fail: worse, significantly so among all cases, and by more than the floors.\n"
      "Suspect: looks like it, but batches or one bad run could do that. Inconclusive:\n"
      "a change beyond the margin is not ruled out. Pass: it is, for every metric.\n\n"
      "Exit status: 0 pass, 1 a regression or a gate that fails, 2 files that cannot be\n"
      "compared, 3 not proven (something is suspect or inconclusive).\n\n"
      "Examples:\n"
      "  rdmameter compare base.json new.json --markdown summary.md\n"
      "  rdmameter compare base.json new.json --gate work\n"
      "  rdmameter compare base.json new.json \\\n"
      "    --gate 'write_lat/rc/size:64 half_round_trip.p99 <= 3us' --gate times");
  return [options](const Invocation&) { return compare_results(*options); };
}

}  // namespace rdmameter
