// SPDX-License-Identifier: Apache-2.0
#include "core/engine/duplex.h"

#include "core/base/error.h"
#include "core/engine/sharer_group.h"
#include "core/engine/thread_group.h"
#include "core/engine/verbs_runner.h"

namespace rdmameter {
namespace {

std::unique_ptr<EndpointRunner> make_verbs_runner(OpenDevice& device, const TestCase& test_case,
                                                  Role role, std::uint64_t seed, CmWatch watch) {
  const auto make = [&](std::uint64_t its_seed) -> std::unique_ptr<EndpointRunner> {
    TestCase own = test_case;
    own.path.first_qp = (its_seed - seed) / 2 * test_case.qps;
    return std::make_unique<VerbsRunner>(device, own, role, its_seed, watch);
  };
  if (test_case.shares_qps() && role == Role::initiator)
    return std::make_unique<SharerGroup>(device, test_case, seed, watch);
  if (test_case.threads == 1) return make(seed);
  return std::make_unique<ThreadGroup>(test_case, role, seed, make);
}

}  // namespace

Introductions Duplex::introductions() const {
  Introductions ends{.forward = forward->introduction(), .backward = {}};
  if (backward) ends.backward = backward->introduction();
  return ends;
}

void Duplex::connect(const Introductions& peer) {
  forward->connect(peer.forward);
  if (!backward) return;
  if (!peer.backward) throw MeasurementError("the peer's message: the key \"backward\" is missing");
  backward->connect(*peer.backward);
}

void Duplex::establish() {
  forward->establish();
  if (backward) backward->establish();
}

std::vector<LoopPlace> Duplex::places() const {
  std::vector<LoopPlace> places = forward->places();
  if (backward)
    for (const LoopPlace& place : backward->places()) places.push_back(place);
  return places;
}

Duplex make_verbs_duplex(OpenDevice& device, const TestCase& test_case, Role role,
                         std::uint64_t seed, CmWatch watch) {
  Duplex duplex{make_verbs_runner(device, test_case, role, seed, watch), nullptr};
  const Role other = role == Role::initiator ? Role::responder : Role::initiator;
  // Two seeds to a thread: a payload's pattern takes one for each end.
  if (test_case.bidirectional)
    duplex.backward = make_verbs_runner(device, backward_of(test_case), other,
                                        seed + 2 * test_case.threads, watch);
  return duplex;
}

}  // namespace rdmameter
