// SPDX-License-Identifier: Apache-2.0
#include "core/engine/loop/ping_pong.h"
#include "core/engine/loop/table_instances.h"

namespace rdmameter {
namespace {

template <class By>
struct WatchedPing {
  static constexpr bool kStamps = false;
  template <class P>
  static constexpr auto kRun = ping_pong_initiator<Watched<By>, false, P>;
};

template <class By>
struct WatchedPong {
  static constexpr bool kStamps = false;
  template <class P>
  static constexpr auto kRun = ping_pong_responder<Watched<By>, false, P>;
};

}  // namespace

const Instances& watched_ping_instances(const TestCase& test_case) {
  return test_case.takes_receive() ? kInstances<WatchedPing<ByReceive>>
                                   : kInstances<WatchedPing<ByMemory>>;
}

const Instances& watched_pong_instances(const TestCase& test_case) {
  return test_case.takes_receive() ? kInstances<WatchedPong<ByReceive>>
                                   : kInstances<WatchedPong<ByMemory>>;
}

}  // namespace rdmameter
