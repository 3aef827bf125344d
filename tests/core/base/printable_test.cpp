// SPDX-License-Identifier: Apache-2.0
#include "core/base/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace rdmameter {
namespace {

constexpr std::size_t kWide = 1000;

TEST(Printable, KeepsEveryScriptAndReplacesWhatATerminalObeys) {
  for (const char* good : {"", "mlx5_0", "Grüße", "日本語", "\U0001f600", "back\\slash"}) {
    EXPECT_TRUE(is_printable(good)) << good;
    EXPECT_EQ(printable(good), good);
  }
  for (const char* bad : {"\x1b", "\n", "\t", "\r", "\x7f", "\u009b", "\u061c", "\u200e", "\u200f",
                          "\u2028", "\u2029", "\u202a", "\u202e", "\u2066", "\u2069"}) {
    EXPECT_FALSE(is_printable(bad)) << bad;
    EXPECT_EQ(printable("a" + std::string(bad) + "b"), "a?b");
  }
  EXPECT_FALSE(is_printable(std::string_view("a\0b", 3)));
}

TEST(Printable, TakesOverlongFormsSurrogatesAndHalfCharactersForBytesOfNoText) {
  EXPECT_EQ(printable("\xc0\x8a"), "??");            // a newline in two bytes
  EXPECT_EQ(printable("\xf0\x82\x80\xae"), "????");  // U+202E in four
  EXPECT_EQ(printable("\xed\xa0\x80"), "???");
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "????");
  EXPECT_EQ(printable("a\xe2\x80"), "a??");
}

TEST(Printable, LinesKeepTheirEnds) {
  EXPECT_EQ(printable_lines("one\ntwo\x1b[2J\r\n"), "one\ntwo?[2J?\n");
}

TEST(Beginning, DoesNotEndInsideACharacter) {
  EXPECT_EQ(beginning("aé", 3), "aé");
  EXPECT_EQ(beginning("aé", 2), "a");
  EXPECT_EQ(beginning("日本", 5), "日");
  EXPECT_EQ(beginning("abc", 0), "");
  EXPECT_EQ(beginning("\x80\x80\x80\x80\x80\x80", 5).size(), 5U);  // no character to spare
}

TEST(Excerpt, QuotesTwoHundredBytes) {
  EXPECT_EQ(excerpt("key\n"), "key?");
  EXPECT_EQ(excerpt(std::string(200, 'k')), std::string(200, 'k'));
  EXPECT_EQ(excerpt(std::string(900'000, 'k')), std::string(200, 'k') + "...");
}

TEST(EscapedLine, TellsTheBytesThatItReplaces) {
  EXPECT_EQ(escaped_line("Grüße \\n\n\t\x1b[2J\x7f", kWide), "Grüße \\\\n\\x0a\\x09\\x1b[2J\\x7f");
  EXPECT_EQ(escaped_line("\u0085\u061c\u202e\u2028", kWide), "\\u{85}\\u{61c}\\u{202e}\\u{2028}");
  EXPECT_EQ(escaped_line("a\xff\xe2\x80", kWide), "a\\xff\\xe2\\x80");
}

TEST(EscapedLine, IsCutBetweenCharactersAndBetweenEscapes) {
  EXPECT_EQ(escaped_line("abcd", 4), "abcd");
  EXPECT_EQ(escaped_line("abcde", 4), "abcd [cut, 5 bytes]");
  EXPECT_EQ(escaped_line("abcé", 4), "abc [cut, 5 bytes]");
  EXPECT_EQ(escaped_line("abc\n", 6), "abc [cut, 4 bytes]");
  EXPECT_EQ(escaped_line(std::string(900'000, '\n'), 1024).size(),
            1024 + std::string(" [cut, 900000 bytes]").size());
}

}  // namespace
}  // namespace rdmameter
