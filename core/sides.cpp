// SPDX-License-Identifier: Apache-2.0
#include "core/sides.h"

#include "core/session/fields.h"
#include "core/team.h"
#include "core/verbs_side.h"

namespace rdmameter {
namespace {

std::unique_ptr<Side> make_verbs_side(OpenDevice& device, const Case& one_case, Role role,
                                      std::uint64_t seed, CmWatch watch) {
  const auto make = [&](std::uint64_t its_seed) -> std::unique_ptr<Side> {
    return std::make_unique<VerbsSide>(device, one_case, role, its_seed, watch);
  };
  if (one_case.threads == 1) return make(seed);
  return std::make_unique<Team>(one_case, role, seed, make);
}

}  // namespace

nlohmann::json Sides::introduction() const {
  nlohmann::json made = forward->introduction();
  if (backward) made["backward"] = backward->introduction();
  return made;
}

void Sides::connect(const nlohmann::json& peer) {
  forward->connect(peer);
  if (backward) backward->connect(require_object(peer, "backward"));
}

void Sides::establish() {
  forward->establish();
  if (backward) backward->establish();
}

Sides make_verbs_sides(OpenDevice& device, const Case& one_case, Role role, std::uint64_t seed,
                       CmWatch watch) {
  Sides sides{make_verbs_side(device, one_case, role, seed, watch), nullptr};
  const Role other = role == Role::initiator ? Role::responder : Role::initiator;
  // Two seeds to a thread: a payload's pattern takes one for each end.
  if (one_case.both_ways())
    sides.backward = make_verbs_side(device, one_case, other, seed + 2 * one_case.threads, watch);
  return sides;
}

std::uint64_t core_after(std::uint64_t core, std::uint64_t count) {
  return core == kAuto ? kAuto : core + count;
}

}  // namespace rdmameter
