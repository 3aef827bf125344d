// SPDX-License-Identifier: Apache-2.0
#include "core/engine/end.h"

#include "core/base/error.h"
#include "core/engine/verbs_runner.h"

namespace rdmameter {
namespace {

/// @param seed  two to an endpoint: a payload's pattern takes one for each end
Side make_side(OpenDevice& device, const TestCase& test_case, Role role, std::uint64_t seed,
               CmWatch watch) {
  Side side{.runners = {}, .sharers = role == Role::initiator ? test_case.sharers : 1};
  for (std::uint64_t thread = 0; thread < test_case.threads; ++thread) {
    TestCase own = test_case;
    own.path.first_qp = thread * test_case.qps;
    auto first = std::make_unique<VerbsRunner>(device, own, role, seed + 2 * thread, watch);
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

End make_verbs_end(OpenDevice& device, const TestCase& test_case, Role role, std::uint64_t seed,
                   CmWatch watch) {
  End end{make_side(device, test_case, role, seed, watch)};
  const Role other = role == Role::initiator ? Role::responder : Role::initiator;
  if (test_case.bidirectional)
    end.backward =
        make_side(device, backward_of(test_case), other, seed + 2 * test_case.threads, watch);
  return end;
}

}  // namespace rdmameter
