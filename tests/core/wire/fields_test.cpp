// SPDX-License-Identifier: Apache-2.0
#include "core/wire/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "core/base/error.h"

namespace rdmameter {
namespace {

using nlohmann::json;

template <class Action>
std::string failure_of(Action&& action) {
  try {
    action();
  } catch (const MeasurementError& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

TEST(RequireUint, TakesTheWholeRangeAndNothingBeyond) {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  const json message = json::parse(R"({"zero":0,"most":18446744073709551615,"qpn":16777215})");
  EXPECT_EQ(require_uint(message, "zero", 0, 5), 0U);
  EXPECT_EQ(require_uint(message, "most", 0, kMax), kMax);
  EXPECT_EQ(require_uint_as<std::uint32_t>(message, "qpn", 0, 0xffffff), 0xffffffU);
  EXPECT_EQ(failure_of([&] { require_uint(message, "qpn", 1, 0xfffffe); }),
            "the peer's message: `qpn` must be a whole number from 1 to 16777214");
  failure_of([&] { require_uint(message, "zero", 1, 5); });
  failure_of([&] { require_uint_as<std::uint32_t>(message, "most"); });
}

TEST(RequireUint, RefusesEveryOtherType) {
  for (const char* bad : {"-1", "1.0", "1e3", "18446744073709551616", "-9223372036854775808",
                          "true", "null", "\"1\"", "[1]", "{}"}) {
    const json message = {{"n", json::parse(bad)}};
    EXPECT_NE(failure_of([&] {
                require_uint(message, "n", 0, std::numeric_limits<std::uint64_t>::max());
              }),
              "")
        << bad;
  }
}

TEST(RequireUint, TakesSignedValuesOfMessagesMadeByHand) {
  EXPECT_EQ(require_uint(json{{"n", 7}}, "n", 0, 10), 7U);
  failure_of([] {
    require_uint(json{{"n", -7}}, "n", 0, std::numeric_limits<std::uint64_t>::max());
  });
}

TEST(RequireField, SaysWhatIsMissing) {
  EXPECT_EQ(failure_of([] { require_uint(json::object(), "psn", 0, 1); }),
            "the peer's message: `psn` is missing");
  EXPECT_EQ(failure_of([] { require_uint(json::array(), "psn", 0, 1); }),
            "the peer's message: an object with `psn` was expected");
}

TEST(RequireBool, TakesNoNumbers) {
  EXPECT_TRUE(require_bool({{"on", true}}, "on"));
  EXPECT_EQ(failure_of([] {
              require_bool({{"on", 1}}, "on");
            }),
            "the peer's message: `on` must be true or false");
}

TEST(RequireString, CountsBytesAtBothEnds) {
  const json message = {{"name", "mlx5_0"}};
  EXPECT_EQ(require_string(message, "name", 6, 6), "mlx5_0");
  EXPECT_EQ(failure_of([&] { require_string(message, "name", 5); }),
            "the peer's message: `name` must be text of 0 to 5 bytes without control characters");
  failure_of([&] { require_string(message, "name", 9, 7); });
  failure_of([] { require_string({{"name", 1}}, "name", 9); });
}

TEST(RequireString, RefusesWhatATerminalWouldObey) {
  EXPECT_EQ(require_string({{"s", "Grüße, 日本"}}, "s", 99), "Grüße, 日本");
  for (const std::string& bad :
       {std::string("\x1b[2J"), std::string("a\0b", 3), std::string("\x7f"),
        std::string("\xc2\x9b"
                    "2J"),
        std::string("a\rb"), std::string("a\nb"), std::string("a\tb"), std::string("a\u202eb"),
        std::string("a\u2028b")}) {
    const std::string text = failure_of([&] { require_string({{"s", bad}}, "s", 99); });
    EXPECT_EQ(text.find(bad), std::string::npos);
  }
}

TEST(PrintableJson, ReplacesInKeysAndTextsAtEveryDepth) {
  const json facts =
      json::parse(R"({"host":"a\u001b[2J","l\n":[1,-2,2.5,true,null,{"k":"\u202e"}]})");
  EXPECT_EQ(printable_json(facts).dump(),
            R"({"host":"a?[2J","l?":[1,-2,2.5,true,null,{"k":"?"}]})");
}

TEST(RequireArray, CountsElements) {
  const json message = {{"qps", {1, 2, 3}}, {"object", json::object()}};
  EXPECT_EQ(require_array(message, "qps", 3, 3).size(), 3U);
  EXPECT_EQ(failure_of([&] { require_array(message, "qps", 2); }),
            "the peer's message: `qps` must be an array of 0 to 2 elements");
  failure_of([&] { require_array(message, "qps", 9, 4); });
  failure_of([&] { require_array(message, "object", 9); });
}

TEST(RequireObject, TakesNothingElse) {
  const json message = {{"case", {{"size_bytes", 64}}}, {"list", {1}}};
  EXPECT_EQ(require_object(message, "case").size(), 1U);
  failure_of([&] { require_object(message, "list"); });
}

}  // namespace
}  // namespace rdmameter
