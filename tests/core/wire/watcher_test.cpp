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
  Pair pair;
  StopFlag stop;
};

TEST_F(WatcherTest, EndsTheLoopWhenThePeerSpeaks) {
  Watcher watcher(pair.channel.fd(), soon(), pair.interrupt, stop);
  pair.raw(framed(R"({"type":"error"})"));
  EXPECT_EQ(spin(stop), StopReason::peer);
  watcher.end();
  EXPECT_EQ(pair.channel.receive(soon()).at("type"), "error");  // it was left for the session
}

TEST_F(WatcherTest, EndsTheLoopWhenThePeerHangsUp) {
  Watcher watcher(pair.channel.fd(), soon(), pair.interrupt, stop);
  pair.other.reset();
  EXPECT_EQ(spin(stop), StopReason::peer);
}

TEST_F(WatcherTest, EndsTheLoopAtTheDeadlineAndNotBefore) {
  const double seconds = seconds_of([&] {
    Watcher watcher(pair.channel.fd(), Deadline::in(60ms), pair.interrupt, stop);
    EXPECT_EQ(spin(stop), StopReason::deadline);
  });
  EXPECT_GE(seconds, 0.06);
  EXPECT_LT(seconds, 5);
}

TEST_F(WatcherTest, EndsTheLoopWhenTheUserInterrupts) {
  Watcher watcher(pair.channel.fd(), soon(), pair.interrupt, stop);
  pair.interrupt.raise();
  EXPECT_EQ(spin(stop), StopReason::interrupted);
}

TEST_F(WatcherTest, SeesWhatHappenedBeforeItStarted) {
  pair.interrupt.raise();
  Watcher watcher(pair.channel.fd(), soon(), pair.interrupt, stop);
  EXPECT_EQ(spin(stop), StopReason::interrupted);
}

TEST_F(WatcherTest, AnExpectedMessageFinishesAndADeadlineStillFollows) {
  Watcher watcher(pair.channel.fd(), Deadline::in(150ms), pair.interrupt, stop, StopReason::finish);
  pair.raw(framed(R"({"type":"sent"})"));
  EXPECT_EQ(spin(stop), StopReason::finish);
  const Deadline limit = soon();
  while (stop.reason() == StopReason::finish && !limit.passed()) std::this_thread::sleep_for(5ms);
  EXPECT_EQ(stop.reason(), StopReason::deadline);
}

TEST_F(WatcherTest, APeerThatDiesAfterItsLastMessageIsNoticed) {
  Watcher watcher(pair.channel.fd(), soon(), pair.interrupt, stop, StopReason::finish);
  pair.raw(framed(R"({"type":"sent"})"));
  EXPECT_EQ(spin(stop), StopReason::finish);
  pair.other.reset();
  const Deadline limit = soon();
  while (stop.reason() == StopReason::finish && !limit.passed()) std::this_thread::sleep_for(5ms);
  EXPECT_EQ(stop.reason(), StopReason::peer);
}

TEST_F(WatcherTest, LeavesTheWordAloneWhenTheLoopEndsByItself) {
  {
    Watcher watcher(pair.channel.fd(), Deadline::in(20ms), pair.interrupt, stop);
    watcher.end();
    std::this_thread::sleep_for(40ms);  // past the deadline, and past its end
    watcher.end();
  }
  pair.raw("x");
  EXPECT_EQ(stop.reason(), StopReason::none);
}

TEST_F(WatcherTest, TicksAgainAndAgainUntilTheDeadline) {
  std::atomic<int> ticks{0};
  Watcher watcher(pair.channel.fd(), Deadline::in(600ms), pair.interrupt, stop, StopReason::peer,
                  {.every = 60ms, .act = [&ticks] { return ++ticks > 0; }});
  EXPECT_EQ(spin(stop), StopReason::deadline);
  EXPECT_GE(ticks, 3);  // nine on a machine of one's own
  EXPECT_LE(ticks, 10);
}

TEST_F(WatcherTest, ATickThatGivesUpEndsTheLoop) {
  int ticks = 0;
  Watcher watcher(pair.channel.fd(), soon(), pair.interrupt, stop, StopReason::peer,
                  {.every = 5ms, .act = [&ticks] { return ++ticks < 3; }});
  const double seconds = seconds_of([&] { EXPECT_EQ(spin(stop), StopReason::deadline); });
  EXPECT_LT(seconds, 2);
  watcher.end();
  EXPECT_EQ(ticks, 3);
}

TEST_F(WatcherTest, ATickThatThrowsLeavesTheVerdictToPoll) {
  Watcher watcher(pair.channel.fd(), soon(), pair.interrupt, stop, StopReason::peer,
                  {.every = 5ms, .act = []() -> bool { throw MeasurementError("gone"); }});
  std::this_thread::sleep_for(30ms);
  EXPECT_EQ(stop.reason(), StopReason::none);
  pair.other.reset();
  EXPECT_EQ(spin(stop), StopReason::peer);
}

TEST_F(WatcherTest, StartsAndEndsWithinAMillisecondOfAnyThread) {
  // Machines are shared: a new thread may wait for a time slice. One that waited for the watcher's
  // own sake would do so always.
  double watched = INFINITY, any = INFINITY;
  for (int count = 0; count < 51; ++count) {
    watched = std::min(watched, seconds_of([&] {
                         Watcher watcher(pair.channel.fd(), soon(), pair.interrupt, stop);
                       }));
    any = std::min(any, seconds_of([] { std::thread([] {}).join(); }));
  }
  EXPECT_LT(watched, any + 0.001);
  EXPECT_EQ(stop.reason(), StopReason::none);
}

}  // namespace
}  // namespace rdmameter
