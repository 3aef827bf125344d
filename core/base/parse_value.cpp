// SPDX-License-Identifier: Apache-2.0
#include "core/base/parse_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <span>

#include "core/base/printable.h"

namespace rdmameter {
namespace {

struct Unit {
  std::string_view suffix;
  std::uint64_t factor;
};

// A suffix stands before those that it ends with ("ms" before "s").
constexpr std::array kByteUnits{Unit{"kib", 1ULL << 10}, Unit{"mib", 1ULL << 20},
                                Unit{"gib", 1ULL << 30}, Unit{"k", 1ULL << 10},
                                Unit{"m", 1ULL << 20},   Unit{"g", 1ULL << 30}};
constexpr std::array kRateUnits{Unit{"k", 1'000}, Unit{"m", 1'000'000}};
constexpr std::array kBitRateUnits{Unit{"kb/s", 1'000}, Unit{"mb/s", 1'000'000},
                                   Unit{"gb/s", 1'000'000'000}};
constexpr std::array kTimeUnits{Unit{"ns", 1}, Unit{"us", 1'000}, Unit{"ms", 1'000'000},
                                Unit{"s", 1'000'000'000}};

bool ends_with_any_case(std::string_view text, std::string_view lower_suffix) {
  if (text.size() < lower_suffix.size()) return false;
  return std::equal(lower_suffix.begin(), lower_suffix.end(), text.end() - lower_suffix.size(),
                    [](char wanted, char seen) {
                      return wanted == std::tolower(static_cast<unsigned char>(seen));
                    });
}

/// Takes the unit off the end of `text`; `otherwise` where there is none.
std::uint64_t take_unit(std::string_view& text, std::span<const Unit> units,
                        std::uint64_t otherwise) {
  for (const Unit& unit : units) {
    if (!ends_with_any_case(text, unit.suffix)) continue;
    text.remove_suffix(unit.suffix.size());
    return unit.factor;
  }
  return otherwise;
}

std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// A decimal number of a unit. @return [the unit's parts]; empty too where that is no whole number
std::optional<std::uint64_t> decimal(std::string_view text, std::uint64_t unit) {
  const auto point = text.find('.');
  const auto whole = parse_count(text.substr(0, point));
  if (!whole) return std::nullopt;
  auto sum = product(*whole, unit);
  if (point == std::string_view::npos || !sum) return sum;

  std::string_view digits = text.substr(point + 1);
  while (digits.size() > 1 && digits.ends_with('0')) digits.remove_suffix(1);
  const auto fraction = parse_count(digits);
  std::optional<std::uint64_t> scale = 1;
  for (std::size_t i = 0; i < digits.size() && scale; ++i) scale = product(*scale, 10);
  if (!fraction || !scale) return std::nullopt;
  const auto scaled = product(*fraction, unit);
  if (!scaled || *scaled % *scale != 0) return std::nullopt;
  if (__builtin_add_overflow(*sum, *scaled / *scale, &*sum)) return std::nullopt;
  return sum;
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find_first_of(separators);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::uint64_t> parse_count(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::pair<double, std::string_view> number_and_unit(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return {error == std::errc() ? number : NAN,
          text.substr(static_cast<std::size_t>(end - text.data()))};
}

std::optional<std::uint64_t> parse_hex(std::string_view text) {
  constexpr std::size_t kPrefix = 2, kMostDigits = 4;
  if (text.size() <= kPrefix || text.size() > kPrefix + kMostDigits ||
      (!text.starts_with("0x") && !text.starts_with("0X")))
    return std::nullopt;
  return parse_count(text.substr(kPrefix), 16);
}

std::string hex_text(std::uint64_t value) {
  return fmt::format("{:#x}", value);
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  const std::uint64_t factor = take_unit(text, kByteUnits, 1);
  const auto count = parse_count(text);
  return count ? product(*count, factor) : std::nullopt;
}

std::optional<std::uint64_t> parse_seconds_ns(std::string_view text) {
  const std::uint64_t unit_ns = take_unit(text, kTimeUnits, 1'000'000'000);
  return decimal(text, unit_ns);
}

std::optional<std::uint64_t> parse_rate(std::string_view text) {
  if (text.ends_with("B/s") || text.ends_with("B/S")) return std::nullopt;  // bytes are no bits
  constexpr std::uint64_t kMostMessages = 1'000'000'000, kMostBits = 10'000'000'000'000;
  const std::uint64_t bit_unit = take_unit(text, kBitRateUnits, 0);
  const std::uint64_t unit = bit_unit != 0 ? bit_unit : take_unit(text, kRateUnits, 1);
  const auto rate = decimal(text, unit);
  if (!rate || *rate == 0 || *rate > (bit_unit != 0 ? kMostBits : kMostMessages))
    return std::nullopt;
  return bit_unit != 0 ? kBitRate | *rate : *rate;
}

std::string rate_text(std::uint64_t rate) {
  const bool bits = (rate & kBitRate) != 0;
  const std::uint64_t value = rate & ~kBitRate;
  constexpr std::array kBits{Unit{"Gb/s", 1'000'000'000}, Unit{"Mb/s", 1'000'000},
                             Unit{"kb/s", 1'000}};
  constexpr std::array kMessages{Unit{"M", 1'000'000}, Unit{"k", 1'000}, Unit{"", 1}};
  for (const auto& [name, factor] : bits ? kBits : kMessages)
    if (value % factor == 0) return fmt::format("{}{}", value / factor, name);
  return fmt::format("{:.3f}kb/s", static_cast<double>(value) / 1e3);
}

std::string bytes_text(std::uint64_t bytes) {
  for (const auto& [name, factor] :
       {Unit{"G", 1ULL << 30}, Unit{"M", 1ULL << 20}, Unit{"K", 1ULL << 10}})
    if (bytes != 0 && bytes % factor == 0) return fmt::format("{}{}", bytes / factor, name);
  return std::to_string(bytes);
}

std::string seconds_text(std::uint64_t value_ns) {
  for (const auto& [name, factor] :
       {Unit{"s", 1'000'000'000}, Unit{"ms", 1'000'000}, Unit{"us", 1'000}})
    if (value_ns % factor == 0) return fmt::format("{}{}", value_ns / factor, name);
  return fmt::format("{}ns", value_ns);
}

UsageError invalid_value(std::string_view option, std::string_view text,
                         std::string_view expected) {
  return UsageError("invalid value '{}' for {}: expected {}", excerpt(text), option, expected);
}

std::string decimal_comma_hint(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  const auto comma = text.find_first_not_of(kDigits);
  if (comma == 0 || comma == text.npos || text[comma] != ',' ||
      text.find_first_of(kDigits, comma) != comma + 1)
    return "";
  const std::string_view rest = text.substr(comma + 1);
  const std::string_view unit = rest.substr(std::min(rest.find_first_not_of(kDigits), rest.size()));
  if (unit.size() > 2 || unit.find(',') != unit.npos) return "";
  return fmt::format("; a decimal point is a point: {}.{}", text.substr(0, comma), printable(rest));
}

std::uint64_t read_count(std::string_view option, std::string_view text, std::uint64_t min,
                         std::uint64_t max) {
  const auto value = parse_count(text);
  if (!value || *value < min || *value > max)
    throw invalid_value(option, text, fmt::format("a whole number from {} to {}", min, max));
  return *value;
}

std::uint64_t read_seconds_ns(std::string_view option, std::string_view text,
                              std::uint64_t least_ns, std::uint64_t most_ns) {
  const auto time_ns = parse_seconds_ns(text);
  if (time_ns && *time_ns >= least_ns && *time_ns <= most_ns) return *time_ns;
  throw invalid_value(
      option, text,
      fmt::format("seconds (or a number with ns, us, ms, s) from {} to {}{}",
                  seconds_text(least_ns), seconds_text(most_ns), decimal_comma_hint(text)));
}

}  // namespace rdmameter
