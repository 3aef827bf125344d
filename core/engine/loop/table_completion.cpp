// SPDX-License-Identifier: Apache-2.0
#include "core/engine/loop/completion.h"
#include "core/engine/loop/table_instances.h"

namespace rdmameter {
namespace {

template <class Qps>
struct Completion {
  static constexpr bool kStamps = !kPerQp<Qps>;
  template <class P>
  static constexpr auto kRun = completion_initiator<Qps, P>;
};

}  // namespace

const Instances& completion_instances(bool per_qp) {
  return per_qp ? kInstances<Completion<EachQp<AllQps>>> : kInstances<Completion<AllQps>>;
}

}  // namespace rdmameter
