// SPDX-License-Identifier: Apache-2.0
#include "bench/options/measuring_options.h"

#include "bench/options/add_option.h"
#include "bench/running/benchmark_flags.h"
#include "core/base/error.h"

namespace rdmameter {

void declare_output_option(CLI::App& app, MeasuringOptions& options) {
  add_option(app, "-o,--output", options.output, "FILE",
             "write the result, as JSON, here; -: to stdout", [](const std::string& file) {
               if (file.empty()) throw UsageError("-o takes the name of a file, or - for stdout");
               return file;
             });
}

void declare_repetitions_option(CLI::App& app, MeasuringOptions& options, std::string_view help) {
  add_count(app, "--repetitions", options.repetitions, help, 1, kMaxRepetitions);
}

}  // namespace rdmameter
