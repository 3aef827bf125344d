// SPDX-License-Identifier: Apache-2.0
#include "core/engine/loop/completion.h"
#include "core/engine/loop/open_loop.h"
#include "core/engine/loop/ping_pong.h"
#include "core/engine/loop/table_instances.h"

namespace rdmameter {
namespace {

template <class By>
struct WatchedPing {
  template <class P>
  static constexpr auto kRun = ping_pong_initiator<Watched<By>, false, P>;
};

template <class By>
struct WatchedPong {
  template <class P>
  static constexpr auto kRun = ping_pong_responder<Watched<By>, false, P>;
};

struct WatchedCompletions {
  template <class P>
  static constexpr auto kRun = completion_initiator<Watched<AllQps>, P>;
};

template <class By>
struct WatchedOffering {
  template <class P>
  static constexpr auto kRun = open_loop_initiator<Watched<By>, P>;
};

struct WatchedAnswering {
  template <class P>
  static constexpr auto kRun = open_loop_responder<Watched<PlainAnswers>, P>;
};

const Instances& watched_initiator(const TestCase& test_case) {
  if (test_case.pattern == Pattern::completion_latency) return kInstances<WatchedCompletions>;
  if (test_case.open_loop())
    return test_case.answered() ? kInstances<WatchedOffering<ByAnswer>>
                                : kInstances<WatchedOffering<ByCompletion>>;
  return test_case.takes_receive() ? kInstances<WatchedPing<ByReceive>>
                                   : kInstances<WatchedPing<ByMemory>>;
}

const Instances* watched_responder(const TestCase& test_case) {
  if (!test_case.answered()) return nullptr;
  if (test_case.open_loop()) return &kInstances<WatchedAnswering>;
  return test_case.takes_receive() ? &kInstances<WatchedPong<ByReceive>>
                                   : &kInstances<WatchedPong<ByMemory>>;
}

}  // namespace

const Instances* watched_instances(const TestCase& test_case, Role role) {
  return role == Role::initiator ? &watched_initiator(test_case) : watched_responder(test_case);
}

}  // namespace rdmameter
