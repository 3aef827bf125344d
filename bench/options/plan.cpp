// SPDX-License-Identifier: Apache-2.0
#include "bench/options/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "bench/cases/cases.h"
#include "bench/cases/words.h"
#include "bench/running/benchmark_flags.h"
#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/lists.h"
#include "core/base/printable.h"
#include "reports/compare/gate.h"
#include "reports/stats/sample.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

/// Whose values are not the user's: the case beside it says how long it goes on.
constexpr std::array<std::string_view, 3> kNotItsOwn{kDurationOption, kIterationsOption,
                                                     "interval"};

const Axis& axis_named(std::string_view option) {
  if (std::ranges::find(kNotItsOwn, option) != kNotItsOwn.end())
    throw UsageError("--{}: it goes on for as long as the case beside it is measured", option);
  if (const Axis* axis = find_axis(option)) return *axis;
  throw UsageError("there is no axis '--{}'{}", option,
                   did_you_mean(option, mapped(axes(), &Axis::option)));
}

/// "--size 64K", "--size=64K" or, of a switch, "--verify".
GivenAxis read_axis(std::span<const ShellWord>& words) {
  std::string_view option = words.front().text;
  if (!option.starts_with("--")) throw UsageError("'{}' is neither an axis nor its value", option);
  option.remove_prefix(2);
  const std::size_t equals = option.find('=');
  const Axis& axis = axis_named(option.substr(0, equals));
  const bool apart = equals == option.npos && words.size() > 1 && !words[1].text.starts_with("--");
  if (equals == option.npos && !apart && !is_switch(axis))
    throw UsageError("--{} needs a value", option);
  const std::string value(equals != option.npos ? option.substr(equals + 1)
                          : apart               ? std::string_view(words[1].text)
                                                : "on");
  words = words.subspan(apart ? 2 : 1);
  GivenAxis given{&axis, read_axis_list(axis, value)};
  if (given.values.size() != 1)
    throw UsageError("--{} {}: it takes one value here; give --background once for each",
                     axis.option, value);
  return given;
}

TestCase background_case(const Test& test, std::span<const GivenAxis> given) {
  ChosenAxes axes;
  axes.add(given);
  axes.set(kDurationOption, "0");
  axes.set("interval", "10ms");
  const PlannedCase planned = axes.plan(test.name);
  refuse_unused(given, {&planned, 1});
  if (planned.test_case.sweeps()) throw UsageError("--rate sweep: give one rate");
  if (!planned.why_skipped.empty()) throw UsageError(planned.why_skipped);
  return planned.test_case;
}

Background read_background(std::span<const ShellWord> words) {
  if (words.empty()) throw UsageError("names no test");
  if (const char quote = words.back().open_quote; quote != '\0')
    throw UsageError("a quote ({}) is not closed", quote);
  const std::vector<const Test*> tests = select_tests(std::array{words.front().text});
  if (tests.size() != 1) throw UsageError("one test makes a background");
  const Test& test = *tests.front();
  if (test.pattern == Pattern::control) throw UsageError("{} has no traffic", test.name);
  Background background{.text = std::string(test.name), .label = std::string(test.name)};
  std::vector<GivenAxis> given;
  for (words = words.subspan(1); !words.empty();) {
    given.push_back(read_axis(words));
    const GivenAxis& last = given.back();
    if (std::ranges::count(given, last.axis, &GivenAxis::axis) > 1)
      throw UsageError("--{} is there twice", last.option());
    background.text += fmt::format(" --{} {}", last.option(), last.values.front());
    background.label += fmt::format(",{}:{}", last.option(), last.values.front());
  }
  background.test_case = background_case(test, given);
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
      throw UsageError("--background '{}': {}", printable(text), error.what());
    }
    const auto is_same = [&](const auto& other) { return other->text == backgrounds.back()->text; };
    if (std::ranges::count_if(backgrounds, is_same) > 1)
      throw UsageError("--background '{}' is there twice", backgrounds.back()->text);
  }
  return backgrounds;
}

