// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/wire/torn_writes.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/software_device/device/personality.h"
#include "tests/software_device/device/settings.h"
#include "tests/software_device/segment/process.h"
#include "tests/software_device/wire/port.h"

namespace rdmameter::software {
namespace {

constexpr std::size_t kLastWord = 8;  // with which transfer() ends

struct HeldBack {
  std::vector<std::byte> bytes;
  Pieces to;
};
struct TornWrites {
  std::mutex mutex;
  std::map<std::uint32_t, HeldBack> by_qpn;
};

/// Never destroyed: it is used until the process ends.
TornWrites& torn_writes() {
  static auto* const made = new TornWrites;
  return *made;
}

void land_earlier(std::uint32_t qpn) {
  TornWrites& torn = torn_writes();
  const std::lock_guard locked(torn.mutex);
  if (const auto earlier = torn.by_qpn.extract(qpn); !earlier.empty()) {
    const auto& [bytes, to] = earlier.mapped();
    transfer(Pieces::here(bytes.data(), bytes.size()), to);
  }
}

}  // namespace

Moved transfer_write(SharedQp& qp, const SharedQp& peer, const Pieces& from, const Pieces& to) {
  const double share = settings().wire.path(qp.device, peer.device).torn;
  if (share == 0) return transfer(from, to.with_last_word_apart());
  land_earlier(qp.qpn);
  const std::size_t packet = bytes_of(personality(qp.device).active_mtu);
  if (from.bytes() <= packet + kLastWord || !strikes(qp, share))
    return transfer(from, to.with_last_word_apart());
  const std::size_t before_last = from.bytes() - kLastWord;
  HeldBack middle{.bytes = std::vector<std::byte>(before_last - packet),
                  .to = to.first(before_last).without_first(packet)};
  const Moved taken = transfer(from.first(before_last).without_first(packet),
                               Pieces::here(middle.bytes.data(), middle.bytes.size()));
  if (taken != Moved::all) return taken;
  if (const Moved begun = transfer(from.first(packet), to.first(packet)); begun != Moved::all)
    return begun;
  TornWrites& torn = torn_writes();
  const std::lock_guard locked(torn.mutex);
  torn.by_qpn.insert_or_assign(qp.qpn, std::move(middle));
  return transfer(from.without_first(before_last), to.without_first(before_last));
}

void forget_torn_write(std::uint32_t qpn) {
  TornWrites& torn = torn_writes();
  const std::lock_guard locked(torn.mutex);
  torn.by_qpn.erase(qpn);
}

}  // namespace rdmameter::software
