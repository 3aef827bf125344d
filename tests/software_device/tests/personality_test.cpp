// SPDX-License-Identifier: Apache-2.0
// A device is the adapter that it is told to be.
#include "tests/software_device/device/personality.h"

#include <endian.h>

#include <cerrno>
#include <cstring>

#include "tests/software_device/segment/process.h"
#include "tests/software_device/tests/ends.h"

namespace rdmameter::software::testing {
namespace {

constexpr const char* kPersonalityVariable = "RDMAMETER_DEVICE_PERSONALITY";
constexpr std::array kNames{"generic", "mlx5-ib",   "mlx5-ib-vf", "mlx5-xdr",   "mlx5-ib-bare",
                            "pod",     "mlx5-roce", "bnxt",       "irdma-roce", "hns",
                            "mana",    "iwarp",     "siw",        "erdma",      "cxgb4",
                            "efa",     "rxe",       "tiny"};

/// A context and a domain of a device: all that some personalities have in common.
struct Opened {
  explicit Opened(int index = 0) {
    ibv_device** const list = ibv_get_device_list(nullptr);
    context.reset(ibv_open_device(list[index]));
    ibv_free_device_list(list);
    pd.reset(ibv_alloc_pd(context.get()));
  }
  ibv_port_attr port() const {
    ibv_port_attr port{};
    EXPECT_EQ(ibv_query_port(context.get(), 1, &port), 0);
    return port;
  }
  ibv_device_attr_ex attributes() const {
    ibv_device_attr_ex made{};
    EXPECT_EQ(ibv_query_device_ex(context.get(), nullptr, &made), 0);
    return made;
  }
  Qp qp(ibv_qp_type type, ibv_cq* cq) const {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = cq;
    wanted.qp_type = type;
    wanted.cap = {4, 4, 1, 1, 0};
    return Qp(ibv_create_qp(pd.get(), &wanted));
  }
  Cq cq() const { return Cq(ibv_create_cq(context.get(), 16, nullptr, nullptr, 0)); }

  Context context;
  Pd pd;
};

int change(ibv_qp& qp, ibv_qp_attr attributes, int mask) {
  return ibv_modify_qp(&qp, &attributes, mask);
}
ibv_qp_attr to_init() {
  ibv_qp_attr made{};
  made.qp_state = IBV_QPS_INIT;
  made.port_num = 1;
  made.qkey = kQkey;
  return made;
}
constexpr int kInitMask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

TEST(SoftwareDevicePersonality, EachSaysItsOwnLimitsAndTypes) {
  for (const char* const name : kNames) {
    SCOPED_TRACE(name);
    const WithSettings is(kPersonalityVariable, name);
    const Opened device;
    const Personality& says = personality(0);
    EXPECT_EQ(says.name, name);
    const ibv_device_attr_ex attributes = device.attributes();
    EXPECT_EQ(attributes.orig_attr.vendor_part_id, says.part_id);
    EXPECT_EQ(attributes.orig_attr.max_qp_wr, static_cast<int>(says.max_qp_wr));
    EXPECT_EQ(attributes.max_dm_size, says.max_dm_bytes);
    EXPECT_EQ(attributes.completion_timestamp_mask, says.timestamp_mask);
    EXPECT_EQ(device.context->device->transport_type, says.transport);
    EXPECT_EQ(device.port().link_layer, says.link_layer);
    const Cq cq = device.cq();
    for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD})
      EXPECT_EQ(device.qp(type, cq.get()) != nullptr, says.has(type)) << type;
  }
}

TEST(SoftwareDevicePersonality, EachEndHasItsOwn) {
  const WithSettings are(kPersonalityVariable, "mlx5-ib,mlx5-ib-vf");
  const Opened here(0), there(1);
  EXPECT_EQ(here.port().flags & IBV_QPF_GRH_REQUIRED, 0);
  EXPECT_NE(there.port().flags & IBV_QPF_GRH_REQUIRED, 0);
  EXPECT_EQ(ibv_get_pkey_index(here.context.get(), 1, htobe16(0x8001)), 1);
  EXPECT_EQ(ibv_get_pkey_index(there.context.get(), 1, htobe16(0x8001)), 0);
  EXPECT_EQ(here.port().lid, 1);
}

