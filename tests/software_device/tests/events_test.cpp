// SPDX-License-Identifier: Apache-2.0
// Completion channels wake who waits, and only then.
#include <fcntl.h>
#include <poll.h>

#include "tests/software_device/tests/ends.h"

namespace rdmameter::software::testing {
namespace {

struct Listening : Pair {
  Listening() : Pair(IBV_QPT_RC, {}, 0, ibv_create_comp_channel) {
    fcntl(b.channel->fd, F_SETFL, O_NONBLOCK);
  }
  void send(unsigned flags = 0) {
    const std::array sink{b.sge(0, 8)};
    ASSERT_EQ(post_recv(*there, 1, sink), 0);
    ASSERT_EQ(post_send(*here, request(IBV_WR_SEND, 8, flags)), 0);
  }
  bool wakes() const {
    pollfd readable{b.channel->fd, POLLIN, 0};
    return poll(&readable, 1, 0) == 1;
  }
  ibv_cq* event() const {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(b.channel.get(), &cq, &context) != 0) return nullptr;
    ibv_ack_cq_events(cq, 1);
    return cq;
  }
};

TEST(SoftwareDeviceEvents, AnArmedCqRaisesOneEvent) {
  Listening both;
  both.send();
  EXPECT_FALSE(both.wakes()) << "it was not armed";
  ASSERT_EQ(ibv_req_notify_cq(both.b.recv_cq.get(), 0), 0);
  both.send();
  both.send();
  EXPECT_TRUE(both.wakes());
  EXPECT_EQ(both.event(), both.b.recv_cq.get());
  EXPECT_EQ(both.event(), nullptr) << "armed once";
}

TEST(SoftwareDeviceEvents, ASolicitedArmingWaitsForASolicitedMessage) {
  Listening both;
  ASSERT_EQ(ibv_req_notify_cq(both.b.recv_cq.get(), 1), 0);
  both.send();
  EXPECT_FALSE(both.wakes());
  both.send(IBV_SEND_SOLICITED);
  EXPECT_TRUE(both.wakes());
}

TEST(SoftwareDeviceEvents, AWaitingSendMovesWhileBothEndsSleep) {
  Listening both;
  ASSERT_EQ(ibv_req_notify_cq(both.b.recv_cq.get(), 0), 0);
  ASSERT_EQ(post_send(*both.here, both.request(IBV_WR_SEND, 8, 0)), 0);
  const std::array sink{both.b.sge(0, 8)};
  ASSERT_EQ(post_recv(*both.there, 1, sink), 0);
  pollfd readable{both.b.channel->fd, POLLIN, 0};
  EXPECT_EQ(poll(&readable, 1, 20000), 1);
}

}  // namespace
}  // namespace rdmameter::software::testing
