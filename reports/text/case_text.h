// SPDX-License-Identifier: Apache-2.0
// Cases in words.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/summary/summary.h"
#include "reports/text/text.h"

namespace rdmameter {

struct NameAndUnit {
  std::string name, unit;
};

/// "size_bytes" is a size in B, "duration_ns" a duration in ns.
NameAndUnit split_key(const std::string& key);

/// A value without its unit; nothing for null.
std::string value_text(const nlohmann::ordered_json& value);

/// "size 64 B, depth 1": the values of these keys in a case.
std::string case_text(const nlohmann::ordered_json& case_object,
                      const std::vector<std::string>& keys);

/// "half round trip", "round trip" or "completion latency"; empty: no case has a latency.
std::string latency_title(const Group& group);

/// What all cases of the group have in common: test, transport, constant axes, facts of the rows.
std::string group_heading(const Group& group, const TextStyle& style);

}  // namespace rdmameter
