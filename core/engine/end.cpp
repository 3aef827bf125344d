// SPDX-License-Identifier: Apache-2.0
#include "core/engine/end.h"

#include "core/base/error.h"
#include "core/engine/device/device_terms.h"
#include "core/engine/verbs_runner.h"

namespace rdmameter {
namespace {

/// @param seed  two to an endpoint: a payload's pattern takes one for each end
/// @param cpus  of its loops; empty: not pinned
Side make_side(std::span<OpenDevice* const> devices, const TestCase& test_case, Role role,
               std::uint64_t seed, CmWatch watch, std::span<const unsigned> cpus) {
  Side side{.runners = {},
            .devices = devices.size(),
            .sharers = role == Role::initiator ? test_case.sharers : 1,
            .cpus = {cpus.begin(), cpus.end()}};
  for (std::uint64_t i = 0; i < devices.size() * test_case.threads; ++i) {
    const Pinned pinned = side.pinned_to_make(side.runners.size());
    TestCase own = test_case;
    own.path.first_qp = i * test_case.qps;
    const std::size_t device = i / test_case.threads;
    take_memory_of_device(own, device);
    auto first = std::make_unique<VerbsRunner>(*devices[device], own, role, seed + 2 * i, watch);
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

void End::connect(const Introductions& peer) {
  forward.connect(peer.forward);
  if (backward.empty()) return;
  if (!peer.backward) throw MeasurementError("the peer's message: the key \"backward\" is missing");
  backward.connect(*peer.backward);
}

void End::establish() {
  forward.establish();
  backward.establish();
}

std::vector<LoopPlace> End::places() const {
  std::vector<LoopPlace> places = forward.places();
  for (const LoopPlace& place : backward.places()) places.push_back(place);
  return places;
}

End make_verbs_end(std::span<OpenDevice* const> devices, const TestCase& test_case, Role role,
                   std::uint64_t seed, CmWatch watch, const Placement& placement) {
  require_reached_apart(devices, test_case);
  const std::size_t endpoints = devices.size() * test_case.threads;
  const std::size_t loops = endpoints * (role == Role::initiator ? test_case.sharers : 1);
  End end{make_side(devices, test_case, role, seed, watch, placement.of_loops(0, loops))};
  const Role other = role == Role::initiator ? Role::responder : Role::initiator;
  if (test_case.bidirectional)
    end.backward = make_side(devices, backward_of(test_case), other, seed + 2 * endpoints, watch,
                             placement.of_loops(loops, endpoints));
  return end;
}

}  // namespace rdmameter
