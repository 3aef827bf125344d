// SPDX-License-Identifier: Apache-2.0
#include "core/session/wait.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>

#include <climits>
#include <csignal>
#include <cstring>
#include <thread>

#include "tests/core/session/pair.h"

namespace rdmameter {
namespace {

TEST(Deadline, RoundsRemainingMillisecondsUpAndEndsAtZero) {
  EXPECT_EQ(Deadline::in(100us).remaining_ms(), 1);
  EXPECT_EQ(Deadline::in(-1s).remaining_ms(), 0);
  EXPECT_TRUE(Deadline::in(-1s).passed());
  EXPECT_FALSE(Deadline::in(1min).passed());
}

TEST(Deadline, NeverIsMinusOneForPollAndDoesNotPass) {
  EXPECT_EQ(Deadline::never().remaining_ms(), -1);
  EXPECT_FALSE(Deadline::never().passed());
  EXPECT_LE(Deadline::never().within(10ms).remaining_ms(), 10);
}

TEST(Deadline, FarAwayIsClampedToWhatPollTakes) {
  EXPECT_EQ(Deadline::in(std::chrono::hours(24 * 365)).remaining_ms(), INT_MAX);
}

TEST(Deadline, WithinIsTheEarlierOfBoth) {
  EXPECT_LE(Deadline::in(1h).within(10ms).remaining_ms(), 10);
  EXPECT_LE(Deadline::in(10ms).within(1h).remaining_ms(), 10);
}

TEST(WaitFor, EndsAtTheDeadline) {
  InterruptSource interrupt;
  const double seconds = seconds_of(
      [&] { EXPECT_EQ(wait_for(-1, 0, Deadline::in(50ms), interrupt), Waited::deadline); });
  EXPECT_GE(seconds, 0.05);
}

TEST(WaitFor, AnInterruptGoesBeforeAWakeUpAndThatBeforeData) {
  InterruptSource interrupt;
  Wake wake, data;
  data.raise();
  EXPECT_EQ(wait_for(data.fd(), POLLIN, soon(), interrupt, &wake), Waited::ready);
  wake.raise();
  EXPECT_EQ(wait_for(data.fd(), POLLIN, soon(), interrupt, &wake), Waited::woken);
  interrupt.raise();
  EXPECT_EQ(wait_for(data.fd(), POLLIN, soon(), interrupt, &wake), Waited::interrupted);
}

TEST(Wake, StaysRaisedForEveryWaiterUntilCleared) {
  InterruptSource interrupt;
  Wake wake;
  wake.raise();
  for (int waiter = 0; waiter < 3; ++waiter)
    EXPECT_EQ(wait_for(-1, 0, soon(), interrupt, &wake), Waited::woken);
  wake.clear();
  EXPECT_EQ(wait_for(-1, 0, Deadline::in(1ms), interrupt, &wake), Waited::deadline);
}

TEST(Wake, EndsAnotherThreadsWait) {
  InterruptSource interrupt;
  Wake wake;
  Waited waited = Waited::ready;
  std::thread waiter([&] { waited = wait_for(-1, 0, Deadline::in(20s), interrupt, &wake); });
  std::this_thread::sleep_for(20ms);
  wake.raise();
  waiter.join();
  EXPECT_EQ(waited, Waited::woken);
}

InterruptSource* signalled = nullptr;

TEST(InterruptSource, RaisedByASignalHandlerEndsWaitsOfOtherThreads) {
  InterruptSource interrupt;
  signalled = &interrupt;
  struct sigaction handler {};
  struct sigaction before {};
  handler.sa_handler = [](int) { signalled->raise(); };
  sigaction(SIGUSR1, &handler, &before);
  Waited waited = Waited::ready;
  std::thread waiter([&] { waited = wait_for(-1, 0, Deadline::in(20s), interrupt); });
  std::this_thread::sleep_for(20ms);
  pthread_kill(pthread_self(), SIGUSR1);  // this thread gets it, the other one must wake
  waiter.join();
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(waited, Waited::interrupted);
  EXPECT_EQ(interrupt.word().reason(), StopReason::interrupted);
}

TEST(InterruptSource, OfWhomEnoughIsAskedEndsNothingElseTheFirstTime) {
  InterruptSource interrupt;
  {
    const EnoughEnds ends{interrupt};
    interrupt.raise();
    EXPECT_FALSE(interrupt.requested());
    EXPECT_EQ(interrupt.word().reason(), StopReason::finish);
    EXPECT_EQ(wait_for(-1, 0, Deadline::in(1ms), interrupt), Waited::deadline);
    EXPECT_EQ(wait_for(-1, 0, soon(), interrupt, &interrupt.enough()), Waited::woken);
    interrupt.raise();
    EXPECT_TRUE(interrupt.requested());
    EXPECT_EQ(wait_for(-1, 0, soon(), interrupt), Waited::interrupted);
  }
  InterruptSource other;
  { const EnoughEnds ends{other}; }
  other.raise();
  EXPECT_TRUE(other.requested()) << "the measurement was over";
}

TEST(WaitFor, ASignalThatMeansNothingDoesNotEndIt) {
  InterruptSource interrupt;
  struct sigaction handler {};
  struct sigaction before {};
  handler.sa_handler = [](int) {};
  sigaction(SIGUSR1, &handler, &before);
  Waited waited = Waited::ready;
  double seconds = 0;
  std::thread waiter([&] {
    seconds = seconds_of([&] { waited = wait_for(-1, 0, Deadline::in(200ms), interrupt); });
  });
  for (int count = 0; count < 5; ++count) {
    std::this_thread::sleep_for(10ms);
    pthread_kill(waiter.native_handle(), SIGUSR1);
  }
  waiter.join();
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(waited, Waited::deadline);
  EXPECT_GE(seconds, 0.2);
}

}  // namespace
}  // namespace rdmameter
