// SPDX-License-Identifier: Apache-2.0
// Texts and dates of a result's context.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace rdmameter {

/// "2024-01-02T03:04:05+01:00" (ISO 8601, as `context.date` has it; "Z" or no zone: UTC) in seconds
/// since 1970; nothing where it is no such date.
std::optional<std::int64_t> epoch_seconds(const std::string& date);

/// The text under a key; "" where there is none.
std::string text_at(const nlohmann::ordered_json& object, const std::string& key);

}  // namespace rdmameter
