// SPDX-License-Identifier: Apache-2.0
#include "core/loop/ping_pong.h"
#include "core/loop/table_instances.h"

namespace rdmameter {
namespace {

template <class By, bool Lossy>
struct Ping {
  static constexpr bool kStamps = By::kReceives && !By::kMany;
  template <class P>
  static constexpr auto kRun = ping_pong_initiator<By, Lossy, P>;
};

}  // namespace

const Instances& ping_instances(const Case& one_case) {
  if (one_case.multicast()) return kInstances<Ping<ByNumberedReceives, true>>;
  const bool lossy = !one_case.reliable();
  if (!one_case.takes_receive())
    return lossy ? kInstances<Ping<ByMemory, true>> : kInstances<Ping<ByMemory, false>>;
  if (!lossy) return kInstances<Ping<ByReceive, false>>;
  return one_case.immediate() ? kInstances<Ping<ByImmediate, true>>
                              : kInstances<Ping<ByNumberedReceive, true>>;
}

}  // namespace rdmameter
