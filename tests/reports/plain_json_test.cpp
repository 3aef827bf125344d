// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/result/row_json.h"
#include "core/result/row_parser.h"
#include "tests/reports/samples.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

bool is_plain(std::string_view text) {
  Json json;
  return parse_plain_json(text, json);
}

/// As the library has it, or not at all. @param into  of anything before @return  was it plain?
bool read_alike(const std::string& text, Json& into) {
  const bool is = parse_plain_json(text, into);
  EXPECT_EQ(is, is_plain(text)) << text;
  if (!is) return false;
  const Json library = Json::parse(text, nullptr, false);
  EXPECT_FALSE(library.is_discarded()) << text;
  EXPECT_EQ(into, library) << text;
  EXPECT_EQ(into.dump(), library.dump()) << text;  // types and order, too
  return true;
}

TEST(PlainJson, IsWhatTheLibraryReads) {
  Json into;
  for (const char* text :
       {"{}", "[]", "0", "17", "999999999999999999", "0.25", "1e3", "1E-3", "5.5e+2", "0e0", "null",
        "true", "false", "\"\"", R"("a b")", " [ 1 , 2.0,\t3\r\n] ", R"({"a": {"b": [null, []]}})",
        R"({"a": 1, "b": 2, "a": 3})", R"({"p50": 123.456789012345678})"})
    EXPECT_TRUE(read_alike(text, into)) << text;
}

TEST(PlainJson, HasNullInThePlaceOfWhatIsLeftOut) {
  constexpr std::string_view kLeftOut[] = {"histogram", "resources"};
  const auto read = [&](std::string_view text) {
    Json json;
    return parse_plain_json(text, json, kLeftOut) ? json.dump() : "";
  };
  EXPECT_EQ(read(R"({"a": {"histogram": {"n": [nonsense, {"x": "}\"}"}]}}, "b": [3]})"),
            R"({"a":{"histogram":null},"b":[3]})");
  EXPECT_EQ(read("{\"resources\" :\n[1, 2], \"b\": \"histogram\"}"),
            R"({"resources":null,"b":"histogram"})");
  EXPECT_EQ(read(R"({"histogram": 3, "resources": "none"})"),
            R"({"histogram":3,"resources":"none"})");
  for (const char* cut_off : {R"({"a": 1, "histogram": {"n": [1)", R"({"a": 1, "histogram": )",
                              R"({"histogram": {"a\)", R"({"histogram": {}})"})
    EXPECT_EQ(read(cut_off) == "", std::string_view(cut_off).back() != '}') << cut_off;
}

TEST(PlainJson, KeepsNothingOfWhatTheValueHeldBefore) {
  const std::vector<std::string> texts = {"{}",
                                          R"({"a": 1})",
                                          R"({"a": 1, "b": [1, 2, 3], "c": "x"})",
                                          R"({"b": [4], "a": 1})",
                                          R"({"a": 2, "b": [1.5, {"c": 1}], "a": 3})",
                                          R"({"a": {"b": 1}, "b": "y", "c": 2})",
                                          "[]",
                                          "[1, 2, 3]",
                                          R"([{"a": 1, "b": 2}, 5])",
                                          R"([{"a": 1}, "s", null])",
                                          "7",
                                          "0.5",
                                          R"("text")",
                                          "null",
                                          "true"};
  Json into;
  for (const std::string& before : texts)
    for (const std::string& text : texts) {
      ASSERT_TRUE(parse_plain_json(before, into));
      EXPECT_TRUE(read_alike(text, into)) << "after " << before;
    }
}

TEST(PlainJson, LeavesToTheLibraryWhatIsNoJsonOrNotPlain) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "}",
                           "[1",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "01",
                           "1.",
                           ".5",
                           "1.e5",
                           "1e",
                           "1e+",
                           "+1",
                           "-1",
                           "0x10",
                           "1e999",
                           "1 2",
                           "tru",
                           "nulls",
                           "nan",
                           "inf",
                           "\"a",
                           "\"\\n\"",
                           "\"\t\"",
                           "\"\xc3\xa9\"",
                           "\"\xff\"",
                           "1234567890123456789",
                           "'a'",
                           "[1]]",
                           "{\"a\":1}}",
                           "\"\x7f\""})
    EXPECT_FALSE(is_plain(text)) << text;
  const std::string deep(100, '[');
  EXPECT_FALSE(is_plain(deep + std::string(100, ']')));
  EXPECT_FALSE(is_plain(std::string(100'000, '[')));
}

TEST(PlainJson, OfDamagedRowsIsWhatTheLibraryReads) {
  constexpr std::string_view kBytes = "{}[]:,\"\\ 019.eE+-tfnul\n\x80";
  constexpr int kRounds = 1000;
  std::mt19937 engine(1);
  for (const std::string& row : {row_to_json(latency_row("rc", 64, 0, 1)).dump(),
                                 row_to_json(bandwidth_row(64, 0, 1)).dump(1)}) {
    int plain = 0;
    Json into;
    for (int i = 0; i < kRounds; ++i) {
      std::string damaged = row;
      for (std::uint32_t changes = engine() % 3; changes > 0; --changes)
        damaged[engine() % damaged.size()] = kBytes[engine() % kBytes.size()];
      plain += read_alike(damaged, into) ? 1 : 0;
    }
    EXPECT_GT(plain, kRounds / 4) << "a third is not damaged";
  }
}

TEST(PlainJson, OfARowThatIsCutOffIsNone) {
  const std::string row = row_to_json(bandwidth_row(64, 0, 1)).dump();
  for (std::size_t bytes = 0; bytes < row.size(); ++bytes)
    EXPECT_FALSE(is_plain(std::string_view(row).substr(0, bytes))) << bytes;
}

}  // namespace
}  // namespace rdmameter