TEST(SoftwareDevicePersonality, WhereAGrhIsRequiredAPathWithoutIsRefused) {
  for (const bool required : {false, true}) {
    const WithSettings is(kPersonalityVariable, required ? "mlx5-ib-vf" : "mlx5-ib");
    End end;
    ibv_ah_attr path{};
    path.port_num = 1;
    path.dlid = 1;
    const Ah ah(ibv_create_ah(end.pd.get(), &path));
    EXPECT_EQ(ah == nullptr, required);
    ibv_qp& qp = *end.add_qp();
    ibv_qp_attr rtr = rtr_attributes(qp.qp_num);
    rtr.ah_attr = path;
    EXPECT_EQ(change(qp, rtr, rtr_mask(IBV_QPT_RC)), required ? EINVAL : 0);
  }
}

TEST(SoftwareDevicePersonality, QpsOfUnlikePartitionsDoNotMeet) {
  const WithSettings are(kPersonalityVariable, "mlx5-ib,mlx5-ib-vf");
  for (const std::uint16_t index : {std::uint16_t{0}, std::uint16_t{1}}) {
    End a(0), b(1);
    ibv_qp &here = *a.add_qp(IBV_QPT_UD), &there = *b.add_qp(IBV_QPT_UD);
    ibv_qp_attr init = to_init();
    init.pkey_index = index;
    ASSERT_EQ(change(there, init, kInitMask | IBV_QP_QKEY), 0);
    connect(here, there);
    const std::array sink{b.sge(0, 64)};
    ASSERT_EQ(post_recv(there, 1, sink), 0);
    ibv_ah_attr path{};
    path.port_num = 1;
    path.is_global = 1;  // soft1 needs it
    const Ah ah(ibv_create_ah(a.pd.get(), &path));
    ibv_sge source = a.sge(0, 8);
    ibv_send_wr wr = request(IBV_WR_SEND, source);
    wr.wr.ud = {ah.get(), there.qp_num, kQkey};
    ASSERT_EQ(post_send(here, wr), 0);
    EXPECT_EQ(next_completion(*a.send_cq).status, IBV_WC_SUCCESS);
    EXPECT_EQ(is_empty(*b.recv_cq), index == 0) << "index 1 is soft0's key at index 0";
  }
}

TEST(SoftwareDevicePersonality, AVlanLeadsToNoOtherNetwork) {
  const WithSettings is(kPersonalityVariable, "mlx5-roce");
  const auto vlan = gid_at(1, 1), plain = gid_at(1, 5);
  ASSERT_TRUE(vlan && plain);
  EXPECT_FALSE(routed(0, 1, vlan->gid));
  EXPECT_TRUE(routed(0, 5, plain->gid));
  EXPECT_FALSE(routed(0, 5, vlan->gid));
  End a(0), b(1);
  ibv_qp &here = *a.add_qp(), &there = *b.add_qp();
  ibv_qp_attr rtr = rtr_attributes(there.qp_num);
  rtr.ah_attr.grh.sgid_index = 1;
  rtr.ah_attr.grh.dgid = vlan->gid;
  ASSERT_EQ(change(here, rtr, rtr_mask(IBV_QPT_RC)), 0);
  ibv_qp_attr rts{};
  rts.qp_state = IBV_QPS_RTS;
  rts.timeout = 1;
  rts.max_rd_atomic = 1;
  ASSERT_EQ(change(here, rts,
                   IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC),
            0);
  connect(there, here.qp_num);
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  ASSERT_EQ(post_send(here, wr), 0);
  EXPECT_EQ(next_completion(*a.send_cq).status, IBV_WC_RETRY_EXC_ERR);
}

