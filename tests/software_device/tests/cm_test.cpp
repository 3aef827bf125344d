// SPDX-License-Identifier: Apache-2.0
// rdma_cm connects ids by addresses, and says no where nobody listens.
#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/ib.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>

#include <cstring>
#include <string_view>

#include "tests/software_device/device/personality.h"
#include "tests/software_device/device/settings.h"
#include "tests/software_device/tests/ends.h"

namespace rdmameter::software::testing {
namespace {

constexpr std::uint16_t kPort = 7471;

struct CloseChannel {
  void operator()(rdma_event_channel* channel) const { rdma_destroy_event_channel(channel); }
};
using EventChannel = std::unique_ptr<rdma_event_channel, CloseChannel>;
using CmId = std::unique_ptr<rdma_cm_id, Ending<rdma_destroy_id>>;
using CmEvent = std::unique_ptr<rdma_cm_event, Ending<rdma_ack_cm_event>>;

sockaddr_in address_of(const char* text, std::uint16_t port = 0) {
  sockaddr_in made{};
  made.sin_family = AF_INET;
  made.sin_port = htons(port);
  EXPECT_EQ(inet_pton(AF_INET, text, &made.sin_addr), 1);
  return made;
}

CmId bound_id(rdma_event_channel& channel, sockaddr_in address) {
  rdma_cm_id* made = nullptr;
  EXPECT_EQ(rdma_create_id(&channel, &made, nullptr, RDMA_PS_TCP), 0);
  EXPECT_EQ(rdma_bind_addr(made, reinterpret_cast<sockaddr*>(&address)), 0);
  return CmId(made);
}

CmEvent next_event(rdma_event_channel& channel, rdma_cm_event_type expected) {
  rdma_cm_event* event = nullptr;
  EXPECT_EQ(rdma_get_cm_event(&channel, &event), 0);
  EXPECT_EQ(event->event, expected);
  return CmEvent(event);
}

/// Soft0's id asks for a connection to soft1.
CmId calling_id(rdma_event_channel& channel, const char* words) {
  CmId id = bound_id(channel, address_of("127.0.0.2"));
  sockaddr_in peer = address_of("127.0.0.3", kPort);
  EXPECT_EQ(rdma_resolve_addr(id.get(), nullptr, reinterpret_cast<sockaddr*>(&peer), 1000), 0);
  next_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_EQ(rdma_resolve_route(id.get(), 1000), 0);
  next_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
  rdma_conn_param wanted{};
  wanted.private_data = words;
  wanted.private_data_len = static_cast<std::uint8_t>(std::strlen(words));
  wanted.qp_num = 11;
  EXPECT_EQ(rdma_connect(id.get(), &wanted), 0);
  return id;
}

TEST(SoftwareDeviceCm, AnAcceptedRequestConnectsBothEndsUntilOneGoes) {
  const EventChannel here(rdma_create_event_channel()), there(rdma_create_event_channel());
  const CmId listener = bound_id(*there, address_of("127.0.0.3", kPort));
  ASSERT_EQ(rdma_listen(listener.get(), 1), 0);
  CmId caller = calling_id(*here, "hello");
  CmEvent request = next_event(*there, RDMA_CM_EVENT_CONNECT_REQUEST);
  EXPECT_EQ(std::string_view(static_cast<const char*>(request->param.conn.private_data)), "hello");
  EXPECT_EQ(request->param.conn.qp_num, 11U);
  EXPECT_EQ(request->listen_id, listener.get());
  const CmId called(request->id);
  rdma_conn_param given{};
  given.qp_num = 22;
  ASSERT_EQ(rdma_accept(called.get(), &given), 0);
  next_event(*here, RDMA_CM_EVENT_CONNECT_RESPONSE);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  int mask = 0;
  ASSERT_EQ(rdma_init_qp_attr(caller.get(), &attributes, &mask), 0);
  EXPECT_EQ(attributes.dest_qp_num, 22U);
  EXPECT_EQ(mask, rtr_mask(IBV_QPT_RC));
  ASSERT_EQ(rdma_establish(caller.get()), 0);
  next_event(*there, RDMA_CM_EVENT_ESTABLISHED);
  caller.reset();
  next_event(*there, RDMA_CM_EVENT_DISCONNECTED);
}

TEST(SoftwareDeviceCm, ARequestThatNobodyTakesIsRejectedWithTheReason) {
  const EventChannel here(rdma_create_event_channel()), there(rdma_create_event_channel());
  const CmId unheard = calling_id(*here, "");
  EXPECT_EQ(next_event(*here, RDMA_CM_EVENT_REJECTED)->status, 8) << "invalid service ID";
  const CmId listener = bound_id(*there, address_of("127.0.0.3", kPort));
  ASSERT_EQ(rdma_listen(listener.get(), 1), 0);
  const CmId refused = calling_id(*here, "");
  const CmId called(next_event(*there, RDMA_CM_EVENT_CONNECT_REQUEST)->id);
  ASSERT_EQ(rdma_reject(called.get(), "no", 2), 0);
  const CmEvent answer = next_event(*here, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(answer->status, 28) << "consumer defined";
  EXPECT_EQ(answer->param.conn.private_data_len, 2);
}

TEST(SoftwareDeviceCm, OverIwarpCallsBeyondTheBacklogAreRejectedUntilOneIsTaken) {
  const WithSettings is("RDMAMETER_DEVICE_PERSONALITY", "siw");
  const EventChannel here(rdma_create_event_channel()), there(rdma_create_event_channel());
  const CmId listener = bound_id(*there, address_of("127.0.0.3", kPort));
  ASSERT_EQ(rdma_listen(listener.get(), 1), 0);
  const CmId first = calling_id(*here, "1"), second = calling_id(*here, "2");
  EXPECT_EQ(next_event(*here, RDMA_CM_EVENT_REJECTED)->id, second.get());
  const CmId taken(next_event(*there, RDMA_CM_EVENT_CONNECT_REQUEST)->id);
  const CmId third = calling_id(*here, "3");
  const CmId taken_next(next_event(*there, RDMA_CM_EVENT_CONNECT_REQUEST)->id);
}

TEST(SoftwareDeviceCm, AnAddressBelongsToADeviceAndAPortToOneListener) {
  const EventChannel channel(rdma_create_event_channel());
  rdma_cm_id* made = nullptr;
  ASSERT_EQ(rdma_create_id(channel.get(), &made, nullptr, RDMA_PS_TCP), 0);
  const CmId nowhere(made);
  sockaddr_in address = address_of("192.0.2.1");
  EXPECT_EQ(rdma_bind_addr(made, reinterpret_cast<sockaddr*>(&address)), -1);
  EXPECT_EQ(errno, ENODEV);
  const CmId one = bound_id(*channel, address_of("127.0.0.3", kPort));
  const CmId other = bound_id(*channel, address_of("127.0.0.3", kPort));
  EXPECT_STREQ(ibv_get_device_name(one->verbs->device), "soft1");
  EXPECT_EQ(rdma_listen(one.get(), 1), 0);
  EXPECT_EQ(rdma_listen(other.get(), 1), -1);
  EXPECT_EQ(errno, EADDRINUSE);
}

sockaddr_ib gid_address(int device, std::uint16_t port = 0) {
  sockaddr_ib made{};
  made.sib_family = AF_IB;
  const ibv_gid gid = gid_at(static_cast<std::uint32_t>(device), 0)->gid;
  std::memcpy(&made.sib_addr, gid.raw, sizeof gid.raw);
  made.sib_sid = htobe64(RDMA_IB_IP_PS_TCP | port);
  made.sib_sid_mask = htobe64(port == 0 ? RDMA_IB_IP_PS_MASK : ~std::uint64_t{0});
  return made;
}

TEST(SoftwareDeviceCm, OnInfinibandAnIdIsKnownByItsGidAndItsRequestIsNoHeaderOfIpAddresses) {
  const WithSettings is("RDMAMETER_DEVICE_PERSONALITY", "mlx5-ib");
  const EventChannel here(rdma_create_event_channel()), there(rdma_create_event_channel());
  const auto made_at = [](rdma_event_channel& channel, sockaddr_ib address) {
    rdma_cm_id* made = nullptr;
    EXPECT_EQ(rdma_create_id(&channel, &made, nullptr, RDMA_PS_TCP), 0);
    EXPECT_EQ(rdma_bind_addr(made, reinterpret_cast<sockaddr*>(&address)), 0);
    return CmId(made);
  };
  const CmId listener = made_at(*there, gid_address(1, kPort));
  ASSERT_EQ(rdma_listen(listener.get(), 1), 0);
  EXPECT_EQ(be16toh(rdma_get_src_port(listener.get())), kPort);
  const CmId caller = made_at(*here, gid_address(0));
  sockaddr_ib peer = gid_address(1, kPort);
  ASSERT_EQ(rdma_resolve_addr(caller.get(), nullptr, reinterpret_cast<sockaddr*>(&peer), 1000), 0);
  next_event(*here, RDMA_CM_EVENT_ADDR_RESOLVED);
  ASSERT_EQ(rdma_resolve_route(caller.get(), 1000), 0);
  next_event(*here, RDMA_CM_EVENT_ROUTE_RESOLVED);
  rdma_conn_param wanted{};
  wanted.private_data = "x";
  wanted.private_data_len = 1;
  ASSERT_EQ(rdma_connect(caller.get(), &wanted), 0);
  EXPECT_EQ(next_event(*here, RDMA_CM_EVENT_REJECTED)->status, 28);
  wanted.private_data = "\0\0x";
  wanted.private_data_len = 3;
  ASSERT_EQ(rdma_connect(caller.get(), &wanted), 0);
  const CmId called(next_event(*there, RDMA_CM_EVENT_CONNECT_REQUEST)->id);
  EXPECT_STREQ(ibv_get_device_name(called->verbs->device), "soft1");
}

}  // namespace
}  // namespace rdmameter::software::testing
