// SPDX-License-Identifier: Apache-2.0
#include <cassert>

#include "core/engine/loop/bandwidth.h"
#include "core/engine/loop/table_instances.h"

namespace rdmameter {
namespace {

template <class Numbers>
struct Bandwidth {
  template <class P>
  static constexpr auto kRun = bandwidth_initiator<Numbers, P>;
};

}  // namespace

const Instances& bandwidth_instances(NumberPlace numbers, bool per_qp) {
  assert(!per_qp || numbers == NumberPlace::none);
  return per_qp ? kInstances<Bandwidth<EachQp<Unnumbered>>> : instances_by<Bandwidth>(numbers);
}

}  // namespace rdmameter
