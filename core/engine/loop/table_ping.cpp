// SPDX-License-Identifier: Apache-2.0
#include "core/engine/loop/ping_pong.h"
#include "core/engine/loop/table_instances.h"

namespace rdmameter {
namespace {

template <class By, bool Lossy>
struct Ping {
  static constexpr bool kStamps = By::kReceives && !By::kMany;
  template <class P>
  static constexpr auto kRun = ping_pong_initiator<By, Lossy, P>;
};

}  // namespace

const Instances& ping_instances(const TestCase& test_case) {
  if (test_case.multicast()) return kInstances<Ping<ByNumberedReceives, true>>;
  const bool lossy = !test_case.reliable();
  if (!test_case.takes_receive())
    return lossy ? kInstances<Ping<ByMemory, true>> : kInstances<Ping<ByMemory, false>>;
  if (!lossy) return kInstances<Ping<ByReceive, false>>;
  return test_case.immediate() ? kInstances<Ping<ByImmediate, true>>
                               : kInstances<Ping<ByNumberedReceive, true>>;
}

}  // namespace rdmameter
