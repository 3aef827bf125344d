// SPDX-License-Identifier: Apache-2.0
#include "bench/options/background.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "bench/cases/axis_list.h"
#include "bench/cases/nearest.h"
#include "bench/cases/select_tests.h"
#include "bench/options/words.h"
#include "core/base/error.h"
#include "core/base/printable.h"

namespace rdmameter {
namespace {

/// Whose values are not the user's: the case beside it says how long it goes on.
constexpr std::array<std::string_view, 3> kNotItsOwn{kDurationOption, kIterationsOption,
                                                     "interval"};

const Axis& axis_named(std::string_view option) {
  if (std::ranges::find(kNotItsOwn, option) != kNotItsOwn.end())
    throw UsageError(
        fmt::format("--{}: it goes on for as long as the case beside it is measured", option));
  if (const Axis* axis = find_axis(option)) return *axis;
  std::vector<std::string_view> known;
  for (const Axis& axis : axes()) known.push_back(axis.option);
  throw UsageError(fmt::format("there is no axis '--{}'{}", option, did_you_mean(option, known)));
}

/// "--size 64K", "--size=64K" or, of a switch, "--verify".
GivenAxis read_axis(std::span<const ShellWord>& words) {
  std::string_view option = words.front().text;
  if (!option.starts_with("--"))
    throw UsageError(fmt::format("'{}' is neither an axis nor its value", option));
  option.remove_prefix(2);
  const std::size_t equals = option.find('=');
  const Axis& axis = axis_named(option.substr(0, equals));
  const bool apart = equals == option.npos && words.size() > 1 && !words[1].text.starts_with("--");
  if (equals == option.npos && !apart && !is_switch(axis))
    throw UsageError(fmt::format("--{} needs a value", option));
  const std::string value(equals != option.npos ? option.substr(equals + 1)
                          : apart               ? std::string_view(words[1].text)
                                                : "on");
  words = words.subspan(apart ? 2 : 1);
  GivenAxis given{&axis, read_axis_list(axis, value)};
  if (given.values.size() != 1)
    throw UsageError(
        fmt::format("--{} {}: it takes one value here; give --background "
                    "once for each",
                    axis.option, value));
  return given;
}

PlannedCase plan_background(const Test& test, std::vector<GivenAxis> given) {
  for (const auto& [option, value] : {std::pair(kDurationOption, "0"), {"interval", "10ms"}})
    given.push_back({find_axis(option), read_axis_list(*find_axis(option), value)});
  std::vector<PlannedCase> cases = plan_cases(std::array{&test}, given);
  given.pop_back();  // some tests have no intervals
  refuse_unused(given, cases);
  if (cases.front().test_case.sweeps()) throw UsageError("--rate sweep: give one rate");
  if (!cases.front().why_skipped.empty()) throw UsageError(cases.front().why_skipped);
  return cases.front();
}

Background read_background(std::span<const ShellWord> words) {
  if (words.empty()) throw UsageError("names no test");
  const std::vector<const Test*> tests = select_tests(std::array{words.front().text});
  if (tests.size() != 1) throw UsageError("one test makes a background");
  const Test& test = *tests.front();
  if (test.pattern == Pattern::control)
    throw UsageError(fmt::format("{} has no traffic", test.name));
  Background background{.text = std::string(test.name), .label = std::string(test.name)};
  std::vector<GivenAxis> given;
  for (words = words.subspan(1); !words.empty();) {
    given.push_back(read_axis(words));
    const GivenAxis& last = given.back();
    if (std::ranges::count(given, last.axis, &GivenAxis::axis) > 1)
      throw UsageError(fmt::format("--{} is there twice", last.option()));
    background.text += fmt::format(" --{} {}", last.option(), last.values.front());
    background.label += fmt::format(",{}:{}", last.option(), last.values.front());
  }
  background.test_case = plan_background(test, given).test_case;
  return background;
}

}  // namespace

std::vector<std::shared_ptr<const Background>> read_backgrounds(
    std::span<const std::string> texts) {
  std::vector<std::shared_ptr<const Background>> backgrounds;
  for (const std::string& text : texts) {
    const std::vector<ShellWord> words = split_words(text);
    try {
      backgrounds.push_back(std::make_shared<const Background>(read_background(words)));
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("--background '{}': {}", printable(text), error.what()));
    }
    const auto is_same = [&](const auto& other) { return other->text == backgrounds.back()->text; };
    if (std::ranges::count_if(backgrounds, is_same) > 1)
      throw UsageError(fmt::format("--background '{}' is there twice", backgrounds.back()->text));
  }
  return backgrounds;
}

}  // namespace rdmameter
