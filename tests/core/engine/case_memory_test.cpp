// SPDX-License-Identifier: Apache-2.0
#include "core/engine/case_memory.h"

#include <gtest/gtest.h>

#include "core/engine/layout/layout.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kMib = 1 << 20;

TestCase bandwidth_case(Opcode opcode) {
  return default_case(opcode, Pattern::bandwidth);
}

std::uint64_t bytes_of(const TestCase& test_case, Role role) {
  return case_memory_bytes(DeviceCase::usual(test_case, role));
}

TEST(CaseMemory, HoldsTheBuffersAndWhatTheQueuesTake) {
  const TestCase test_case = bandwidth_case(Opcode::send);
  for (const Role role : {Role::initiator, Role::responder}) {
    const Layout layout = layout_of(test_case, role);
    const std::uint64_t buffers = layout.source.total_bytes() + layout.target.total_bytes();
    EXPECT_GT(bytes_of(test_case, role), buffers);
    EXPECT_LT(bytes_of(test_case, role), buffers + kMib);
  }
}

TEST(CaseMemory, GrowsWithWhatAQueueHolds) {
  TestCase deep = bandwidth_case(Opcode::rdma_write);
  deep.queues.depth = 1 << 20;
  EXPECT_GT(bytes_of(deep, Role::initiator), 200 * kMib);
  // Who only is written to posts nothing.
  EXPECT_LT(bytes_of(deep, Role::responder), 4 * kMib);
  TestCase inlined = deep;
  inlined.queues.inline_bytes = 512;
  EXPECT_GE(bytes_of(inlined, Role::initiator) - bytes_of(deep, Role::initiator),
            512 * deep.queues.depth);
}

TEST(CaseMemory, CountsWholeHugePagesForEachThreadAndDirection) {
  TestCase huge = bandwidth_case(Opcode::rdma_write);
  huge.size_bytes = 64;
  huge.threads = 8;
  const std::uint64_t ordinary = bytes_of(huge, Role::responder);
  huge.responder.memory = kHugePages;
  EXPECT_GE(bytes_of(huge, Role::responder), 8 * 2 * kMib);
  EXPECT_LT(bytes_of(huge, Role::responder), 8 * 2 * kMib + ordinary);
  huge.responder.memory = kHugePages1G;
  huge.initiator.memory = kHugePages1G;
  EXPECT_GE(bytes_of(huge, Role::responder), 8 * 1024 * kMib);
  huge.bidirectional = true;
  EXPECT_GE(bytes_of(huge, Role::responder), 16 * 1024 * kMib);
}

TEST(CaseMemory, CountsASlotForEachReceiveWhereNumbersAreRead) {
  TestCase test_case = bandwidth_case(Opcode::send);
  test_case.transport = Transport::ud;
  test_case.size_bytes = 4096;
  const std::uint64_t turns = [&] {
    TestCase unread = test_case;
    unread.opcode = Opcode::send_imm;
    return bytes_of(unread, Role::responder);
  }();
  const std::uint64_t slots = layout_of(test_case, Role::responder).target.total_bytes();
  EXPECT_EQ(slots, 4 * kMib);
  EXPECT_EQ(bytes_of(test_case, Role::responder) - turns, slots - kMib);
  test_case.queues.recv = RecvQueue::srq;
  EXPECT_GE(bytes_of(test_case, Role::responder), slots);
}

TEST(CaseMemory, OfManyThreadsReceiversIsBoundedByShallowerQueues) {
  TestCase test_case = bandwidth_case(Opcode::send);
  test_case.transport = Transport::uc;
  test_case.size_bytes = 64 << 10;
  test_case.queues.depth = test_case.queues.signal_every = 8;
  test_case.qps = 64;
  test_case.threads = 32;
  ASSERT_TRUE(reads_receives(test_case));
  EXPECT_EQ(posted_receives(test_case), 56U);
  EXPECT_LT(bytes_of(test_case, Role::responder), kMaxBytesPerCase);
  test_case.bidirectional = true;
  EXPECT_EQ(posted_receives(test_case), 28U);
  EXPECT_LT(bytes_of(test_case, Role::responder), kMaxBytesPerCase);
}

TEST(CaseMemory, OfTheLargestCaseDoesNotWrap) {
  TestCase largest = bandwidth_case(Opcode::send);
  largest.size_bytes = 1ULL << 31;
  largest.qps = 65536;
  largest.queues.depth = largest.queues.rx_depth = 1 << 20;
  largest.queues.inline_bytes = kDeviceMax;
  for (const Role role : {Role::initiator, Role::responder}) {
    EXPECT_GT(bytes_of(largest, role), 65536ULL << 31);
    EXPECT_LT(bytes_of(largest, role), 1ULL << 60);
    EXPECT_GT(bytes_of(largest, role), kMaxBytesPerCase);
  }
}

TEST(CaseMemory, OfAControlPathTestCountsEachObjectsQueuesAndOneBuffer) {
  const auto bytes = [](Verb verb, std::uint64_t objects) {
    TestCase test_case = default_case(verb);
    test_case.objects = objects;
    return bytes_of(test_case, Role::initiator);
  };
  EXPECT_EQ(bytes(Verb::create_qp, 4095), 4096 * bytes(Verb::create_qp, 0));
  EXPECT_GE(bytes(Verb::create_qp, 0), (128U + 512U) * 64U);
  EXPECT_EQ(bytes(Verb::reg_mr, 4095), 65536U);
  EXPECT_EQ(bytes_of(default_case(Verb::create_qp), Role::responder), 0U);
}

}  // namespace
}  // namespace rdmameter
