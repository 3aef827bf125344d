// SPDX-License-Identifier: Apache-2.0
#include "core/case_memory.h"

#include <gtest/gtest.h>

#include "core/layout.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kMib = 1 << 20;

Case bandwidth_case(Opcode opcode) {
  return default_case(opcode, Pattern::bandwidth);
}

TEST(CaseMemory, HoldsTheBuffersAndWhatTheQueuesTake) {
  const Case one_case = bandwidth_case(Opcode::send);
  for (const Role role : {Role::initiator, Role::responder}) {
    const Layout layout = layout_of(one_case, role);
    const std::uint64_t buffers = layout.source.total_bytes() + layout.target.total_bytes();
    EXPECT_GT(case_memory_bytes(one_case, role), buffers);
    EXPECT_LT(case_memory_bytes(one_case, role), buffers + kMib);
  }
}

TEST(CaseMemory, GrowsWithWhatAQueueHolds) {
  Case deep = bandwidth_case(Opcode::rdma_write);
  deep.depth = 1 << 20;
  EXPECT_GT(case_memory_bytes(deep, Role::initiator), 200 * kMib);
  // Who only is written to posts nothing.
  EXPECT_LT(case_memory_bytes(deep, Role::responder), 4 * kMib);
  Case inlined = deep;
  inlined.inline_bytes = 512;
  EXPECT_GE(case_memory_bytes(inlined, Role::initiator) - case_memory_bytes(deep, Role::initiator),
            512 * deep.depth);
}

TEST(CaseMemory, OfTheLargestCaseDoesNotWrap) {
  Case largest = bandwidth_case(Opcode::send);
  largest.size_bytes = 1ULL << 31;
  largest.qps = 65536;
  largest.depth = largest.rx_depth = 1 << 20;
  largest.inline_bytes = kMax;
  for (const Role role : {Role::initiator, Role::responder}) {
    EXPECT_GT(case_memory_bytes(largest, role), 65536ULL << 31);
    EXPECT_LT(case_memory_bytes(largest, role), 1ULL << 60);
    EXPECT_GT(case_memory_bytes(largest, role), kMostBytesPerCase);
  }
}

TEST(CaseMemory, OfAControlPathTestCountsEachObjectsQueuesAndOneBuffer) {
  const auto bytes = [](Verb verb, std::uint64_t objects) {
    Case made = default_case(verb);
    made.objects = objects;
    return case_memory_bytes(made, Role::initiator);
  };
  EXPECT_EQ(bytes(Verb::create_qp, 4095), 4096 * bytes(Verb::create_qp, 0));
  EXPECT_GE(bytes(Verb::create_qp, 0), (128U + 512U) * 64U);
  EXPECT_EQ(bytes(Verb::reg_mr, 4095), 65536U);
  EXPECT_EQ(case_memory_bytes(default_case(Verb::create_qp), Role::responder), 0U);
}

}  // namespace
}  // namespace rdmameter
