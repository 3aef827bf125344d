// SPDX-License-Identifier: Apache-2.0
#include "core/engine/loop/ping_pong.h"
#include "core/engine/loop/table_instances.h"

namespace rdmameter {
namespace {

template <class By, bool Lossy>
struct PingEachQp {
  template <class P>
  static constexpr auto kRun = ping_pong_initiator<EachQp<By>, Lossy, P>;
};

}  // namespace

const Instances& ping_instances_per_qp(const TestCase& test_case) {
  const bool lossy = !test_case.reliable();
  if (!test_case.takes_receive())
    return lossy ? kInstances<PingEachQp<ByMemory, true>> : kInstances<PingEachQp<ByMemory, false>>;
  if (!lossy) return kInstances<PingEachQp<ByReceive, false>>;
  return test_case.immediate() ? kInstances<PingEachQp<ByImmediate, true>>
                               : kInstances<PingEachQp<ByNumberedReceive, true>>;
}

}  // namespace rdmameter
