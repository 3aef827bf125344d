// SPDX-License-Identifier: Apache-2.0
// rdmameter compare: is NEW worse than BASE?
#include <memory>
#include <string>
#include <vector>

#include "bench/options/command.h"
#include "bench/options/result_options.h"

namespace rdmameter {
namespace {

struct CompareArguments {
  std::vector<std::string> files;
  VerdictOptions verdict;
};

}  // namespace

Action declare_compare(CLI::App& app) {
  const auto options = std::make_shared<CompareArguments>();
  add_option(app, "FILE", options->files, "", "BASE and NEW; or one result of 'rdmameter ab'");
  add_flag(app, "--allow-environment-change", options->verdict.allow_environment_change,
           "compare what was measured on different devices, kernels, links...");
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
  return [options](const Invocation&) { return compare_results(options->files, options->verdict); };
}

}  // namespace rdmameter
