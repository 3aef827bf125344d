// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "bench/cases/words.h"
#include "core/base/error.h"
#include "core/base/lists.h"
#include "core/base/parse_value.h"
#include "core/base/printable.h"
#include "core/test_case/flow_label.h"
#include "reports/stats/sample.h"
#include "topologies/axes/rank_axes.h"

namespace rdmameter {
namespace {

/// The number that a text is. @throws UsageError  as set_axis()
std::uint64_t number_of(const Axis& axis, std::string_view text) {
  TestCase scratch;
  set_axis(scratch, axis, text);
  return std::get<NumberField>(axis.field).get(scratch);
}

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

  void add_range(std::string_view first_text, std::string_view rest) {
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

  std::vector<std::string> take() { return std::move(texts_); }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw UsageError("--{} {}: {}; it takes {}, lists (A,B) of these{}", axis_.option, list_, why,
                     accepts_text(axis_),
                     has_ranges() ? ", and ranges (A..B doubles, A..B:S steps)" : "");
  }

  bool has_ranges() const {
    return axis_.kind != AxisKind::choice && axis_.kind != AxisKind::hex &&
           axis_.kind != AxisKind::arrivals && std::holds_alternative<NumberField>(axis_.field);
  }

  std::uint64_t end_of_range(std::string_view text) const {
    const std::uint64_t value = number_of(axis_, text);
    if (axis_.kind == AxisKind::rate && (value & kBitRate) != 0)
      refuse("a range is of messages per second");
    if (value < axis_.min || value > axis_.max) refuse("a range has numbers at its ends");
    return value;
  }

  /// A step may be less than the axis's least value, so it is read beside the axis's range.
  std::uint64_t step_of(std::string_view text, std::uint64_t last) const {
    Axis any = axis_;
    any.min = 1;
    any.max = kDeviceMax - 1;
    any.words = {};
    try {
      return std::min(number_of(any, text), last + 1);  // so that a sum cannot overflow
    } catch (const UsageError&) {
      refuse(fmt::format("'{}' is not a step", text));
    }
  }

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

/// A duration of 0 is measured until it is interrupted, which ends the run: no other value
/// has its turn.
void refuse_zero_among(const Axis& axis, std::string_view list,
                       const std::vector<std::string>& texts) {
  if (axis.option != kDurationOption || texts.size() < 2 ||
      std::ranges::find(texts, "0") == texts.end())
    return;
  throw UsageError(
      "--duration '{}': a comma separates values, and 0 is measured until Ctrl-C, so "
      "it goes with no other{}",
      printable(list), decimal_comma_hint(list));
}

}  // namespace

std::vector<std::string> read_axis_list(const Axis& axis, std::string_view list) {
  Values values(axis, list);
  if (axis.kind == AxisKind::mix || (axis.kind == AxisKind::labels &&
                                     list.starts_with(kLabelsPerQp))) {  // its commas are its own
    values.add(list);
    return values.take();
  }
  for (const std::string_view item : split(list, ",")) {
    const auto dots = item.find("..");
    if (dots == std::string_view::npos)
      values.add(item);
    else
      values.add_range(item.substr(0, dots), item.substr(dots + 2));
  }
  std::vector<std::string> texts = values.take();
  refuse_zero_among(axis, list, texts);
  return texts;
}

const GivenAxis* find_given(std::span<const GivenAxis> given, std::string_view option) {
  const auto found = std::ranges::find(given, option, &GivenAxis::option);
  return found == given.end() ? nullptr : &*found;
}

namespace {

UsageError too_many() {
  return UsageError(
      "these tests and axes make more than {} cases: give shorter lists, or run them in parts",
      kMaxCases);
}

/// Walks the axes in the table's order, so that whether one applies is known from those before it.
class Expansion {
 public:
  Expansion(std::span<const Axis> axes, std::span<const GivenAxis> given)
      : axes_(axes), given_(given) {}

  void add(std::string_view name, const TestCase& with_defaults) {
    test_ = name;
    walk(with_defaults, "", 0);
  }

  std::vector<PlannedCase> take() { return std::move(cases_); }

 private:
  void walk(const TestCase& so_far, const std::string& keys, std::size_t index) {
    if (index == axes_.size()) return keep(so_far, keys);
    const Axis& axis = axes_[index];
    const GivenAxis* values = find_given(given_, axis.option);
    if (values == nullptr || !axis.applies(so_far)) return walk(so_far, keys, index + 1);
    for (const std::string& value : values->values) {
      TestCase next = so_far;
      set_axis(next, axis, value);
      const bool is_transport = axis.option == "transport";  // has a place of its own in the name
      used_.push_back(axis.option);
      walk(next, is_transport ? keys : fmt::format("{}/{}:{}", keys, axis.option, value),
           index + 1);
      used_.pop_back();
    }
  }

  /// Defaults give way to what was given, so that a sweep of one axis needs no other: a deep enough
  /// queue for the signaling and lists asked for (twice signal_every keeps it busy), or
  /// else more signals.
  void fit_defaults(TestCase& test_case) const {
    if (test_case.pattern != Pattern::bandwidth) return;
    auto& queues = test_case.queues;
    if (queues.depth >= queues.signal_every - 1 + queues.post_list) return;
    if (!is_given("depth"))
      queues.depth = 2 * std::max(queues.signal_every, queues.post_list);
    else if (!is_given("signal-every") && queues.depth >= queues.post_list)
      queues.signal_every =
          std::clamp<std::uint64_t>(queues.depth / 2, 1, queues.depth - queues.post_list + 1);
  }

  bool is_given(std::string_view option) const { return find_given(given_, option) != nullptr; }

