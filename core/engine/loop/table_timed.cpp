// SPDX-License-Identifier: Apache-2.0
// Bandwidths whose peak is looked for: with the time of each post and completion. What each QP did
// is counted as well, also of one: there is no instance without it.
#include "core/engine/loop/bandwidth.h"
#include "core/engine/loop/table_instances.h"

namespace rdmameter {
namespace {

template <class Numbers>
struct TimedBandwidth {
  template <class P>
  static constexpr auto kRun = bandwidth_initiator<Timed<Numbers>, P>;
};

}  // namespace

const Instances& timed_bandwidth_instances(NumberPlace numbers) {
  return instances_by<TimedBandwidth, EachQp<Unnumbered>>(numbers);
}

}  // namespace rdmameter
