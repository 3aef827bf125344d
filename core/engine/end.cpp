// SPDX-License-Identifier: Apache-2.0
#include "core/engine/end.h"

#include "core/base/error.h"
#include "core/engine/device/device_terms.h"
#include "core/engine/verbs_runner.h"

namespace rdmameter {
namespace {

/// @param seed  two to an endpoint: a payload's pattern takes one for each end
/// @param cpus  of its loops; empty: not pinned
Side make_side(std::span<OpenDevice* const> devices, const DeviceCase& test_case,
               std::uint64_t seed, CmWatch watch, std::span<const unsigned> cpus) {
  Side side{.runners = {},
            .devices = devices.size(),
            .sharers = test_case.role() == Role::initiator ? test_case->sharers : 1,
            .cpus = {cpus.begin(), cpus.end()}};
  for (std::uint64_t i = 0; i < devices.size() * test_case->threads; ++i) {
    const Pinned pinned = side.pinned_to_make(side.runners.size());
    auto first = std::make_unique<VerbsRunner>(*devices[i / test_case->threads],
                                               test_case.of_endpoint(i), seed + 2 * i, watch);
    const VerbsRunner& shared = *first;
    side.runners.push_back(std::move(first));
    for (std::uint32_t sharer = 1; sharer < side.sharers; ++sharer)
      side.runners.push_back(std::make_unique<VerbsRunner>(shared, sharer));
  }
  return side;
}

}  // namespace

Introductions End::introductions() const {
  Introductions ends{.forward = forward.introduction(), .backward = {}};
  if (!backward.empty()) ends.backward = backward.introduction();
  return ends;
}

std::vector<LoopPlace> End::places() const {
  std::vector<LoopPlace> places = forward.places();
  for (const LoopPlace& place : backward.places()) places.push_back(place);
  return places;
}

ConnectedEnd connect_end(End end, const DeviceCase& mine, const Introductions& peer, Wait wait) {
  const Agreed found = end.forward.connect(peer.forward);
  if (!end.backward.empty()) {
    if (!peer.backward)
      throw MeasurementError("the peer's message: the key \"backward\" is missing");
    end.backward.connect(*peer.backward);
  }
  const AgreedCase agreed{mine, end.forward.introduction(), peer.forward, found, wait};
  return {std::move(end), agreed};
}

void ConnectedEnd::establish() {
  route_mtu_bytes = forward.establish();
  backward.establish();
}

ConnectedCase ConnectedEnd::connected_case(const Introductions& peer) const {
  ConnectedCase connected{case_as_measured(), introductions(), peer};
  std::uint64_t& mtu_bytes = connected.test_case.path.mtu_bytes;
  if (mtu_bytes == 0) mtu_bytes = kAuto;
  return connected;
}

End make_verbs_end(std::span<OpenDevice* const> devices, const DeviceCase& test_case,
                   std::uint64_t seed, CmWatch watch, const Placement& placement) {
  require_reached_apart(devices, test_case);
  const std::size_t endpoints = devices.size() * test_case->threads;
  const std::size_t loops =
      endpoints * (test_case.role() == Role::initiator ? test_case->sharers : 1);
  End end{make_side(devices, test_case, seed, watch, placement.of_loops(0, loops))};
  if (test_case->bidirectional)
    end.backward = make_side(devices, test_case.backward(), seed + 2 * endpoints, watch,
                             placement.of_loops(loops, endpoints));
  return end;
}

}  // namespace rdmameter
