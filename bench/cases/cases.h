// SPDX-License-Identifier: Apache-2.0
// Tests that people name, times axes: the cases of a run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/test_case/catalog.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

// The values of one axis, as people list them.

/// More values than this on one axis, or cases in a cross product, are a mistake.
inline constexpr std::size_t kMaxCases = 100'000;

/// Reads "64", "1,4,16", "2..8M" (doubles from 2 and always includes 8M), "0..10:2" (in steps of
/// 2), and any of these between commas. Numbers only have ranges.
/// @return  each value as set_axis() takes it, in one spelling, without repetitions, in
///          the order given
/// @throws UsageError naming the option and what it accepts
std::vector<std::string> read_axis_list(const Axis& axis, std::string_view list);

/// An axis for which values were given.
struct GivenAxis {
  const Axis* axis;
  std::vector<std::string> values;  ///< as read_axis_list() returns them

  std::string_view option() const { return axis->option; }
};

/// The axis of this option; null: it is not given.
const GivenAxis* find_given(std::span<const GivenAxis> given, std::string_view option);

/// Someone else's load: traffic that goes on beside a case while that is measured.
struct Background {
  std::string text;    ///< "write_bw --size 64K --qps 4": as people type it, in one spelling
  std::string label;   ///< "write_bw,size:64K,qps:4": in names of cases
  TestCase test_case;  ///< goes on until interrupted
};

struct PlannedCase {
  TestCase test_case;
  std::string name;                    ///< test/transport/option:value... for the axes given
  std::string why_skipped;             ///< empty: it can be tried
  std::vector<std::string_view> used;  ///< options of the given axes that it has
  std::string host;                    ///< of --hosts: where; empty: there is only one place
  std::string beside;  ///< of --background: Background::text, or kNoBackground; empty: not asked
  std::shared_ptr<const Background> background;  ///< null: it is alone
};

/// The cross product, first axis slowest. An axis without meaning for a test (its depth, for a
/// latency) makes one case without that key; what cannot be done is there with its reason.
/// @throws UsageError where there are more than kMaxCases, or both iterations and
/// duration are given
std::vector<PlannedCase> plan_cases(std::span<const Test* const> tests,
                                    std::span<const GivenAxis> given);

/// Values that make one case of a test.
class ChosenAxes {
 public:
  /// @throws UsageError  as read_axis_list()
  void set(std::string_view option, std::string_view value);
  void set(std::string_view option, std::uint64_t value) { set(option, std::to_string(value)); }
  void add(std::span<const GivenAxis> more) {
    given_.insert(given_.end(), more.begin(), more.end());
  }
  /// @param test  its name in the catalog
  PlannedCase plan(std::string_view test) const;

 private:
  std::vector<GivenAxis> given_;
};

/// Plans the cases of topologies, whose names begin with the graph's. What their own rules say
/// (why_no_topology) is not looked at.
/// @throws UsageError  too many, or an axis is given that none of them has
std::vector<PlannedCase> plan_topologies(std::span<const std::string> graphs,
                                         std::span<const GivenAxis> given);

/// All cases at the first host, then all at the second...; their names end with `host:NAME`.
/// @throws UsageError  too many
std::vector<PlannedCase> at_each_host(std::span<const PlannedCase> cases,
                                      std::span<const std::string> hosts);

inline constexpr const char* kNoBackground = "none";

/// Each case alone, then beside each of these; their names end with `background:LABEL`.
/// @throws UsageError  too many
std::vector<PlannedCase> at_each_background(
    std::span<const PlannedCase> cases,
    std::span<const std::shared_ptr<const Background>> backgrounds);

/// An axis that no case has would silently change nothing.
/// @throws UsageError  naming it and what has it
void refuse_unused(std::span<const GivenAxis> given, std::span<const PlannedCase> cases);

// Which tests of the catalog people name.

/// Is this text a test's name, `all`, or a glob that matches one?
bool names_test(std::string_view text);

/// The tests that the texts name, each once, in the order of the texts.
/// @throws UsageError for one that names none, with the nearest that does
std::vector<const Test*> select_tests(std::span<const std::string> texts);

/// `run --list`: a line per test.
std::string catalog_text();

}  // namespace rdmameter
