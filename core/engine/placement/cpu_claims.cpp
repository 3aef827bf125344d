// SPDX-License-Identifier: Apache-2.0
#include "core/engine/placement/cpu_claims.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace rdmameter {

std::optional<CpuClaim> CpuClaims::claim(unsigned cpu) const {
  Descriptor name{socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  const std::string text = fmt::format("{}{}", prefix_, cpu);
  sockaddr_un address{};
  if (!name || text.size() + 1 > sizeof address.sun_path) return std::nullopt;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, text.data(), text.size());  // behind a zero: abstract
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  if (bind(name.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
    return std::nullopt;
  return CpuClaim{cpu, std::move(name)};
}

std::vector<CpuClaim> CpuClaims::take(std::span<const unsigned> cpus, std::size_t count) {
  std::vector<unsigned> order(cpus.begin(), cpus.end());
  const auto taken_before = [this](unsigned cpu) {
    return std::ranges::find(last_, cpu) != last_.end();
  };
  std::stable_partition(order.begin(), order.end(), taken_before);
  std::vector<CpuClaim> taken;
  for (const unsigned cpu : order) {
    if (taken.size() == count) break;
    if (auto one = claim(cpu)) taken.push_back(std::move(*one));
  }
  if (taken.size() < count) return {};
  std::ranges::sort(taken, {},
                    [&](const CpuClaim& each) { return std::ranges::find(cpus, each.cpu); });
  last_.clear();
  for (const CpuClaim& each : taken) last_.push_back(each.cpu);
  return taken;
}

std::vector<CpuClaim> CpuClaims::mark(std::span<const unsigned> cpus) const {
  std::vector<CpuClaim> taken;
  for (const unsigned cpu : cpus)
    if (auto one = claim(cpu)) taken.push_back(std::move(*one));
  return taken;
}

}  // namespace rdmameter
