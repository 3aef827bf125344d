// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/wire/watcher.h"
#include "tests/core/wire/pair.h"

namespace rdmameter {
namespace {

constexpr auto kLong = 1h;

TEST(OrderlyEnd, TakesTheFirstInterruptForTheMeasurementsOwn) {
  InterruptSource interrupt;
  const InterruptSource nobody;
  const EventFd told;
  {
    const OrderlyEnd orderly{interrupt, kLong, [&] {
                               told.raise();
                               return true;
                             }};
    EXPECT_FALSE(orderly.asked());
    EXPECT_FALSE(interrupt.raise());
    EXPECT_EQ(wait_for(-1, 0, soon(), nobody, &told), Waited::woken);
    EXPECT_TRUE(orderly.asked());
  }
  EXPECT_FALSE(interrupt.requested());
  EXPECT_EQ(interrupt.word().reason(), StopReason::finish) << "nothing more is to be begun";
  EXPECT_EQ(wait_for(-1, 0, Deadline::in(1ms), interrupt), Waited::deadline);
}

TEST(OrderlyEnd, EndsEverythingAtTheSecondInterrupt) {
  InterruptSource interrupt;
  const OrderlyEnd orderly{interrupt, kLong, [] { return true; }};
  EXPECT_FALSE(interrupt.raise());
  EXPECT_FALSE(interrupt.requested());
  EXPECT_TRUE(interrupt.raise());
  EXPECT_EQ(wait_for(-1, 0, soon(), interrupt), Waited::interrupted);
  EXPECT_TRUE(interrupt.requested());
}

TEST(OrderlyEnd, EndsEverythingWhereThereIsNothingToKeep) {
  InterruptSource interrupt;
  const OrderlyEnd orderly{interrupt, kLong, [] { return false; }};
  interrupt.raise();
  EXPECT_EQ(wait_for(-1, 0, soon(), interrupt), Waited::interrupted);
  EXPECT_EQ(interrupt.word().reason(), StopReason::interrupted);
}

TEST(OrderlyEnd, EndsEverythingWhereTheMeasurementDoesNotEndInTime) {
  InterruptSource interrupt;
  const OrderlyEnd orderly{interrupt, 50ms, [] { return true; }};
  interrupt.raise();
  const double seconds =
      seconds_of([&] { EXPECT_EQ(wait_for(-1, 0, soon(), interrupt), Waited::interrupted); });
  EXPECT_GE(seconds, 0.04);
}

TEST(OrderlyEnd, IsNobodysConcernOnceTheMeasurementIsOver) {
  InterruptSource interrupt;
  bool told = false;
  {
    const OrderlyEnd orderly{interrupt, kLong, [&] { return told = true; }};
  }
  EXPECT_TRUE(interrupt.raise());
  EXPECT_TRUE(interrupt.requested());
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace rdmameter
