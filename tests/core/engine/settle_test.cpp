// SPDX-License-Identifier: Apache-2.0
#include "core/engine/settle.h"

#include <endian.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/engine/endpoint.h"
#include "tests/core/base/fake_tree.h"

namespace rdmameter {
namespace {

using testing::HasSubstr;

TestCase of_file(const std::string& path) {
  TestCase test_case = default_case(Opcode::send, Pattern::ping_pong);
  set_axis(test_case, *find_axis("payload"), "file:" + path);
  return test_case;
}

DeviceCase at_initiator(const TestCase& asked) {
  return {asked, {}, Role::initiator};
}

struct PayloadFile : ::testing::Test {
  FakeTree tree;
  std::string path(const std::string& name) const { return (tree.root() / name).string(); }
};

TEST_F(PayloadFile, IsReadAsFarAsItGoesOverTheWireAndArrivesThere) {
  const std::string bytes("one\0two\xff", 8);
  tree.write("some", bytes);
  const DeviceCase test_case = at_initiator(of_file(path("some")));
  EXPECT_EQ(test_case->payload_bytes, bytes);
  EXPECT_EQ(case_from_wire(case_to_wire(test_case.shared())).payload_bytes, bytes);
  tree.write("large", std::string(3 * kMaxPayloadFileBytes, 'x'));
  EXPECT_EQ(at_initiator(of_file(path("large")))->payload_bytes.size(), kMaxPayloadFileBytes);
}

TEST_F(PayloadFile, ThatIsNotThereOrEmptyIsNamed) {
  tree.write("empty", "");
  EXPECT_THROW(at_initiator(of_file(path("none"))), VerbsError);
  EXPECT_NO_THROW((DeviceCase{of_file(path("none")), {}, Role::responder}));
  try {
    at_initiator(of_file(path("empty")));
    FAIL() << "it was taken";
  } catch (const Unsupported& error) {
    EXPECT_THAT(error.what(), HasSubstr("empty: the file is empty"));
  }
}

TEST_F(PayloadFile, OnTheWireComesWithItsBytesAndNoOtherPayloadDoes) {
  const nlohmann::ordered_json plain = case_to_wire(default_case(Opcode::send, Pattern::ping_pong));
  TestCase file = of_file("/x");
  file.payload_bytes = "abc";
  const nlohmann::ordered_json good = case_to_wire(file);
  EXPECT_EQ(case_from_wire(good).payload_bytes, "abc");
  const auto refused = [](nlohmann::ordered_json wire, const nlohmann::ordered_json& bytes) {
    wire["payload_bytes"] = bytes;
    EXPECT_THROW(case_from_wire(wire), UsageError) << bytes;
  };
  refused(plain, "6162");
  for (const nlohmann::ordered_json& bytes :
       {nlohmann::ordered_json(""), nlohmann::ordered_json("6"), nlohmann::ordered_json("6g"),
        nlohmann::ordered_json(7), nlohmann::ordered_json("61 62"),
        nlohmann::ordered_json(std::string(2 * kMaxPayloadFileBytes + 2, '6'))})
    refused(good, bytes);
  nlohmann::ordered_json without = good;
  without.erase("payload_bytes");
  EXPECT_THROW(case_from_wire(without), UsageError);
}

TEST(DeviceCase, LeavesOpenToThePeerWhatThePeerDecides) {
  TestCase asked = default_case(Opcode::send, Pattern::ping_pong);
  asked.size_bytes = 4096;
  asked.queues.sge = asked.queues.recv_sge = kDeviceMax;
  asked.transport = Transport::ud;
  asked.peers = 3;
  const DeviceCase mine = DeviceCase::usual(asked, Role::initiator);
  EXPECT_EQ(mine->queues.sge, 32U);
  EXPECT_EQ(mine->queues.recv_sge, 32U);
  EXPECT_EQ(mine.shared().queues.sge, 32U);
  EXPECT_EQ(mine.shared().queues.recv_sge, kDeviceMax);
  EXPECT_EQ(mine->qps, asked.qps);
  const DeviceCase theirs = DeviceCase::usual(mine.shared(), Role::responder);
  EXPECT_EQ(theirs->qps, 3 * asked.qps);
  EXPECT_EQ(theirs.shared().qps, asked.qps);
  asked.size_bytes = 7;
  EXPECT_EQ(DeviceCase::usual(asked, Role::responder)->queues.recv_sge, 7U);
}

TEST(DeviceCase, ThatTheResponderInitiatesHasEachMachinesOwnMemory) {
  TestCase asked = default_case(Opcode::send, Pattern::bandwidth);
  asked.initiator.memory = "cuda:0";
  const DeviceCase back = DeviceCase::usual(asked, Role::initiator).backward();
  EXPECT_EQ(back.role(), Role::responder);
  EXPECT_EQ(back->initiator.memory, "");
  EXPECT_EQ(back->responder.memory, "cuda:0");
}

/// An end of two threads, each with a port and GID of its own.
Introduction end_of(std::uint64_t port, std::uint64_t other, bool thread_domain) {
  const auto one = [](std::uint64_t number, bool domain) {
    Introduction end{.endpoint = EndpointInfo{},
                     .device = "mlx5_0",
                     .port_num = number,
                     .thread_domain = domain,
                     .recv_sge = 4};
    end.endpoint->gid.index = 3;
    return end;
  };
  Introduction end = one(port, true);
  end.threads = {one(port, true), one(other, thread_domain)};
  return end;
}

TEST(AgreedCase, HasWhatAllEndpointsHaveAndLeavesTheRestOpen) {
  TestCase asked = default_case(Opcode::send, Pattern::bandwidth);
  asked.threads = 2;
  asked.queues.recv_sge = 4;
  const DeviceCase mine = DeviceCase::usual(asked, Role::initiator);
  const AgreedCase agreed{mine,
                          end_of(1, 2, false),
                          end_of(1, 1, true),
                          {.mtu_bytes = 1024, .outstanding_reads = 16, .inline_bytes = 64},
                          Wait::yield};
  EXPECT_EQ(agreed->initiator.device, "mlx5_0");
  EXPECT_EQ(agreed->initiator.port_num, kAuto);
  EXPECT_EQ(agreed->initiator.gid_index, 3U);
  EXPECT_EQ(agreed->responder.port_num, 1U);
  EXPECT_EQ(agreed->queues.thread_domain, 0U);
  EXPECT_EQ(agreed->queues.inline_bytes, 64U);
  EXPECT_EQ(agreed->path.mtu_bytes, 1024U);
  EXPECT_EQ(agreed->wait, Wait::yield);
  EXPECT_EQ(agreed->queues.recv_post_list, 16U);
  EXPECT_EQ(as_measured(agreed, 4096).path.mtu_bytes, 4096U);
}

TEST(AgreedCase, IsRefusedWhereThePeerChoosesWhatTheCaseHasFixed) {
  TestCase asked = default_case(Opcode::send, Pattern::bandwidth);
  asked.queues.recv_sge = 3;
  const auto agree = [&](Wait wait) {
    const Introduction end = end_of(1, 1, true);
    AgreedCase{DeviceCase::usual(asked, Role::responder), end, end, Agreed{}, wait};
  };
  EXPECT_THAT([&] { agree(Wait::spin); },
              ::testing::ThrowsMessage<MeasurementError>(
                  HasSubstr("the peer's message: recv_sge is 4, outside 3 to 3")));
  asked.queues.recv_sge = kDeviceMax;
  EXPECT_NO_THROW(agree(Wait::spin));
  EXPECT_THAT([&] { agree(Wait::event); }, ::testing::ThrowsMessage<MeasurementError>(HasSubstr(
                                               "the peer's message: wait is 3, outside 1 to 2")));
  asked.wait = Wait::spin;
  EXPECT_THAT([&] { agree(Wait::event); }, ::testing::ThrowsMessage<MeasurementError>(HasSubstr(
                                               "the peer's message: wait is 3, outside 1 to 1")));
}

TEST(AgreedMtu, BetweenTwoInfiniBandSubnetsIsOfRdmaCmAlone) {
  TestCase test_case = default_case(Opcode::send, Pattern::ping_pong);
  EndpointInfo mine;
  mine.link_layer = IBV_LINK_LAYER_INFINIBAND;
  mine.mtu_bytes = 4096;
  EndpointInfo peer = mine;
  const auto refusal = [&] {
    try {
      agreed_mtu(test_case, mine, peer, "mlx5_0/1");
    } catch (const Unsupported& refused) {
      return std::string(refused.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal(), "");
  peer.gid.value.global.subnet_prefix = htobe64(0xfe80000000000001);
  EXPECT_THAT(refusal(), HasSubstr("two InfiniBand subnets"));
  set_axis(test_case, *find_axis("connect"), "cm");
  EXPECT_EQ(refusal(), "");
  set_axis(test_case, *find_axis("connect"), "tcp");
  mine.link_layer = peer.link_layer = IBV_LINK_LAYER_ETHERNET;
  EXPECT_EQ(refusal(), "");
}

}  // namespace
}  // namespace rdmameter
