// SPDX-License-Identifier: Apache-2.0
#include "core/wire/token_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"

namespace rdmameter {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTokenText = "a-token-of-more-than-16-characters";
constexpr std::uint16_t kPort = 18620;

class TokenFile : public ::testing::Test {
 protected:
  TokenFile() {
    char name[] = "/tmp/token_file_test.XXXXXX";
    scratch = mkdtemp(name);
    first = scratch + "/first";
    second = scratch + "/second";
  }
  ~TokenFile() override { std::filesystem::remove_all(scratch); }

  void write(const std::string& path, const std::string& text, mode_t mode = 0600) {
    std::ofstream{path} << text;
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
  }
  std::string refusal_of_leave() {
    try {
      folders().leave(kPort, kTokenText);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }
  TokenFolders folders() const { return TokenFolders{{first, second}}; }

  std::string scratch, first, second;
};

TEST_F(TokenFile, IsFoundByThePortAndGoneWhenItsServerRemovesIt) {
  const std::string path = folders().leave(kPort, kTokenText);
  EXPECT_EQ(path, first + "/18620.token");
  const auto found = folders().find(kPort);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->token, kTokenText);
  EXPECT_EQ(found->path, path);
  EXPECT_FALSE(folders().find(kPort + 1));
  folders().remove(kPort);
  EXPECT_FALSE(folders().find(kPort));
  EXPECT_TRUE(std::filesystem::is_empty(first));
}

TEST_F(TokenFile, IsForItsUserAlone) {
  const mode_t before = umask(0);
  const std::string path = folders().leave(kPort, kTokenText);
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  ASSERT_EQ(stat(first.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
}

TEST_F(TokenFile, LiesInNoFolderThatOthersCanReachAndInNoLink) {
  ASSERT_EQ(mkdir(first.c_str(), 0755), 0);
  EXPECT_EQ(folders().leave(kPort, kTokenText), second + "/18620.token");
  std::filesystem::remove_all(second);
  ASSERT_EQ(mkdir((scratch + "/elsewhere").c_str(), 0700), 0);
  ASSERT_EQ(symlink((scratch + "/elsewhere").c_str(), second.c_str()), 0);
  const std::string why = refusal_of_leave();
  EXPECT_THAT(why, HasSubstr(first + ": other users can reach it"));
  EXPECT_THAT(why, HasSubstr(second + ": it is no folder"));
  EXPECT_THAT(why, HasSubstr("--token-file"));
  EXPECT_THAT(why, HasSubstr("--no-auth"));
  EXPECT_TRUE(std::filesystem::is_empty(scratch + "/elsewhere"));
}

TEST_F(TokenFile, IsBelievedInNoFolderThatOthersCanReach) {
  for (const mode_t mode : {0755, 0770, 0701}) {
    std::filesystem::remove_all(first);
    folders().leave(kPort, kTokenText);
    ASSERT_EQ(chmod(first.c_str(), mode), 0);
    EXPECT_FALSE(folders().find(kPort)) << std::oct << mode;
  }
}

TEST_F(TokenFile, LiesInTheRuntimeFolderOnlyWhereThatIsTheUsersAlone) {
  const auto looks_there = [&] {
    return TokenFolders::of_this_user().text().find(first) != std::string::npos;
  };
  const char* const before = std::getenv("XDG_RUNTIME_DIR");
  const std::string kept = before != nullptr ? before : "";
  setenv("XDG_RUNTIME_DIR", first.c_str(), 1);
  EXPECT_FALSE(looks_there());
  ASSERT_EQ(mkdir(first.c_str(), 0700), 0);
  EXPECT_TRUE(looks_there());
  ASSERT_EQ(chmod(first.c_str(), 0755), 0);
  EXPECT_FALSE(looks_there());
  if (before != nullptr)
    setenv("XDG_RUNTIME_DIR", kept.c_str(), 1);
  else
    unsetenv("XDG_RUNTIME_DIR");
}

TEST_F(TokenFile, OfAnotherUserIsNotBelieved) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives folders away";
  folders().leave(kPort, kTokenText);
  ASSERT_EQ(chown(first.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(folders().find(kPort));
  EXPECT_EQ(folders().leave(kPort, kTokenText), second + "/18620.token");
}

TEST_F(TokenFile, OfALaterServerReplacesThatOfOneThatWasKilled) {
  TokenFolders{{second}}.leave(kPort, "the-token-of-a-server-that-was-killed");
  folders().leave(kPort, kTokenText);
  EXPECT_EQ(folders().find(kPort)->token, kTokenText);
  EXPECT_FALSE(TokenFolders{{second}}.find(kPort));
}

TEST_F(TokenFile, TheNewestIsFoundWhereAServerDidNotSeeAnOlderOnesFolder) {
  folders().leave(kPort, "the-token-of-a-server-that-was-killed");
  const timespec old[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (first + "/18620.token").c_str(), old, 0), 0);
  TokenFolders{{second}}.leave(kPort, kTokenText);
  EXPECT_EQ(folders().find(kPort)->token, kTokenText);
}

TEST_F(TokenFile, ThatOthersCouldHaveReadOrThatHoldsNoTokenIsAnErrorThatNamesIt) {
  const std::string path = folders().leave(kPort, kTokenText);
  write(path, kTokenText, 0640);
  EXPECT_THROW(folders().find(kPort), UsageError);
  for (const char* text : {"", "short\n", "with spaces in the middle of it\n"}) {
    write(path, text);
    try {
      folders().find(kPort);
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(path));
    }
  }
}

}  // namespace
}  // namespace rdmameter
