// SPDX-License-Identifier: Apache-2.0
// Objects live and die as verbs says, and refuse what a device refuses.
#include <cerrno>

#include "tests/software_device/tests/ends.h"

namespace rdmameter::software::testing {
namespace {

TEST(SoftwareDevice, APortIsActiveAndHasRoceV2Addresses) {
  const End end;
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(end.context.get(), 1, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(ibv_query_port(end.context.get(), 2, &port), EINVAL);
  std::array<ibv_gid_entry, 8> gids{};
  ASSERT_EQ(ibv_query_gid_table(end.context.get(), gids.data(), gids.size(), 0), 6);
  EXPECT_EQ(gids[kGidIndex].gid_type, static_cast<unsigned>(IBV_GID_TYPE_ROCE_V2));
}

TEST(SoftwareDevice, WhatIsInUseIsNotDestroyed) {
  End end;
  end.add_qp();
  EXPECT_EQ(ibv_destroy_cq(end.send_cq.get()), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(end.pd.get()), EBUSY);
}

TEST(SoftwareDevice, AQpNeedsEveryAttributeOfAStep) {
  End end;
  ibv_qp* const qp = end.add_qp();
  ibv_qp_attr rtr = rtr_attributes(qp->qp_num);
  const int mask = rtr_mask(IBV_QPT_RC);
  EXPECT_EQ(ibv_modify_qp(qp, &rtr, mask & ~IBV_QP_MIN_RNR_TIMER), EINVAL);
  EXPECT_EQ(ibv_modify_qp(qp, &rtr, mask | IBV_QP_QKEY), EINVAL);
  rtr.ah_attr.grh.sgid_index = 6;
  EXPECT_EQ(ibv_modify_qp(qp, &rtr, mask), EINVAL) << "there is no such GID";
  rtr.ah_attr.grh.sgid_index = kGidIndex;
  EXPECT_EQ(ibv_modify_qp(qp, &rtr, mask), 0);
  EXPECT_EQ(ibv_modify_qp(qp, &rtr, mask), EINVAL) << "it is in RTR already";
}

TEST(SoftwareDevice, NothingIsPostedBeforeItsState) {
  End end;
  ibv_qp* const qp = end.add_qp();
  ibv_sge sge = end.sge(0, 8);
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  EXPECT_EQ(post_send(*qp, wr), EINVAL);
  connect(*qp, qp->qp_num);
  wr.num_sge = 5;
  EXPECT_EQ(post_send(*qp, wr), EINVAL) << "more pieces than max_send_sge";
}

TEST(SoftwareDevice, QueuesTakeNoMoreThanTheyWereMadeFor) {
  End end;
  ibv_qp* const qp = end.add_qp();
  connect(*qp, qp->qp_num);
  const std::array sge{end.sge(0, 8)};
  for (std::uint32_t i = 0; i < kDepth; ++i) ASSERT_EQ(post_recv(*qp, i, sge), 0);
  EXPECT_EQ(post_recv(*qp, kDepth, sge), ENOMEM);
  ibv_sge source = end.sge(0, 8);
  ibv_send_wr wr{};
  wr.sg_list = &source;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  for (std::uint32_t i = 1; i < kDepth; ++i) ASSERT_EQ(post_send(*qp, wr), 0);
  wr.send_flags = IBV_SEND_SIGNALED;
  ASSERT_EQ(post_send(*qp, wr), 0);
  EXPECT_EQ(post_send(*qp, wr), ENOMEM) << "no completion has been polled that retires requests";
  next_completion(*end.send_cq);
  EXPECT_EQ(post_send(*qp, wr), 0);
}

TEST(SoftwareDevice, DestroyingAQpTakesItsCompletionsAlong) {
  End end;
  ibv_qp* const qp = end.add_qp();
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  const std::array sge{end.sge(0, 8)};
  ASSERT_EQ(post_recv(*qp, 1, sge), 0);
  ASSERT_EQ(ibv_modify_qp(qp, &error, IBV_QP_STATE), 0);
  end.qps.clear();
  EXPECT_TRUE(is_empty(*end.recv_cq));
}

TEST(SoftwareDevice, RemoteRightsNeedLocalWrite) {
  End end;
  EXPECT_EQ(ibv_reg_mr(end.pd.get(), end.memory.data(), 8, int{IBV_ACCESS_REMOTE_WRITE}), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST(SoftwareDevice, DeviceMemoryIsWrittenAndReadThroughItsHandle) {
  End end;
  ibv_alloc_dm_attr attributes{};
  attributes.length = 4096;
  ibv_dm* const dm = ibv_alloc_dm(end.context.get(), &attributes);
  ASSERT_NE(dm, nullptr);
  ibv_mr* const mr =
      ibv_reg_dm_mr(end.pd.get(), dm, 0, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED);
  ASSERT_NE(mr, nullptr);
  fill(std::span(end.memory).first(64), 1);
  EXPECT_EQ(ibv_memcpy_to_dm(dm, 100, end.memory.data(), 64), 0);
  EXPECT_EQ(ibv_memcpy_to_dm(dm, 4090, end.memory.data(), 64), EINVAL);
  EXPECT_EQ(ibv_memcpy_from_dm(&end.memory[100], dm, 100, 64), 0);
  EXPECT_TRUE(holds(std::span(end.memory).subspan(100, 64), 1));
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_free_dm(dm), 0);
}

}  // namespace
}  // namespace rdmameter::software::testing
