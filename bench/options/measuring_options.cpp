// SPDX-License-Identifier: Apache-2.0
#include "bench/options/measuring_options.h"

#include "bench/options/command.h"
#include "bench/options/help_text.h"
#include "bench/running/benchmark_flags.h"
#include "core/base/error.h"
#include "core/base/parse_value.h"

namespace rdmameter {

std::string MeasuringOptions::output_file() const {
  if (output == "") throw UsageError("-o takes the name of a file, or - for stdout");
  return output.value_or("");
}

std::uint64_t MeasuringOptions::repetition_count(std::uint64_t unless_given) const {
  return repetitions ? read_option("--repetitions", *repetitions, 1, kMaxRepetitions)
                     : unless_given;
}

void declare_output_options(CLI::App& app, MeasuringOptions& options) {
  add_option(app, "-o,--output", options.output, "FILE",
             "write the result, as JSON, here; -: to stdout");
  add_option(app, "--repetitions", options.repetitions, "N",
             "measure each case N times, each time with new QPs and buffers; take 10 or more to "
             "compare results. Default: 1");
}

}  // namespace rdmameter
