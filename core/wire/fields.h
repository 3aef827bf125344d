// SPDX-License-Identifier: Apache-2.0
// Fields of a message, taken out with their types and ranges checked: what comes from a peer passes
// here once and is trusted afterwards. Texts name the key and what it takes; they repeat nothing
// that the peer wrote, for they end up on terminals and in result files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rdmameter {

/// Each throws MeasurementError when `message` is no object, the key is missing, the type another
/// or the value out of range. Keys are ours and short; string lengths are in bytes of UTF-8.

/// @return  the value in [least, most]; 1.0 and "1" are no whole numbers here
std::uint64_t require_uint(const nlohmann::json& message, std::string_view key, std::uint64_t min,
                           std::uint64_t max);

/// The same, in the type that is to hold it.
template <class Integer>
Integer require_uint_as(const nlohmann::json& message, std::string_view key, Integer min = 0,
                        Integer max = std::numeric_limits<Integer>::max()) {
  static_assert(std::numeric_limits<Integer>::is_integer &&
                !std::numeric_limits<Integer>::is_signed);
  return static_cast<Integer>(require_uint(message, key, min, max));
}

bool require_bool(const nlohmann::json& message, std::string_view key);

/// One line of printable text (core/base/printable.h): no newline or tab either, with which a peer
/// would write lines of its own into a log.
std::string require_string(const nlohmann::json& message, std::string_view key,
                           std::size_t max_bytes, std::size_t min_bytes = 0);

/// Facts of the peer's for people to read, whatever they are: all texts and keys made printable.
nlohmann::ordered_json printable_json(const nlohmann::json& facts);

/// Borrowed from `message`, which therefore is no temporary.
const nlohmann::json& require_array(const nlohmann::json& message, std::string_view key,
                                    std::size_t max_elements, std::size_t min_elements = 0);

const nlohmann::json& require_object(const nlohmann::json& message, std::string_view key);
const nlohmann::json& require_array(nlohmann::json&&, std::string_view, std::size_t,
                                    std::size_t = 0) = delete;
const nlohmann::json& require_object(nlohmann::json&&, std::string_view) = delete;

}  // namespace rdmameter
