// SPDX-License-Identifier: Apache-2.0
#include "core/wire/watcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "tests/core/wire/pair.h"

namespace rdmameter {
namespace {

/// A measured loop's part: spin until the word says stop, at most 10 s.
StopReason spin(const StopFlag& stop) {
  const Deadline limit = Deadline::in(10s);
  while (!stop.requested() && !limit.passed()) std::this_thread::yield();
  return stop.reason();
}

struct WatcherTest : ::testing::Test {
  /// Of a loop beside which nothing is to be done, and no word of the peer's is expected.
  LoopWatch quiet() const {
    return {.every = 1h,
            .tick = [] { return true; },
            .receive = [] { return false; },
            .attention = attention,
            .attend = [] { return true; },
            .stopped = [] {}};
  }
  WatchThread watch(const LoopWatch& loop) {
    return WatchThread([this, loop](const EventFd& ended) {
      watch_loop(pair.channel.fd(), pair.interrupt, stop, loop, ended);
    });
  }

  Pair pair;
  StopFlag stop;
  EventFd attention;
};

TEST_F(WatcherTest, EndsTheLoopWhenThePeerSpeaks) {
  WatchThread watcher = watch(quiet());
  pair.raw(framed(R"({"type":"error"})"));
  EXPECT_EQ(spin(stop), StopReason::peer);
  watcher.end();
  EXPECT_EQ(pair.channel.receive(soon()).at("type"), "error");  // it was left for the session
}

TEST_F(WatcherTest, EndsTheLoopWhenThePeerHangsUp) {
  const WatchThread watcher = watch(quiet());
  pair.other.reset();
  EXPECT_EQ(spin(stop), StopReason::peer);
}

TEST_F(WatcherTest, EndsTheLoopWhenTheUserInterrupts) {
  const WatchThread watcher = watch(quiet());
  pair.interrupt.raise();
  EXPECT_EQ(spin(stop), StopReason::interrupted);
}

TEST_F(WatcherTest, SeesWhatHappenedBeforeItStarted) {
  pair.interrupt.raise();
  const WatchThread watcher = watch(quiet());
  EXPECT_EQ(spin(stop), StopReason::interrupted);
}

TEST_F(WatcherTest, ReadsWhatThePeerSaysUntilThatEndsTheLoop) {
  LoopWatch loop = quiet();
  int messages = 0;
  loop.receive = [&] {
    return pair.channel.receive(soon()).at("type") == "alive" && ++messages < 3;
  };
  WatchThread watcher = watch(loop);
  for (int i = 0; i < 3; ++i) pair.raw(framed(R"({"type":"alive"})"));
  EXPECT_EQ(spin(stop), StopReason::peer);
  watcher.end();
  EXPECT_EQ(messages, 3);
}

TEST_F(WatcherTest, LeavesTheWordAloneWhenTheLoopEndsByItself) {
  LoopWatch loop = quiet();
  loop.every = 100ms;
  loop.tick = [] { return false; };
  {
    WatchThread watcher = watch(loop);
    watcher.end();
    std::this_thread::sleep_for(150ms);  // past the tick, and past its end
    watcher.end();
  }
  pair.raw("x");
  EXPECT_EQ(stop.reason(), StopReason::none);
}

TEST_F(WatcherTest, ATickThatGivesUpEndsTheLoopAndNoneBefore) {
  LoopWatch loop = quiet();
  int ticks = 0;
  loop.every = 20ms;
  loop.tick = [&ticks] { return ++ticks < 3; };
  const double seconds = seconds_of([&] {
    const WatchThread watcher = watch(loop);
    EXPECT_EQ(spin(stop), StopReason::deadline);
  });
  EXPECT_GE(seconds, 0.06);
  EXPECT_LT(seconds, 5);
  EXPECT_EQ(ticks, 3);
}

TEST_F(WatcherTest, ATickThatThrowsLeavesTheVerdictToPoll) {
  LoopWatch loop = quiet();
  loop.every = 5ms;
  loop.tick = []() -> bool { throw MeasurementError("gone"); };
  const WatchThread watcher = watch(loop);
  std::this_thread::sleep_for(30ms);
  EXPECT_EQ(stop.reason(), StopReason::none);
  pair.other.reset();
  EXPECT_EQ(spin(stop), StopReason::peer);
}

TEST_F(WatcherTest, WhoAttendsIsCalledAtEachEventAndMayEndTheLoop) {
  LoopWatch loop = quiet();
  std::atomic<int> events{0};
  std::atomic<bool> told{false};
  loop.attend = [&events] { return ++events < 2; };
  loop.stopped = [&told] { told = true; };
  WatchThread watcher = watch(loop);
  attention.raise();
  const Deadline limit = soon();
  while (events == 0 && !limit.passed()) std::this_thread::yield();
  EXPECT_EQ(stop.reason(), StopReason::none);
  attention.raise();
  EXPECT_EQ(spin(stop), StopReason::sibling);
  watcher.end();
  EXPECT_TRUE(told);
}

TEST_F(WatcherTest, StartsAndEndsWithinAMillisecondOfAnyThread) {
  // Machines are shared: a new thread may wait for a time slice. One that waited for the watcher's
  // own sake would do so always.
  double watched = INFINITY, any = INFINITY;
  for (int count = 0; count < 51; ++count) {
    watched = std::min(watched, seconds_of([&] { const WatchThread watcher = watch(quiet()); }));
    any = std::min(any, seconds_of([] { std::thread([] {}).join(); }));
  }
  EXPECT_LT(watched, any + 0.001);
  EXPECT_EQ(stop.reason(), StopReason::none);
}

}  // namespace
}  // namespace rdmameter
