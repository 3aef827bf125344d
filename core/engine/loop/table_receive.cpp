// SPDX-License-Identifier: Apache-2.0
#include "core/engine/loop/receive.h"
#include "core/engine/loop/table_instances.h"

namespace rdmameter {
namespace {

template <class Numbers>
struct Receive {
  template <class P>
  static constexpr auto kRun = receive<Numbers, P>;
};

}  // namespace

const Instances& receive_instances(NumberPlace numbers) {
  return instances_by<Receive>(numbers);
}

}  // namespace rdmameter
