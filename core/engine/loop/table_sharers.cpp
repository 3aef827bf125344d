// SPDX-License-Identifier: Apache-2.0
#include "core/engine/loop/sharers.h"
#include "core/engine/loop/table_instances.h"

namespace rdmameter {
namespace {

template <bool kInTurn>
struct Sharer {
  template <class P>
  static constexpr auto kRun = sharer<kInTurn, P>;
};

}  // namespace

const Instances& sharer_instances(Pattern pattern) {
  return pattern == Pattern::bandwidth ? kInstances<Sharer<false>> : kInstances<Sharer<true>>;
}

}  // namespace rdmameter
