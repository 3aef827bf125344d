// SPDX-License-Identifier: Apache-2.0
// Numbers as people type them. Whole text or nothing: what is not understood to the last character
// is refused (perftest reads `8k` as 8 and `1G` as 1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rdmameter {

/// Decimal digits and nothing else; empty on anything else and beyond 64 bits.
std::optional<std::uint64_t> parse_count(std::string_view text);

/// A count of bytes, K, M, G or KiB, MiB, GiB (any letter case) meaning 2^10, 2^20, 2^30.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// A decimal number of seconds, or of what its suffix ns, us, ms or s (any letter case) says.
/// @return [ns]; empty too where the number is finer than a nanosecond
std::optional<std::uint64_t> parse_seconds_ns(std::string_view text);

/// The value in the largest unit that holds it exactly: "8K", "1000", "2G".
std::string bytes_text(std::uint64_t bytes);

/// The value in the largest unit that holds it exactly: "2s", "1500ms".
std::string seconds_text(std::uint64_t value_ns);

}  // namespace rdmameter
