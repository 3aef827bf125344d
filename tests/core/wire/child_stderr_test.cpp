// SPDX-License-Identifier: Apache-2.0
#include "core/wire/child_stderr.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace rdmameter {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::pair<Descriptor, Descriptor> pipe_that_does_not_block() {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  return {Descriptor{ends[0]}, Descriptor{ends[1]}};
}

ssize_t say(const ChildStderr& words, const std::string& text) {
  return write(words.writable(), text.data(), text.size());
}

TEST(ChildStderr, AreTheLinesThatWereWritten) {
  ChildStderr words{pipe_that_does_not_block()};
  say(words, "one\n\ntw");
  words.take();
  say(words, "o\n\x1b no newline");
  words.close_writable();
  EXPECT_THAT(words.lines(), ElementsAre("one", "two", "\x1b no newline"));
}

TEST(ChildStderr, OfNothingAreNone) {
  ChildStderr words{pipe_that_does_not_block()};
  EXPECT_THAT(words.lines(), IsEmpty()) << "and nobody waits for some";
}

TEST(ChildStderr, AreTheLastOfMuch) {
  ChildStderr words{pipe_that_does_not_block()};
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(say(words, std::string(9999, 'x') + "\n"), 10000);
    words.take();
  }
  say(words, "the last");
  const std::vector<std::string> lines = words.lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], std::string(ChildStderr::kKeptBytes - 9, 'x'));
  EXPECT_EQ(lines[1], "the last");
}

TEST(ChildStderr, KeepNobodyWaitingWhoWritesMoreThanThereIsRoomFor) {
  ChildStderr words{pipe_that_does_not_block()};
  while (say(words, std::string(4096, 'x')) > 0) {
  }
  EXPECT_EQ(errno, EAGAIN);
}

}  // namespace
}  // namespace rdmameter
