// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/cases/axis_list.h"
#include "core/base/error.h"
#include "topologies/axes/rank_axes.h"

namespace rdmameter {
namespace {

const GivenAxis* find_given(std::span<const GivenAxis> given, std::string_view option) {
  const auto found = std::ranges::find(given, option, &GivenAxis::option);
  return found == given.end() ? nullptr : &*found;
}

UsageError too_many() {
  return UsageError(fmt::format(
      "these tests and axes make more than {} cases: give shorter lists, or run them in parts",
      kMaxCases));
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
    const std::uint64_t need = test_case.queues.signal_every - 1 + test_case.queues.post_list;
    if (test_case.queues.depth >= need) return;
    if (!is_given("depth"))
      test_case.queues.depth =
          2 * std::max(test_case.queues.signal_every, test_case.queues.post_list);
    else if (!is_given("signal-every") && test_case.queues.depth >= test_case.queues.post_list)
      test_case.queues.signal_every = std::clamp<std::uint64_t>(
          test_case.queues.depth / 2, 1, test_case.queues.depth - test_case.queues.post_list + 1);
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
      throw UsageError(fmt::format("--{} does not apply to any selected test{}", one.option(),
                                   where_it_has(*one.axis, cases)));
}

}  // namespace rdmameter
