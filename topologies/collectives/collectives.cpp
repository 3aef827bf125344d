// SPDX-License-Identifier: Apache-2.0
// The list of collectives.
#include <array>

#include "topologies/collectives/collective.h"

namespace rdmameter {

// Each in its own file.
extern const Collective kAllreduceRing, kAllreduceRd, kAlltoallPairwise, kAlltoallBruck,
    kAllgatherRing, kBroadcastBinomial, kBarrierDissemination;

namespace {

constexpr std::array kCollectives{&kAllreduceRing,       &kAllreduceRd,   &kAlltoallPairwise,
                                  &kAlltoallBruck,       &kAllgatherRing, &kBroadcastBinomial,
                                  &kBarrierDissemination};

}  // namespace

std::span<const Collective* const> collectives() {
  return kCollectives;
}

}  // namespace rdmameter
