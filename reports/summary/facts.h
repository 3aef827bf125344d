// SPDX-License-Identifier: Apache-2.0
// What a result's JSON holds, whatever it is: nothing here throws.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/lists.h"
#include "core/result/row.h"

namespace rdmameter {

/// "2024-01-02T03:04:05+01:00" (ISO 8601, as `context.date` has it; "Z" or no zone: UTC) in seconds
/// since 1970; nothing where it is no such date.
std::optional<std::int64_t> epoch_seconds(const std::string& date);

/// The value in a JSON under a key, or a path of keys ("/rdmameter/ranks"); null: there is none.
const Json& fact_at(const Json& json, std::string_view where);

// Likewise, of one type; else "", nothing, 0, an empty list.
std::string text_at(const Json& json, std::string_view where);
std::optional<double> number_at(const Json& json, std::string_view where);
std::uint64_t count_at(const Json& json, std::string_view where);
const Json& list_at(const Json& json, std::string_view where);

/// A value without its unit, printable; nothing for null.
std::string value_text(const Json& value);

/// The test and the transport that the name's first two parts and `case` tell.
std::string test_of(const Row& row);
std::string transport_of(const Row& row);

/// The value of a key in a list that is in the order in which keys came; an empty one of a new key.
template <class Key, class Value>
Value& entry_of(std::vector<std::pair<Key, Value>>& list, const Key& key) {
  const auto found = std::ranges::find_if(list, [&](const auto& one) { return one.first == key; });
  return found == list.end() ? list.emplace_back(key, Value()).second : found->second;
}

}  // namespace rdmameter
