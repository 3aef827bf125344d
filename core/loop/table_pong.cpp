// SPDX-License-Identifier: Apache-2.0
#include "core/loop/ping_pong.h"
#include "core/loop/table_instances.h"

namespace rdmameter {
namespace {

template <class By, bool Lossy>
struct Pong {
  static constexpr bool kStamps = false;
  template <class P>
  static constexpr auto kRun = ping_pong_responder<By, Lossy, P>;
};

}  // namespace

const Instances& pong_instances(const Case& one_case) {
  const bool lossy = !one_case.reliable();
  if (!one_case.takes_receive()) return kInstances<Pong<ByMemory, false>>;
  if (!lossy) return kInstances<Pong<ByReceive, false>>;
  return one_case.immediate() ? kInstances<Pong<ByImmediate, true>>
                              : kInstances<Pong<ByNumberedReceive, true>>;
}

}  // namespace rdmameter
