// SPDX-License-Identifier: Apache-2.0
#include "bench/cases.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/axis_list.h"
#include "core/error.h"

namespace rdmameter {
namespace {

const GivenAxis* find_given(std::span<const GivenAxis> given, const Axis& axis) {
  const auto found = std::ranges::find(given, &axis, &GivenAxis::axis);
  return found == given.end() ? nullptr : &*found;
}

/// Walks the axes in the table's order, so that whether one applies is known from those before it.
class Expansion {
 public:
  explicit Expansion(std::span<const GivenAxis> given) : given_(given) {}

  void add(std::string_view name, const Case& with_defaults) {
    test_ = name;
    walk(with_defaults, "", 0);
  }

  std::vector<PlannedCase> take() { return std::move(cases_); }

 private:
  void walk(const Case& so_far, const std::string& keys, std::size_t index) {
    if (index == axes().size()) return keep(so_far, keys);
    const Axis& axis = axes()[index];
    const GivenAxis* values = find_given(given_, axis);
    if (values == nullptr || !axis.applies(so_far)) return walk(so_far, keys, index + 1);
    for (const std::string& value : values->values) {
      Case next = so_far;
      set_axis(next, axis, value);
      const bool is_transport = axis.option == "transport";  // has a place of its own in the name
      walk(next, is_transport ? keys : fmt::format("{}/{}:{}", keys, axis.option, value),
           index + 1);
    }
  }

  /// Defaults give way to what was given, so that a sweep of one axis needs no other: a deep enough
  /// queue for the signaling and lists asked for (twice signal_every keeps it busy), or else more
  /// signals.
  void fit_defaults(Case& made) const {
    if (made.shape() != Pattern::bandwidth) return;
    const std::uint64_t need = made.signal_every - 1 + made.post_list;
    if (made.depth >= need) return;
    if (!is_given("depth"))
      made.depth = 2 * std::max(made.signal_every, made.post_list);
    else if (!is_given("signal-every") && made.depth >= made.post_list)
      made.signal_every =
          std::clamp<std::uint64_t>(made.depth / 2, 1, made.depth - made.post_list + 1);
  }

  bool is_given(std::string_view option) const {
    return find_given(given_, *find_axis(option)) != nullptr;
  }

  void keep(Case one_case, const std::string& keys) {
    fit_defaults(one_case);
    if (cases_.size() == kMostCases)
      throw UsageError(fmt::format(
          "these tests and axes make more than {} cases: give shorter lists, or run them in parts",
          kMostCases));
    const std::string transport = transport_text(one_case);
    const std::string over = transport.empty() ? transport : "/" + transport;
    cases_.push_back(
        {one_case, fmt::format("{}{}{}", test_, over, keys), why_impossible(one_case)});
  }

  std::span<const GivenAxis> given_;
  std::string_view test_;
  std::vector<PlannedCase> cases_;
};

}  // namespace

std::vector<PlannedCase> plan_cases(std::span<const Test* const> tests,
                                    std::span<const GivenAxis> given) {
  if (find_given(given, *find_axis("iterations")) != nullptr &&
      find_given(given, *find_axis("duration")) != nullptr)
    throw UsageError("--iterations and --duration: give one, it says when a measurement ends");
  Expansion expansion(given);
  for (const Test* test : tests) expansion.add(test->name, test->default_case());
  return expansion.take();
}

std::vector<PlannedCase> plan_topologies(std::span<const std::string> graphs,
                                         std::span<const GivenAxis> given) {
  Expansion expansion(given);
  for (const std::string& graph : graphs) {
    Case made = default_topology_case();
    set_axis(made, *find_axis("graph"), graph);
    expansion.add(graph, made);
  }
  return expansion.take();
}

}  // namespace rdmameter
