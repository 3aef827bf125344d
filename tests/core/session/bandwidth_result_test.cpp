// SPDX-License-Identifier: Apache-2.0
#include "core/session/bandwidth_result.h"

#include <gtest/gtest.h>

namespace rdmameter {
namespace {

Report report(std::uint64_t messages, std::uint64_t elapsed_ns) {
  Report report;
  report.operations = report.total = messages;
  report.elapsed_ns = report.traffic_ns = elapsed_ns;
  return report;
}

TEST(BandwidthResult, CountsThePayloadOfTheWindowsMessagesInBytes) {
  TestCase write = default_case(Opcode::rdma_write, Pattern::bandwidth);
  write.size_bytes = 1000;
  const BandwidthData data = bandwidth_of(write, report(5, 100), report(4, 200));
  EXPECT_EQ(data.bytes, 5000U);
  EXPECT_EQ(data.window_ns, 100U);
  EXPECT_EQ(data.counted_by, BandwidthData::CountedBy::initiator);
}

TEST(BandwidthResult, IsTheReceiversWhereNothingTellsTheSenderOfArrivals) {
  TestCase send = default_case(Opcode::send, Pattern::bandwidth);
  send.transport = Transport::ud;
  send.size_bytes = 1000;
  const BandwidthData data = bandwidth_of(send, report(5, 100), report(4, 200));
  EXPECT_EQ(data.bytes, 4000U);
  EXPECT_EQ(data.window_ns, 200U);
  EXPECT_EQ(data.counted_by, BandwidthData::CountedBy::receiver);
}

TEST(BandwidthResult, OfBothDirectionsHasTheBytesOfBothAndTheSumOfTheRates) {
  const BandwidthData forward{.messages = 4, .bytes = 4000, .window_ns = 100},
      backward{.messages = 2, .bytes = 2000, .window_ns = 100};
  const BandwidthData sum = both(forward, backward);
  EXPECT_EQ(sum.bytes, 6000U);
  EXPECT_EQ(sum.window_ns, 100U);
}

}  // namespace
}  // namespace rdmameter
