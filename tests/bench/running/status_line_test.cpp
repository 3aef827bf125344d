// SPDX-License-Identifier: Apache-2.0
#include "bench/running/status_line.h"

#include <gtest/gtest.h>

#include "reports/text/text.h"

namespace rdmameter {
namespace {

TEST(StatusLine, SaysWhichElapsedAndLeft) {
  EXPECT_EQ(status_line(0, 40, 0.2, "write_lat/rc", 80), "1/40  0:00 elapsed  write_lat/rc");
  EXPECT_EQ(status_line(10, 40, 70, "write_lat/rc", 80),
            "11/40  1:10 elapsed, 3:30 left  write_lat/rc");
  EXPECT_EQ(status_line(1, 3, 3725, "x", 80), "2/3  1:02:05 elapsed, 2:04:10 left  x");
}

TEST(StatusLine, IsShorterThanTheTerminalIsWide) {
  const std::string name(100, 'n');
  for (const std::size_t width : {0, 1, 10, 40, 80})
    EXPECT_LE(status_line(3, 40, 1, name, width).size(), width == 0 ? 0 : width - 1) << width;
  EXPECT_EQ(status_line(3, 40, 1, name, 80).size(), 79U);
}

TEST(StatusLine, MovesNoCursor) {
  EXPECT_EQ(status_line(0, 1, 0, "a\r\x1b[2J", 80), "1/1  0:00 elapsed  a??[2J");
}

TEST(BrokenLines, BreakAtBlanksBeneathWhoeverSpeaks) {
  EXPECT_EQ(broken_lines("short\n", 20), "short\n");
  EXPECT_EQ(broken_lines("rdmameter: one two three\n  four five six seven\n", 16),
            "rdmameter: one\n           two\n           three\n  four five six\n  seven\n");
}

TEST(BrokenLines, OfACommandCanBeCopied) {
  EXPECT_EQ(broken_lines("with\n  RDMAMETER_TOKEN=0123 rdmameter run 192.0.2.1 write_lat\n", 40),
            "with\n  RDMAMETER_TOKEN=0123 rdmameter run \\\n  192.0.2.1 write_lat\n");
}

}  // namespace
}  // namespace rdmameter
