// SPDX-License-Identifier: Apache-2.0
#include "bench/child/child.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "core/base/error.h"

namespace rdmameter {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

TEST(Child, TellsItsStatusAndWhatItPrinted) {
  const InterruptSource interrupt;
  const ExitResult end = run_child(shell("echo \"$SIDE\"; exit 7"), {{"SIDE", "b"}}, interrupt);
  EXPECT_EQ(end.status, 7);
  EXPECT_EQ(end.output, "b\n");
}

TEST(Child, IsInterruptedWithUs) {
  InterruptSource interrupt;
  std::thread user([&] {
    std::this_thread::sleep_for(100ms);
    interrupt.raise();
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(run_child(shell("exec sleep 30"), {}, interrupt), Interrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  user.join();
}

TEST(Child, ThatDoesNotListenIsKilledAfterItsLastWords) {
  InterruptSource interrupt;
  std::thread user([&] {
    std::this_thread::sleep_for(500ms);  // the shell has set its trap by then
    interrupt.raise();
  });
  const auto begin = std::chrono::steady_clock::now();
  // What it started keeps its stdout open beyond its own end.
  EXPECT_THROW(run_child(shell("trap '' INT; sleep 8; sleep 8"), {}, interrupt, 300ms),
               Interrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 6s);
  user.join();
}

}  // namespace
}  // namespace rdmameter
