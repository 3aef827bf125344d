// SPDX-License-Identifier: Apache-2.0
#include "core/result/row_parser.h"

#include <gtest/gtest.h>

#include <array>

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kLeftOut[] = {"histogram", "resources"};

TEST(RowParser, ReadsEachRowAsItStandsWhateverTheOneBeforeSaid) {
  RowParser rows({});
  for (const char* text :
       {R"({"name": "a", "case": {"size": 2}, "p50": 1.5})",
        R"({"name": "a", "case": {"size": 2}, "p50": 2.5})",    // one value differs
        R"({"name": "a", "case": {"size": 2}, "p50": 2.5})",    // none
        R"({ "name" :"a","case":{"size":2} , "p50":2.5 })",     // spaces
        R"({"case": {"size": 2}, "name": "a", "p50": 2.5})",    // another order
        R"({"case": {"size": 2}, "name": "a"})",                // a key fewer
        R"({"case": {"size": 4}, "name": "a", "lost": null})",  // and another
        R"({"n\u0061me": "a", "\"": "}"})", R"({"name": "b", "\"": "{"})",
        R"({"p50": 1, "p50": 2, "name": "a"})",  // the later one counts
        R"({"p50": 1, "p50": 3, "name": "a"})", R"({"p50": 4, "p50": 3, "name": "b"})", "{}",
        R"({"name": "a"})", "[1, 2]", "7", R"({"name": [{}]})"})
    EXPECT_EQ(rows.parse(text).dump(), Json::parse(text).dump()) << text;
}

TEST(RowParser, PutsNullInThePlaceOfWhatIsLeftOut) {
  RowParser rows(kLeftOut);
  const auto row = [](int p50) {
    return R"({"latency": {"p50": )" + std::to_string(p50) +
           R"(, "histogram": {"n": [nonsense]}}, "resources": {"qps": 1}})";
  };
  for (const int p50 : {1, 2})
    EXPECT_EQ(rows.parse(row(p50)).dump(), R"({"latency":{"p50":)" + std::to_string(p50) +
                                               R"(,"histogram":null},"resources":null})");
  EXPECT_EQ(rows.parse(R"({"resources": 3})").dump(), R"({"resources":3})");
}

TEST(RowParser, RefusesWhatIsNoJsonInWhateverPlace) {
  const std::string good = R"({"name": "a", "case": {"size": 2}})";
  for (const char* bad :
       {R"({"name": "a", "case": {"size": 2})", R"({"name": "a" "case": {"size": 2}})",
        R"({"name": "a", "case": {"size": 2}} x)", R"({"name": "a", "case": {"size": 2]})",
        R"({"name": "a", "case": {"size": 02}})", R"({"name": "a", "case": })",
        R"({"name": "a", "case"})", R"({"name": "a", case: {"size": 2}})",
        R"({"name": "a",, "case": {"size": 2}})", R"({"name": a", "case": {"size": 2}})",
        R"({"name": "a", "case": {"size": 2},})", R"({"name": "\x", "case": {"size": 2}})", ""})
    for (const bool after : {false, true}) {
      RowParser rows({});
      if (after) rows.parse(good);
      EXPECT_THROW(rows.parse(bad), Json::exception) << bad;
    }
}

}  // namespace
}  // namespace rdmameter
