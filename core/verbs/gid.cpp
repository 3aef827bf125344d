// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/gid.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/error.h"

namespace rdmameter {
namespace {

struct TypeNames {
  std::string_view word, spoken;  ///< of results, for people
};
/// By type.
constexpr std::array kTypes{TypeNames{"ib", "InfiniBand"}, TypeNames{"roce_v1", "RoCE v1"},
                            TypeNames{"roce_v2", "RoCE v2"}, TypeNames{"iwarp", "iWARP"}};
static_assert(kTypes.size() == static_cast<std::size_t>(GidType::iwarp) + 1);

std::string_view spoken(GidType type) {
  return kTypes[static_cast<std::size_t>(type)].spoken;
}

std::string list(std::span<const Gid> gids) {
  std::string text;
  for (const Gid& gid : gids) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} ({}, {})", gid.index, spoken(gid.type), gid_text(gid.value));
  }
  return text;
}

std::string_view address_family(const Gid& gid) {
  return is_ipv4_mapped(gid.value) ? "IPv4" : "IPv6";
}

}  // namespace

std::string_view gid_type_name(GidType type) {
  return kTypes[static_cast<std::size_t>(type)].word;
}

std::optional<GidType> gid_type_from_name(std::string_view name) {
  const auto* const found = std::ranges::find(kTypes, name, &TypeNames::word);
  return found == kTypes.end() ? std::nullopt
                               : std::optional(static_cast<GidType>(found - kTypes.begin()));
}

std::string gid_text(const ibv_gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, gid.raw, text.data(), text.size());
  return text.data();
}

std::optional<ibv_gid> gid_from_text(std::string_view text) {
  ibv_gid gid{};
  if (inet_pton(AF_INET6, std::string(text).c_str(), gid.raw) != 1) return std::nullopt;
  return gid;
}

bool is_ipv4_mapped(const ibv_gid& gid) {
  constexpr std::array<std::uint8_t, 12> kPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(gid.raw, kPrefix.data(), kPrefix.size()) == 0;
}

bool is_link_local(const ibv_gid& gid) {
  return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80;
}

std::tuple<bool, int, std::uint32_t> gid_order(const Gid& gid) {
  const int address = is_ipv4_mapped(gid.value) ? 0 : is_link_local(gid.value) ? 2 : 1;
  return {!gid.here(), (gid.type == GidType::roce_v2 ? 0 : 3) + address, gid.index};
}

Gid choose_gid(std::span<const Gid> gids, int link_layer, std::uint64_t requested,
               std::string_view where) {
  if (gids.empty())
    throw UnusableDevice("{} has no GID. {}", where,
                         link_layer == IBV_LINK_LAYER_ETHERNET
                             ? "Give its network interface an address and set it up."
                             : "Is a subnet manager running?");
  if (requested == kAuto && link_layer == IBV_LINK_LAYER_ETHERNET)
    return *std::ranges::min_element(gids, {}, gid_order);
  const std::uint64_t index = requested == kAuto ? 0 : requested;
  const auto found =
      std::ranges::find_if(gids, [index](const Gid& gid) { return gid.index == index; });
  if (found == gids.end())
    throw UsageError("--gid-index {}: {} has no such GID; it has {}", index, where, list(gids));
  return *found;
}

bool gids_match(const Gid& mine, const Gid& theirs) {
  if (mine.type != theirs.type) return false;
  const bool of_ip = mine.type == GidType::roce_v2 || mine.type == GidType::iwarp;
  return !of_ip || is_ipv4_mapped(mine.value) == is_ipv4_mapped(theirs.value);
}

std::string check_gid_match(const Gid& mine, const Gid& theirs) {
  if (gids_match(mine, theirs)) return {};
  if (mine.type != theirs.type)
    return fmt::format("The peer's GID is {} and ours {}: choose --gid-index on either end.",
                       spoken(theirs.type), spoken(mine.type));
  return fmt::format(
      "The peer's GID {} is an {} address and ours {} an {} one: choose --gid-index on either end.",
      gid_text(theirs.value), address_family(theirs), gid_text(mine.value), address_family(mine));
}

}  // namespace rdmameter