namespace {

constexpr std::size_t kMaxPlanBytes = 16U << 20;

/// Parts of a dotted key. A plan has two ("axes.size"); toml++ recurses once for each, and bounds
/// values alone.
constexpr std::size_t kMaxKeyParts = 16;

/// Behind the text whose first quote stands at `at`: one of one line, or of several between three
/// quotes. Only double quotes know escapes.
std::size_t end_of_text(std::string_view toml, std::size_t at) {
  const char quote = toml[at];
  const std::string three(3, quote);
  const bool several = toml.substr(at).starts_with(three);
  const std::string_view end = several ? std::string_view(three) : toml.substr(at, 1);
  for (at += end.size(); at < toml.size(); ++at) {
    if (toml[at] == '\n' && !several) return at;
    if (toml[at] == '\\' && quote == '"')
      ++at;
    else if (toml.substr(at).starts_with(end)) {
      at += end.size();
      // Up to two quotes before the three that end it are its own.
      for (int own = 0; several && own < 2 && at < toml.size() && toml[at] == quote; ++own) ++at;
      return at;
    }
  }
  return at;
}

/// The line of the first key of too many parts, found without a parser: dots between two of the
/// characters that end a key, outside of texts and comments. 0: there is none.
std::size_t line_of_long_key(std::string_view toml) {
  constexpr std::string_view kEnds = "\n=,[]{}";
  std::size_t parts = 1;
  for (std::size_t at = 0; at < toml.size(); ++at) {
    const char c = toml[at];
    if (c == '"' || c == '\'') {
      at = end_of_text(toml, at) - 1;
      continue;
    }
    if (c == '#') at = std::min(toml.find('\n', at), toml.size() - 1);
    if (c == '.')
      ++parts;
    else if (kEnds.find(toml[at]) != kEnds.npos)
      parts = 1;
    if (parts > kMaxKeyParts)
      return 1 + static_cast<std::size_t>(std::ranges::count(toml.substr(0, at), '\n'));
  }
  return 0;
}

/// Reads one file; every refusal names the line.
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  Plan read() {
    const toml::table table = parse();
    check_keys(table,
               std::vector<std::string_view>{"repetitions", "until", "budget", "gates",
                                             "background", "axes", "tests", "suite"},
               "a plan");
    Plan plan;
    const auto at = [&](const char* key, auto read) {
      if (const toml::node* node = table.get(key)) within(*node, [&] { read(*node); });
    };
    at("axes", [&](const toml::node& node) { plan.given = read_axes(node); });
    at("repetitions", [&](const toml::node& node) { plan.repetitions = read_repetitions(node); });
    at("until", [&](const toml::node& node) { plan.goals = read_until(text_of(node, "until")); });
    at("budget",
       [&](const toml::node& node) { plan.budget_ns = read_budget(values_text(node, "budget")); });
    at("gates", [&](const toml::node& node) {
      plan.gates = texts_of(node, "a gate");
      for (const std::string& gate : plan.gates) require_gate(gate);
    });
    at("background", [&](const toml::node& node) {
      plan.backgrounds = read_backgrounds(texts_of(node, "a background"));
    });
    at("tests", [&](const toml::node& node) {
      plan.suites.push_back({read_tests(node), plan.given});
    });
    at("suite", [&](const toml::node& node) { read_suites(node, plan); });
    if (plan.suites.empty())
      throw UsageError(
          "{}: names no test: give tests = [\"write_lat\"], or [[suite]] with its own tests",
          path_);
    return plan;
  }

 private:
  struct Refusal : UsageError {  // has its place
    using UsageError::UsageError;
  };

  [[noreturn]] void refuse(const toml::node& node, const std::string& why) const {
    throw Refusal("{}: line {}: {}", path_, node.source().begin.line, printable(why));
  }

  toml::table parse() const {
    const std::string text = read_input(path_, {.max_bytes = kMaxPlanBytes});
    if (const std::size_t line = line_of_long_key(text); line != 0)
      throw UsageError("{}: line {}: a key has more than {} parts (dots)", path_, line,
                       kMaxKeyParts);
    try {
      return toml::parse(text, path_);
    } catch (const toml::parse_error& error) {
      throw UsageError("{}: line {}: is not TOML: {}", path_, error.source().begin.line,
                       error.description());
    }
  }

  void check_keys(const toml::table& table, std::span<const std::string_view> known,
                  const char* what) const {
    for (const auto& [key, value] : table)
      if (std::ranges::find(known, key.str()) == known.end())
        throw Refusal("{}: line {}: {} has no key '{}'{} (keys: {})", path_,
                      key.source().begin.line, what, printable(key.str()),
                      did_you_mean(key.str(), known), fmt::join(known, ", "));
  }

  const toml::table& table_of(const toml::node& node, const char* what) const {
    if (const toml::table* table = node.as_table()) return *table;
    refuse(node, fmt::format("{} is not a table", what));
  }

  std::string text_of(const toml::node& node, const char* what) const {
    if (const auto text = node.value_exact<std::string>()) return *text;
    refuse(node, fmt::format("{} is not a text in quotes", what));
  }

