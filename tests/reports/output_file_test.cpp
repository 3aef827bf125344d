// SPDX-License-Identifier: Apache-2.0
#include "core/result/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>

#include "core/base/error.h"
#include "tests/reports/samples.h"

namespace rdmameter {
namespace {

using ::testing::HasSubstr;

std::string refusal_of_writing(const std::string& path) {
  try {
    write_text_file(path, "new");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.insert(entry.path().filename());
  return names;
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST(OutputFile, IsNeverWrittenThroughALinkAndTheTextSaysWhatToName) {
  const ScratchDirectory scratch;
  write_file(scratch.path("victim"), "precious");
  for (const char* target : {"victim", "not-there", "."}) {
    std::filesystem::create_symlink(target, scratch.path("link"));
    EXPECT_THAT(refusal_of_writing(scratch.path("link")),
                HasSubstr("it is a symbolic link; name the file that it leads to"))
        << target;
    std::filesystem::remove(scratch.path("link"));
  }
  EXPECT_EQ(read_file(scratch.path("victim")), "precious");
  EXPECT_EQ(names_in(scratch.path("")), std::set<std::string>{"victim"});
}

TEST(OutputFile, IsMadeUnderANameThatNobodyCanTakeAhead) {
  const ScratchDirectory scratch;
  write_file(scratch.path("victim"), "precious");
  // What a program of a foreseeable name would have written through.
  std::filesystem::create_symlink("victim", scratch.path(fmt::format("r.html.{}.new", getpid())));
  write_text_file(scratch.path("r.html"), "new");
  EXPECT_EQ(read_file(scratch.path("victim")), "precious");
  std::set<std::string> seen;
  for (int i = 0; i < 10; ++i) {
    NewFile file(scratch.path("r.html"), {});
    const std::string name = file.keep();
    EXPECT_TRUE(seen.insert(name).second) << name;
    EXPECT_EQ(std::filesystem::path(name).parent_path(),
              std::filesystem::path(scratch.path("r.html")).parent_path());
  }
}

TEST(OutputFile, KeepsTheOlderFilesModeAndANewOneFollowsTheUmask) {
  const ScratchDirectory scratch;
  const mode_t before = umask(027);
  write_text_file(scratch.path("new"), "text");
  umask(before);
  EXPECT_EQ(mode_of(scratch.path("new")), 0640U);
  write_file(scratch.path("older"), "older");
  ASSERT_EQ(chmod(scratch.path("older").c_str(), 0604), 0);
  write_text_file(scratch.path("older"), "newer");
  EXPECT_EQ(mode_of(scratch.path("older")), 0604U);
  EXPECT_EQ(read_file(scratch.path("older")), "newer");
}

TEST(OutputFile, ThatCannotBePutInItsPlaceLeavesNothingBehind) {
  const ScratchDirectory scratch;
  {
    NewFile file(scratch.path("r.json"), {});
    write_file(scratch.path("r.json"), "somebody else's");
    EXPECT_EQ(file.put(false), EEXIST);
  }
  EXPECT_EQ(read_file(scratch.path("r.json")), "somebody else's");
  EXPECT_EQ(names_in(scratch.path("")), std::set<std::string>{"r.json"});
}

TEST(OutputFile, OfAFolderWithoutPermissionIsRefusedAheadByTheFoldersName) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  const ScratchDirectory scratch;
  write_file(scratch.path("r.json"), "older");
  ASSERT_EQ(chmod(scratch.path("").c_str(), 0500), 0);
  EXPECT_THAT(refusal_of_writing(scratch.path("r.json")), HasSubstr("its folder "));
  ASSERT_EQ(chmod(scratch.path("").c_str(), 0700), 0);
  ASSERT_EQ(chmod(scratch.path("r.json").c_str(), 0400), 0);
  EXPECT_THAT(refusal_of_writing(scratch.path("r.json")), HasSubstr("Permission denied"));
  EXPECT_EQ(read_file(scratch.path("r.json")), "older");
}

TEST(OutputFile, IsAddedToWhereThatIsAskedAndNotThroughALink) {
  const ScratchDirectory scratch;
  append_to_file(scratch.path("page.md"), "first\n");
  append_to_file(scratch.path("page.md"), "second\n");
  EXPECT_EQ(read_file(scratch.path("page.md")), "first\nsecond\n");
  ASSERT_EQ(symlink("page.md", scratch.path("link").c_str()), 0);
  EXPECT_ANY_THROW(append_to_file(scratch.path("link"), "third\n"));
  EXPECT_EQ(read_file(scratch.path("page.md")), "first\nsecond\n");
}

TEST(OutputFile, DevicesAndWhatIsOpenAlreadyAreStreams) {
  EXPECT_TRUE(look_at_output("-").stream);
  EXPECT_TRUE(look_at_output("/dev/stdout").stream);
  EXPECT_TRUE(look_at_output("/dev/null").stream);
  write_text_file("/dev/null", "text");
  EXPECT_THAT(refusal_of_writing("/dev/fd/987"), HasSubstr("Bad file descriptor"));
}

TEST(OutputFile, AnOpenFileIsGoneOnWithWhereItStandsAndNotBegunAgain) {
  const ScratchDirectory scratch;
  const int file = open(scratch.path("log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(write_all(file, "before "), 0);
  write_text_file(fmt::format("/dev/fd/{}", file), "after");
  close(file);
  EXPECT_EQ(read_file(scratch.path("log")), "before after");
}

}  // namespace
}  // namespace rdmameter
