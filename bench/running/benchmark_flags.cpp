// SPDX-License-Identifier: Apache-2.0
#include "bench/running/benchmark_flags.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <string_view>

#include "bench/cases/words.h"
#include "core/base/error.h"
#include "core/base/parse_value.h"

namespace rdmameter {
namespace {

constexpr std::string_view kPrefix = "--benchmark_";

/// The value of the last `--benchmark_NAME[=VALUE]`; "" for one without value.
std::optional<std::string> value_of(const std::vector<std::string>& arguments,
                                    std::string_view name) {
  std::optional<std::string> value;
  for (std::string_view argument : arguments) {
    argument.remove_prefix(kPrefix.size());
    if (!argument.starts_with(name)) continue;
    argument.remove_prefix(name.size());
    if (argument.empty()) value = "";
    if (argument.starts_with('=')) value = argument.substr(1);
  }
  return value;
}

/// Google Benchmark's reading of a boolean flag.
bool is_true(std::string value) {
  std::ranges::transform(value, value.begin(), [](unsigned char c) { return std::tolower(c); });
  return value != "0" && value != "f" && value != "n" && value != "false" && value != "no" &&
         value != "off";
}

/// Initialize calls this, and then ends the process with status 0, on a value that it
/// does not take.
void refuse_value() {
  throw UsageError("a --benchmark_* argument has a value that Google Benchmark refuses");
}

/// Others of Google Benchmark's would do nothing here, or what nobody means: of a warm-up of its
/// own each iteration would be a whole measurement.
void refuse_others(const std::vector<std::string>& arguments) {
  constexpr std::array<std::string_view, 5> kTaken{"list_tests", "filter", "repetitions",
                                                   "enable_random_interleaving", "context"};
  for (const std::string_view argument : arguments) {
    const std::string_view name =
        argument.substr(kPrefix.size(), argument.find('=') - kPrefix.size());
    if (std::ranges::find(kTaken, name) == kTaken.end())
      throw UsageError("'{}': of Google Benchmark's arguments rdmameter takes {}{}", argument,
                       fmt::join(kTaken, ", "), did_you_mean(name, kTaken, kPrefix));
  }
}

}  // namespace

std::vector<std::string> take_benchmark_arguments(std::vector<std::string>& arguments) {
  const auto ours = std::stable_partition(
      arguments.begin(), arguments.end(),
      [](const std::string& argument) { return !argument.starts_with(kPrefix); });
  std::vector<std::string> taken(ours, arguments.end());
  arguments.erase(ours, arguments.end());
  return taken;
}

bool BenchmarkFlags::selects(const std::string& name) const {
  if (filter.empty() || filter == "all") return true;
  const bool turned_round = filter.starts_with('-');
  try {
    const std::regex wanted(filter.substr(turned_round ? 1 : 0), std::regex::extended);
    return std::regex_search(name, wanted) != turned_round;
  } catch (const std::regex_error& error) {
    throw UsageError("--benchmark_filter={}: {}", filter, error.what());
  }
}

BenchmarkFlags initialize_benchmark(std::vector<std::string> arguments, std::uint64_t repetitions) {
  refuse_others(arguments);
  BenchmarkFlags flags;
  flags.filter = value_of(arguments, "filter").value_or("");
  flags.list_tests = is_true(value_of(arguments, "list_tests").value_or("false"));
  flags.interleaved = is_true(value_of(arguments, "enable_random_interleaving").value_or("false"));
  const auto asked = value_of(arguments, "repetitions");
  flags.repetitions =
      asked ? read_count("--benchmark_repetitions", *asked, 1, kMaxRepetitions) : repetitions;
  // The environment (BENCHMARK_LIST_TESTS) sets none of these.
  arguments.insert(arguments.end(),
                   {fmt::format("--benchmark_repetitions={}", flags.repetitions),
                    "--benchmark_list_tests=false", "--benchmark_min_warmup_time=0"});

  std::string program = "rdmameter";
  std::vector<char*> argv{program.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  benchmark::Initialize(&argc, argv.data(), refuse_value);
  if (argc > 1) throw UsageError("'{}': Google Benchmark does not take this value", argv[1]);
  if (const auto* context = benchmark::internal::GetGlobalContext()) flags.context = *context;
  return flags;
}

}  // namespace rdmameter
