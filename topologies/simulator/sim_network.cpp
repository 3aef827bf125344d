// SPDX-License-Identifier: Apache-2.0
#include "topologies/simulator/sim_network.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "topologies/axes/rank_axes.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kMaxDelay_ns = 1'000'000'000;

/// The parts of "key:value,key:value", each to be taken once.
class NetworkText {
 public:
  explicit NetworkText(std::string_view text) : text_(text) {
    for (const std::string_view part : split(text, ",")) {
      const std::size_t colon = part.find(':');
      if (colon == part.npos) refuse("a part has no value");
      const std::string key(part.substr(0, colon));
      if (!parts_.try_emplace(key, part.substr(colon + 1)).second) refuse(key + " is there twice");
    }
  }

  std::optional<std::uint64_t> delay_ps(const std::string& key) {
    const auto value = take(key);
    if (!value) return std::nullopt;
    const auto ns = parse_seconds_ns(*value);
    if (!ns || *ns > kMaxDelay_ns) refuse(fmt::format("{} is at most 1s", key));
    return *ns * kPsPerNs;
  }

  std::optional<double> ps_per_byte(const std::string& key) {
    constexpr double kBitsPs = 8e12;  // of a byte at 1 bit/s
    const auto value = take(key);
    if (!value) return std::nullopt;
    const auto rate = parse_rate(*value);
    if (!rate || (*rate & kBitRate) == 0) refuse(fmt::format("{} is one of bits", key));
    return kBitsPs / real(*rate & ~kBitRate);
  }

  std::optional<Rank> ranks(const std::string& key) {
    const auto value = take(key);
    if (!value) return std::nullopt;
    const auto count = parse_count(*value);
    if (!count || *count == 0 || *count > kMaxTopologyRanks)
      refuse(fmt::format("{} is from 1 to {}", key, kMaxTopologyRanks));
    return static_cast<Rank>(*count);
  }

  void end() const {
    if (!parts_.empty()) refuse(fmt::format("{} is not known", parts_.begin()->first));
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw UsageError("--simulate {}: {}; it takes {}", text_, why, kNetworkForm);
  }

 private:
  std::optional<std::string> take(const std::string& key) {
    auto part = parts_.extract(key);
    return part ? std::optional(std::move(part.mapped())) : std::nullopt;
  }

  const std::string_view text_;
  std::map<std::string, std::string> parts_;
};

}  // namespace

SimNetwork read_network(std::string_view text) {
  constexpr double kUsualPsPerByte = 80;  // 100 Gb/s
  NetworkText parts(text);
  SimNetwork network;
  network.path(SimKind::other_host).ps_per_byte = kUsualPsPerByte;
  for (const auto& [kind, prefix, like] : kSimKinds) {
    const auto part = [&prefix = prefix](const char* key) { return std::string(prefix) + key; };
    SimPath& path = network.path(kind) = network.path(like);
    const auto delay_ps = parts.delay_ps(part("delay"));
    if (prefix.empty() && !delay_ps) parts.refuse("the delay is missing");
    if (delay_ps) path.delay_ps = path.relay_delay_ps = *delay_ps;
    path.relay_delay_ps = parts.delay_ps(part("relay")).value_or(path.relay_delay_ps);
    path.ps_per_byte = parts.ps_per_byte(part("rate")).value_or(path.ps_per_byte);
  }
  network.ranks_per_host = parts.ranks("ranks-per-host").value_or(1);
  network.ranks_per_numa = parts.ranks("ranks-per-numa").value_or(0);
  network.numa_in_turn = parts.ranks("numa-in-turn").value_or(0);
  if (network.ranks_per_numa != 0 && network.numa_in_turn != 0)
    parts.refuse("ranks-per-numa and numa-in-turn exclude each other");
  parts.end();
  return network;
}

}  // namespace rdmameter
