// SPDX-License-Identifier: Apache-2.0
#include "core/loop/bandwidth.h"
#include "core/loop/completion.h"
#include "core/loop/receive.h"
#include "core/loop/table_instances.h"

namespace rdmameter {
namespace {

struct Completion {
  template <class P>
  static constexpr auto kRun = completion_initiator<P>;
};
struct Bandwidth {
  template <class P>
  static constexpr auto kRun = bandwidth_initiator<P>;
};
struct Receive {
  template <class P>
  static constexpr auto kRun = receive<P>;
};

}  // namespace

const Instances& completion_instances() {
  return kInstances<Completion>;
}
const Instances& bandwidth_instances() {
  return kInstances<Bandwidth>;
}
const Instances& receive_instances() {
  return kInstances<Receive>;
}

}  // namespace rdmameter
