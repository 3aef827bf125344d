// SPDX-License-Identifier: Apache-2.0
// What needs no device of connecting by rdma_cm: addresses, what a request says, what failures say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/ib.h>
#include <netinet/in.h>

#include <cerrno>

#include "core/base/error.h"
#include "core/test_case/test_case.h"
#include "core/verbs/cm/cm_address.h"
#include "core/verbs/cm/connection.h"
#include "core/verbs/cm/connector.h"
#include "core/verbs/gid.h"

namespace rdmameter {
namespace {

using testing::HasSubstr;

Gid gid(std::string_view text, GidType type = GidType::roce_v2) {
  Gid result;
  result.value = *gid_from_text(text);
  result.type = type;
  return result;
}

CmAddress address_of(const Gid& gid, CmAddressTerms terms = {},
                     int link_layer = IBV_LINK_LAYER_ETHERNET) {
  return cm_address_of(gid, link_layer, terms, "rxe0/1");
}
std::string text_of(std::string_view text, std::uint16_t port = 0) {
  return address_of(gid(text), {.port = port}).text();
}

TEST(CmAddress, IsWhatTheGidWasMadeFrom) {
  EXPECT_EQ(text_of("::ffff:10.9.0.1"), "10.9.0.1");
  EXPECT_EQ(text_of("::ffff:10.9.0.1", 4711), "10.9.0.1:4711");
  EXPECT_EQ(text_of("fd00:9::1"), "fd00:9::1");
  EXPECT_EQ(text_of("fd00:9::1", 65535), "[fd00:9::1]:65535");
  EXPECT_EQ(address_of(gid("::ffff:10.9.0.1")).family(), AF_INET);
  EXPECT_EQ(address_of(gid("::ffff:10.9.0.1", GidType::iwarp)).text(), "10.9.0.1");
}

TEST(CmAddress, OfALinkLocalGidMeansTheLinkOfItsInterface) {
  const CmAddress address = address_of(gid("fe80::1"), {.netdev = "lo"});
  EXPECT_NE(reinterpret_cast<const sockaddr_in6*>(address.get())->sin6_scope_id, 0U);
}

const sockaddr_ib& infiniband(const CmAddress& address) {
  EXPECT_EQ(address.family(), AF_IB);
  EXPECT_EQ(address.length(), sizeof(sockaddr_ib));
  return *reinterpret_cast<const sockaddr_ib*>(address.get());
}

TEST(CmAddress, OnInfiniBandIsTheGidWithPartitionAndServiceOfTheTransport) {
  const auto on_infiniband = [](const CmAddressTerms& terms) {
    return address_of(gid("fe80::2:c903:1:2", GidType::ib), terms, IBV_LINK_LAYER_INFINIBAND);
  };
  const CmAddress bound = on_infiniband({.transport = Transport::rc, .pkey = 0x8001});
  EXPECT_EQ(infiniband(bound).sib_pkey, htobe16(0x8001));
  EXPECT_EQ(infiniband(bound).sib_addr.sib_raw[15], 2);
  EXPECT_EQ(infiniband(bound).sib_sid, htobe64(RDMA_IB_IP_PS_TCP));
  EXPECT_EQ(infiniband(bound).sib_sid_mask, htobe64(RDMA_IB_IP_PS_MASK)) << "the port is open";
  EXPECT_EQ(bound.text(), "fe80::2:c903:1:2");
  const CmAddress called = on_infiniband({.transport = Transport::ud, .port = 4711});
  EXPECT_EQ(infiniband(called).sib_pkey, htobe16(0xffff));
  EXPECT_EQ(infiniband(called).sib_sid, htobe64(RDMA_IB_IP_PS_UDP | 4711));
  EXPECT_EQ(infiniband(called).sib_sid_mask, ~std::uint64_t{0});
  EXPECT_EQ(called.text(), "[fe80::2:c903:1:2]:4711");
}

TEST(CmAddress, IsNoneOfRoceV1AndOfPortsThatRdmaCmDoesNotKnowAndTheTextSaysWhatToDo) {
  const auto refusal = [](GidType type) -> std::string {
    try {
      address_of(gid("fe80::1", type), {}, IBV_LINK_LAYER_UNSPECIFIED);
    } catch (const Unsupported& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal(GidType::ib), HasSubstr("--connect tcp"));
  EXPECT_THAT(refusal(GidType::roce_v1), HasSubstr("--gid-index"));
}

TEST(GroupAddress, OnInfiniBandIsTheMgidThatRdmaCmMakesOfAnIpv4Group) {
  const auto text = [&](const char* group, std::optional<std::uint16_t> pkey) {
    return group_address(*IpAddress::parse(group), IBV_LINK_LAYER_INFINIBAND, pkey).text();
  };
  EXPECT_EQ(text("239.255.1.2", 0x8001), "ff12:4001:8001::fff:102");
  EXPECT_EQ(text("239.255.1.2", 0x0001), "ff12:4001:8001::fff:102") << "of a limited member";
  EXPECT_EQ(text("239.255.1.2", {}), "ff12:4001:ffff::fff:102");
  EXPECT_EQ(text("ff12:a01b::7", 0xffff), "ff12:a01b::7");
  EXPECT_EQ(group_address(*IpAddress::parse("239.255.1.2"), IBV_LINK_LAYER_ETHERNET, {}).text(),
            "239.255.1.2");
}

TEST(IpAddress, IsParsedAndKnowsMulticast) {
  EXPECT_TRUE(IpAddress::parse("239.255.0.1")->multicast());
  EXPECT_TRUE(IpAddress::parse("ff15::7")->multicast());
  EXPECT_FALSE(IpAddress::parse("10.9.0.1")->multicast());
  EXPECT_FALSE(IpAddress::parse("fd00::1")->multicast());
  for (const char* text : {"", "239.255.0", "localhost", "ff15::1%lo", "1.2.3.4:5"})
    EXPECT_EQ(IpAddress::parse(text), std::nullopt) << text;
}

TEST(CmRequestBytes, ComeBackWhateverPaddingFollows) {
  std::string nonce;
  while (nonce.size() < 64) nonce += "0f1e";
  const auto bytes = cm_request_bytes({nonce, 4095, 0xabcdef});
  std::vector<std::uint8_t> padded(bytes.begin(), bytes.end());
  padded.resize(56);
  EXPECT_EQ((std::vector<std::uint8_t>(padded.begin(), padded.begin() + 4)),
            std::vector<std::uint8_t>(4))
      << "what AF_IB's kernel takes for a header of its own";
  const auto request = cm_request_from(padded);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->nonce, nonce);
  EXPECT_EQ(request->index, 4095U);
  EXPECT_EQ(request->qpn, 0xabcdefU);
}

TEST(CmRequestBytes, AreNoneOfOursWhereTheyAreTooFew) {
  EXPECT_FALSE(cm_request_from({}));
  EXPECT_FALSE(cm_request_from(std::vector<std::uint8_t>(kCmRequestBytes - 1)));
}

TEST(CmEventText, NamesEventStatusReasonAndRemedy) {
  EXPECT_EQ(
      cm_event_text(RDMA_CM_EVENT_REJECTED, 8, "from 10.9.0.1 on rxe0/1 to 10.9.0.2:4711"),
      "RDMA_CM_EVENT_REJECTED (status 8: invalid service ID) from 10.9.0.1 on rxe0/1 to "
      "10.9.0.2:4711. No program listens there: the responder has ended, or its address belongs "
      "to another machine, too.");
  EXPECT_THAT(cm_event_text(RDMA_CM_EVENT_REJECTED, 28, "x", "not of this session"),
              HasSubstr("(status 28: the consumer's own) x, which says \"not of this session\". "));
  EXPECT_THAT(cm_event_text(RDMA_CM_EVENT_REJECTED, 999, "x"), HasSubstr("(status 999: unknown)"));
  EXPECT_THAT(cm_event_text(RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH, "x"),
              HasSubstr("No route to host"));
  EXPECT_THAT(cm_event_text(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, "x"), HasSubstr("4791"));
  EXPECT_THAT(cm_event_text(RDMA_CM_EVENT_UNREACHABLE, 1, "x"),
              HasSubstr("(status 1: service ID not supported)"));
  EXPECT_THAT(cm_event_text(RDMA_CM_EVENT_DISCONNECTED, 0, "x"),
              HasSubstr("RDMA_CM_EVENT_DISCONNECTED x. The peer has ended"));
}

TEST(CmEventText, RepeatsOfAPeersWordsOnlyWhatATerminalMayShow) {
  constexpr std::string_view kWords = "no\x1b[2J room\0 left";
  rdma_cm_event event{};
  event.event = RDMA_CM_EVENT_REJECTED;
  event.status = 28;
  event.param.conn.private_data = kWords.data();
  event.param.conn.private_data_len = kWords.size();
  EXPECT_THAT(cm_event_text(event, "x"), HasSubstr("\"no[2J room\""));
}

}  // namespace
}  // namespace rdmameter