  void keep(TestCase test_case, const std::string& keys) {
    fit_defaults(test_case);
    test_case.queues.signal_by_default = !is_given("signal-every");
    test_case.connect_by_default = !is_given("connect");
    if (cases_.size() == kMaxCases) throw too_many();
    const std::string transport = transport_text(test_case);
    const std::string over = transport.empty() ? transport : "/" + transport;
    cases_.push_back(
        {test_case, fmt::format("{}{}{}", test_, over, keys), why_impossible(test_case), used_});
  }

  std::span<const Axis> axes_;
  std::span<const GivenAxis> given_;
  std::string_view test_;
  std::vector<std::string_view> used_;  ///< on the way to this case
  std::vector<PlannedCase> cases_;
};

/// The remedy of an axis that none of the cases has.
std::string where_it_has(const Axis& axis, std::span<const PlannedCase> cases) {
  if (cases.front().test_case.topology()) return ": leave it out";
  std::vector<std::string_view> tests;
  for (const Test& test : catalog()) {
    if (!test.can_have(axis)) continue;
    if (std::ranges::any_of(
            cases, [&](const PlannedCase& planned) { return planned.test_case.test == test.name; }))
      return fmt::format(", as the other options are: see `rdmameter run --help {}`", axis.option);
    tests.push_back(test.name);
  }
  return fmt::format(": it applies to {}", fmt::join(tests, ", "));
}

}  // namespace

std::vector<PlannedCase> plan_cases(std::span<const Test* const> tests,
                                    std::span<const GivenAxis> given) {
  if (find_given(given, "iterations") != nullptr && find_given(given, "duration") != nullptr)
    throw UsageError(
        "--iterations and --duration: give only one, which says when a measurement ends");
  Expansion expansion(axes(), given);
  for (const Test* test : tests) expansion.add(test->name, test->default_case());
  return expansion.take();
}

void ChosenAxes::set(std::string_view option, std::string_view value) {
  const Axis* const axis = find_axis(option);
  given_.push_back({axis, read_axis_list(*axis, value)});
}

PlannedCase ChosenAxes::plan(std::string_view test) const {
  const std::array tests{&*std::ranges::find(catalog(), test, &Test::name)};
  return plan_cases(tests, given_).front();
}

std::vector<PlannedCase> plan_topologies(std::span<const std::string> graphs,
                                         std::span<const GivenAxis> given) {
  Expansion expansion(topology_axes(), given);
  for (const std::string& graph : graphs) {
    TestCase test_case = default_topology_case();
    set_axis(test_case, *find_axis("graph", topology_axes()), graph);
    expansion.add(graph, test_case);
  }
  std::vector<PlannedCase> cases = expansion.take();
  refuse_unused(given, cases);
  return cases;
}

std::vector<PlannedCase> at_each_host(std::span<const PlannedCase> cases,
                                      std::span<const std::string> hosts) {
  if (cases.size() * hosts.size() > kMaxCases) throw too_many();
  std::vector<PlannedCase> all;
  for (const std::string& host : hosts)
    for (PlannedCase planned : cases) {
      planned.name += "/host:" + host;
      planned.host = host;
      all.push_back(std::move(planned));
    }
  return all;
}

std::vector<PlannedCase> at_each_background(
    std::span<const PlannedCase> cases,
    std::span<const std::shared_ptr<const Background>> backgrounds) {
  if (cases.size() * (backgrounds.size() + 1) > kMaxCases) throw too_many();
  std::vector<PlannedCase> all;
  const auto add = [&](PlannedCase planned, const std::shared_ptr<const Background>& background) {
    planned.name += "/background:" + (background ? background->label : kNoBackground);
    planned.beside = background ? background->text : kNoBackground;
    planned.background = background;
    all.push_back(std::move(planned));
  };
  for (const PlannedCase& planned : cases) {
    add(planned, nullptr);
    for (const auto& background : backgrounds) add(planned, background);
  }
  return all;
}

void refuse_unused(std::span<const GivenAxis> given, std::span<const PlannedCase> cases) {
  for (const GivenAxis& one : given)
    if (!cases.empty() && std::ranges::none_of(cases, [&](const PlannedCase& planned) {
          return std::ranges::find(planned.used, one.option()) != planned.used.end();
        }))
      throw UsageError("--{} does not apply to any selected test{}", one.option(),
                       where_it_has(*one.axis, cases));
}

// Which tests of the catalog people name.

namespace {

bool matches(const std::string& pattern, const Test& test) {
  return pattern == "all" || fnmatch(pattern.c_str(), std::string(test.name).c_str(), 0) == 0;
}

[[noreturn]] void refuse(const std::string& text) {
  if (text.find(',') != std::string::npos)
    throw UsageError("there is no test '{}': tests are separated by blanks, not by commas", text);
  throw UsageError(
      "there is no test '{}'{} (`rdmameter run --list` prints them; also all, or a glob: '*_lat')",
      text, did_you_mean(text, mapped(catalog(), &Test::name)));
}

}  // namespace

bool names_test(std::string_view text) {
  return std::ranges::any_of(catalog(), [pattern = std::string(text)](const Test& test) {
    return matches(pattern, test);
  });
}

std::vector<const Test*> select_tests(std::span<const std::string> texts) {
  std::vector<const Test*> selected;
  for (const std::string& text : texts) {
    if (!names_test(text)) refuse(text);
    for (const Test& test : catalog())
      if (matches(text, test)) add_once(selected, &test);
  }
  return selected;
}

std::string catalog_text() {
  std::string text;
  for (const Test& test : catalog())
    text += fmt::format("{:<20}  {}\n", test.name, test.description);
  return text;
}

}  // namespace rdmameter
