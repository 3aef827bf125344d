// SPDX-License-Identifier: Apache-2.0
#include "core/engine/loop/completion.h"
#include "core/engine/loop/table_instances.h"

namespace rdmameter {
namespace {

struct Completion {
  static constexpr bool kStamps = true;
  template <class P>
  static constexpr auto kRun = completion_initiator<P>;
};

}  // namespace

const Instances& completion_instances() {
  return kInstances<Completion>;
}

}  // namespace rdmameter
