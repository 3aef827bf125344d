// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "bench/running/status_line.h"

namespace rdmameter {
namespace {

TEST(IntervalLine, SaysRatesOfABandwidthAndTimesOfALatency) {
  TestCase test_case = default_case(Opcode::rdma_write, Pattern::bandwidth);
  test_case.size_bytes = 1000;
  const ProgressInterval interval{.end_s = 12.04, .length_s = 2, .operations = 2'000'000};
  EXPECT_EQ(interval_line(test_case, interval), "12.0 s  1.00 Mmsg/s  8.00 Gb/s");
  test_case.bidirectional = true;
  EXPECT_EQ(interval_line(test_case, interval),
            "12.0 s  1.00 Mmsg/s  8.00 Gb/s  (sent by this end)");
  test_case = default_case(Opcode::send, Pattern::ping_pong);
  EXPECT_EQ(interval_line(test_case, interval), "12.0 s  2000000 round trips, one in 1.00 µs");
  EXPECT_EQ(interval_line(test_case, {.end_s = 3, .length_s = 1}), "3.0 s  nothing");
}

TEST(IntervalLine, HasWhatIsKnownOfTheLatenciesOfTheInterval) {
  TestCase test_case = default_case(Opcode::send, Pattern::ping_pong);
  ProgressInterval interval{.end_s = 3, .length_s = 1, .operations = 100'000};
  interval.latency =
      IntervalLatency{.count = 100'000, .lost = 0, .p50 = 9'500, .p99 = 12'300, .max = 105'000'000};
  EXPECT_EQ(
      interval_line(test_case, interval),
      "3.0 s  100000 round trips, one in 10.0 µs;  half RTT p50 4.75 µs, p99 6.15 µs, max 52.5 ms");
  interval.latency = IntervalLatency{.count = 2, .lost = 3, .p50 = {}, .p99 = {}, .max = 9'000};
  EXPECT_EQ(interval_line(test_case, interval),
            "3.0 s  100000 round trips, one in 10.0 µs;  half RTT max 4.50 µs, 3 lost");
  test_case = default_case(Opcode::rdma_read, Pattern::completion_latency);  // a whole one
  EXPECT_EQ(interval_line(test_case, interval),
            "3.0 s  100000 operations, one in 10.0 µs;  max 9.00 µs, 3 lost");
}

}  // namespace
}  // namespace rdmameter
