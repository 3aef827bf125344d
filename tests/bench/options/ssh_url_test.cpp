// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/options/run_hosts.h"
#include "core/base/error.h"

namespace rdmameter {
namespace {

/// The words behind ssh's fixed options.
std::vector<std::string> tail_of(std::string_view url) {
  const RemoteStart start = remote_start(url, "ssh", "rdmameter");
  const auto last_fixed = std::ranges::find(start.words, "-oClearAllForwardings=yes");
  if (last_fixed == start.words.end()) return {};
  return {last_fixed + 1, start.words.end()};
}

TEST(SshUrl, SaysUserHostAndPort) {
  const std::string command = "exec rdmameter serve --token-stdin";
  using Words = std::vector<std::string>;
  EXPECT_EQ(tail_of("ssh://node7"), (Words{"--", "node7", command}));
  EXPECT_EQ(tail_of("ssh://node7/"), (Words{"--", "node7", command}));
  EXPECT_EQ(tail_of("ssh://ci_user@node-7.lab:2222"),
            (Words{"-l", "ci_user", "-p", "2222", "--", "node-7.lab", command}));
  EXPECT_EQ(tail_of("ssh://me@realm@node7"), (Words{"-l", "me@realm", "--", "node7", command}));
  EXPECT_EQ(tail_of("ssh://[2001:db8::1]:22"), (Words{"-p", "22", "--", "2001:db8::1", command}));
  EXPECT_EQ(tail_of("ssh://[fe80::1%eth0]"), (Words{"--", "fe80::1%eth0", command}));
}

TEST(SshUrl, RefusesWhatSshOrAShellCouldTakeForSomethingElse) {
  for (const char* url : {"ssh://",       "ssh:///",        "ssh://@",
                          "ssh://@h",     "ssh://u@",       "ssh://-oProxyCommand=x",
                          "ssh://-l@h",   "ssh://u@-h",     "ssh://a;b",
                          "ssh://a b",    "ssh://a\nb",     "ssh://$(x)",
                          "ssh://`x`@h",  "ssh://u'@h",     "ssh://h/path",
                          "ssh://h?x",    "ssh://h%x",      "ssh://u:secret@h",
                          "ssh://h:0",    "ssh://h:65536",  "ssh://h:",
                          "ssh://h:x",    "ssh://::1",      "ssh://[::1",
                          "ssh://[::1]x", "ssh://[-oX::1]", "ssh://\xc3\xa9"})
    EXPECT_THROW(remote_start(url, "ssh", "rdmameter"), UsageError) << url;
}

TEST(SshUrl, TakesSshsOptionsInWordsAndAddsItsOwnBehindThem) {
  const RemoteStart start =
      remote_start("ssh://node7", "/opt/my\\ ssh -i 'a key' -o\"X=$HOME\"", "rdmameter");
  const std::vector<std::string> words(start.words.begin(), start.words.begin() + 5);
  EXPECT_EQ(words, (std::vector<std::string>{"/opt/my ssh", "-i", "a key", "-oX=$HOME", "-T"}));
  EXPECT_THAT(start.words, ::testing::Contains("-oBatchMode=yes"));
  for (const char* ssh : {"", "  ", "ssh 'open"})
    EXPECT_THROW(remote_start("ssh://node7", ssh, "rdmameter"), UsageError) << ssh;
}

TEST(SshUrl, QuotesTheProgramForTheShellThere) {
  const auto command = [](const std::string& program) {
    return remote_start("ssh://node7", "ssh", program).words.back();
  };
  EXPECT_EQ(command("bin/rdmameter"), "exec bin/rdmameter serve --token-stdin");
  EXPECT_EQ(command("/my dir/it's;rm"), "exec '/my dir/it'\\''s;rm' serve --token-stdin");
  for (const char* program : {"", "-x", "~/rdmameter", "a\nb"})
    EXPECT_THROW(command(program), UsageError) << program;
}

}  // namespace
}  // namespace rdmameter
