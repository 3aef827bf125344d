// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/verbs/check.h"

namespace rdmameter {
namespace {

using ::testing::HasSubstr;

TEST(WcStatus, EveryValueHasANameACauseAndAHintOfItsOwn) {
  std::set<std::string_view> names, causes;
  for (int value = IBV_WC_SUCCESS; value <= IBV_WC_TM_RNDV_INCOMPLETE; ++value) {
    const WcMeaning meaning = wc_meaning(static_cast<ibv_wc_status>(value));
    EXPECT_TRUE(meaning.name.starts_with("IBV_WC_")) << value;
    EXPECT_TRUE(names.insert(meaning.name).second) << meaning.name;
    EXPECT_TRUE(causes.insert(meaning.cause).second) << meaning.cause;
    EXPECT_EQ(meaning.hint.empty(), value == IBV_WC_SUCCESS) << meaning.name;
  }
}

TEST(WcStatus, TellsTheRetriesApart) {
  const std::string transport = wc_failure_text(IBV_WC_RETRY_EXC_ERR, "QP 0x11 on rxe0/1");
  EXPECT_THAT(transport,
              HasSubstr("IBV_WC_RETRY_EXC_ERR (12) on QP 0x11 on rxe0/1: no acknowledgement"));
  EXPECT_THAT(transport, HasSubstr("wrong GID"));
  const std::string rnr = wc_failure_text(IBV_WC_RNR_RETRY_EXC_ERR, "QP 0x11 on rxe0/1");
  EXPECT_THAT(rnr, HasSubstr("no receive posted"));
  EXPECT_THAT(rnr, HasSubstr("--rx-depth"));
}

TEST(WcStatus, ShowsTheVendorsCodeOnlyWhereThereIsOne) {
  EXPECT_THAT(wc_failure_text(IBV_WC_GENERAL_ERR, "QP 0x11", 0x68), HasSubstr("vendor error 0x68"));
  EXPECT_EQ(wc_failure_text(IBV_WC_GENERAL_ERR, "QP 0x11").find("vendor error 0x"),
            std::string::npos);
}

TEST(WcStatus, SurvivesAValueOfALaterLibibverbs) {
  EXPECT_THAT(wc_failure_text(static_cast<ibv_wc_status>(31), "QP 0x11"), HasSubstr("(31)"));
}

}  // namespace
}  // namespace rdmameter
