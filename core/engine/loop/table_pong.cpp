// SPDX-License-Identifier: Apache-2.0
#include "core/engine/loop/ping_pong.h"
#include "core/engine/loop/table_instances.h"

namespace rdmameter {
namespace {

template <class By, bool Lossy>
struct Pong {
  template <class P>
  static constexpr auto kRun = ping_pong_responder<By, Lossy, P>;
};

}  // namespace

const Instances& pong_instances(const TestCase& test_case) {
  const bool lossy = !test_case.reliable();
  if (!test_case.takes_receive()) return kInstances<Pong<ByMemory, false>>;
  if (!lossy) return kInstances<Pong<ByReceive, false>>;
  return test_case.immediate() ? kInstances<Pong<ByImmediate, true>>
                               : kInstances<Pong<ByNumberedReceive, true>>;
}

}  // namespace rdmameter
