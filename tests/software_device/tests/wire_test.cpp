// SPDX-License-Identifier: Apache-2.0
// A wire takes its time, and chance takes its share, as the settings say.
#include <algorithm>
#include <chrono>
#include <vector>

#include "tests/software_device/queues/queue_pair.h"
#include "tests/software_device/segment/tables.h"
#include "tests/software_device/tests/ends.h"

namespace rdmameter::software::testing {
namespace {

using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::steady_clock;

constexpr const char* kWireVariable = "RDMAMETER_DEVICE_WIRE";

/// What has happened at soft0's port since this was made.
class Counts {
 public:
  std::uint64_t lost() const { return port().lost - lost_; }
  std::uint64_t duplicated() const { return port().duplicated - duplicated_; }
  std::uint64_t overtaken() const { return port().overtaken - overtaken_; }
  std::uint64_t qp_misses() const { return port().qp_misses - qp_misses_; }

 private:
  static const PortState& port() { return tables().ports[0]; }
  std::uint64_t lost_ = port().lost, duplicated_ = port().duplicated, overtaken_ = port().overtaken,
                qp_misses_ = port().qp_misses;
};

/// soft0 sends to soft1.
struct Link : Pair {
  explicit Link(ibv_qp_type type = IBV_QPT_RC, const Patience& patience = {})
      : Pair(type, patience, 1), ah(address_handle(*a.pd)) {}
  ibv_send_wr request(ibv_wr_opcode opcode, std::uint32_t length) {
    ibv_send_wr wr = Pair::request(opcode, length);
    if (here->qp_type == IBV_QPT_UD) wr.wr.ud = {ah.get(), there->qp_num, kQkey};
    return wr;
  }
  /// Sends messages that carry their number as their only byte.
  void send_numbers(std::uint8_t count) {
    for (std::uint8_t i = 0; i < count; ++i) {
      const std::array sink{b.sge(i * 64U, 64)};
      ASSERT_EQ(post_recv(*there, i, sink), 0);
    }
    for (std::uint8_t i = 0; i < count; ++i) {
      a.memory[0] = std::byte{i};
      ibv_send_wr wr = request(IBV_WR_SEND, 1);
      wr.send_flags |= IBV_SEND_INLINE;
      ASSERT_EQ(post_send(*here, wr), 0);
    }
    for (std::uint8_t i = 0; i < count; ++i)
      ASSERT_EQ(next_completion(*a.send_cq).status, IBV_WC_SUCCESS);
  }
  /// The numbers of datagrams that have come, in their order.
  std::vector<unsigned> numbers(std::size_t count) {
    std::vector<unsigned> made;
    while (made.size() < count) {
      const ibv_wc wc = next_completion(*b.recv_cq);
      if (wc.status != IBV_WC_SUCCESS) break;
      made.push_back(static_cast<unsigned>(b.memory[wc.wr_id * 64 + 40]));
    }
    return made;
  }
  Ah ah;
};

TEST(SoftwareDeviceWire, AnAnswerTakesTheWayThereAndBack) {
  const WithSettings are(kWireVariable, "0-1:latency=20ms,1-0:latency=30ms");
  Link link;
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    const auto begin = steady_clock::now();
    ASSERT_EQ(post_send(*link.here, link.request(opcode, 8)), 0);
    EXPECT_EQ(next_completion(*link.a.send_cq).status, IBV_WC_SUCCESS);
    EXPECT_GE(duration_cast<milliseconds>(steady_clock::now() - begin).count(), 50);
  }
}

TEST(SoftwareDeviceWire, WhatASlowQpSendsArrivesLaterAndWhatOthersSendDoesNot) {
  const WithSettings has_a_wire(kWireVariable, "latency=1us");
  // QPs are counted for as long as the process lives.
  const WithSettings are("RDMAMETER_DEVICE_DELAYS", std::to_string(qps_made() + 1) + "=60s");
  Link link;  // whose first QP is `here`
  const ibv_send_wr wr = link.request(IBV_WR_RDMA_WRITE, 8);
  ASSERT_EQ(post_send(*link.here, wr), 0);
  ibv_sge back = link.b.sge(0, 8);
  ASSERT_EQ(post_send(*link.there, to_remote(request(IBV_WR_RDMA_WRITE, back), link.a.address())),
            0);
  EXPECT_EQ(next_completion(*link.b.send_cq).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(is_empty(*link.a.send_cq));
}

TEST(SoftwareDeviceWire, WhatASilentQpSendsNeverArrivesAndItsRetriesEnd) {
  const WithSettings has_a_wire(kWireVariable, "latency=1us");
  const WithSettings are("RDMAMETER_DEVICE_DELAYS", std::to_string(qps_made() + 1) + "=lost");
  Link link;  // whose first QP is `here`
  ASSERT_EQ(post_send(*link.here, link.request(IBV_WR_RDMA_WRITE, 8)), 0);
  ibv_sge back = link.b.sge(0, 8);
  ASSERT_EQ(post_send(*link.there, to_remote(request(IBV_WR_RDMA_WRITE, back), link.a.address())),
            0);
  EXPECT_EQ(next_completion(*link.b.send_cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(next_completion(*link.a.send_cq).status, IBV_WC_RETRY_EXC_ERR);
}

TEST(SoftwareDeviceWire, AMessageIsThereBeforeItsAnswerIsHere) {
  const WithSettings are(kWireVariable, "1-0:latency=60s");
  Link link;
  const std::array sink{link.b.sge(0, 8)};
  ASSERT_EQ(post_recv(*link.there, 1, sink), 0);
  ASSERT_EQ(post_send(*link.here, link.request(IBV_WR_SEND, 8)), 0);
  EXPECT_EQ(next_completion(*link.b.recv_cq).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(is_empty(*link.a.send_cq));
}

TEST(SoftwareDeviceWire, ADatagramIsSentBeforeItArrivesWithTheBytesThatItHadThen) {
  const WithSettings are(kWireVariable, "latency=30ms");
  Link link(IBV_QPT_UD);
  const std::array sink{link.b.sge(0, 64)};
  ASSERT_EQ(post_recv(*link.there, 1, sink), 0);
  link.a.memory[0] = std::byte{7};
  const auto begin = steady_clock::now();
  ASSERT_EQ(post_send(*link.here, link.request(IBV_WR_SEND, 1)), 0);
  EXPECT_EQ(next_completion(*link.a.send_cq).status, IBV_WC_SUCCESS);
  link.a.memory[0] = std::byte{8};
  EXPECT_EQ(next_completion(*link.b.recv_cq).byte_len, 41U);
  EXPECT_GE(duration_cast<milliseconds>(steady_clock::now() - begin).count(), 30);
  EXPECT_EQ(link.b.memory[40], std::byte{7});
}

TEST(SoftwareDeviceWire, ManyMessagesAreOnTheirWayAtOnceAndStayInOrder) {
  const WithSettings are(kWireVariable, "latency=25ms,jitter=10ms");
  Link link(IBV_QPT_RC);
  constexpr std::uint8_t kCount = 32;
  for (std::uint8_t i = 0; i < kCount; ++i) {
    const std::array sink{link.b.sge(i * 64U, 64)};
    ASSERT_EQ(post_recv(*link.there, i, sink), 0);
    ibv_send_wr wr = link.request(IBV_WR_SEND, 8);
    wr.wr_id = i;
    ASSERT_EQ(post_send(*link.here, wr), 0);
  }
  for (std::uint64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(next_completion(*link.a.send_cq).wr_id, i);
    EXPECT_EQ(next_completion(*link.b.recv_cq).wr_id, i);
  }
}

TEST(SoftwareDeviceWire, ARateIsNotExceeded) {
  const WithSettings are(kWireVariable, "rate=80M");  // 10 bytes each microsecond
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
    Link link(type);
    const auto begin = steady_clock::now();
    for (int i = 0; i < 20; ++i)
      ASSERT_EQ(post_send(*link.here, link.request(IBV_WR_RDMA_WRITE, 50'000)), 0);
    for (int i = 0; i < 20; ++i) next_completion(*link.a.send_cq);
    EXPECT_GE(duration_cast<milliseconds>(steady_clock::now() - begin).count(), 100);
  }
}

TEST(SoftwareDeviceWire, ReadsTakeTheRateOfTheWayBack) {
  const WithSettings are(kWireVariable, "1-0:rate=80M");
  Link link;
  const auto begin = steady_clock::now();
  for (int i = 0; i < 10; ++i)
    ASSERT_EQ(post_send(*link.here, link.request(IBV_WR_RDMA_READ, 50'000)), 0);
  for (int i = 0; i < 10; ++i) next_completion(*link.a.send_cq);
  EXPECT_GE(duration_cast<milliseconds>(steady_clock::now() - begin).count(), 50);
}

TEST(SoftwareDeviceWire, EachMessageCostsItsPort) {
  const WithSettings are(kWireVariable, "message=2ms");
  Link link(IBV_QPT_UD);
  const auto begin = steady_clock::now();
  link.send_numbers(20);
  EXPECT_GE(duration_cast<milliseconds>(steady_clock::now() - begin).count(), 40);
}

TEST(SoftwareDeviceWire, QpsBeyondTheCacheMiss) {
  const WithSettings are(kWireVariable, "qp-cache=4,qp-miss=1ms");
  End a, b(1);
  const auto misses = [&](std::size_t qps) {
    while (a.qps.size() < qps) {
      ibv_qp &here = *a.add_qp(), &there = *b.add_qp();
      connect(here, there);
    }
    const Counts counts;
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    for (int round = 0; round < 8; ++round)
      for (const Qp& qp : a.qps) {
        EXPECT_EQ(post_send(*qp, wr), 0);
        EXPECT_EQ(next_completion(*a.send_cq).status, IBV_WC_SUCCESS);
      }
    return counts.qp_misses();
  };
  const std::uint64_t few = misses(2), many = misses(16);
  EXPECT_LE(few, 16U);
  EXPECT_GE(many, 8U * 12) << "at most 4 of 16 stay";
}

TEST(SoftwareDeviceWire, LostDatagramsAreCountedAndTheOthersArrive) {
  const WithSettings are(kWireVariable, "loss=0.5,seed=7");
  Link link(IBV_QPT_UD);
  const Counts counts;
  constexpr std::uint8_t kCount = 60;
  link.send_numbers(kCount);
  EXPECT_GT(counts.lost(), 10U);
  EXPECT_LT(counts.lost(), 50U);
  EXPECT_EQ(link.numbers(kCount - counts.lost()).size(), kCount - counts.lost());
  EXPECT_TRUE(is_empty(*link.b.recv_cq));
}

TEST(SoftwareDeviceWire, AReliableQpSendsAgainWhatIsLost) {
  const WithSettings are(kWireVariable, "loss=0.2");
  Link link(IBV_QPT_RC, {.timeout = 8});  // 1 ms
  const Counts counts;
  link.send_numbers(60);
  EXPECT_GT(counts.lost(), 3U);
  for (std::uint64_t i = 0; i < 60; ++i) EXPECT_EQ(next_completion(*link.b.recv_cq).wr_id, i);
}

TEST(SoftwareDeviceWire, WhereAllIsLostAReliableQpGivesUp) {
  const WithSettings are(kWireVariable, "0-1:loss=1");
  Link link(IBV_QPT_RC, {.timeout = 4, .retry_count = 2});
  const Counts counts;
  ASSERT_EQ(post_send(*link.here, link.request(IBV_WR_RDMA_WRITE, 8)), 0);
  EXPECT_EQ(next_completion(*link.a.send_cq).status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_GE(counts.lost(), 3U);
}

TEST(SoftwareDeviceWire, DuplicatesArriveTwice) {
  const WithSettings are(kWireVariable, "duplicate=1");
  Link link(IBV_QPT_UD);
  const Counts counts;
  for (std::uint64_t i = 20; i < 30; ++i) {
    const std::array sink{link.b.sge(i * 64, 64)};
    ASSERT_EQ(post_recv(*link.there, i, sink), 0);
  }
  link.send_numbers(5);
  EXPECT_EQ(link.numbers(10), (std::vector<unsigned>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(counts.duplicated(), 5U);
}

TEST(SoftwareDeviceWire, AnOvertakenDatagramComesBehindItsSuccessor) {
  const WithSettings are(kWireVariable, "reorder=0.4,latency=1ms,seed=3");
  Link link(IBV_QPT_UD);
  const Counts counts;
  constexpr std::uint8_t kCount = 40;
  link.send_numbers(kCount);
  std::vector<unsigned> arrived = link.numbers(kCount);
  EXPECT_GT(counts.overtaken(), 4U);
  EXPECT_FALSE(std::ranges::is_sorted(arrived));
  std::ranges::sort(arrived);
  for (unsigned i = 0; i < kCount; ++i) EXPECT_EQ(arrived[i], i);
}

TEST(SoftwareDeviceWire, ASeedRepeatsItself) {
  const auto fates = [](const char* settings) {
    const WithSettings are(kWireVariable, settings);
    SharedQp qp;
    qp.qpn = 0x123;
    std::vector<bool> made;
    for (int i = 0; i < 64; ++i) made.push_back(strikes(qp, 0.5));
    return made;
  };
  EXPECT_EQ(fates("seed=5"), fates("seed=5"));
  EXPECT_NE(fates("seed=5"), fates("seed=6"));
}

TEST(SoftwareDeviceWire, DestroyingAQpDoesNotTakeBackWhatItHasSent) {
  const WithSettings are(kWireVariable, "latency=20ms");
  Link link(IBV_QPT_UD);
  link.send_numbers(3);
  link.a.qps.clear();
  EXPECT_EQ(link.numbers(3), (std::vector<unsigned>{0, 1, 2}));
}

TEST(SoftwareDeviceWire, AnErrorComesInItsTurn) {
  const WithSettings are(kWireVariable, "latency=5ms");
  Link link;
  ibv_send_wr wr = link.request(IBV_WR_RDMA_WRITE, 8);
  for (std::uint64_t i = 0; i < 4; ++i) {
    wr.wr_id = i;
    if (i == 2) wr.wr.rdma.rkey += 1;
    ASSERT_EQ(post_send(*link.here, wr), 0);
  }
  constexpr std::array kExpected{IBV_WC_SUCCESS, IBV_WC_SUCCESS, IBV_WC_REM_ACCESS_ERR,
                                 IBV_WC_WR_FLUSH_ERR};
  for (const ibv_wc_status expected : kExpected)
    EXPECT_EQ(next_completion(*link.a.send_cq).status, expected);
}

using SoftwareDeviceWireDeathTest = ::testing::Test;
TEST(SoftwareDeviceWireDeathTest, AnUnknownSettingEndsTheProgramWithThoseThatThereAre) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto set = [](const char* text) { const WithSettings are(kWireVariable, text); };
  EXPECT_DEATH(set("speed=1G"), "'speed=1G': it takes latency, jitter, rate, loss");
  EXPECT_DEATH(set("latency=2"), "'latency=2': it takes a time in ns, us, ms or s");
  EXPECT_DEATH(set("0-1:loss=2"), "'loss=2': it takes a share from 0 to 1");
  EXPECT_DEATH(set("rate=5"), "it takes bits per second");
}

}  // namespace
}  // namespace rdmameter::software::testing
