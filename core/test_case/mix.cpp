// SPDX-License-Identifier: Apache-2.0
#include "core/test_case/mix.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/parse_value.h"

namespace rdmameter {
namespace {

/// "read:70" or "read:4K:70".
std::optional<MixPart> parse_part(std::string_view text) {
  const auto first = text.find(':'), last = text.rfind(':');
  if (first == std::string_view::npos) return std::nullopt;
  const auto opcode = std::ranges::find(kMixed, text.substr(0, first),
                                        [](Opcode each) { return traits(each).name; });
  const auto weight = parse_count(text.substr(last + 1));
  if (opcode == kMixed.end() || !weight || *weight == 0 || *weight > kMaxMixWeight)
    return std::nullopt;
  MixPart part{.opcode = *opcode, .weight = *weight};
  if (first == last) return part;
  const auto size = parse_bytes(text.substr(first + 1, last - first - 1));
  if (!size || *size == 0 || *size > kMaxMixSize || traits(*opcode).atomic) return std::nullopt;
  part.size_bytes = *size;
  return part;
}

}  // namespace

std::optional<std::vector<MixPart>> parse_mix(std::string_view text) {
  std::vector<MixPart> parts;
  for (const std::string_view each : split(text, ",+")) {
    const auto part = parse_part(each);
    if (!part || parts.size() == kMaxMixParts) return std::nullopt;
    const bool twice = std::ranges::any_of(parts, [&](const MixPart& other) {
      return other.opcode == part->opcode &&
             (part->opcode == Opcode::send || other.size_bytes == part->size_bytes);
    });
    if (twice) return std::nullopt;
    parts.push_back(*part);
  }
  return parts;
}

std::string mix_text(std::span<const MixPart> parts) {
  std::string text;
  for (const MixPart& part : parts) {
    const std::string size = part.size_bytes == 0 ? "" : fmt::format("{}:", part.size_bytes);
    text += fmt::format("{}{}:{}{}", text.empty() ? "" : "+", traits(part.opcode).name, size,
                        part.weight);
  }
  return text;
}

}  // namespace rdmameter
