// SPDX-License-Identifier: Apache-2.0
#include "core/session/bandwidth_result.h"

#include <gtest/gtest.h>

namespace rdmameter {
namespace {

Report report(std::uint64_t messages, std::uint64_t elapsed_ns) {
  Report report;
  report.operations = messages;
  report.totals = {messages};
  report.elapsed_ns = report.traffic_ns = elapsed_ns;
  return report;
}

TEST(BandwidthResult, CountsThePayloadOfTheWindowsMessagesInBytes) {
  TestCase write = default_case(Opcode::rdma_write, Pattern::bandwidth);
  write.size_bytes = 1000;
  const BandwidthData data = bandwidth_of(write, report(5000, 100), report(4000, 200));
  EXPECT_EQ(data.bytes, 5000000U);
  EXPECT_EQ(data.window_ns, 100U);
  EXPECT_EQ(data.counted_by, BandwidthData::CountedBy::initiator);
}

TEST(BandwidthResult, IsTheReceiversWhereNothingTellsTheSenderOfArrivals) {
  TestCase send = default_case(Opcode::send, Pattern::bandwidth);
  send.transport = Transport::ud;
  send.size_bytes = 1000;
  const BandwidthData data = bandwidth_of(send, report(5000, 100), report(4000, 200));
  EXPECT_EQ(data.bytes, 4000000U);
  EXPECT_EQ(data.window_ns, 200U);
  EXPECT_EQ(data.counted_by, BandwidthData::CountedBy::receiver);
}

TEST(BandwidthResult, OfAWindowThatTheQueuesHoldIsTheRateOfTheWholeTraffic) {
  TestCase write = default_case(Opcode::rdma_write, Pattern::bandwidth);
  write.qps = 2;
  write.queues.depth = 64;
  Report sent = report(300, 9000);
  sent.operations = 255;
  sent.elapsed_ns = 1;  // one look at the CQ
  const BandwidthData data = bandwidth_of(write, sent, report(0, 0));
  EXPECT_TRUE(data.short_window);
  EXPECT_EQ(data.messages, 255U);
  EXPECT_EQ(data.window_ns, 9000U * 255 / 300);
  sent.operations = 256;
  EXPECT_FALSE(bandwidth_of(write, sent, report(0, 0)).short_window);
}

TEST(BandwidthResult, OfAShortWindowIsTheReceiversWhereThatIsSlower) {
  TestCase send = default_case(Opcode::send, Pattern::bandwidth);
  send.transport = Transport::uc;
  const BandwidthData fast = bandwidth_of(send, report(100, 5000), report(100, 10));
  EXPECT_EQ(fast.window_ns, 5000U);
  const BandwidthData slow = bandwidth_of(send, report(100, 5000), report(100, 7000));
  EXPECT_EQ(slow.window_ns, 7000U);
  EXPECT_TRUE(slow.short_window);
}

TEST(BandwidthResult, OfAShortWindowCountsWhatArrivedAndNotWhatWasSent) {
  TestCase send = default_case(Opcode::send, Pattern::bandwidth);
  send.transport = Transport::ud;
  Report received = report(110, 10);  // of 200; 10 came twice
  received.duplicated = 10;
  received.operations = 50;
  EXPECT_EQ(bandwidth_of(send, report(200, 6000), received).window_ns, 3000U);
}

TEST(BandwidthResult, OfAShortWindowIsThatOfAllReceiversOfAGroup) {
  TestCase multicast = default_case(Opcode::mcast_send, Pattern::bandwidth);
  multicast.peers = 4;
  Report received = report(400, 10);  // 100 messages, at four receivers
  received.operations = 200;
  const BandwidthData data = bandwidth_of(multicast, report(100, 6000), received);
  EXPECT_EQ(data.window_ns, 3000U);
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
