// SPDX-License-Identifier: Apache-2.0
#include "core/base/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "core/base/error.h"
#include "tests/core/base/fake_tree.h"

namespace rdmameter {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

std::string refusal_of_reading(const std::string& path, const InputRules& rules) {
  try {
    read_input(path, rules);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

struct InputFile : ::testing::Test {
  FakeTree tree;
  std::string path(const char* name) const { return (tree.root() / name).string(); }
  std::string fifo() const {
    EXPECT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
    return path("fifo");
  }
  /// A file of that mode.
  std::string file(const char* name, mode_t mode) const {
    tree.write(name, "text");
    EXPECT_EQ(chmod(path(name).c_str(), mode), 0);
    return path(name);
  }
};

TEST_F(InputFile, IsReadAsFarAsItMayGo) {
  tree.write("some", std::string(200'000, 'x'));
  EXPECT_EQ(read_input(path("some"), {.max_bytes = 200'000}), std::string(200'000, 'x'));
  EXPECT_THAT(refusal_of_reading(path("some"), {.max_bytes = 199'999}),
              HasSubstr("is larger than 0 MiB"));
  EXPECT_EQ(read_input(path("some"), {.max_bytes = 100, .beginning = true}), std::string(100, 'x'));
}

TEST_F(InputFile, IsReadByItsLastLinesAlone) {
  const auto last = [this](const std::string& text, std::size_t lines) {
    tree.write("some", text);
    return read_input(path("some"), {.max_bytes = 200'000, .last_lines = lines});
  };
  EXPECT_EQ(last("a\nb\nc\n", 2), "b\nc\n");
  EXPECT_EQ(last("a\nb\nc", 2), "b\nc");
  EXPECT_EQ(last("a\nb\n", 2), "a\nb\n");
  EXPECT_EQ(last("a\n", 2), "a\n");
  EXPECT_EQ(last("\n\n", 1), "\n");
  EXPECT_EQ(last("", 2), "");
  const std::string line = std::string(90'000, 'x') + "\n";
  EXPECT_EQ(last(std::string(400'000, 'y') + "\n" + line, 1), line) << "more than is read at once";
  EXPECT_THAT(refusal_of_reading(path("some"), {.max_bytes = 80'000, .last_lines = 1}),
              HasSubstr("is larger than"));
}

TEST_F(InputFile, ThatIsNoFileIsRefusedByName) {
  EXPECT_EQ(refusal_of_reading(path("none"), {.max_bytes = 1}),
            path("none") + ": cannot be read: No such file or directory.");
  EXPECT_EQ(refusal_of_reading(tree.root().string(), {.name = "--plan", .max_bytes = 1}),
            "--plan: cannot be read: Is a directory.");
}

TEST_F(InputFile, AFifoThatNobodyWritesEndsInTime) {
  const auto before = std::chrono::steady_clock::now();
  EXPECT_THAT(refusal_of_reading(fifo(), {.max_bytes = 100, .for_writer = 100ms}),
              HasSubstr("no writer opened this FIFO within 0.1 s"));
  EXPECT_LT(std::chrono::steady_clock::now() - before, 20s);
}

TEST_F(InputFile, AFifoIsReadToTheEndHoweverLateItsWriterComesAndWrites) {
  const std::string path = fifo();
  std::thread writer([&] {
    const int file = open(path.c_str(), O_WRONLY);  // returns once the reader has come
    for (const char* part : {"one ", "two"}) {
      std::this_thread::sleep_for(50ms);  // the reader waits for each
      EXPECT_GT(write(file, part, std::string_view(part).size()), 0);
    }
    close(file);
  });
  EXPECT_EQ(read_input(path, {.max_bytes = 100, .for_writer = 30s}), "one two");
  writer.join();
}

TEST_F(InputFile, APipeWhoseWriterHasGoneIsAtItsEndAtOnce) {
  for (const std::string text : {"", "text"}) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    ASSERT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    close(ends[1]);
    EXPECT_EQ(read_input(fmt::format("/dev/fd/{}", ends[0]), {.max_bytes = 9, .for_writer = 1h}),
              text);
    close(ends[0]);
  }
}

TEST_F(InputFile, ThatIsSecretIsRefusedWhereOthersReachItAndTheRemedyIsNamed) {
  for (const mode_t mode : {0640U, 0620U, 0604U, 0602U, 0666U}) {
    const std::string name = file("open", mode);
    EXPECT_EQ(refusal_of_reading(name, {.max_bytes = 9, .secret = true}),
              fmt::format("{0}: other users can reach it (its mode is {1:04o}): chmod 600 {0}",
                          name, mode));
    EXPECT_EQ(refusal_of_reading(name, {.max_bytes = 9}), "");
  }
  for (const mode_t mode : {0600U, 0400U, 0700U})
    EXPECT_EQ(refusal_of_reading(file("own", mode), {.max_bytes = 9, .secret = true}), "") << mode;
}

TEST_F(InputFile, ThatIsACredentialOfSystemdMayHaveTheMaskOfAnAccessList) {
  if (geteuid() != 0) GTEST_SKIP() << "systemd's credentials are root's";
  setenv("CREDENTIALS_DIRECTORY", tree.root().c_str(), 1);
  const auto refusal = [&](mode_t mode) {
    return refusal_of_reading(file("token", mode), {.max_bytes = 9, .secret = true});
  };
  EXPECT_EQ(refusal(0440), "");
  for (const mode_t mode : {0460U, 0444U}) EXPECT_THAT(refusal(mode), HasSubstr("other users"));
  setenv("CREDENTIALS_DIRECTORY", "/run/credentials/another.service", 1);
  EXPECT_THAT(refusal(0440), HasSubstr("other users"));
  unsetenv("CREDENTIALS_DIRECTORY");
}

TEST_F(InputFile, ThatIsSecretIsRefusedWhereItBelongsToSomebodyElse) {
  const std::string name = file("strange", 0600);
  if (chown(name.c_str(), 4711, gid_t(-1)) != 0) GTEST_SKIP() << "needs root";
  EXPECT_THAT(refusal_of_reading(name, {.max_bytes = 9, .secret = true}),
              HasSubstr("belongs to user 4711"));
}

}  // namespace
}  // namespace rdmameter
