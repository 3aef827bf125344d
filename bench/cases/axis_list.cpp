// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/axis_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "core/base/printable.h"
#include "core/test_case/flow_label.h"

namespace rdmameter {
namespace {

/// Collects the values of one axis in one spelling, so that "1K,1024" is one value.
class Values {
 public:
  Values(const Axis& axis, std::string_view list) : axis_(axis), list_(list) {}

  void add(std::string_view text) {
    TestCase scratch;
    try {
      set_axis(scratch, axis_, text);
    } catch (const UsageError& error) {
      const std::string hint =
          axis_.kind == AxisKind::seconds ? decimal_comma_hint(list_) : std::string();
      if (hint.empty()) throw;
      throw UsageError(error.what() + hint);
    }
    keep(axis_text(scratch, axis_));
  }

  void add_range(std::string_view first, std::string_view last_and_step);

  std::vector<std::string> take() { return std::move(texts_); }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw UsageError(fmt::format("--{} {}: {}; it takes {}, lists (A,B) of these{}", axis_.option,
                                 list_, why, accepts_text(axis_),
                                 has_ranges() ? ", and ranges (A..B doubles, A..B:S steps)" : ""));
  }

  bool has_ranges() const {
    return axis_.kind != AxisKind::choice && axis_.kind != AxisKind::hex &&
           axis_.kind != AxisKind::arrivals && std::holds_alternative<NumberField>(axis_.field);
  }

  std::uint64_t end_of_range(std::string_view text) const;
  std::uint64_t step_of(std::string_view text, std::uint64_t last) const;

  void keep(std::string text) {
    if (!seen_.insert(text).second) return;
    if (texts_.size() == kMaxCases)
      refuse(fmt::format("more than {} values, the most that an axis takes", kMaxCases));
    texts_.push_back(std::move(text));
  }

  void keep_number(std::uint64_t value) {
    TestCase scratch;
    std::get<NumberField>(axis_.field).set(scratch, value);
    keep(axis_text(scratch, axis_));
  }

  const Axis& axis_;
  std::string_view list_;
  std::vector<std::string> texts_;
  std::unordered_set<std::string> seen_;
};

std::uint64_t Values::end_of_range(std::string_view text) const {
  TestCase scratch;
  set_axis(scratch, axis_, text);
  const std::uint64_t value = std::get<NumberField>(axis_.field).get(scratch);
  if (axis_.kind == AxisKind::rate && (value & kBitRate) != 0)
    refuse("a range is of messages per second");
  if (value < axis_.min || value > axis_.max) refuse("a range has numbers at its ends");
  return value;
}

/// A step may be less than the axis's least value, so it is read beside the axis's range.
std::uint64_t Values::step_of(std::string_view text, std::uint64_t last) const {
  Axis any = axis_;
  any.min = 1;
  any.max = kDeviceMax - 1;
  any.words = {};
  TestCase scratch;
  try {
    set_axis(scratch, any, text);
  } catch (const UsageError&) {
    refuse(fmt::format("'{}' is not a step", text));
  }
  return std::min(std::get<NumberField>(axis_.field).get(scratch),
                  last + 1);  // so that a sum cannot overflow
}

void Values::add_range(std::string_view first_text, std::string_view rest) {
  if (!has_ranges()) refuse("words have no ranges");
  const auto colon = rest.find(':');
  const std::uint64_t first = end_of_range(first_text);
  const std::uint64_t last = end_of_range(rest.substr(0, colon));
  if (first > last) refuse("the range ends before it begins");
  if (colon != std::string_view::npos) {
    const std::uint64_t step = step_of(rest.substr(colon + 1), last);
    for (std::uint64_t value = first; value <= last; value += step) keep_number(value);
    return;
  }
  if (first == 0 && last > 0)
    refuse("doubling never leaves 0: begin at 1, or give a step (0..8:1)");
  for (std::uint64_t value = first; value < last; value *= 2) keep_number(value);
  keep_number(last);
}

/// A duration of 0 is measured until it is interrupted, which ends the run: no other value
/// has its turn.
void refuse_zero_among(const Axis& axis, std::string_view list,
                       const std::vector<std::string>& texts) {
  if (axis.option != std::string_view("duration") || texts.size() < 2) return;
  for (const std::string& text : texts) {
    TestCase scratch;
    set_axis(scratch, axis, text);
    if (scratch.until_interrupted())
      throw UsageError(fmt::format(
          "--duration '{}': a comma separates values, and 0 is measured until Ctrl-C, so "
          "it goes with no other{}",
          printable(list), decimal_comma_hint(list)));
  }
}

}  // namespace

std::vector<std::string> read_axis_list(const Axis& axis, std::string_view list) {
  Values values(axis, list);
  if (axis.kind == AxisKind::mix || (axis.kind == AxisKind::labels &&
                                     list.starts_with(kLabelsPerQp))) {  // its commas are its own
    values.add(list);
    return values.take();
  }
  for (std::string_view rest = list;;) {
    const auto comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const auto dots = item.find("..");
    if (dots == std::string_view::npos)
      values.add(item);
    else
      values.add_range(item.substr(0, dots), item.substr(dots + 2));
    if (comma == std::string_view::npos) {
      std::vector<std::string> texts = values.take();
      refuse_zero_among(axis, list, texts);
      return texts;
    }
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace rdmameter
