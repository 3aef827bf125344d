// SPDX-License-Identifier: Apache-2.0
// Each way in which a request can fail has its status, at its time.
#include <chrono>
#include <cstring>

#include "tests/software_device/tests/ends.h"

namespace rdmameter::software::testing {
namespace {

using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::steady_clock;

struct Connection : Pair {
  explicit Connection(const Patience& patience = {}, ibv_qp_type type = IBV_QPT_RC)
      : Pair(type, patience) {}
  /// Posts and waits for its end.
  ibv_wc_status status_of(const ibv_send_wr& wr) {
    EXPECT_EQ(post_send(*here, wr), 0);
    return next_completion(*a.send_cq).status;
  }
};

TEST(SoftwareDeviceErrors, ASendWithoutAReceiveEndsAfterItsRnrRetries) {
  Connection none({.rnr_retry = 0});
  EXPECT_EQ(none.status_of(none.request(IBV_WR_SEND, 8)), IBV_WC_RNR_RETRY_EXC_ERR);
  constexpr std::uint8_t k10ms = 20;  // 10.24 ms
  Connection thrice({.rnr_retry = 3, .min_rnr_timer = k10ms});
  const auto begin = steady_clock::now();
  EXPECT_EQ(thrice.status_of(thrice.request(IBV_WR_SEND, 8)), IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_GE(duration_cast<milliseconds>(steady_clock::now() - begin).count(), 30);
}

TEST(SoftwareDeviceErrors, ALateReceiveIsTakenAtTheNextRetry) {
  Connection connection({.rnr_retry = 7, .min_rnr_timer = 14});
  ASSERT_EQ(post_send(*connection.here, connection.request(IBV_WR_SEND, 8)), 0);
  EXPECT_TRUE(is_empty(*connection.a.send_cq));
  const std::array sink{connection.b.sge(0, 8)};
  ASSERT_EQ(post_recv(*connection.there, 1, sink), 0);
  EXPECT_EQ(next_completion(*connection.a.send_cq).status, IBV_WC_SUCCESS);
}

TEST(SoftwareDeviceErrors, AQpThatIsGoneIsFoundOutByTheTimeout) {
  Connection connection({.timeout = 12, .retry_count = 2});  // 3 times 16.8 ms
  const ibv_send_wr wr = connection.request(IBV_WR_RDMA_WRITE, 8);
  connection.b.qps.clear();
  const auto begin = steady_clock::now();
  EXPECT_EQ(connection.status_of(wr), IBV_WC_RETRY_EXC_ERR);
  const auto lasted = duration_cast<milliseconds>(steady_clock::now() - begin);
  EXPECT_GE(lasted.count(), 50);
}

TEST(SoftwareDeviceErrors, WithoutReliabilityWhatNobodyTakesIsLost) {
  for (const ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD}) {
    Connection connection({}, type);
    const Ah ah = address_handle(*connection.a.pd);
    ibv_send_wr wr = connection.request(IBV_WR_SEND, 8);
    if (type == IBV_QPT_UD) wr.wr.ud = {ah.get(), connection.there->qp_num, kQkey};
    EXPECT_EQ(connection.status_of(wr), IBV_WC_SUCCESS);
    const std::array sink{connection.b.sge(0, 48)};
    ASSERT_EQ(post_recv(*connection.there, 1, sink), 0);
    EXPECT_TRUE(is_empty(*connection.b.recv_cq)) << "it arrived after all";
    connection.b.qps.clear();
    EXPECT_EQ(connection.status_of(wr), IBV_WC_SUCCESS);
  }
}

TEST(SoftwareDeviceErrors, ADatagramLongerThanTheMtuIsNotSent) {
  Connection connection({}, IBV_QPT_UD);
  const Ah ah = address_handle(*connection.a.pd);
  const std::array sink{connection.b.sge(0, 8192)};
  ASSERT_EQ(post_recv(*connection.there, 1, sink), 0);
  ibv_send_wr wr = connection.request(IBV_WR_SEND, 4097);
  wr.wr.ud = {ah.get(), connection.there->qp_num, kQkey};
  EXPECT_EQ(connection.status_of(wr), IBV_WC_SUCCESS);
  EXPECT_TRUE(is_empty(*connection.b.recv_cq));
  connection.source.length = 4096;
  EXPECT_EQ(connection.status_of(wr), IBV_WC_SUCCESS);
  EXPECT_EQ(next_completion(*connection.b.recv_cq).byte_len, 4136U);
}

TEST(SoftwareDeviceErrors, MemoryThatAKeyDoesNotOpenIsNotTouched) {
  Connection wrong_key, beyond, foreign;
  ibv_send_wr wr = wrong_key.request(IBV_WR_RDMA_WRITE, 8);
  wr.wr.rdma.rkey += 1;
  EXPECT_EQ(wrong_key.status_of(wr), IBV_WC_REM_ACCESS_ERR);
  wr = beyond.request(IBV_WR_RDMA_READ, 8);
  wr.wr.rdma.remote_addr += beyond.b.memory.size() - 7;
  EXPECT_EQ(beyond.status_of(wr), IBV_WC_REM_ACCESS_ERR);
  wr = foreign.request(IBV_WR_RDMA_WRITE, 8);
  foreign.source.lkey = foreign.b.mr->lkey;
  EXPECT_EQ(foreign.status_of(wr), IBV_WC_LOC_PROT_ERR) << "a key of another domain";
}

TEST(SoftwareDeviceErrors, AccessIsWhatRegionAndQpAllow) {
  Connection connection;
  const Mr read_only(ibv_reg_mr(connection.b.pd.get(), connection.b.memory.data(), 64,
                                int{IBV_ACCESS_REMOTE_READ}));
  ibv_send_wr wr = connection.request(IBV_WR_RDMA_READ, 8);
  wr.wr.rdma.rkey = read_only->rkey;
  EXPECT_EQ(connection.status_of(wr), IBV_WC_SUCCESS);
  wr.opcode = IBV_WR_RDMA_WRITE;
  EXPECT_EQ(connection.status_of(wr), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(connection.status_of(wr), IBV_WC_WR_FLUSH_ERR) << "the QP has failed";
}

TEST(SoftwareDeviceErrors, AReceiveThatIsTooShortFailsAtBothEnds) {
  Connection connection;
  const std::array sink{connection.b.sge(0, 7)};
  ASSERT_EQ(post_recv(*connection.there, 1, sink), 0);
  ASSERT_EQ(post_recv(*connection.there, 2, sink), 0);
  EXPECT_EQ(connection.status_of(connection.request(IBV_WR_SEND, 8)), IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(next_completion(*connection.b.recv_cq).status, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(next_completion(*connection.b.recv_cq).status, IBV_WC_WR_FLUSH_ERR);
}

TEST(SoftwareDeviceErrors, TheErrorStateFlushesBothQueuesInOrder) {
  Connection connection;
  for (std::uint64_t i = 0; i < 3; ++i) {
    ibv_send_wr wr = connection.request(IBV_WR_SEND, 8);
    wr.wr_id = i;
    wr.send_flags = 0;
    ASSERT_EQ(post_send(*connection.here, wr), 0);
    ASSERT_EQ(post_recv(*connection.here, 10 + i, {}), 0);
  }
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(connection.here, &error, IBV_QP_STATE), 0);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const ibv_wc sent = next_completion(*connection.a.send_cq);
    EXPECT_EQ(sent.status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(sent.wr_id, i);
    EXPECT_EQ(next_completion(*connection.a.recv_cq).wr_id, 10 + i);
  }
}

TEST(SoftwareDeviceErrors, AWindowOpensWhatItIsBoundToUntilItIsInvalidated) {
  Connection connection;
  ibv_mw* const window = ibv_alloc_mw(connection.b.pd.get(), IBV_MW_TYPE_2);
  ASSERT_NE(window, nullptr);
  const Mr bindable(ibv_reg_mr(connection.b.pd.get(), connection.b.memory.data(), 64,
                               kAllAccess | IBV_ACCESS_MW_BIND));
  ibv_send_wr bind{};
  bind.opcode = IBV_WR_BIND_MW;
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_mw = {window,
                  ibv_inc_rkey(window->rkey),
                  {bindable.get(), connection.b.address().memory, 16, IBV_ACCESS_REMOTE_WRITE}};
  ASSERT_EQ(post_send(*connection.there, bind), 0);
  EXPECT_EQ(next_completion(*connection.b.send_cq).status, IBV_WC_SUCCESS);
  window->rkey = bind.bind_mw.rkey;
  ibv_send_wr wr = connection.request(IBV_WR_RDMA_WRITE, 8);
  wr.wr.rdma.rkey = window->rkey;
  EXPECT_EQ(connection.status_of(wr), IBV_WC_SUCCESS);
  ibv_send_wr invalidate{};
  invalidate.opcode = IBV_WR_LOCAL_INV;
  invalidate.send_flags = IBV_SEND_SIGNALED;
  invalidate.invalidate_rkey = window->rkey;
  ASSERT_EQ(post_send(*connection.there, invalidate), 0);
  EXPECT_EQ(next_completion(*connection.b.send_cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(connection.status_of(wr), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

using SoftwareDeviceDeathTest = ::testing::Test;
TEST(SoftwareDeviceDeathTest, AnOverrunCqEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Connection connection;
        const Cq small(ibv_create_cq(connection.a.context.get(), 1, nullptr, nullptr, 0));
        connection.a.send_cq.swap(const_cast<Cq&>(small));
        ibv_qp* const qp = connection.a.add_qp();
        connect(*qp, qp->qp_num);
        ibv_send_wr wr = connection.request(IBV_WR_RDMA_WRITE, 0);
        for (int i = 0; i < 2; ++i) post_send(*qp, wr);
        while (true) next_completion(*connection.a.send_cq);
      },
      "a CQ overran");
}

}  // namespace
}  // namespace rdmameter::software::testing
