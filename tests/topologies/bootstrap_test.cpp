// SPDX-License-Identifier: Apache-2.0
// What ranks exchange over TCP, as far as it takes no launcher.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "topologies/ranks/bootstrap/messages.h"
#include "topologies/ranks/bootstrap/own_addresses.h"

namespace rdmameter {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

TEST(RankMessages, SurviveThereAndBack) {
  const std::vector<RankMessage> messages = {
      {.from = 0, .to = 2, .text = std::string("a\0b\xff", 4)},
      {.from = 2, .to = 1, .text = ""},
      {.from = 1, .to = 0, .text = std::string(100'000, 'x')}};
  EXPECT_EQ(unpack(pack(messages), 3), messages);
  EXPECT_TRUE(unpack(pack({}), 3).empty());
}

TEST(RankMessages, ThatAreCutOffOrOfUnknownRanksAreRefused) {
  const std::string packed = pack({{.from = 1, .to = 2, .text = "text"}});
  for (std::size_t bytes = 1; bytes < packed.size(); ++bytes)
    EXPECT_THROW(unpack(packed.substr(0, bytes), 3), MeasurementError) << bytes;
  EXPECT_THROW(unpack(packed, 2), MeasurementError);
  EXPECT_THROW(unpack(packed + "more", 3), MeasurementError);
}

TEST(OwnAddresses, OfLoopbackAreTakenOnlyWhereItIsNamed) {
  EXPECT_THAT(own_addresses("lo"), Contains("127.0.0.1"));
  EXPECT_THAT(own_addresses(""), testing::Not(Contains("127.0.0.1")));
}

TEST(OwnAddresses, OfAnUnknownInterfaceAreAnErrorThatNamesTheOthers) {
  try {
    own_addresses("nowhere0");
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_THAT(
        error.what(),
        AllOf(HasSubstr("--bootstrap-if nowhere0: there is no such interface"), HasSubstr("lo")));
  }
}

}  // namespace
}  // namespace rdmameter
