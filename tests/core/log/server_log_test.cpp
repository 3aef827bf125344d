// SPDX-License-Identifier: Apache-2.0
#include "core/log/server_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "core/log/log_limit.h"
#include "tests/core/wire/pair.h"

namespace rdmameter {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kTime = "2026-11-22T09:30:00.125Z ";

ServerLog::Clock::time_point fixed_time() {
  return ServerLog::Clock::time_point{std::chrono::milliseconds{1'795'339'800'125}};
}

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    reader.reset(ends[0]);
    writer.reset(ends[1]);
    fcntl(ends[1], F_SETPIPE_SZ, 4096);
    signal(SIGPIPE, SIG_IGN);  // as the program does
  }
  /// What there is to read once there is something; empty: the writing end is closed, or nothing
  /// has come for a long time.
  std::string read_some(std::size_t bytes = 4096) const {
    std::string text(bytes, '\0');
    pollfd readable{.fd = reader.get(), .events = POLLIN, .revents = 0};
    const ssize_t got =
        poll(&readable, 1, 30'000) == 1 ? read(reader.get(), text.data(), bytes) : 0;
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
  }
  /// What has been written until the writing end is closed, or `bytes` at most.
  std::string read_text(std::size_t bytes = 1 << 24) const {
    std::string text, piece;
    while (text.size() < bytes &&
           !(piece = read_some(std::min<std::size_t>(4096, bytes - text.size()))).empty())
      text += piece;
    return text;
  }
  Descriptor reader, writer;
};

/// What a log that ends writes.
template <class Action>
std::string logged(Action&& action) {
  Pipe pipe;
  {
    ServerLog log{pipe.writer.get(), fixed_time};
    action(log);
  }
  pipe.writer.reset();
  return pipe.read_text();
}

TEST(ServerLog, TellsTheTimeAndThePeerInEachLine) {
  EXPECT_EQ(logged([](ServerLog& log) { log.line("192.0.2.1:4711", "gone"); }),
            fmt::format("{}192.0.2.1:4711: gone\n", kTime));
}

TEST(ServerLog, NobodyWritesALineOfAnother) {
  EXPECT_EQ(logged([](ServerLog& log) {
              log.line("a:1", "dropped: version\n2026 b:2: connected\t\u202e\x1b[2J");
            }),
            fmt::format("{}a:1: dropped: version\\x0a2026 b:2: connected\\x09\\u{{202e}}\\x1b[2J\n",
                        kTime));
}

TEST(ServerLog, CutsALineOfAMegabyte) {
  const std::string text =
      logged([](ServerLog& log) { log.line("a:1", std::string(900'000, 'k')); });
  EXPECT_LT(text.size(), ServerLog::kMaxLineBytes + 60);
  EXPECT_THAT(text, EndsWith("kkk [cut, 900005 bytes]\n"));
}

TEST(ServerLog, CountsWhatASourceSaysTooOften) {
  const std::string text = logged([](ServerLog& log) {
    for (std::uint32_t port = 0; port < LogLimit::kLinesOfSource + 10; ++port)
      log.line(fmt::format("192.0.2.7:{}", port), "dropped");
    log.line("192.0.2.8:1", "connected");
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), LogLimit::kLinesOfSource + 2);
  EXPECT_THAT(text, HasSubstr("192.0.2.8:1: connected"));
  EXPECT_THAT(text, HasSubstr(fmt::format("{}10 lines from 192.0.2.7 dropped", kTime)));
}

TEST(ServerLog, TakesWhatTheProgramTellsAndKeepsIndentedLinesAsTheyAre) {
  EXPECT_EQ(logged([](ServerLog&) { tell("rdmameter: listening with\n  run {}\n", "HOST"); }),
            fmt::format("{}rdmameter: listening with\n  run HOST\n", kTime));
}

/// How many lines such a line of the log stands for: one that was said, or those that it says are
/// lost.
std::ptrdiff_t lines_said_in(const std::string& line) {
  const bool note = line.find(" lost: the log was not read") != std::string::npos;
  return note ? std::stol(line.substr(kTime.size())) : 1;
}

TEST(ServerLog, OnAPipeThatNobodyReadsKeepsNobodyWaitingAndSaysLaterHowManyLinesAreLost) {
  constexpr std::ptrdiff_t kSaid = 5000;
  Pipe pipe;
  ServerLog log{pipe.writer.get(), fixed_time};
  // Beyond what the queue holds each would wait for ever.
  for (std::ptrdiff_t i = 0; i < kSaid; ++i) tell("{:0>100}\n", i);
  std::string text;
  std::ptrdiff_t lines = 0, said = 0;
  while (said < kSaid) {
    const std::string piece = pipe.read_some();
    ASSERT_FALSE(piece.empty()) << said << " lines";
    text += piece;
    for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
      said += lines_said_in(text.substr(0, end));
      ++lines;
    }
  }
  EXPECT_EQ(said, kSaid);
  EXPECT_LT(lines, kSaid);
}

TEST(ServerLog, EndsOnAPipeThatNobodyReads) {
  // The log's thread, which it leaves behind, keeps its clock, and so the pipe that it writes to.
  const auto pipe = std::make_shared<Pipe>();
  EXPECT_LT(seconds_of([&] {
              ServerLog log{pipe->writer.get(), [pipe] { return fixed_time(); }};
              for (int i = 0; i < 2000; ++i) tell("{:0>100}\n", i);
            }),
            10);         // or for ever, if it waited for the reader
  pipe->reader.reset();  // lets the thread go
}

TEST(ServerLog, GoesOnWhereNothingCanBeWritten) {
  Pipe gone;
  gone.reader.reset();
  const Descriptor full{open("/dev/full", O_WRONLY | O_CLOEXEC)},
      read_only{open("/dev/null", O_RDONLY | O_CLOEXEC)};
  for (const int fd : {gone.writer.get(), full.get(), read_only.get(), -1}) {
    ServerLog log{fd, fixed_time};
    for (int i = 0; i < 3000; ++i) log.line("a:1", "dropped");
  }
}

TEST(ServerLog, SaysWhyLinesAreLostOnceItCanWriteAgain) {
  Pipe pipe;
  const Descriptor full{open("/dev/full", O_WRONLY | O_CLOEXEC)};
  const Descriptor stream{fcntl(full.get(), F_DUPFD_CLOEXEC, 0)};
  std::atomic<int> times{0};
  {
    ServerLog log{stream.get(), [&] { return ++times, fixed_time(); }};
    for (int i = 0; i < 3; ++i) log.line("a:1", "early");
    // A time for each line, and one for each that is written after one was lost.
    while (times < 3 + 2) std::this_thread::yield();
    ASSERT_GE(dup3(pipe.writer.get(), stream.get(), O_CLOEXEC), 0);
    log.line("a:1", "late");
  }
  ASSERT_GE(dup3(full.get(), stream.get(), O_CLOEXEC), 0);
  pipe.writer.reset();
  const std::string text = pipe.read_text();
  EXPECT_THAT(text, StartsWith(kTime));
  EXPECT_THAT(text, HasSubstr(" lines lost: No space left on device\n"));
  EXPECT_THAT(text, EndsWith("a:1: late\n"));
}

}  // namespace
}  // namespace rdmameter
