// SPDX-License-Identifier: Apache-2.0
#include "core/result/strip_values.h"

#include <gtest/gtest.h>

namespace rdmameter {
namespace {

constexpr std::string_view kKeys[] = {"histogram", "resources"};

TEST(Skim, PutsNullInThePlaceOfWhatStandsUnderAKey) {
  EXPECT_EQ(strip_values(R"({"a": {"histogram": {"n": [1, {"x": 2}]}}, "b": [3]})", kKeys),
            R"({"a": {"histogram": null}, "b": [3]})");
  EXPECT_EQ(strip_values("{\"resources\" :\n[1, 2], \"b\": 3}", kKeys),
            "{\"resources\" :\nnull, \"b\": 3}");
}

TEST(Skim, LooksForKeysOutsideOfStringsAlone) {
  const std::string text = R"({"a": "\"histogram\": {", "b": "\\", "c": "}", "d": "histogram"})";
  EXPECT_EQ(strip_values(text, kKeys), text);
  EXPECT_EQ(strip_values(R"({"histogram": {"quote": "}\"}", "b": 1}, "c": 2})", kKeys),
            R"({"histogram": null, "c": 2})");
}

TEST(Skim, LeavesScalarsUnderAKeyAlone) {
  EXPECT_EQ(strip_values(R"({"histogram": 3, "resources": "none"})", kKeys),
            R"({"histogram": 3, "resources": "none"})");
}

TEST(Skim, OfTextThatIsCutOffStaysCutOff) {
  EXPECT_EQ(strip_values(R"({"a": 1, "histogram": {"n": [1)", kKeys), R"({"a": 1, "histogram": )");
  EXPECT_EQ(strip_values(R"({"a": "no end)", kKeys), R"({"a": "no end)");
  EXPECT_EQ(strip_values(R"({"a)", kKeys), R"({"a)");
  EXPECT_EQ(strip_values("\"", kKeys), "\"");
  EXPECT_EQ(strip_values("", kKeys), "");
  EXPECT_EQ(strip_values("{\"histogram\": {\"a\\", kKeys), "{\"histogram\": ");
}

/// Texts are searched word by word.
TEST(Skim, FindsWhatEndsAValueWhereverItStandsInAWord) {
  for (std::size_t length = 0; length < 20; ++length) {
    const std::string digits(length, '1'), letters(length, 'x');
    for (const std::string& left_out :
         {"[" + digits + "]", "{\"" + letters + "\": " + digits + "}",
          "[\"" + letters + "]\", " + digits + "]", "[\"" + letters + "\\\"]\"" + digits + "]",
          "[[" + digits + "], {\"" + letters + "\\\\\": [" + digits + "]}" + digits + "]"}) {
      const std::string before = "{\"" + letters + "\": " + digits + ", \"histogram\": ";
      EXPECT_EQ(strip_values(before + left_out + ", \"b\": [2]}", kKeys),
                before + "null, \"b\": [2]}");
    }
  }
}

}  // namespace
}  // namespace rdmameter
