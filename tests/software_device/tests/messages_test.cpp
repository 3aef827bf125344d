// SPDX-License-Identifier: Apache-2.0
// Every operation brings its bytes to where they belong, within a process and between two.
#include <endian.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "tests/software_device/tests/ends.h"

namespace rdmameter::software::testing {
namespace {

constexpr std::array<std::uint32_t, 14> kSizes{1,  2,  7,   8,    9,    16,   17,
                                               63, 65, 100, 1000, 4096, 4097, 30001};
constexpr std::uint64_t kSource = 0, kSink = 32 << 10;

std::span<std::byte> part(End& end, std::uint64_t offset, std::size_t length) {
  return std::span(end.memory).subspan(offset, length);
}

TEST(SoftwareDevice, WritesAndReadsEverySize) {
  Pair pair;
  for (const std::uint32_t size : kSizes) {
    fill(part(pair.a, kSource, size), size);
    ibv_sge source = pair.a.sge(kSource, size), sink = pair.a.sge(kSink, size);
    const unsigned flags = IBV_SEND_SIGNALED | (size <= 512 ? unsigned{IBV_SEND_INLINE} : 0U);
    ASSERT_EQ(post_send(*pair.here, to_remote(request(IBV_WR_RDMA_WRITE, source, flags),
                                              pair.b.address(), kSink)),
              0);
    ASSERT_EQ(next_completion(*pair.a.send_cq).opcode, IBV_WC_RDMA_WRITE);
    EXPECT_TRUE(holds(part(pair.b, kSink, size), size));
    EXPECT_EQ(pair.b.memory[kSink + size], std::byte{0}) << "wrote past the end";
    ASSERT_EQ(
        post_send(*pair.here, to_remote(request(IBV_WR_RDMA_READ, sink), pair.b.address(), kSink)),
        0);
    const ibv_wc read = next_completion(*pair.a.send_cq);
    EXPECT_EQ(read.status, IBV_WC_SUCCESS);
    EXPECT_EQ(read.byte_len, size);
    EXPECT_TRUE(holds(part(pair.a, kSink, size), size));
    std::memset(&pair.b.memory[kSink], 0, size + 1);
  }
}

TEST(SoftwareDevice, SendsArriveInTheirScatterListWithImmediateAndSource) {
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
    Pair pair(type, {}, 1);
    const std::array<ibv_sge, 2> sink{pair.b.sge(kSink, 3), pair.b.sge(kSink + 100, 5000)};
    ASSERT_EQ(post_recv(*pair.there, 42, sink), 0);
    fill(part(pair.a, kSource, 4097), 5);
    ibv_sge source = pair.a.sge(kSource, 4097);
    ibv_send_wr wr = request(IBV_WR_SEND_WITH_IMM, source);
    wr.imm_data = htobe32(77);
    ASSERT_EQ(post_send(*pair.here, wr), 0);
    EXPECT_EQ(next_completion(*pair.a.send_cq).status, IBV_WC_SUCCESS);
    const ibv_wc got = next_completion(*pair.b.recv_cq);
    EXPECT_EQ(got.status, IBV_WC_SUCCESS);
    EXPECT_EQ(got.opcode, IBV_WC_RECV);
    EXPECT_EQ(got.wr_id, 42U);
    EXPECT_EQ(got.byte_len, 4097U);
    EXPECT_EQ(got.wc_flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
    EXPECT_EQ(got.imm_data, htobe32(77));
    EXPECT_EQ(got.qp_num, pair.there->qp_num);
    EXPECT_EQ(got.src_qp, pair.here->qp_num);
    EXPECT_EQ(std::memcmp(&pair.b.memory[kSink], &pair.a.memory[kSource], 3), 0);
    EXPECT_EQ(std::memcmp(&pair.b.memory[kSink + 100], &pair.a.memory[kSource + 3], 4094), 0);
  }
}

TEST(SoftwareDevice, ADatagramComesBehindAGrhAndOnlyWithTheQkey) {
  Pair pair(IBV_QPT_UD);
  const Ah ah = address_handle(*pair.a.pd);
  const std::array sink{pair.b.sge(kSink, 140)};
  ASSERT_EQ(post_recv(*pair.there, 1, sink), 0);
  fill(part(pair.a, kSource, 100), 3);
  ibv_sge source = pair.a.sge(kSource, 100);
  ibv_send_wr wr = request(IBV_WR_SEND, source);
  wr.wr.ud = {ah.get(), pair.there->qp_num, kQkey + 1};
  ASSERT_EQ(post_send(*pair.here, wr), 0);
  EXPECT_EQ(next_completion(*pair.a.send_cq).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(is_empty(*pair.b.recv_cq)) << "a wrong Q_Key was taken";
  wr.wr.ud.remote_qkey = kQkey;
  ASSERT_EQ(post_send(*pair.here, wr), 0);
  const ibv_wc got = next_completion(*pair.b.recv_cq);
  EXPECT_EQ(got.byte_len, 140U);
  EXPECT_EQ(got.wc_flags, static_cast<unsigned>(IBV_WC_GRH));
  EXPECT_TRUE(holds(part(pair.b, kSink + 40, 100), 3));
}

TEST(SoftwareDevice, AGroupsDatagramReachesAllItsMembersButTheSender) {
  Pair pair(IBV_QPT_UD);
  ibv_qp* const third = pair.b.add_qp(IBV_QPT_UD);
  connect(*third, 0);
  ibv_gid group{};
  group.raw[0] = 0xff;
  group.raw[15] = 9;
  for (ibv_qp* const qp : {pair.here, pair.there, third}) {
    ASSERT_EQ(ibv_attach_mcast(qp, &group, 0), 0);
    const std::array sink{(qp == pair.here ? pair.a : pair.b).sge(kSink, 140)};
    ASSERT_EQ(post_recv(*qp, qp->qp_num, sink), 0);
  }
  ibv_ah_attr attributes{};
  attributes.is_global = 1;
  attributes.port_num = 1;
  attributes.grh.dgid = group;
  attributes.grh.sgid_index = kGidIndex;
  const Ah ah(ibv_create_ah(pair.a.pd.get(), &attributes));
  ibv_sge source = pair.a.sge(kSource, 100);
  ibv_send_wr wr = request(IBV_WR_SEND, source);
  wr.wr.ud = {ah.get(), 0xffffff, kQkey};
  ASSERT_EQ(post_send(*pair.here, wr), 0);
  const std::uint64_t one = next_completion(*pair.b.recv_cq).wr_id;
  const std::uint64_t other = next_completion(*pair.b.recv_cq).wr_id;
  EXPECT_EQ(one + other, pair.there->qp_num + third->qp_num);
  EXPECT_TRUE(is_empty(*pair.a.recv_cq));
  EXPECT_EQ(ibv_detach_mcast(third, &group, 0), 0);
  EXPECT_EQ(ibv_detach_mcast(third, &group, 0), EINVAL);
}

TEST(SoftwareDevice, AtomicsChangeTheWordAndReturnItsOldValue) {
  Pair pair;
  std::uint64_t word = 41;
  std::memcpy(&pair.b.memory[kSink], &word, sizeof word);
  ibv_sge result = pair.a.sge(kSource, 8);
  ibv_send_wr wr = request(IBV_WR_ATOMIC_FETCH_AND_ADD, result);
  wr.wr.atomic = {pair.b.address().memory + kSink, 5, 99, pair.b.address().rkey};
  ASSERT_EQ(post_send(*pair.here, wr), 0);
  EXPECT_EQ(next_completion(*pair.a.send_cq).opcode, IBV_WC_FETCH_ADD);
  std::memcpy(&word, &pair.a.memory[kSource], sizeof word);
  EXPECT_EQ(word, 41U);
  wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  wr.wr.atomic.compare_add = 46;
  ASSERT_EQ(post_send(*pair.here, wr), 0);
  EXPECT_EQ(next_completion(*pair.a.send_cq).opcode, IBV_WC_COMP_SWAP);
  std::memcpy(&word, &pair.b.memory[kSink], sizeof word);
  EXPECT_EQ(word, 99U);
}

TEST(SoftwareDevice, AWriteWithImmediateTakesAReceiveAndWritesTheMemory) {
  Pair pair;
  ASSERT_EQ(post_recv(*pair.there, 900, {}), 0);
  fill(part(pair.a, kSource, 64), 3);
  ibv_sge source = pair.a.sge(kSource, 64);
  ASSERT_EQ(post_send(*pair.here, to_remote(request(IBV_WR_RDMA_WRITE_WITH_IMM, source),
                                            pair.b.address(), kSink)),
            0);
  const ibv_wc got = next_completion(*pair.b.recv_cq);
  EXPECT_EQ(got.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(got.byte_len, 64U);
  EXPECT_TRUE(holds(part(pair.b, kSink, 64), 3));
}

TEST(SoftwareDevice, SendsThatWaitKeepTheirOrderAndTheirInlineBytes) {
  Pair pair;
  for (unsigned i = 0; i < 20; ++i) {
    fill(part(pair.a, kSource, 32), i);
    ibv_sge source = pair.a.sge(kSource, 32);
    ibv_send_wr wr = request(IBV_WR_SEND, source, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
    wr.wr_id = i;
    ASSERT_EQ(post_send(*pair.here, wr), 0);
  }
  EXPECT_TRUE(is_empty(*pair.a.send_cq)) << "completed without a receive";
  for (unsigned i = 0; i < 20; ++i) {
    const std::array sink{pair.b.sge(kSink + i * 64, 64)};
    ASSERT_EQ(post_recv(*pair.there, 100 + i, sink), 0);
  }
  for (unsigned i = 0; i < 20; ++i) {
    EXPECT_EQ(next_completion(*pair.a.send_cq).wr_id, i);
    EXPECT_EQ(next_completion(*pair.b.recv_cq).wr_id, 100 + i);
    EXPECT_TRUE(holds(part(pair.b, kSink + i * 64, 32), i));
  }
}

TEST(SoftwareDevice, TheExtendedInterfacePostsAListAtOnce) {
  Pair pair;
  ibv_qp_init_attr_ex wanted{};
  wanted.send_cq = pair.a.send_cq.get();
  wanted.recv_cq = pair.a.recv_cq.get();
  wanted.qp_type = IBV_QPT_RC;
  wanted.pd = pair.a.pd.get();
  wanted.cap = {kDepth, 1, 2, 1, 64};
  wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  wanted.send_ops_flags =
      IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_ATOMIC_WRITE | IBV_QP_EX_WITH_SEND;
  const Qp made(ibv_create_qp_ex(pair.a.context.get(), &wanted));
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(ibv_qp_to_qp_ex(pair.here), nullptr);
  ibv_qp* const there = pair.b.add_qp();
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = 1;
  ASSERT_EQ(ibv_modify_qp(made.get(), &init,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
            0);
  connect(*made, *there);
  const std::array sink{pair.b.sge(kSink + 256, 64)};
  ASSERT_EQ(post_recv(*there, 42, sink), 0);
  fill(part(pair.a, kSource, 256), 8);
  std::array<std::byte, 16> small{};
  fill(small, 9);
  ibv_qp_ex& qp = *ibv_qp_to_qp_ex(made.get());
  ibv_wr_start(&qp);
  qp.wr_flags = 0;
  ibv_wr_rdma_write(&qp, pair.b.address().rkey, pair.b.address().memory + kSink);
  ibv_wr_set_sge(&qp, pair.a.mr->lkey, pair.a.address().memory + kSource, 256);
  qp.wr_id = 3;
  qp.wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_atomic_write(&qp, pair.b.address().rkey, pair.b.address().memory + kSink + 512,
                      small.data());
  ibv_wr_send(&qp);
  ibv_wr_set_inline_data(&qp, small.data(), small.size());
  small.fill(std::byte{0});
  EXPECT_TRUE(is_empty(*pair.b.recv_cq)) << "posted before ibv_wr_complete()";
  ASSERT_EQ(ibv_wr_complete(&qp), 0);
  EXPECT_EQ(next_completion(*pair.a.send_cq).opcode, IBV_WC_ATOMIC_WRITE);
  EXPECT_EQ(next_completion(*pair.a.send_cq).wr_id, 3U);
  EXPECT_TRUE(is_empty(*pair.a.send_cq));
  EXPECT_EQ(next_completion(*pair.b.recv_cq).byte_len, 16U);
  EXPECT_EQ(std::memcmp(&pair.b.memory[kSink + 256], &pair.b.memory[kSink + 512], 8), 0);
  EXPECT_TRUE(holds(part(pair.b, kSink, 256), 8));
  EXPECT_TRUE(holds(part(pair.b, kSink + 256, 16), 9));
}

TEST(SoftwareDevice, QpsShareAReceiveQueue) {
  Pair pair;
  ibv_srq_init_attr wanted{};
  wanted.attr = {kDepth, 2, 0};
  pair.b.srq.reset(ibv_create_srq(pair.b.pd.get(), &wanted));
  std::vector<ibv_qp*> senders;
  for (int i = 0; i < 2; ++i) {
    ibv_qp* const at_a = senders.emplace_back(pair.a.add_qp());
    ibv_qp* const at_b = pair.b.add_qp(IBV_QPT_RC, pair.b.srq.get());
    connect(*at_a, *at_b);
  }
  for (std::uint64_t i = 0; i < 2; ++i) {
    ibv_sge sink = pair.b.sge(kSink + i * 64, 64);
    ibv_recv_wr wr{i, nullptr, &sink, 1};
    ibv_recv_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_srq_recv(pair.b.srq.get(), &wr, &bad), 0);
  }
  ibv_sge source = pair.a.sge(kSource, 16);
  for (std::uint64_t i = 0; i < 2; ++i) {
    ASSERT_EQ(post_send(*senders[1 - i], request(IBV_WR_SEND, source)), 0);
    const ibv_wc got = next_completion(*pair.b.recv_cq);
    EXPECT_EQ(got.wr_id, i);
    EXPECT_EQ(got.src_qp, senders[1 - i]->qp_num);
  }
  pair.b.qps.clear();
}

}  // namespace
}  // namespace rdmameter::software::testing
