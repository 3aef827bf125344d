// SPDX-License-Identifier: Apache-2.0
// Threads share everything.
#include <atomic>
#include <thread>

#include "tests/software_device/tests/ends.h"

namespace rdmameter::software::testing {
namespace {

constexpr int kMessages = 2000;

/// Sends messages to the other QP, and takes and reposts as many receives.
void exchange(ibv_qp& from, const ibv_sge& source) {
  for (int i = 0; i < kMessages; ++i) {
    ibv_sge sge = source;
    while (post_send(from, request(IBV_WR_SEND, sge)) == ENOMEM) std::this_thread::yield();
  }
}

TEST(SoftwareDeviceThreads, TwoThreadsPostAndOnePollsACqTheyShare) {
  End end;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    ibv_qp* const here = end.add_qp();
    ibv_qp* const there = end.add_qp();
    connect(*here, *there);
  }
  const std::array sink{end.sge(1024, 64)};
  for (const int there : {1, 3})
    for (std::uint32_t i = 0; i < kDepth; ++i)
      ASSERT_EQ(post_recv(*end.qps[there], static_cast<std::uint64_t>(there), sink), 0);
  for (const int here : {0, 2})
    threads.emplace_back([&end, here] { exchange(*end.qps[here], end.sge(here * 64, 64)); });
  int received = 0, sent = 0;
  while (received < 2 * kMessages || sent < 2 * kMessages) {
    ibv_wc wc{};
    if (ibv_poll_cq(end.recv_cq.get(), 1, &wc) == 1) {
      ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
      ASSERT_EQ(wc.qp_num, end.qps[wc.wr_id]->qp_num);
      ASSERT_EQ(post_recv(*end.qps[wc.wr_id], wc.wr_id, sink), 0);
      ++received;
    }
    if (ibv_poll_cq(end.send_cq.get(), 1, &wc) == 1) {
      ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
      ++sent;
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(is_empty(*end.recv_cq));
}

TEST(SoftwareDeviceThreads, ThreadsMakeAndDestroyObjectsAtOnce) {
  End end;
  std::vector<std::thread> threads;
  std::atomic<int> made{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        const Cq cq(ibv_create_cq(end.context.get(), 8, nullptr, nullptr, 0));
        const Mr mr(ibv_reg_mr(end.pd.get(), end.memory.data(), 64, int{IBV_ACCESS_LOCAL_WRITE}));
        made += cq != nullptr && mr != nullptr;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 200);
}

}  // namespace
}  // namespace rdmameter::software::testing
