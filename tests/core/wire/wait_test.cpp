// SPDX-License-Identifier: Apache-2.0
#include "core/wire/wait.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>

#include <climits>
#include <csignal>
#include <cstring>
#include <thread>

#include "tests/core/wire/pair.h"

namespace rdmameter {
namespace {

TEST(Deadline, RoundsRemainingMillisecondsUpAndEndsAtZero) {
  const Deadline deadline = Deadline::in(1s);
  const int told_ms = deadline.remaining_ms();
  EXPECT_LE(told_ms, 1000);
  // Rounded down it would be less than what is left even now.
  EXPECT_GE(std::chrono::milliseconds(told_ms), deadline.remaining());
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
  EventFd wake, data;
  data.raise();
  EXPECT_EQ(wait_for(data.fd(), POLLIN, soon(), interrupt, &wake), Waited::ready);
  wake.raise();
  EXPECT_EQ(wait_for(data.fd(), POLLIN, soon(), interrupt, &wake), Waited::woken);
  interrupt.raise();
  EXPECT_EQ(wait_for(data.fd(), POLLIN, soon(), interrupt, &wake), Waited::interrupted);
}

TEST(EventFd, StaysRaisedForEveryWaiterUntilCleared) {
  InterruptSource interrupt;
  EventFd wake;
  wake.raise();
  for (int waiter = 0; waiter < 3; ++waiter)
    EXPECT_EQ(wait_for(-1, 0, soon(), interrupt, &wake), Waited::woken);
  wake.clear();
  EXPECT_EQ(wait_for(-1, 0, Deadline::in(1ms), interrupt, &wake), Waited::deadline);
}

TEST(EventFd, EndsAnotherThreadsWait) {
  InterruptSource interrupt;
  EventFd wake;
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
