// SPDX-License-Identifier: Apache-2.0
#include "bench/running/interval_line.h"

#include <gtest/gtest.h>

namespace rdmameter {
namespace {

TEST(IntervalLine, SaysRatesOfABandwidthAndTimesOfALatency) {
  TestCase test_case = default_case(Opcode::rdma_write, Pattern::bandwidth);
  test_case.size_bytes = 1000;
  const ProgressInterval interval{.end_s = 12.04, .length_s = 2, .operations = 2'000'000};
  EXPECT_EQ(interval_line(test_case, interval), "12.0 s  1.00 Mmsg/s  8.00 Gb/s");
  test_case = default_case(Opcode::send, Pattern::ping_pong);
  EXPECT_EQ(interval_line(test_case, interval), "12.0 s  2000000 operations, one in 1 us");
  EXPECT_EQ(interval_line(test_case, {.end_s = 3, .length_s = 1}), "3.0 s  nothing");
}

}  // namespace
}  // namespace rdmameter