TEST(SoftwareDevicePersonality, EfaTakesSignaledDatagramsAndOpensNoMemory) {
  const WithSettings is(kPersonalityVariable, "efa");
  const Opened device;
  std::array<std::byte, 64> memory{};
  EXPECT_EQ(ibv_reg_mr(device.pd.get(), memory.data(), memory.size(), kAllAccess), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  const Mr mr(
      ibv_reg_mr(device.pd.get(), memory.data(), memory.size(), int{IBV_ACCESS_LOCAL_WRITE}));
  const Cq cq = device.cq();
  const Qp qp = device.qp(IBV_QPT_UD, cq.get());
  ASSERT_EQ(change(*qp, to_init(), kInitMask | IBV_QP_QKEY), 0);
  connect(*qp, 0);
  ibv_ah_attr path{};
  path.port_num = 1;
  EXPECT_EQ(ibv_create_ah(device.pd.get(), &path), nullptr) << "it goes by the GRH alone";
  path.is_global = 1;
  const Ah ah(ibv_create_ah(device.pd.get(), &path));
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_SEND;
  wr.wr.ud = {ah.get(), qp->qp_num, kQkey};
  EXPECT_EQ(post_send(*qp, wr), EINVAL);
  wr.send_flags = IBV_SEND_SIGNALED;
  EXPECT_EQ(post_send(*qp, wr), 0);
}

TEST(SoftwareDevicePersonality, IwarpIsConnectedByRdmaCmAlone) {
  const WithSettings is(kPersonalityVariable, "iwarp");
  const Opened device;
  EXPECT_EQ(device.context->device->node_type, IBV_NODE_RNIC);
  const Cq cq = device.cq();
  const Qp qp = device.qp(IBV_QPT_RC, cq.get());
  ASSERT_EQ(change(*qp, to_init(), kInitMask | IBV_QP_ACCESS_FLAGS), 0);
  ibv_qp_attr rtr = rtr_attributes(qp->qp_num);
  rtr.ah_attr.grh.sgid_index = 0;
  EXPECT_EQ(change(*qp, rtr, rtr_mask(IBV_QPT_RC)), EINVAL);
}

TEST(SoftwareDevicePersonality, WhatAnAdapterLacksIsRefused) {
  const WithSettings is(kPersonalityVariable, "tiny");
  const Opened device;
  ibv_cq_init_attr_ex extended{.cqe = 4};
  EXPECT_EQ(ibv_create_cq_ex(device.context.get(), &extended), nullptr);
  ibv_alloc_dm_attr memory{};
  memory.length = 64;
  EXPECT_EQ(ibv_alloc_dm(device.context.get(), &memory), nullptr);
  EXPECT_EQ(ibv_alloc_mw(device.pd.get(), IBV_MW_TYPE_1), nullptr);
  ibv_td_init_attr domain{};
  EXPECT_EQ(ibv_alloc_td(device.context.get(), &domain), nullptr);
  ibv_values_ex values{.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
  EXPECT_EQ(ibv_query_rt_values_ex(device.context.get(), &values), EOPNOTSUPP);
}

TEST(SoftwareDevicePersonality, APodShowsNoKeysAndAddressesOfAnotherNamespaceLeadNowhere) {
  const WithSettings is(kPersonalityVariable, "pod");
  const Opened device;
  EXPECT_EQ(device.port().pkey_tbl_len, 1);
  __be16 pkey = 0;
  EXPECT_EQ(ibv_query_pkey(device.context.get(), 1, 0, &pkey), -1);
  EXPECT_EQ(ibv_get_pkey_index(device.context.get(), 1, htobe16(0xffff)), -1);
  EXPECT_FALSE(routed(0, 1, gid_at(1, 1)->gid));
  EXPECT_FALSE(routed(0, 5, gid_at(1, 1)->gid));
  EXPECT_TRUE(routed(0, 5, gid_at(1, 5)->gid));
}

TEST(SoftwareDevicePersonality, AMaskOfTimestampsIsNoPromise) {
  const WithSettings is(kPersonalityVariable, "irdma-roce");
  const Opened device;
  EXPECT_EQ(device.attributes().completion_timestamp_mask, 0x1ffffU);
  ibv_cq_init_attr_ex wanted{.cqe = 4};
  const Cq plain(ibv_cq_ex_to_cq(ibv_create_cq_ex(device.context.get(), &wanted)));
  EXPECT_NE(plain, nullptr);
  wanted.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  EXPECT_EQ(ibv_create_cq_ex(device.context.get(), &wanted), nullptr);
  ibv_values_ex values{.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
  EXPECT_EQ(ibv_query_rt_values_ex(device.context.get(), &values), EOPNOTSUPP);
}

TEST(SoftwareDevicePersonality, TheLesserNumberOfPiecesIsTold) {
  const WithSettings is(kPersonalityVariable, "erdma");
  const Opened device;
  EXPECT_EQ(device.attributes().orig_attr.max_sge, 1);
  const Cq cq = device.cq();
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = cq.get();
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap = {4, 4, 6, 1, 0};
  EXPECT_NE(Qp(ibv_create_qp(device.pd.get(), &wanted)), nullptr);
  wanted.cap = {4, 4, 1, 2, 0};
  EXPECT_EQ(ibv_create_qp(device.pd.get(), &wanted), nullptr);
}

TEST(SoftwareDevicePersonality, TheReadDepthIsLimitedInEachDirection) {
  const WithSettings is(kPersonalityVariable, "tiny");
  const Opened device;
  EXPECT_EQ(device.attributes().orig_attr.max_qp_rd_atom, 4);
  EXPECT_EQ(device.attributes().orig_attr.max_qp_init_rd_atom, 1);
  const Cq cq = device.cq();
  const Qp qp = device.qp(IBV_QPT_RC, cq.get());
  ASSERT_EQ(change(*qp, to_init(), kInitMask | IBV_QP_ACCESS_FLAGS), 0);
  ibv_qp_attr rtr = rtr_attributes(qp->qp_num);
  rtr.path_mtu = IBV_MTU_256;
  rtr.max_dest_rd_atomic = 4;
  ASSERT_EQ(change(*qp, rtr, rtr_mask(IBV_QPT_RC)), 0);
  ibv_qp_attr rts{};
  rts.qp_state = IBV_QPS_RTS;
  constexpr int kMask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                        IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  rts.max_rd_atomic = 2;
  EXPECT_EQ(change(*qp, rts, kMask), EINVAL);
  rts.max_rd_atomic = 1;
  EXPECT_EQ(change(*qp, rts, kMask), 0);
}

TEST(SoftwareDevicePersonality, TheClockTicksAtItsOwnRate) {
  const WithSettings is(kPersonalityVariable, "mlx5-ib,generic");
  EXPECT_EQ(clock_ticks(personality(0), 64'000), 10'000U);
  EXPECT_EQ(clock_ticks(personality(1), 64'000), 64'000U);
}

using SoftwareDevicePersonalityDeathTest = ::testing::Test;

/// One end receives 8 bytes into memory whose addresses begin at 0.
void receive_into_device_memory() {
  const WithSettings is(kPersonalityVariable, "mlx5-roce");
  End end;
  ibv_alloc_dm_attr attributes{};
  attributes.length = 64;
  ibv_dm* const dm = ibv_alloc_dm(end.context.get(), &attributes);
  const Mr mr(
      ibv_reg_dm_mr(end.pd.get(), dm, 0, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED));
  ibv_qp& qp = *end.add_qp();
  connect(qp, qp.qp_num);
  const std::array sink{ibv_sge{0, 64, mr->lkey}};
  EXPECT_EQ(post_recv(qp, 1, sink), 0);
  ibv_sge source = end.sge(0, 8);
  EXPECT_EQ(post_send(qp, request(IBV_WR_SEND, source, 0)), 0);
  EXPECT_EQ(next_completion(*end.recv_cq).byte_len, 8U);
  end.qps.clear();
  EXPECT_EQ(ibv_dereg_mr(const_cast<Mr&>(mr).release()), 0);
  EXPECT_EQ(ibv_free_dm(dm), 0);
}

TEST(SoftwareDevicePersonalityDeathTest,
     ASmallReceiveIntoDeviceMemoryCrashesWhereItIsCopiedByPoll) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(receive_into_device_memory(), "copies a small receive");
  setenv("MLX5_SCATTER_TO_CQE", "0", 1);
  receive_into_device_memory();
  unsetenv("MLX5_SCATTER_TO_CQE");
}

TEST(SoftwareDevicePersonalityDeathTest, AnUnknownNameEndsTheProgramWithThoseThatThereAre) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(WithSettings(kPersonalityVariable, "mlx6"),
               "'mlx6': it takes generic, mlx5-ib, .*tiny");
}

}  // namespace
}  // namespace rdmameter::software::testing