  std::vector<std::string> texts_of(const toml::node& node, const char* what) const {
    std::vector<std::string> texts;
    if (const toml::array* list = node.as_array())
      for (const toml::node& each : *list) texts.push_back(text_of(each, what));
    else
      texts.push_back(text_of(node, what));
    return texts;
  }

  std::uint64_t read_repetitions(const toml::node& node) const {
    const auto number = node.value_exact<std::int64_t>();
    if (!number || *number < 1 || static_cast<std::uint64_t>(*number) > kMaxRepetitions)
      refuse(node, fmt::format("repetitions takes a whole number from 1 to {}", kMaxRepetitions));
    return static_cast<std::uint64_t>(*number);
  }

  std::vector<const Test*> read_tests(const toml::node& node) const {
    const std::vector<std::string> names = texts_of(node, "a test");
    if (names.empty()) refuse(node, "tests is empty");
    return within(node, [&] { return select_tests(names); });
  }

  /// As the command line takes it: "2..4K", 64, true, or a list of these.
  std::string values_text(const toml::node& node, std::string_view key) const {
    if (const toml::array* list = node.as_array(); list != nullptr && !list->empty()) {
      std::string text;
      for (const toml::node& each : *list) add_item(text, values_text(each, key), ",");
      return text;
    }
    if (const auto text = node.value_exact<std::string>()) return *text;
    if (const auto number = node.value_exact<std::int64_t>()) return std::to_string(*number);
    if (const auto flag = node.value_exact<bool>()) return *flag ? "on" : "off";
    if (const auto seconds = node.value_exact<double>()) return fmt::format("{}", *seconds);
    refuse(node, fmt::format("{} takes a text, a number, true or false, or a list of these", key));
  }

  std::vector<GivenAxis> read_axes(const toml::node& node) const {
    const toml::table& table = table_of(node, "axes");
    check_keys(table, mapped(axes(), &Axis::option), "axes");
    std::vector<GivenAxis> given;
    for (const Axis& axis : axes())
      if (const toml::node* value = table.get(axis.option))
        given.push_back({&axis, within(*value, [&] {
                           return read_axis_list(axis, values_text(*value, axis.option));
                         })});
    return given;
  }

  void read_suites(const toml::node& node, Plan& plan) const {
    const toml::array* list = node.as_array();
    if (list == nullptr) refuse(node, "suite is a list of tables: [[suite]]");
    for (const toml::node& each : *list) {
      const toml::table& table = table_of(each, "suite");
      check_keys(table, std::vector<std::string_view>{"tests", "axes"}, "a suite");
      const toml::node* tests = table.get("tests");
      if (tests == nullptr) refuse(each, "the suite names no tests");
      const toml::node* axes = table.get("axes");
      plan.suites.push_back({read_tests(*tests), axes == nullptr
                                                     ? plan.given
                                                     : overlaid(plan.given, read_axes(*axes))});
    }
  }

  /// What others refuse, with the place that it stands at.
  template <class Read>
  auto within(const toml::node& node, Read read) const -> decltype(read()) {
    try {
      return read();
    } catch (const Refusal&) {
      throw;
    } catch (const UsageError& error) {
      refuse(node, error.what());
    }
  }

  std::string path_;
};

bool rules_out(std::string_view option, std::string_view other) {
  return option == other || (option == "duration" && other == "iterations") ||
         (option == "iterations" && other == "duration");
}

}  // namespace

Plan read_plan(const std::string& path) {
  return Reader(path).read();
}

std::vector<GivenAxis> overlaid(std::vector<GivenAxis> under, const std::vector<GivenAxis>& over) {
  for (const GivenAxis& axis : over) {
    std::erase_if(under, [&](const GivenAxis& each) {
      return rules_out(axis.axis->option, each.axis->option);
    });
  }
  under.insert(under.end(), over.begin(), over.end());
  return under;
}

std::vector<PlannedCase> plan_cases(const std::vector<Suite>& suites) {
  std::vector<PlannedCase> cases;
  std::unordered_set<std::string> seen;
  for (const Suite& suite : suites) {
    std::vector<PlannedCase> more = plan_cases(suite.tests, suite.given);
    for (PlannedCase& planned : more) {
      if (!seen.insert(case_json(planned.test_case).dump()).second)
        throw UsageError("two suites measure the same case: {}", planned.name);
      if (cases.size() == kMaxCases)
        throw UsageError("the suites make more than {} cases together", kMaxCases);
      cases.push_back(std::move(planned));
    }
  }
  for (const Suite& suite : suites) refuse_unused(suite.given, cases);
  return cases;
}

}  // namespace rdmameter
