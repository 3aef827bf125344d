// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/cases/cases.h"
#include "core/base/error.h"

namespace rdmameter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> read(std::string_view option, std::string_view list) {
  return read_axis_list(*find_axis(option), list);
}

std::string refusal(std::string_view option, std::string_view list) {
  try {
    read(option, list);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(AxisList, TakesAValueOrAList) {
  EXPECT_THAT(read("size", "8K"), ElementsAre("8192"));
  EXPECT_THAT(read("size", "64,1K,4"), ElementsAre("64", "1024", "4"));
  EXPECT_THAT(read("transport", "ud,RC"), ElementsAre("ud", "rc"));
  EXPECT_THAT(read("device", "rxe0,auto"), ElementsAre("rxe0", "auto"));
}

TEST(AxisList, DoublesFromTheFirstAndAlwaysIncludesTheLast) {
  EXPECT_THAT(read("size", "2..16"), ElementsAre("2", "4", "8", "16"));
  EXPECT_THAT(read("size", "3..20"), ElementsAre("3", "6", "12", "20"));
  EXPECT_THAT(read("size", "1K..4k"), ElementsAre("1024", "2048", "4096"));
  EXPECT_THAT(read("size", "5..5"), ElementsAre("5"));
  EXPECT_EQ(read("size", "2..8M").size(), 23U);
  EXPECT_THAT(read("size", "1G..2G"), ElementsAre("1073741824", "2147483648"));
}

TEST(AxisList, TakesNoDurationOf0BesideAnother) {
  EXPECT_THAT(read("duration", "0"), ElementsAre("0"));
  EXPECT_THAT(refusal("duration", "0,5"), HasSubstr("; a decimal point is a point: 0.5"));
  EXPECT_THAT(refusal("duration", "5,0"), HasSubstr("; a decimal point is a point: 5.0"));
}

TEST(AxisList, StepsWhereAStepIsGiven) {
  EXPECT_THAT(read("depth", "1..10:4"), ElementsAre("1", "5", "9"));
  EXPECT_THAT(read("gid-index", "0..3:1"), ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(read("size", "1K..3K:1K"), ElementsAre("1024", "2048", "3072"));
  EXPECT_THAT(read("size", "1..4:8G"), ElementsAre("1"));
  EXPECT_THAT(read("duration", "1ms..3ms:500us"),
              ElementsAre("1ms", "1500us", "2ms", "2500us", "3ms"));
}

TEST(AxisList, MixesItemsAndDropsRepetitionsKeepingTheOrder) {
  EXPECT_THAT(read("size", "4,1..4,8,1K,1024"), ElementsAre("4", "1", "2", "8", "1024"));
  EXPECT_THAT(read("inline", "off,max,64..128"), ElementsAre("off", "max", "64", "128"));
}

TEST(AxisList, RefusesWhatIsNoListNamingTheOption) {
  for (const char* list :
       {"", ",", "1,", "1,,2", "..", "1..", "..4", "1...4", "8..4", "0..4", "1..0",
        "1..4:", "1..4:0", "1..4:-1", "1..4:x", "1..4:1:1", "1-4", "8kk", "-1"})
    EXPECT_THAT(refusal("size", list), HasSubstr("--size")) << list;
  EXPECT_THAT(refusal("transport", "rc..ud"), HasSubstr("words have no ranges"));
  EXPECT_THAT(refusal("inline", "off..64"), HasSubstr("numbers at its ends"));
  EXPECT_THAT(refusal("gid-index", "0..3"), HasSubstr("doubling never leaves 0"));
  EXPECT_THAT(refusal("size", "1..2G:1"), HasSubstr("more than 100000 values"));
}

}  // namespace
}  // namespace rdmameter
