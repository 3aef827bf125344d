// SPDX-License-Identifier: Apache-2.0
// Cases in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/summary/defaults.h"
#include "reports/summary/summary.h"
#include "reports/text/text.h"

namespace rdmameter {

struct NameAndUnit {
  std::string name, unit;
};

/// "size_bytes" is a size in B, "duration_ns" a duration in ns.
NameAndUnit split_key(const std::string& key);

/// "size 64 B, depth 1": the values of these keys in a case.
std::string case_text(const Json& case_object, const std::vector<std::string>& keys);

/// "send_lat rc, size 64 B": a case among those that differ in these axes.
/// @param told  an axis that is told elsewhere
std::string name_among(std::vector<std::string> varying, const CaseSummary& summary,
                       std::string_view told = "");

/// "half round trip", "completion latency", "response, from due time"...; empty: no case
/// has a latency.
std::string latency_title(const Group& group);

/// "bandwidth", or what the group's latencies are: those of one kind share a table.
std::string kind_of(const Group& group);

/// Do the lines of both ends say what the axis came to?
bool shown_with_environment(std::string_view key);

/// A text about what all cases of a group, which may be joined, have in common.
struct Common {
  std::vector<std::string> settings;  ///< "depth 64": constant axes
  std::vector<std::string> facts;     ///< "path same_device": of the rows beside the measurement

  /// "depth 64, path same_device": without what `known` has
  std::string text(const Common& known = {}) const;
};

/// @param defaults  axes at these are left out, and device, port and GID; null: nothing is
Common common_of(const Group& group, const Defaults* defaults);

/// Test and transport where there is one, kind of numbers; beneath it the facts.
/// @param facts  what the cases have in common; empty: nothing to tell
std::string group_heading(const Group& group, const std::string& facts, const TextStyle& style);

}  // namespace rdmameter
