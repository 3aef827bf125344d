// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/perftest/end.h"
#include "bench/perftest/report.h"
#include "core/engine/endpoint.h"

namespace rdmameter {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const nlohmann::ordered_json kMlx5{{"device",
                                    {{"name", "mlx5_0"},
                                     {"link_layer", "Ethernet"},
                                     {"active_mtu_bytes", 4096},
                                     {"gid_index", 3}}}};

TestCase bandwidth_of_writes() {
  TestCase test_case = default_case(Opcode::rdma_write, Pattern::bandwidth);
  test_case.queues.signal_every = 1;
  return test_case;
}

nlohmann::json test_info_of(const PerftestReport& report, const TestCase& test_case) {
  return nlohmann::json::parse("{" + perftest_test_info(report, test_case, kMlx5) + "}")
      .at("test_info");
}

/// As a VerbsRunner introduces itself.
Introductions introduction(const EndpointInfo& end) {
  return {.forward = {.endpoint = end, .device = "mlx5_0", .port_num = 1}, .backward = {}};
}

EndpointInfo end_at(const char* gid, std::vector<std::uint32_t> rkeys) {
  EndpointInfo end;
  end.gid.value = *gid_from_text(gid);
  end.link_layer = IBV_LINK_LAYER_ETHERNET;
  end.mtu_bytes = 4096;
  end.reads_in = end.reads_out = 16;
  end.address = 0x7f0000001000;
  end.rkeys = std::move(rkeys);
  end.qpns = {0x11, 0x20112};
  end.psns = {0, 0xabcdef};
  return end;
}

TEST(PerftestSettings, AreTheBlockAboveTheTable) {
  const TestCase test_case = bandwidth_of_writes();
  EXPECT_EQ(
      perftest_banner({.title = "RDMA_Write BW Test"}, test_case, kMlx5),
      "---------------------------------------------------------------------------------------\n"
      "                    RDMA_Write BW Test\n"
      " Dual-port       : OFF\t\tDevice         : mlx5_0\n"
      " Number of qps   : 1\t\tTransport type : IB\n"
      " Connection type : RC\t\tUsing SRQ      : OFF\n"
      " PCIe relax order: ON\t\tLock-free      : OFF\n"
      " ibv_wr* API     : OFF\t\tUsing Enhanced Reorder      : OFF\n"
      " TX depth        : 128\n"
      " CQ Moderation   : 1\n"
      " CQE Poll Batch  : 16\n"
      " Mtu             : 4096[B]\n"
      " Link type       : Ethernet\n"
      " GID index       : 3\n"
      " Max inline data : 0[B]\n"
      " rdma_cm QPs\t : OFF\n"
      " Data ex. method : Ethernet\n"
      "---------------------------------------------------------------------------------------\n");
  EXPECT_EQ(perftest_banner({.output = PerftestReport::Output::bandwidth}, test_case, kMlx5), "");
}

TEST(PerftestSettings, AreTestInfoWithPerftestsKeysAndTypes) {
  EXPECT_EQ(perftest_test_info({.title = "RDMA_Write BW Test"}, bandwidth_of_writes(), kMlx5),
            "\"test_info\": {\n\"test\": \"RDMA_Write_BW_Test\",\n\"Dual_port\": \"OFF\",\n"
            "\"Device\": \"mlx5_0\",\n\"Number_of_qps\": 1,\n\"Transport_type\": \"IB\",\n"
            "\"Connection_type\": \"RC\",\n\"Using_SRQ\": \"OFF\",\n"
            "\"PCIe_relax_order\": \"ON\",\n\"ibv_wr_API\": \"OFF\",\n\"TX_depth\": 128,\n"
            "\"CQ_Moderation\": 1,\n\"Mtu\": 4096,\n\"Link_type\": \"Ethernet\",\n"
            "\"GID_index\": 3,\n\"Max_inline_data\": 0,\n\"rdma_cm_QPs\": \"OFF\",\n"
            "\"Use_ROCm_memory\": \"OFF\",\n\"Use_MUSA_memory\": \"OFF\",\n"
            "\"Data_ex_method\": \"Ethernet\"\n}");
}

TEST(PerftestSettings, OfAReadByRdmaCmWithEventsNameWhatPerftestNamesThen) {
  TestCase test_case = default_case(Opcode::rdma_read, Pattern::bandwidth);
  test_case.connect = Connect::cm;
  test_case.wait = Wait::event;
  test_case.path.traffic_class = 41;
  test_case.queues.outstanding_reads = 16;
  PerftestReport report{.title = "RDMA_Read BW Test"};
  const std::string block = perftest_banner(report, test_case, kMlx5);
  EXPECT_THAT(block, HasSubstr("\n Test with events. Using mlx5_0_comp0\n Dual-port"));
  EXPECT_THAT(block, HasSubstr("\n Outstand reads  : 16\n rdma_cm QPs\t : ON\n"
                               " Data ex. method : rdma_cm \tTOS    : 41\n---"));
  const auto info = test_info_of(report, test_case);
  EXPECT_EQ(info.at("Test with events"), "Using_mlx5_0_comp0");
  EXPECT_EQ(info.at("Outstand_reads"), 16);
  EXPECT_EQ(info.at("TOS"), 41);
  EXPECT_FALSE(info.contains("Max_inline_data"));
  report.server = true;
  EXPECT_THAT(perftest_banner(report, test_case, kMlx5),
              HasSubstr("-\n Waiting for client rdma_cm QP to connect\n"
                        " Please run the same command with the IB/RoCE interface IP\n-"));
}

TEST(PerftestSettings, NameTheInlineSizeThatTheDeviceTookOfPerftestsFigure) {
  TestCase test_case = default_case(Opcode::send, Pattern::ping_pong);
  const PerftestReport report{.table = PerftestReport::Table::latency, .inline_bytes = 236};
  const auto shown = [&](std::uint64_t size_bytes, std::uint64_t of_the_qps) {
    test_case.size_bytes = size_bytes;
    test_case.queues.inline_bytes = of_the_qps;
    return test_info_of(report, test_case).at("Max_inline_data").get<std::uint64_t>();
  };
  EXPECT_EQ(shown(2, 256), 236U);
  EXPECT_EQ(shown(2, 60), 60U);
  EXPECT_EQ(shown(2, 0), 0U);
  EXPECT_EQ(shown(4096, 0), 236U);  // no message of it is inlined: nothing was tried
}

TEST(PerftestSettings, HaveAGidOnEthernetOrWhereItIsAskedFor) {
  nlohmann::ordered_json infiniband = kMlx5;
  infiniband["device"]["link_layer"] = "InfiniBand";
  EXPECT_THAT(perftest_banner({}, bandwidth_of_writes(), infiniband),
              AllOf(HasSubstr(" Link type       : IB\n"), Not(HasSubstr("GID"))));
  EXPECT_THAT(perftest_banner({.gid_given = true}, bandwidth_of_writes(), infiniband),
              HasSubstr(" GID index       : 3\n"));
}

TEST(PerftestSettings, NameTheDepthsThatPerftestsEndsName) {
  TestCase sends = default_case(Opcode::send, Pattern::bandwidth);
  sends.queues.rx_depth = 512;
  EXPECT_THAT(perftest_banner({}, sends, nullptr),
              AllOf(HasSubstr(" TX depth        : 128\n"), Not(HasSubstr("RX depth"))));
  EXPECT_THAT(perftest_banner({.server = true}, sends, nullptr),
              AllOf(HasSubstr(" RX depth        : 512\n"), Not(HasSubstr("TX depth"))));
  sends.bidirectional = true;
  EXPECT_THAT(perftest_banner({}, sends, nullptr),
              AllOf(HasSubstr(" TX depth        : 128\n"), HasSubstr(" RX depth        : 512\n")));
  EXPECT_THAT(perftest_banner({.table = PerftestReport::Table::latency},
                              default_case(Opcode::send, Pattern::ping_pong), nullptr),
              AllOf(HasSubstr(" TX depth        : 1\n"), Not(HasSubstr("RX depth"))));
}

ConnectedCase told_of(const TestCase& test_case) {
  return {test_case, introduction(end_at("fe80::1", {})),
          introduction(end_at("::ffff:192.0.2.1", {0x1234, 0x5678}))};
}

PerftestConnection connection_of(const TestCase& test_case) {
  return perftest_connection(told_of(test_case), false);
}

TEST(PerftestAddresses, AreOfEachQpInPerftestsForm) {
  TestCase test_case = bandwidth_of_writes();
  test_case.qps = 2;
  EXPECT_EQ(perftest_addresses({}, connection_of(test_case)),
            " local address: LID 0000 QPN 0x0011 PSN 000000 RKey 00000000 VAddr 0000000000000000\n"
            " GID: 254:128:00:00:00:00:00:00:00:00:00:00:00:00:00:01\n"
            " local address: LID 0000 QPN 0x20112 PSN 0xabcdef RKey 00000000 VAddr "
            "0000000000000000\n"
            " GID: 254:128:00:00:00:00:00:00:00:00:00:00:00:00:00:01\n"
            " remote address: LID 0000 QPN 0x0011 PSN 000000 RKey 0x001234 VAddr "
            "0x007f0000001000\n"
            " GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:00:02:01\n"
            " remote address: LID 0000 QPN 0x20112 PSN 0xabcdef RKey 0x005678 VAddr "
            "0x007f0000001000\n"
            " GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:00:02:01\n");
  EXPECT_EQ(perftest_addresses({.output = PerftestReport::Output::message_rate},
                               connection_of(test_case)),
            "");
}

TEST(PerftestAddresses, OfReadsHaveHowManyMayBeUnderWayAndOfSendsNoKey) {
  TestCase reads = default_case(Opcode::rdma_read, Pattern::bandwidth);
  reads.qps = 2;
  EXPECT_THAT(perftest_addresses({}, connection_of(reads)),
              HasSubstr(" QPN 0x0011 PSN 000000 OUT 0x10 RKey 0x001234 "));
  TestCase sends = default_case(Opcode::send, Pattern::bandwidth);
  sends.qps = 2;
  EXPECT_THAT(perftest_addresses({}, connection_of(sends)), Not(HasSubstr("RKey")));
  for (TestCase* by_cm : {&reads, &sends}) {
    by_cm->connect = Connect::cm;
    EXPECT_THAT(perftest_addresses({}, connection_of(*by_cm)),
                AllOf(Not(HasSubstr("RKey")), Not(HasSubstr("OUT"))));
  }
}

TEST(PerftestAddresses, OfAMulticastAreTheGroupsWhereItIsReceived) {
  TestCase test_case = default_case(Opcode::mcast_send, Pattern::bandwidth);
  test_case.qps = 2;
  ConnectedCase told = told_of(test_case);
  told.local.forward.group = "239.1.2.3";  // each end has one; the receiver's is taken
  told.remote.forward.group = "ff15::a1";
  EXPECT_THAT(perftest_addresses({}, perftest_connection(told, false)),
              AllOf(HasSubstr(" local address: LID 0000 QPN 0x0011 PSN 000000\n GID: 254:128:"),
                    HasSubstr(" remote address: LID 0000 QPN 0xffffff PSN 000000\n"
                              " MGID: 255:21:00:00:00:00:00:00:00:00:00:00:00:00:00:161\n"),
                    Not(HasSubstr("local address: LID 0000 QPN 0xffffff"))));
  EXPECT_THAT(perftest_addresses({.server = true}, perftest_connection(told, true)),
              AllOf(HasSubstr(" local address: LID 0000 QPN 0xffffff PSN 000000\n"
                              " MGID: 00:00:00:00:00:00:00:00:00:00:255:255:239:01:02:03\n"),
                    HasSubstr(" remote address: LID 0000 QPN 0x0011 PSN 000000\n GID: 00:")));
}

TEST(PerftestAddresses, AreTakenFromNothingElse) {
  TestCase test_case = bandwidth_of_writes();  // of one QP, and the ends have two
  EXPECT_ANY_THROW(connection_of(test_case));
  EXPECT_ANY_THROW(perftest_connection({test_case, {}, {}}, false));
  test_case.threads = 2;  // not of perftest's: its ends have introductions of another form
  EXPECT_EQ(perftest_addresses({}, perftest_connection({test_case, {}, {}}, false)), "");
}

}  // namespace
}  // namespace rdmameter
