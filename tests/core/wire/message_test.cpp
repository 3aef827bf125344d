// SPDX-License-Identifier: Apache-2.0
#include "core/wire/message.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "core/base/error.h"

namespace rdmameter {
namespace {

using json = nlohmann::ordered_json;

constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();

struct Inner {
  std::uint64_t qpn = 7;
};

void list_fields(auto& fields, Is<Inner> auto& inner) {
  fields("qpn", inner.qpn, {.min = 1, .max = 0xffffff});
}

struct Outer {
  std::uint64_t count = kMost;
  std::uint16_t port = 1;
  int layer = 2;
  bool on = false;
  std::string name = "mlx5_0";
  std::vector<std::uint32_t> qpns = {1, 2, 3};
  std::vector<std::string> addresses = {"2001:db8:1234:5678:9abc:def0:1234:5678"};
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();
  std::optional<Inner> inner;
  std::optional<std::string> reason;
};

void list_fields(auto& fields, Is<Outer> auto& outer) {
  fields("count", outer.count);
  fields("port", outer.port);
  fields("layer", outer.layer, {.max = 255});
  fields("on", outer.on);
  fields("name", outer.name, {.min_size = 1, .max_size = 32});
  fields("qpns", outer.qpns, {.max = 0xffffff, .min_size = 1, .max_size = 4});
  fields("addresses", outer.addresses, {.max_size = 2});  // of them, and not of their bytes
  fields("facts", outer.facts);
  fields("inner", outer.inner);
  fields("reason", outer.reason, {.max_size = 8});
}

std::string refusal_of(const json& message) {
  try {
    read_message<Outer>(message);
  } catch (const MeasurementError& error) {
    return error.what();
  }
  return "";
}

/// Of a good message with another value, or without one.
std::string refusal_with(const std::string& pointer, const json& value) {
  json message = make_message("outer", Outer{.inner = Inner{}});
  message[json::json_pointer(pointer)] = value;
  return refusal_of(message);
}

TEST(Message, IsWholeAndComesAsItWas) {
  const json message = make_message("outer", Outer{});
  EXPECT_EQ(message.dump(),
            R"({"count":18446744073709551615,"port":1,"layer":2,"on":false,"name":"mlx5_0",)"
            R"("qpns":[1,2,3],"addresses":["2001:db8:1234:5678:9abc:def0:1234:5678"],"facts":{},)"
            R"("inner":null,"reason":null,"type":"outer"})");
  EXPECT_EQ(type_of(message), "outer");
  const auto read = read_message<Outer>(json::parse(message.dump()));
  EXPECT_EQ(read.count, kMost);
  EXPECT_EQ(read.qpns.size(), 3U);
  EXPECT_FALSE(read.inner);
  EXPECT_EQ(make_message("", read_message_text<Outer>(message_text(Outer{.inner = Inner{}}))),
            make_message("", Outer{.inner = Inner{}}));
}

TEST(Message, WithoutAKeyOfAnotherTypeOrOutOfRangeIsRefusedByName) {
  const json good = make_message("outer", Outer{});
  for (const char* key : {"count", "port", "layer", "on", "name", "qpns", "addresses", "facts"}) {
    json message = good;
    message.erase(key);
    EXPECT_EQ(refusal_of(message),
              std::string("the peer's message: the key \"") + key + "\" is missing");
  }
  EXPECT_EQ(refusal_with("/port", 65536), "the peer's message: port is 65536, outside 0 to 65535");
  EXPECT_EQ(refusal_with("/inner/qpn", 0),
            "the peer's message: inner: qpn is 0, outside 1 to 16777215");
  EXPECT_NE(refusal_with("/qpns/1", 0x1000000).find("qpns[1] is 16777216"), std::string::npos);
  for (const char* bad : {"-1", "1.0", "1e3", "18446744073709551616", "-9223372036854775808",
                          "true", "null", "\"1\"", "[1]", "{}"})
    EXPECT_NE(refusal_with("/count", json::parse(bad)), "") << bad;
  for (const auto& [pointer, value] :
       std::vector<std::pair<std::string, json>>{{"/layer", 256},
                                                 {"/layer", -1},
                                                 {"/on", 1},
                                                 {"/name", ""},
                                                 {"/name", std::string(33, 'x')},
                                                 {"/qpns", json::array()},
                                                 {"/qpns", {1, 2, 3, 4, 5}},
                                                 {"/qpns", 1},
                                                 {"/addresses", {"a", "b", "c"}},
                                                 {"/addresses/0", "two\nlines"},
                                                 {"/facts", nullptr},
                                                 {"/facts", json::array()},
                                                 {"/inner", 7},
                                                 {"/inner", json::array()},
                                                 {"/reason", 1}})
    EXPECT_NE(refusal_with(pointer, value), "") << pointer << value;
  for (const json& none : {json(), json(1), json::array(), json("x")}) {
    EXPECT_NE(refusal_of(none), "");
    EXPECT_THROW(type_of(none), MeasurementError);
  }
  EXPECT_EQ(refusal_of(json(1)), "the peer's message: it is not an object");
  EXPECT_THROW(read_message_text<Outer>("no JSON"), MeasurementError);
  const std::string deep = std::string(60'000, '[') + std::string(60'000, ']');
  EXPECT_THROW(read_message_text<Outer>(deep), MeasurementError);
}

TEST(Message, TakesSignedNumbersOfMessagesMadeByHand) {
  EXPECT_EQ(refusal_with("/count", 7), "");
  EXPECT_NE(refusal_with("/count", -7), "");
}

TEST(Message, HasNoTextThatATerminalWouldObey) {
  EXPECT_EQ(refusal_with("/name", "Grüße, 日本"), "");
  for (const std::string& bad :
       {std::string("\x1b[2J"), std::string("a\0b", 3), std::string("\x7f"),
        std::string("\xc2\x9b"
                    "2J"),
        std::string("a\rb"), std::string("a\nb"), std::string("a\tb"), std::string("a\u202eb"),
        std::string("a\u2028b")}) {
    const std::string text = refusal_with("/name", bad);
    EXPECT_NE(text, "");
    EXPECT_EQ(text.find(bad), std::string::npos);
  }
}

TEST(PrintableJson, ReplacesInKeysAndTextsAtEveryDepth) {
  const json facts =
      json::parse(R"({"host":"a\u001b[2J","l\n":[1,-2,2.5,true,null,{"k":"\u202e"}]})");
  EXPECT_EQ(printable_json(facts).dump(),
            R"({"host":"a?[2J","l?":[1,-2,2.5,true,null,{"k":"?"}]})");
}

}  // namespace
}  // namespace rdmameter
