// SPDX-License-Identifier: Apache-2.0
// Numbers as people type them. Whole text or nothing: what is not understood to the last character
// is refused (perftest reads `8k` as 8 and `1G` as 1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace rdmameter {

/// The parts between separators, each of which is one character of `separators`; of an empty text
/// one empty part.
std::vector<std::string_view> split(std::string_view text, std::string_view separators);

/// Digits of the base and nothing else; empty on anything else and beyond 64 bits.
std::optional<std::uint64_t> parse_count(std::string_view text, int base = 10);

/// A decimal number, and what stands behind it, which is the caller's to judge; NaN: the text
/// begins with none, or with one that is beyond a double.
std::pair<double, std::string_view> number_and_unit(std::string_view text);

/// 0x and one to four hexadecimal digits; empty on anything else.
std::optional<std::uint64_t> parse_hex(std::string_view text);

/// The value as parse_hex() reads it: "0x8001".
std::string hex_text(std::uint64_t value);

/// A count of bytes, K, M, G or KiB, MiB, GiB (any letter case) meaning 2^10, 2^20, 2^30.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// A decimal number of seconds, or of what its suffix ns, us, ms or s (any letter case) says.
/// @return [ns]; empty too where the number is finer than a nanosecond
std::optional<std::uint64_t> parse_seconds_ns(std::string_view text);

/// Marks a rate that is one of bits: what parse_rate() returns for "10Gb/s".
inline constexpr std::uint64_t kBitRate = 1ULL << 63;

/// A decimal number of messages per second, k and M meaning 10^3 and 10^6; or of bits per second
/// with kb/s, Mb/s or Gb/s, which are 1000-based, too (any letter case).
/// @return [1/s], or kBitRate | [bit/s]; empty too beyond 10^9 messages or 10^13 bits, for 0, and
///         where the number is no whole one
std::optional<std::uint64_t> parse_rate(std::string_view text);

/// The rate as parse_rate() reads it, in the largest unit that holds it exactly:
/// "20k", "1500", "10Gb/s".
std::string rate_text(std::uint64_t rate);

/// The value in the largest unit that holds it exactly: "8K", "1000", "2G".
std::string bytes_text(std::uint64_t bytes);

/// The value in the largest unit that holds it exactly: "2s", "1500ms".
std::string seconds_text(std::uint64_t value_ns);

/// The error for a value that was refused: "invalid value '8kk' for --size: expected bytes from
/// 1 to 2G".
/// @param option    with its dashes
/// @param text      as it was given; long ones are cut
/// @param expected  what the option accepts
UsageError invalid_value(std::string_view option, std::string_view text, std::string_view expected);

/// A hint for a number with a comma, such as "0,5us": "; a decimal point is a point: 0.5us". Empty
/// for any other text.
std::string decimal_comma_hint(std::string_view text);

/// An option's whole number. @param option  with its dashes @throws UsageError
std::uint64_t read_count(std::string_view option, std::string_view text, std::uint64_t min,
                         std::uint64_t max);

/// An option's time. @param option  with its dashes @return [ns] @throws UsageError
std::uint64_t read_seconds_ns(std::string_view option, std::string_view text,
                              std::uint64_t least_ns, std::uint64_t most_ns);

}  // namespace rdmameter
