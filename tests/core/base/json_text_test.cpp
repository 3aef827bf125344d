// SPDX-License-Identifier: Apache-2.0
#include "core/result/json_text.h"

#include <gtest/gtest.h>

namespace rdmameter {
namespace {

TEST(JsonText, EscapesWhatATerminalObeysAndKeepsEveryScript) {
  const nlohmann::ordered_json json{{"\u202ea µ\u2028日\x7f", "\u2066😀\n"}};
  EXPECT_EQ(json_text(json), R"({"\u202ea µ\u2028日\u007f":"\u2066😀\n"})");
  EXPECT_EQ(nlohmann::ordered_json::parse(json_text(json, 1)), json);
}

TEST(JsonText, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(json_text("a\xff"), "\"a\uFFFD\"");
}

}  // namespace
}  // namespace rdmameter
