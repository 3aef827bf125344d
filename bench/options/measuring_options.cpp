// SPDX-License-Identifier: Apache-2.0
#include "bench/options/measuring_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "bench/cases/cases.h"
#include "bench/options/command.h"
#include "bench/running/benchmark_flags.h"
#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr const char* kAxisGroup = "Axes (each takes a list A,B or a range A..B, A..B:STEP)";
constexpr const char* kPeerGroup = "The responder's own choices";

/// Large powers of two are told as such: 2^40 is read, 1099511627776 is not.
std::string limit_text(std::uint64_t count) {
  if (count >= 1U << 20 && std::has_single_bit(count))
    return fmt::format("2^{}", std::bit_width(count) - 1);
  return std::to_string(count);
}

/// What help says of an axis's values beside its words.
struct AxisValues {
  const char* type;
  std::string range;  ///< "; 1 to 2^24"
};

AxisValues axis_values(const Axis& axis) {
  const auto range = [&axis](auto text) {
    return fmt::format("; {} to {}", text(axis.min), text(axis.max));
  };
  switch (axis.kind) {
    case AxisKind::count:
      return {"N", range(limit_text)};
    case AxisKind::hex:
      return {"0xN", range(hex_text)};
    case AxisKind::bytes:
      return {"BYTES", range(bytes_text)};
    case AxisKind::seconds:
      return {"SECONDS", range(seconds_text)};
    case AxisKind::rate:
      return {"RATE"};
    case AxisKind::arrivals:
      return {"burst:N", fmt::format("; N {} to {}", axis.min, axis.max)};
    case AxisKind::name:
      return {"NAME"};
    case AxisKind::source:
      return {"file:PATH"};
    case AxisKind::memory:
      return {"file:PATH|dmabuf:NAME|GPU"};
    case AxisKind::group:
      return {"ADDRESS"};
    case AxisKind::labels:
      return {"COUNT|per-qp:A,B"};
    case AxisKind::mix:
      return {"OP[:SIZE]:WEIGHT,..."};
    case AxisKind::cpus:
      return {"CPUS"};
    case AxisKind::shape:
      return {"NAME[:ARGUMENTS]"};
    case AxisKind::choice:
      break;
  }
  return {""};
}

/// "off|max|BYTES": what stands behind the option in the help.
std::string type_text(const Axis& axis, const char* type) {
  std::string text;
  for (const Word& word : axis.words) add_item(text, word.text, "|");
  if (*type != '\0') add_item(text, type, "|");
  return text;
}

}  // namespace

void declare_axes(CLI::App& app, std::span<const Axis* const> axes,
                  std::span<const std::string_view> common, std::vector<GivenAxis>& given,
                  const std::function<std::string(const Axis&)>& default_text) {
  for (const Axis* axis : axes) {
    const bool is_common =
        common.empty() || std::ranges::find(common, axis->option) != common.end();
    const bool peers = axis->option.starts_with("peer-");
    const AxisValues values = axis_values(*axis);
    app.add_option_function<std::string>(
           fmt::format("--{}", axis->option),
           [axis, &given](const std::string& text) {
             given.push_back({axis, read_axis_list(*axis, text)});
           },
           help_text(fmt::format("{}{}. {}", axis->help, values.range, default_text(*axis))))
        ->type_name(type_text(*axis, values.type))
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
