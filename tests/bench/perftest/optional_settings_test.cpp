// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/perftest/client.h"
#include "core/base/error.h"
#include "tests/bench/running/fake_measurer.h"

namespace rdmameter {
namespace {

using ::testing::HasSubstr;

/// A device that lacks some of what a case may ask for.
struct LackingDevice {
  bool has_inline = true, has_extended_api = true, has_size = true;
  FakeMeasurer measurer{[this](const TestCase& test_case) {
    if (!has_size) throw Unsupported("the size is too large");
    const bool most = test_case.queues.inline_bytes == kDeviceMax;
    if (!has_inline && !most && test_case.queues.inline_bytes > 32)
      throw Unsupported("at most 32 bytes inline here");
    if (!has_extended_api && test_case.extended_api()) throw Unsupported("no ibv_wr_* here");
    Outcome outcome{.effective = test_case};
    if (most) outcome.effective.queues.inline_bytes = 32;
    return outcome;
  }};
};

TestCase wishful() {
  TestCase test_case;
  test_case.queues.inline_bytes = 236;
  test_case.queues.api = Interface::extended;
  return test_case;
}

TEST(OptionalSettings, AreKeptWhereTheDeviceHasThem) {
  LackingDevice device;
  const auto measurer = with_optional_settings(device.measurer, {true, true});
  const TestCase effective = measurer->measure(wishful()).effective;
  EXPECT_EQ(effective.queues.inline_bytes, 236);
  EXPECT_TRUE(effective.extended_api());
  EXPECT_EQ(device.measurer.measured.size(), 1);
}

TEST(OptionalSettings, ThatTheDeviceLacksAreGivenUpOnceAndForAll) {
  LackingDevice device;
  device.has_inline = false;
  const auto measurer = with_optional_settings(device.measurer, {true, true});
  const TestCase first = measurer->measure(wishful()).effective;
  EXPECT_EQ(first.queues.inline_bytes, 32);
  EXPECT_TRUE(first.extended_api());
  EXPECT_EQ(device.measurer.measured.size(), 2);
  measurer->measure(wishful());
  EXPECT_EQ(device.measurer.measured.size(), 3);
  EXPECT_EQ(device.measurer.measured.back().queues.inline_bytes, kDeviceMax);
  TestCase none = wishful();
  none.queues.inline_bytes = 0;
  EXPECT_EQ(measurer->measure(none).effective.queues.inline_bytes, 0);
}

TEST(OptionalSettings, AreGivenUpOneByOneAndThenTogether) {
  LackingDevice device;
  device.has_extended_api = false;
  const auto one = with_optional_settings(device.measurer, {true, true});
  EXPECT_EQ(one->measure(wishful()).effective.queues.inline_bytes, 236);
  device.has_inline = false;
  const auto both = with_optional_settings(device.measurer, {true, true});
  const TestCase effective = both->measure(wishful()).effective;
  EXPECT_EQ(effective.queues.inline_bytes, 32);
  EXPECT_FALSE(effective.extended_api());
}

TEST(OptionalSettings, ThatWereAskedForAreNotGivenUp) {
  LackingDevice device;
  device.has_inline = false;
  const auto measurer =
      with_optional_settings(device.measurer, {.inline_bytes = false, .extended_api = true});
  EXPECT_THROW(measurer->measure(wishful()), Unsupported);
}

TEST(OptionalSettings, AreNotBlamedForSomethingElse) {
  LackingDevice device;
  device.has_size = false;
  const auto measurer = with_optional_settings(device.measurer, {true, true});
  try {
    measurer->measure(wishful());
    FAIL() << "measured";
  } catch (const Unsupported& error) {
    EXPECT_THAT(error.what(), HasSubstr("the size is too large"));
  }
  device.has_size = true;
  EXPECT_EQ(measurer->measure(wishful()).effective.queues.inline_bytes, 236);
}

}  // namespace
}  // namespace rdmameter
