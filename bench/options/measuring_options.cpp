// SPDX-License-Identifier: Apache-2.0
#include "bench/options/measuring_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "bench/cases/cases.h"
#include "bench/options/command.h"
#include "bench/running/benchmark_flags.h"
#include "core/base/error.h"
#include "core/base/parse_value.h"

namespace rdmameter {
namespace {

constexpr const char* kAxisGroup = "Axes (each takes a list A,B or a range A..B, A..B:STEP)";
constexpr const char* kPeerGroup = "The responder's own choices";

/// "off|max|BYTES": what stands behind the option in the help.
std::string type_text(const Axis& axis) {
  std::vector<std::string_view> types;
  for (const Word& word : axis.words) types.push_back(word.text);
  switch (axis.kind) {
    case AxisKind::count:
      types.push_back("N");
      break;
    case AxisKind::hex:
      types.push_back("0xN");
      break;
    case AxisKind::bytes:
      types.push_back("BYTES");
      break;
    case AxisKind::seconds:
      types.push_back("SECONDS");
      break;
    case AxisKind::rate:
      types.push_back("RATE");
      break;
    case AxisKind::arrivals:
      types.push_back("burst:N");
      break;
    case AxisKind::name:
      types.push_back("NAME");
      break;
    case AxisKind::source:
      types.push_back("file:PATH");
      break;
    case AxisKind::memory:
      types.push_back("file:PATH|dmabuf:NAME|GPU");
      break;
    case AxisKind::group:
      types.push_back("ADDRESS");
      break;
    case AxisKind::labels:
      types.push_back("COUNT|per-qp:A,B");
      break;
    case AxisKind::mix:
      types.push_back("OP[:SIZE]:WEIGHT,...");
      break;
    case AxisKind::cpus:
      types.push_back("CPUS");
      break;
    case AxisKind::shape:
      types.push_back("NAME[:ARGUMENTS]");
      break;
    case AxisKind::choice:
      break;
  }
  return fmt::format("{}", fmt::join(types, "|"));
}

/// Large powers of two are told as such: 2^40 is read, 1099511627776 is not.
std::string limit_text(std::uint64_t count) {
  if (count >= 1U << 20 && std::has_single_bit(count))
    return fmt::format("2^{}", std::bit_width(count) - 1);
  return std::to_string(count);
}

std::string range_text(const Axis& axis) {
  switch (axis.kind) {
    case AxisKind::count:
      return fmt::format("; {} to {}", axis.min, limit_text(axis.max));
    case AxisKind::hex:
      return fmt::format("; {} to {}", hex_text(axis.min), hex_text(axis.max));
    case AxisKind::bytes:
      return fmt::format("; {} to {}", bytes_text(axis.min), bytes_text(axis.max));
    case AxisKind::seconds:
      return fmt::format("; {} to {}", seconds_text(axis.min), seconds_text(axis.max));
    case AxisKind::arrivals:
      return fmt::format("; N {} to {}", axis.min, axis.max);
    case AxisKind::rate:
    case AxisKind::choice:
    case AxisKind::name:
    case AxisKind::source:
    case AxisKind::memory:
    case AxisKind::group:
    case AxisKind::labels:
    case AxisKind::mix:
    case AxisKind::cpus:
    case AxisKind::shape:
      return "";
  }
  return "";
}

}  // namespace

void declare_axes(CLI::App& app, std::span<const Axis* const> axes,
                  std::span<const std::string_view> common, std::vector<GivenAxis>& given,
                  const std::function<std::string(const Axis&)>& default_text) {
  for (const Axis* axis : axes) {
    const bool is_common =
        common.empty() || std::ranges::find(common, axis->option) != common.end();
    const bool peers = axis->option.starts_with("peer-");
    app.add_option_function<std::string>(
           fmt::format("--{}", axis->option),
           [axis, &given](const std::string& text) {
             given.push_back({axis, read_axis_list(*axis, text)});
           },
           help_text(fmt::format("{}{}. {}", axis->help, range_text(*axis), default_text(*axis))))
        ->type_name(type_text(*axis))
        ->group(!is_common ? kMoreAxes
                : peers    ? kPeerGroup
                           : kAxisGroup);
  }
}

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
