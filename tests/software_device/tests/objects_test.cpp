// SPDX-License-Identifier: Apache-2.0
// Objects live and die as verbs says, and refuse what a device refuses.
#include "tests/software_device/verbs/objects.h"

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

TEST(SoftwareDevice, AParentDomainKeepsItsDomainAndItsThreadDomain) {
  End end;
  ibv_td_init_attr nothing{};
  ibv_td* const td = ibv_alloc_td(end.context.get(), &nothing);
  ASSERT_NE(td, nullptr);
  ibv_parent_domain_init_attr of{};
  of.pd = end.pd.get();
  of.td = td;
  Pd domain(ibv_alloc_parent_domain(end.context.get(), &of));
  ASSERT_NE(domain, nullptr);
  EXPECT_EQ(ibv_dealloc_td(td), EBUSY);
  of.pd = domain.get();
  EXPECT_EQ(ibv_alloc_parent_domain(end.context.get(), &of), nullptr) << "it is one already";
  ibv_qp_init_attr wanted{};
  wanted.send_cq = end.send_cq.get();
  wanted.recv_cq = end.recv_cq.get();
  wanted.cap = {.max_send_wr = 1,
                .max_recv_wr = 1,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
  wanted.qp_type = IBV_QPT_RC;
  {
    const Qp qp(ibv_create_qp(domain.get(), &wanted));
    ASSERT_NE(qp, nullptr);
    EXPECT_EQ(ibv_dealloc_pd(domain.get()), EBUSY);
  }
  domain.reset();
  EXPECT_EQ(ibv_dealloc_td(td), 0);
}

TEST(SoftwareDevice, ACqForOneThreadIsPolledByBothInterfaces) {
  End end;
  ibv_cq_init_attr_ex wanted{};
  wanted.cqe = 4;
  wanted.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
  wanted.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
  const Cq cq(ibv_cq_ex_to_cq(ibv_create_cq_ex(end.context.get(), &wanted)));
  ASSERT_NE(cq, nullptr);
  EXPECT_TRUE(is_empty(*cq));
  wanted.comp_mask |= IBV_CQ_INIT_ATTR_MASK_PD;
  wanted.parent_domain = end.pd.get();
  EXPECT_EQ(ibv_create_cq_ex(end.context.get(), &wanted), nullptr) << "a plain domain";
}

TEST(SoftwareDevice, WhatIsForOneThreadEndsTheProgramIfTwoAreInItAtOnce) {
  std::atomic<bool> busy{false};
  const OneAtATime first(busy, true, "two at once");
  EXPECT_DEATH(OneAtATime(busy, true, "two at once"), "two at once");
  const OneAtATime unasked(busy, false, "two at once");
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
  ibv_send_wr wr = request(IBV_WR_SEND, sge, 0);
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
  ibv_send_wr wr = request(IBV_WR_SEND, source, 0);
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
  EXPECT_EQ(ibv_memcpy_to_dm(dm, 4092, end.memory.data(), 64), EINVAL);
  EXPECT_EQ(ibv_memcpy_to_dm(dm, 100, end.memory.data(), 65), EINVAL);
  EXPECT_EQ(ibv_memcpy_from_dm(&end.memory[100], dm, 100, 64), 0);
  EXPECT_TRUE(holds(std::span(end.memory).subspan(100, 64), 1));
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_free_dm(dm), 0);
}

}  // namespace
}  // namespace rdmameter::software::testing
