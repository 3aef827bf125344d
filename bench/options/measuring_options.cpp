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
#include "core/result/row_json.h"
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

/// What stands for a value that is none of an axis's words, by AxisKind.
constexpr auto kTypes = names_to<AxisKind::shape>(
    "N", "0xN", "BYTES", "SECONDS", "RATE", "burst:N", "", "NAME", "file:PATH",
    "file:PATH|dmabuf:NAME|GPU", "ADDRESS", "OP[:SIZE]:WEIGHT,...", "COUNT|per-qp:A,B", "CPUS",
    "NAME[:ARGUMENTS]");

/// "; 1 to 2^24"; empty: its kind has no range.
std::string range_text(const Axis& axis) {
  const auto range = [&axis](auto text) {
    return fmt::format("; {} to {}", text(axis.min), text(axis.max));
  };
  if (axis.kind == AxisKind::count) return range(limit_text);
  if (axis.kind == AxisKind::hex) return range(hex_text);
  if (axis.kind == AxisKind::bytes) return range(bytes_text);
  if (axis.kind == AxisKind::seconds) return range(seconds_text);
  if (axis.kind == AxisKind::arrivals) return fmt::format("; N {} to {}", axis.min, axis.max);
  return "";
}

/// "off|max|BYTES": what stands behind the option in the help.
std::string type_text(const Axis& axis) {
  std::string text;
  for (const Word& word : axis.words) add_item(text, word.text, "|");
  const std::string_view type = name_in(kTypes, axis.kind);
  if (!type.empty()) add_item(text, type, "|");
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
    app.add_option_function<std::string>(
           fmt::format("--{}", axis->option),
           [axis, &given](const std::string& text) {
             given.push_back({axis, read_axis_list(*axis, text)});
           },
           fmt::format("{}{}. {}", axis->help, range_text(*axis), default_text(*axis)))
        ->type_name(type_text(*axis))
        ->group(!is_common ? kMoreAxes
                : peers    ? kPeerGroup
                           : kAxisGroup);
  }
}

void declare_output_option(CLI::App& app, MeasuringOptions& options) {
  add_option(app, "-o,--output", options.output, "FILE",
             "write the result, as JSON, here; -: to stdout");
}

void declare_repetitions_option(CLI::App& app, MeasuringOptions& options, std::string_view help) {
  add_count(app, "--repetitions", options.repetitions, help, 1, kMaxRepetitions);
}

}  // namespace rdmameter
