// SPDX-License-Identifier: Apache-2.0
#include "core/test_case/test_case.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <vector>

#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "core/test_case/catalog.h"
#include "core/test_case/flow_label.h"

namespace rdmameter {
namespace {

using testing::HasSubstr;

TestCase with(TestCase test_case, std::string_view option, std::string_view text) {
  set_axis(test_case, *find_axis(option), text);
  return test_case;
}

TestCase latency() {
  return default_case(Opcode::rdma_write, Pattern::ping_pong);
}
TestCase bandwidth() {
  return default_case(Opcode::rdma_write, Pattern::bandwidth);
}

std::string refusal(std::string_view option, std::string_view text) {
  try {
    with(latency(), option, text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ParseBytes, TakesSuffixesAs1024BasedInAnyLetterCase) {
  EXPECT_EQ(parse_bytes("64"), 64U);
  EXPECT_EQ(parse_bytes("8k"), 8192U);
  EXPECT_EQ(parse_bytes("8K"), 8192U);
  EXPECT_EQ(parse_bytes("2MiB"), 2U << 20);
  EXPECT_EQ(parse_bytes("1gib"), 1U << 30);
}

TEST(ParseBytes, RefusesWhatItDoesNotUnderstandToTheLastCharacter) {
  for (const char* text : {"", "k", "8kk", "8kb", "-1", "+1", "1e3", "0x10", " 8", "8 ", "1.5k",
                           "18446744073709551616", "17179869184G"})
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
}

TEST(ParseSeconds, TakesFractionsExactlyAndSuffixes) {
  EXPECT_EQ(parse_seconds_ns("1"), 1'000'000'000U);
  EXPECT_EQ(parse_seconds_ns("0.5"), 500'000'000U);
  EXPECT_EQ(parse_seconds_ns("2.5MS"), 2'500'000U);
  EXPECT_EQ(parse_seconds_ns("7us"), 7'000U);
  EXPECT_EQ(parse_seconds_ns("0.000000001"), 1U);
  EXPECT_EQ(parse_seconds_ns("0.01000000000"), 10'000'000U);
  EXPECT_EQ(parse_seconds_ns("1.500000us"), 1'500U);
  EXPECT_EQ(parse_seconds_ns("2.0000000000000000000000000"), 2'000'000'000U);
}

TEST(ParseSeconds, RefusesWhatIsNoTime) {
  for (const char* text : {"", "s", ".5", "1.", "1.s", "-1", "1e3", "1m", "inf", "nan", "1.2.3",
                           "1.5ns", "0.0000000001", "18446744074"})
    EXPECT_EQ(parse_seconds_ns(text), std::nullopt) << text;
}

TEST(Texts, UseTheLargestUnitThatIsExact) {
  EXPECT_EQ(bytes_text(8192), "8K");
  EXPECT_EQ(bytes_text(1000), "1000");
  EXPECT_EQ(bytes_text(0), "0");
  EXPECT_EQ(seconds_text(1'500'000'000), "1500ms");
  EXPECT_EQ(seconds_text(1), "1ns");
}

TEST(Axes, HaveDistinctOptionsAndKeys) {
  std::set<std::string_view> options, keys;
  for (const Axis& axis : axes()) {
    EXPECT_TRUE(options.insert(axis.option).second) << axis.option;
    EXPECT_TRUE(keys.insert(axis.key).second) << axis.key;
  }
}

TEST(Axes, GoThroughTextUnchanged) {
  const TestCase test_case =
      with(with(with(latency(), "loss-timeout", "2.5ms"), "inline", "max"), "device", "rxe0");
  TestCase again = latency();
  for (const Axis& axis : axes())
    if (axis.option != "duration") set_axis(again, axis, axis_text(test_case, axis));
  EXPECT_EQ(case_to_wire(again), case_to_wire(test_case));
}

TEST(SetAxis, StoresWordsAndNumbers) {
  EXPECT_EQ(with(latency(), "size", "8M").size_bytes, 8U << 20);
  EXPECT_EQ(with(latency(), "transport", "UD").transport, Transport::ud);
  EXPECT_EQ(with(latency(), "inline", "max").queues.inline_bytes, kDeviceMax);
  EXPECT_EQ(with(latency(), "inline", "OFF").queues.inline_bytes, 0U);
  EXPECT_EQ(with(latency(), "core", "auto").initiator.core, "");
  EXPECT_EQ(with(latency(), "mtu", "1024").path.mtu_bytes, 1024U);
  EXPECT_EQ(with(latency(), "peer-device", "auto").responder.device, "");
}

TEST(SetAxis, TakesCpusAsANumberAListOrAWord) {
  const auto in_results = [](const char* text) {
    return axis_json(with(latency(), "core", text), *find_axis("core")).dump();
  };
  EXPECT_EQ(in_results("3"), "3");
  EXPECT_EQ(in_results("0-3+8"), "\"0-3+8\"");
  EXPECT_EQ(in_results("NUMA"), "\"numa\"");
  EXPECT_EQ(in_results("off"), "\"off\"");
  for (const char* wrong : {"8192", "0-8192", "3-1", "0,2", "0+", "node0", "0..3", ""})
    EXPECT_THAT(refusal("core", wrong), HasSubstr("N, or a list such as 0-3+8")) << wrong;
}

TEST(SetAxis, RefusesNamingTheOptionAndWhatItTakes) {
  EXPECT_EQ(
      refusal("size", "8kk"),
      "invalid value '8kk' for --size: expected bytes from 1 to 2G (K, M, G and KiB, MiB, GiB are "
      "1024-based)");
  EXPECT_EQ(refusal("transport", "xrc"),
            "invalid value 'xrc' for --transport: expected rc, uc, ud");
  for (const char* size : {"0", "-1", "", "auto", "2147483649", "1e3"})
    EXPECT_THAT(refusal("size", size), HasSubstr("for --size: expected")) << size;
  for (const char* port : {"0", "256", "257"})
    EXPECT_THAT(refusal("port-num", port), HasSubstr("from 1 to 255")) << port;
  EXPECT_THAT(refusal("mtu", "1000"), HasSubstr("auto, 256, 512, 1024, 2048, 4096"));
  EXPECT_THAT(refusal("device", "a b"), HasSubstr("for --device: expected"));
  EXPECT_THAT(refusal("device", "../x"), HasSubstr("for --device: expected"));
  EXPECT_THAT(refusal("device", std::string(64, 'x')), HasSubstr("for --device: expected"));
}

TEST(Inline, IsAutomaticForShortMessagesOfLatenciesAlone) {
  for (const auto& [size, wanted] : {std::pair{"8", 8U}, {"220", 220U}, {"221", 0U}})
    EXPECT_EQ(with(latency(), "size", size).wanted_inline(), wanted) << size;
  EXPECT_EQ(with(with(latency(), "size", "8"), "inline", "off").wanted_inline(), 0U);
  EXPECT_EQ(with(with(latency(), "size", "8"), "inline", "max").wanted_inline(), kDeviceMax);
  EXPECT_EQ(with(bandwidth(), "size", "8").wanted_inline(), 0U);
  EXPECT_EQ(with(with(bandwidth(), "size", "8"), "inline", "auto").wanted_inline(), 0U);
  EXPECT_EQ(default_case(Opcode::rdma_read, Pattern::completion_latency).wanted_inline(), 0U);
}

TEST(Inline, OfAMixIsThatOfTheLargestPartThatEndsSoonerByIt) {
  const TestCase mix = with(default_case(Opcode::mix, Pattern::open_loop), "size", "4K");
  EXPECT_EQ(with(mix, "mix", "read:50,write:64:30,send:128:20").wanted_inline(), 128U);
  EXPECT_EQ(with(mix, "mix", "read:8:50,write:50").wanted_inline(), 0U);
  EXPECT_EQ(with(mix, "mix", "read:50,write:50,fetch_add:1").wanted_inline(), 0U);
}

TEST(SetAxis, TakesAPartitionKeyInHexadecimalAlone) {
  EXPECT_EQ(with(latency(), "pkey", "0x8001").path.pkey, 0x8001U);
  EXPECT_EQ(with(latency(), "pkey", "0X7fFf").path.pkey, 0x7fffU);
  EXPECT_EQ(case_json(with(latency(), "pkey", "0x8001"))["pkey"], "0x8001");
  for (const char* pkey : {"0x0", "0x10000", "0x", "32769", "8001", "0x80g1", "-0x1"})
    EXPECT_EQ(refusal("pkey", pkey),
              fmt::format("invalid value '{}' for --pkey: expected auto, or a hexadecimal number "
                          "from 0x1 to 0xffff",
                          pkey));
}

TEST(SetAxis, LetsOneOfIterationsAndDurationRule) {
  const TestCase timed = with(latency(), "duration", "0.5");
  EXPECT_EQ(timed.iterations, 0U);
  EXPECT_EQ(timed.duration_ns, 500'000'000U);
  const TestCase counted = with(timed, "iterations", "5");
  EXPECT_EQ(counted.iterations, 5U);
  EXPECT_EQ(counted.duration_ns, 0U);
}

TEST(SetAxis, TakesOneFlowLabelAListOrAWord) {
  const auto text = [](std::string_view typed) {
    return axis_text(with(latency(), "flow-label", typed), *find_axis("flow-label"));
  };
  EXPECT_EQ(text("0"), "0");
  EXPECT_EQ(text("1048575"), "1048575");
  EXPECT_EQ(text("Spread"), "spread");
  EXPECT_EQ(text("per-qp:1,2+3"), "per-qp:1+2+3");
  EXPECT_EQ(text("per-qp:0"), "0");
  for (const char* wrong :
       {"1048576", "per-qp:", "per-qp:1,,2", "per-qp:1,x", "-1", "spreads", "1+2"})
    EXPECT_THROW(with(latency(), "flow-label", wrong), UsageError) << wrong;
  EXPECT_EQ(case_json(with(latency(), "flow-label", "7"))["flow_label"], 7U);
  EXPECT_EQ(case_json(with(latency(), "flow-label", "per-qp:1,2"))["flow_label"], "per-qp:1+2");
}

TEST(FlowLabels, AreEachQpsOwnAndListsAreReadInACircle) {
  const FlowLabels list{"per-qp:5+6"}, one{"9"}, none{""}, spread{"spread"};
  EXPECT_EQ((std::vector{list.of(0), list.of(1), list.of(2)}), (std::vector{5U, 6U, 5U}));
  EXPECT_EQ(one.of(3), 9U);
  EXPECT_EQ(none.of(3), 0U);
  EXPECT_TRUE(list.per_qp() && spread.per_qp());
  EXPECT_FALSE(one.per_qp() || none.per_qp());
  std::set<std::uint16_t> ports;
  for (std::uint64_t qp = 0; qp < 16'384; ++qp) {
    ASSERT_NE(spread.of(qp), 0U);
    ports.insert(udp_source_port(spread.of(qp), 1, 1));
  }
  EXPECT_GE(ports.size(), 16'383U);
}

/// Worked out by hand from Linux's include/rdma/ib_verbs.h.
TEST(UdpSourcePort, IsThatOfTheKernelsFormula) {
  EXPECT_EQ(udp_source_port(1, 7, 9), 0xC001);
  EXPECT_EQ(udp_source_port(0xFFFFF, 7, 9), 0xC000 | (0x3FFF ^ 0x3F));
  EXPECT_EQ(udp_source_port(0x04000, 7, 9), 0xC001);
  // 0x11 * 0x12 = 0x132, nothing beyond 20 bits.
  EXPECT_EQ(udp_source_port(0, 0x11, 0x12), 0xC132);
  // The product is 0xc379a59ba4a; folded by its bits from 20 on it ends with 0xac3e3.
  EXPECT_EQ(udp_source_port(0, 0x123456, 0xabcdef), 0xC3C8);
}

TEST(WhyImpossible, GivesQpsThatShareAPathNoLabelsOfTheirOwn) {
  const TestCase spread = with(with(default_case(Opcode::send, Pattern::ping_pong), "qps", "4"),
                               "flow-label", "spread");
  EXPECT_EQ(why_impossible(spread), "");
  EXPECT_THAT(why_impossible(with(spread, "connect", "cm")), HasSubstr("--connect tcp"));
  EXPECT_THAT(why_impossible(with(spread, "transport", "ud")), HasSubstr("address handle"));
}

/// A byte numbers the rounds, and each QP looks for another one than its last.
TEST(WhyImpossible, TellsNoMoreThan255QPsApartByOneByte) {
  const TestCase write = default_case(Opcode::rdma_write, Pattern::ping_pong);
  EXPECT_EQ(why_impossible(with(write, "qps", "255")), "");
  EXPECT_THAT(why_impossible(with(write, "qps", "256")), HasSubstr("write_imm_lat"));
  EXPECT_EQ(why_impossible(with(default_case(Opcode::send, Pattern::ping_pong), "qps", "256")), "");
}

TEST(WhyImpossible, LeavesNoTwoEndsAtDifferentQPs) {
  const TestCase over_uc =
      with(default_case(Opcode::rdma_write, Pattern::ping_pong), "transport", "uc");
  EXPECT_EQ(why_impossible(over_uc), "");
  EXPECT_THAT(why_impossible(with(over_uc, "qps", "2")), HasSubstr("--qps 1"));
}

TEST(WhyImpossible, SaysOfASweepOfLargeBurstsThatItsFirstRateIsTooLow) {
  const TestCase sweep =
      with(default_case(Opcode::rdma_write, Pattern::open_loop), "rate", "sweep");
  EXPECT_EQ(why_impossible(with(sweep, "arrivals", "burst:4096")), "");
  EXPECT_THAT(why_impossible(with(sweep, "arrivals", "burst:8192")), HasSubstr("a smaller burst"));
}

TEST(WhyImpossible, OffersNoTransportToATestThatHasNone) {
  const std::pair<const char*, const char*> impossible[] = {
      {"size", "8192"}, {"flow-label", "spread"}, {"memory", "cuda:0"}, {"peer-memory", "device"}};
  for (const auto& [axis, typed] : impossible) {
    const char *const option = axis, *const value = typed;
    const auto why = [&](Opcode opcode) {
      return why_impossible(
          with(with(default_case(opcode, Pattern::ping_pong), "transport", "ud"), option, value));
    };
    EXPECT_THAT(why(Opcode::send), HasSubstr(", or --transport rc")) << option;
    EXPECT_THAT(why(Opcode::mcast_send), HasSubstr(": ")) << option;
    EXPECT_THAT(why(Opcode::mcast_send), Not(HasSubstr("--transport"))) << option;
    EXPECT_THAT(why(Opcode::mcast_send), Not(HasSubstr("immediate"))) << option;
  }
}

TEST(WhyImpossible, BlamesOneMessageAtATimeOfALoopThatPolls) {
  const TestCase blamed = with(latency(), "blame", "on");
  EXPECT_EQ(why_impossible(blamed), "");
  EXPECT_THAT(why_impossible(with(blamed, "transport", "uc")), HasSubstr("--transport rc"));
  EXPECT_THAT(why_impossible(with(blamed, "qps", "2")), HasSubstr("--qps 1"));
  EXPECT_THAT(why_impossible(with(blamed, "threads", "2")), HasSubstr("--threads 1"));
  const TestCase send = with(default_case(Opcode::send, Pattern::ping_pong), "blame", "on");
  EXPECT_EQ(why_impossible(send), "");
  EXPECT_THAT(why_impossible(with(send, "wait", "event")), HasSubstr("another --wait"));
}

TEST(WhyImpossible, BlamesAnOpenLoopOfOneRateAndOneKind) {
  const auto blamed = [](Opcode opcode, const char* rate) {
    return with(with(default_case(opcode, Pattern::open_loop), "rate", rate), "blame", "on");
  };
  const TestCase send = blamed(Opcode::send, "10k");
  EXPECT_EQ(why_impossible(send), "");
  EXPECT_THAT(why_impossible(with(send, "qps", "2")), HasSubstr("--qps 1"));
  EXPECT_EQ(why_impossible(with(blamed(Opcode::rdma_write, "10k"), "qps", "2")), "");
  EXPECT_THAT(why_impossible(blamed(Opcode::rdma_write, "sweep")), HasSubstr("--rate sweep"));
  EXPECT_THAT(why_impossible(blamed(Opcode::mix, "10k")), HasSubstr("parts of a mix"));
}

TEST(CaseJson, SaysEveryAxisThatAppliesWithUnitsAndNoOther) {
  EXPECT_EQ(
      case_json(with(latency(), "core", "3")).dump(),
      R"({"transport":"rc","size_bytes":64,"qps":1,"threads":1,"signal_every":1,"inline_bytes":"auto",)"
      R"("sge":1,"api":"classic","cq":"classic","cq_depth":"auto","thread_domain":"auto",)"
      R"("connect":"tcp","mtu_bytes":"auto","iterations":10000,"warmup":100,)"
      R"("wait":"auto","verify":false,"payload":"random","interval_ns":"auto","blame":false,)"
      R"("service_level":0,)"
      R"("traffic_class":0,)"
      R"("flow_label":0,"pkey":"auto","pkey_index":0,"qp_timeout":14,"retry_count":7,"memory":"host",)"
      R"("peer_memory":"host","mr_per_qp":false,"relaxed_ordering":"auto","odp":false,)"
      R"("device":"auto",)"
      R"("port_num":"auto","gid_index":"auto","core":3,"peer_device":"auto",)"
      R"("peer_port_num":"auto","peer_gid_index":"auto","peer_core":"auto"})");
  const auto timed = case_json(with(bandwidth(), "duration", "1"));
  EXPECT_EQ(timed["duration_ns"], 1'000'000'000U);
  EXPECT_FALSE(timed.contains("iterations"));
  EXPECT_EQ(timed["depth"], 128U);
  EXPECT_FALSE(timed.contains("loss_timeout_ns"));
  EXPECT_EQ(case_json(with(latency(), "mtu", "1024"))["mtu_bytes"], 1024U);
}

TEST(CaseJson, LeavesOutAxesWithoutMeaningForTheTest) {
  const auto read = case_json(default_case(Opcode::rdma_read, Pattern::completion_latency));
  for (const char* key : {"signal_every", "inline_bytes", "rx_depth", "depth", "loss_timeout_ns"})
    EXPECT_FALSE(read.contains(key)) << key;
  const auto ud =
      case_json(with(default_case(Opcode::send, Pattern::ping_pong), "transport", "ud"));
  EXPECT_EQ(ud["loss_timeout_ns"], 100'000'000U);
  EXPECT_EQ(ud["rx_depth"], 512U);
}

TEST(ParseRate, TakesMessagesAndBitsPerSecondAnd1000BasedSuffixes) {
  EXPECT_EQ(parse_rate("20k"), 20'000U);
  EXPECT_EQ(parse_rate("1.5M"), 1'500'000U);
  EXPECT_EQ(parse_rate("1.500000k"), 1'500U);
  EXPECT_EQ(parse_rate("0.250000k"), 250U);
  EXPECT_EQ(parse_rate("7"), 7U);
  EXPECT_EQ(parse_rate("10GB/s"), std::nullopt) << "bytes";
  EXPECT_EQ(parse_rate("2.5Gb/s"), kBitRate | 2'500'000'000U);
  EXPECT_EQ(parse_rate("100mb/s"), kBitRate | 100'000'000U);
  for (const char* text : {"", "k", "0", "0Gb/s", "1.5", "20kk", "-1", "2G", "1001M", "11000Gb/s",
                           "1Gb", "1e3", "10 k"})
    EXPECT_EQ(parse_rate(text), std::nullopt) << text;
  for (const char* text : {"20k", "1500", "3M", "10Gb/s", "2500Mb/s", "1.001kb/s"})
    EXPECT_EQ(rate_text(*parse_rate(text)), text);
}

TEST(OpenLoop, HasARateArrivalsAndADepthOfItsOwn) {
  const TestCase load = default_case(Opcode::send, Pattern::open_loop);
  const auto json = case_json(load);
  EXPECT_EQ(json["rate"], 10'000U);
  EXPECT_EQ(json["arrivals"], "poisson");
  EXPECT_EQ(json["depth"], 128U);
  EXPECT_FALSE(json.contains("signal_every"));
  EXPECT_FALSE(case_json(latency()).contains("rate"));
  EXPECT_EQ(case_json(with(load, "rate", "2.5Gb/s"))["rate"], "2500Mb/s");
  EXPECT_EQ(case_json(with(load, "arrivals", "burst:9"))["arrivals"], "burst:9");
  EXPECT_EQ(case_to_wire(case_from_wire(case_to_wire(with(load, "rate", "1Gb/s")))),
            case_to_wire(with(load, "rate", "1Gb/s")));
  for (const char* text : {"burst", "burst:", "burst:1", "burst:65537", "burst:x", "often"})
    EXPECT_THAT(refusal("arrivals", text), HasSubstr("burst:N")) << text;
  EXPECT_THAT(refusal("rate", "0"), HasSubstr("messages per second"));
}

TEST(OpenLoop, IsOfRcOnThreadsThatDoNotSleep) {
  const TestCase load = default_case(Opcode::send, Pattern::open_loop);
  EXPECT_EQ(why_impossible(load), "");
  EXPECT_THAT(why_impossible(with(load, "transport", "ud")), HasSubstr("--transport rc"));
  EXPECT_EQ(why_impossible(with(load, "threads", "2")), "");
  EXPECT_THAT(why_impossible(with(load, "wait", "event")), HasSubstr("--wait spin"));
  EXPECT_THAT(why_impossible(with(load, "recv", "srq")), HasSubstr("--recv rq"));
  EXPECT_EQ(why_impossible(with(load, "depth", "497")), "");
  EXPECT_THAT(why_impossible(with(load, "depth", "498")), HasSubstr("--rx-depth 513 or more"));
  const TestCase rare = with(with(load, "rate", "10"), "arrivals", "burst:51");
  EXPECT_THAT(why_impossible(rare), HasSubstr("only every 5.1 s"));
  EXPECT_THAT(
      why_impossible(with(with(with(load, "rate", "10"), "arrivals", "burst:26"), "threads", "2")),
      HasSubstr("only every 5.2 s in a thread"));
  const TestCase write = default_case(Opcode::rdma_write, Pattern::open_loop);
  EXPECT_EQ(why_impossible(with(write, "depth", "4096")), "");
}

TEST(OpenLoop, OfAMixHasPartsWithTheSizeOfTheCaseOrTheirOwn) {
  const TestCase load = with(default_case(Opcode::mix, Pattern::open_loop), "size", "100");
  EXPECT_EQ(case_json(load)["mix"], "read:70+write:30");
  EXPECT_EQ(mix_of(load),
            (std::vector<MixPart>{{Opcode::rdma_read, 100, 70}, {Opcode::rdma_write, 100, 30}}));
  const TestCase sizes = with(load, "mix", "read:4K:1,write:1");
  EXPECT_EQ(case_json(sizes)["mix"], "read:4096:1+write:1");
  EXPECT_EQ(case_to_wire(case_from_wire(case_to_wire(sizes))), case_to_wire(sizes));
  EXPECT_EQ(largest_message(sizes), 4096U);
  EXPECT_EQ(messages_per_s(with(sizes, "rate", "16.784Mb/s")), 1000);  // of 2098 bytes on average
  EXPECT_TRUE(has_part(sizes, &OpcodeTraits::counts_as_read));
  EXPECT_FALSE(has_part(with(load, "mix", "write:1"), &OpcodeTraits::counts_as_read));
  EXPECT_THAT(refusal("mix", "erase:1"), HasSubstr("OPERATION:SIZE:WEIGHT"));
  EXPECT_FALSE(case_json(default_case(Opcode::rdma_read, Pattern::open_loop)).contains("mix"));
}

TEST(OpenLoop, OfAMixHasReceivesForItsSendsAndAtomicsOfEightBytes) {
  const TestCase plain = default_case(Opcode::mix, Pattern::open_loop);
  const TestCase load = with(with(plain, "size", "100"), "mix", "send:1,cmp_swap:1");
  EXPECT_EQ(mix_of(load), (std::vector<MixPart>{{Opcode::send, 100, 1}, {Opcode::cmp_swap, 8, 1}}));
  EXPECT_TRUE(load.answered());
  EXPECT_FALSE(plain.answered());
  EXPECT_TRUE(has_part(load, &OpcodeTraits::atomic));
  EXPECT_FALSE(has_part(plain, &OpcodeTraits::atomic));
  EXPECT_TRUE(case_json(load).contains("rx_depth"));
  EXPECT_FALSE(case_json(plain).contains("rx_depth"));
  EXPECT_THAT(why_impossible(with(load, "depth", "498")), HasSubstr("--rx-depth 513 or more"));
  EXPECT_THAT(why_impossible(with(load, "recv", "srq")), HasSubstr("--recv rq"));
}

TEST(OpenLoop, OfAMixIsNeitherSweptNorSplitNorPostedByIbvWr) {
  const TestCase load = default_case(Opcode::mix, Pattern::open_loop);
  EXPECT_EQ(why_impossible(load), "");
  for (const auto& [axis, value, remedy] :
       {std::tuple{"rate", "sweep", "a list of rates"}, std::tuple{"sge", "2", "--sge 1"},
        std::tuple{"api", "extended", "--api classic"},
        std::tuple{"transport", "uc", "--transport rc"},
        std::tuple{"depth", "1048576", "a smaller --depth"}})
    EXPECT_THAT(why_impossible(with(load, axis, value)), HasSubstr(remedy));
}

TEST(Interval, OfALatencyIsAskedForAndOfABandwidthASecond) {
  EXPECT_FALSE(latency().latency_over_time());
  EXPECT_TRUE(with(latency(), "interval", "100ms").latency_over_time());
  EXPECT_TRUE(with(latency(), "duration", "0").latency_over_time());  // its lines say more
  EXPECT_EQ(with(latency(), "duration", "0").interval(), 1'000'000'000U);
  EXPECT_EQ(bandwidth().interval(), 1'000'000'000U);
  EXPECT_FALSE(with(bandwidth(), "interval", "100ms").latency_over_time());
  const TestCase load = default_case(Opcode::send, Pattern::open_loop);
  EXPECT_FALSE(load.latency_over_time());
  EXPECT_TRUE(with(load, "interval", "100ms").latency_over_time());
  EXPECT_FALSE(with(with(load, "interval", "100ms"), "rate", "sweep").latency_over_time());
}

TEST(OpenLoop, OfWhatHasNoAnswerAndNoCompletionIsRefused) {
  for (const Opcode opcode : {Opcode::write_imm, Opcode::send_imm, Opcode::tcp_send})
    EXPECT_THROW(case_from_wire(case_to_wire(default_case(opcode, Pattern::open_loop))),
                 UsageError);
  for (const Pattern pattern :
       {Pattern::bandwidth, Pattern::ping_pong, Pattern::completion_latency})
    EXPECT_THROW(case_from_wire(case_to_wire(default_case(Opcode::mix, pattern))), UsageError);
}

TEST(CaseJson, OfATestOverTcpHasNoneOfVerbs) {
  const auto lat = case_json(default_case(Opcode::tcp_send, Pattern::ping_pong));
  const auto bw = case_json(default_case(Opcode::tcp_send, Pattern::bandwidth));
  EXPECT_EQ(lat.dump(),
            R"({"transport":"tcp","size_bytes":64,"iterations":10000,"warmup":100,"wait":"auto",)"
            R"("verify":false,"payload":"random","core":"auto","peer_core":"auto"})");
  EXPECT_EQ(bw.at("transport"), "tcp");
  EXPECT_TRUE(bw.contains("interval_ns"));
  EXPECT_FALSE(bw.contains("depth"));
}

TEST(CaseWire, OfATestOverTcpUnsetsWhatHasNoMeaning) {
  const TestCase plain = default_case(Opcode::tcp_send, Pattern::bandwidth);
  TestCase odd = plain;
  odd.qps = 65536;
  odd.queues.sge = 30;
  odd.transport = Transport::ud;
  odd.initiator.memory = "huge1g";
  EXPECT_EQ(case_to_wire(case_from_wire(case_to_wire(odd))), case_to_wire(plain));
}

TEST(CaseJson, SaysOfAControlPathTestWhatItsVerbIsCalledWith) {
  EXPECT_EQ(case_json(with(default_case(Verb::create_cq), "objects", "3")).dump(),
            R"({"depth":128,"iterations":10000,"warmup":256,"objects":3,"device":"auto",)"
            R"("port_num":"auto","gid_index":"auto","core":"auto"})");
  const auto mr = case_json(default_case(Verb::dereg_mr));
  for (const char* key : {"size_bytes", "memory", "odp", "relaxed_ordering", "objects"})
    EXPECT_TRUE(mr.contains(key)) << key;
  for (const char* key : {"transport", "depth", "payload", "peer_memory"})
    EXPECT_FALSE(mr.contains(key)) << key;
}

TEST(CaseWire, TakesTheTestsOfTheCatalogThatHaveAResponderAndNothingElse) {
  auto wire = case_to_wire(with(with(latency(), "size", "8"), "transport", "ud"));
  std::size_t taken = 0;
  for (std::uint64_t opcode = 0; opcode < kOpcodes.size() + 2; ++opcode)
    for (std::uint64_t pattern = 0; pattern < 8; ++pattern)
      for (std::uint64_t verb = 0; verb < 24; ++verb) {
        wire["opcode"] = opcode, wire["pattern"] = pattern, wire["verb"] = verb;
        try {
          EXPECT_NE(find_test(case_from_wire(wire)), nullptr);
          ++taken;
        } catch (const UsageError&) {
        }
      }
  EXPECT_EQ(taken, std::ranges::count_if(catalog(), [](const auto& test) {
              return test.default_case().needs_responder();
            }));
}

TEST(CaseWire, LeavesControlPathTestsToTheInitiator) {
  EXPECT_THROW(case_from_wire(case_to_wire(default_case(Verb::create_qp))), UsageError);
}

TEST(CaseWire, CarriesTestsThatConnectWithAResponder) {
  for (const Verb verb :
       {Verb::connect, Verb::cm_resolve_addr, Verb::cm_resolve_route, Verb::cm_connect}) {
    TestCase asked = with(default_case(verb), "objects", "7");
    EXPECT_TRUE(asked.needs_responder());
    const TestCase test_case = case_from_wire(case_to_wire(asked));
    EXPECT_EQ(test_case.verb, verb);
    EXPECT_EQ(test_case.objects, 7U);
  }
  nlohmann::ordered_json wire = case_to_wire(default_case(Verb::cm_connect));
  wire["verb"] = wire["verb"].get<std::uint64_t>() + 1;
  EXPECT_THROW(case_from_wire(wire), UsageError);
}

TEST(Multicast, IsOfUdWithASizeThatFitsAndHasNoOtherTransport) {
  const TestCase test_case = default_case(Opcode::mcast_send, Pattern::bandwidth);
  EXPECT_EQ(test_case.transport, Transport::ud);
  EXPECT_EQ(test_case.size_bytes, 1024U);
  EXPECT_FALSE(test_case.one_sided());
  EXPECT_EQ(transport_text(test_case), "ud");
  EXPECT_FALSE(find_axis("transport")->applies(test_case));
  EXPECT_FALSE(find_axis("connect")->applies(test_case));
  EXPECT_TRUE(find_axis("peers")->applies(test_case));
  EXPECT_EQ(why_impossible(test_case), "");
  nlohmann::ordered_json wire = case_to_wire(test_case);
  wire["transport"] = 0;
  EXPECT_THROW(case_from_wire(wire), UsageError);
}

TEST(Multicast, TakesGroupsAndNothingElse) {
  const TestCase test_case = default_case(Opcode::mcast_send, Pattern::ping_pong);
  EXPECT_EQ(with(test_case, "group", "239.255.1.2").group, "239.255.1.2");
  EXPECT_EQ(with(test_case, "group", "ff15::1").group, "ff15::1");
  EXPECT_EQ(with(test_case, "group", "auto").group, "");
  for (const char* text : {"10.9.0.1", "fe80::1", "239.255.0", "", "group"})
    EXPECT_THAT(refusal("group", text), HasSubstr("a multicast address")) << text;
}

TEST(Peers, AreOfOneQpAndHaveWrsInTurn) {
  TestCase test_case = with(default_case(Opcode::send, Pattern::bandwidth), "transport", "ud");
  test_case.size_bytes = 64;
  test_case.peers = 5;
  EXPECT_EQ(why_impossible(test_case), "");
  test_case.qps = 2;
  EXPECT_THAT(why_impossible(test_case), HasSubstr("use --qps 1"));
  test_case.qps = 1;
  test_case.transport = Transport::rc;
  EXPECT_THAT(why_impossible(test_case), HasSubstr("--transport ud"));
}

TEST(CaseWire, CarriesEveryValueThere) {
  const TestCase test_case = with(with(bandwidth(), "peer-device", "mlx5_0"), "duration", "2");
  EXPECT_EQ(
      case_to_wire(case_from_wire(nlohmann::ordered_json::parse(case_to_wire(test_case).dump()))),
      case_to_wire(test_case));
  EXPECT_EQ(case_from_wire(case_to_wire(test_case)).responder.device, "mlx5_0");
}

TEST(CaseWire, RefusesEveryKeyMissingOrOfAWrongType) {
  const nlohmann::ordered_json good = case_to_wire(latency());
  for (const auto& item : good.items()) {
    nlohmann::ordered_json wire = good;
    wire.erase(item.key());
    EXPECT_THROW(case_from_wire(wire), UsageError) << item.key();
    wire[item.key()] = nullptr;
    EXPECT_THROW(case_from_wire(wire), UsageError) << item.key();
    wire[item.key()] = -1;
    EXPECT_THROW(case_from_wire(wire), UsageError) << item.key();
    wire[item.key()] = 1.5;
    EXPECT_THROW(case_from_wire(wire), UsageError) << item.key();
  }
}

TEST(CaseWire, RefusesValuesOutOfRangeAndUnknownKeys) {
  const auto refused = [](const char* key, const nlohmann::ordered_json& value) {
    nlohmann::ordered_json wire = case_to_wire(latency());
    wire[key] = value;
    EXPECT_THROW(case_from_wire(wire), UsageError) << key << " " << value;
  };
  refused("size_bytes", 0U);
  refused("size_bytes", kAuto);
  refused("transport", 3U);
  refused("opcode", kOpcodes.size());
  refused("opcode", ~0ULL);
  refused("pattern", 3U);
  refused("opcode", Opcode::rdma_read);  // has no pong
  refused("opcode", Opcode::fetch_add);
  refused("mtu_bytes", 1000U);
  refused("depth", 0U);
  refused("iterations", 0U);
  refused("duration_ns", 1'000'000'000U);  // beside iterations
  refused("device", "a/b");
  refused("surprise", 1U);
  EXPECT_THROW(case_from_wire(nlohmann::ordered_json::array()), UsageError);
}

TEST(WhyImpossible, NamesWhatATransportCannotCarry) {
  EXPECT_EQ(why_impossible(latency()), "");
  EXPECT_THAT(why_impossible(with(latency(), "transport", "ud")), HasSubstr("sends only"));
  const TestCase read = default_case(Opcode::rdma_read, Pattern::bandwidth);
  EXPECT_EQ(why_impossible(read), "");
  EXPECT_THAT(why_impossible(with(read, "transport", "uc")), HasSubstr("UC has no reads"));
  EXPECT_EQ(why_impossible(with(bandwidth(), "transport", "uc")), "");
}

/// No command line asks for that, but a peer may.
TEST(WhyImpossible, SplitsNoAtomicIntoMorePiecesThanBytes) {
  TestCase atomic = default_case(Opcode::fetch_add, Pattern::bandwidth);
  EXPECT_EQ(why_impossible(atomic), "");
  atomic.queues.sge = kAtomicBytes + 1;
  EXPECT_THAT(why_impossible(atomic),
              HasSubstr("8 bytes cannot be split over 9 SGEs: use a larger --size"));
}

TEST(WhyImpossible, HoldsAUdMessageToTheMtu) {
  const TestCase ud = with(default_case(Opcode::send, Pattern::ping_pong), "transport", "ud");
  EXPECT_EQ(why_impossible(with(ud, "size", "4096")), "");
  EXPECT_THAT(why_impossible(with(ud, "size", "8K")),
              HasSubstr("8192 bytes are more than the largest MTU of 4096"));
  EXPECT_THAT(why_impossible(with(with(ud, "size", "2K"), "mtu", "1024")),
              HasSubstr("2048 bytes are more than the MTU of 1024"));
}

TEST(Devices, OfOneCaseAreNamedOnceEachAndPaired) {
  const TestCase both = with(with(bandwidth(), "device", "a+b"), "peer-device", "c+d");
  EXPECT_EQ(both.devices(), 2U);
  EXPECT_EQ(both.loops(Role::responder), 2U);
  EXPECT_EQ(of_device(both, 1).initiator.device, "b");
  EXPECT_EQ(of_device(both, 1).responder.device, "d");
  EXPECT_EQ(of_device(both, 1).devices(), 1U);
  for (const char* wrong : {"a+", "+a", "a+a", "a++b", "all+a", "a/b+c"})
    EXPECT_THROW(with(bandwidth(), "device", wrong), UsageError) << wrong;
  EXPECT_EQ(why_impossible(both), "");
  EXPECT_EQ(why_impossible(with(bandwidth(), "device", "all")), "");
  EXPECT_THAT(why_impossible(with(both, "peer-device", "c")), HasSubstr("name 2 and 1"));
  EXPECT_THAT(why_impossible(with(both, "threads", "129")), HasSubstr("more than 256 in all"));
  EXPECT_THAT(why_impossible(with(latency(), "device", "a+b")), HasSubstr("have no sum"));
}

TEST(Devices, HaveOneGpuTogetherOrOneEachInTheirOrder) {
  const TestCase both = with(with(bandwidth(), "device", "a+b"), "peer-device", "c+d");
  const TestCase each = with(both, "memory", "cuda:1+rocm:0");
  EXPECT_EQ(why_impossible(each), "");
  EXPECT_EQ(of_device(each, 0).initiator.memory, "cuda:1");
  EXPECT_EQ(of_device(each, 1).initiator.memory, "rocm:0");
  EXPECT_EQ(of_device(each, 1).responder.memory, "");
  EXPECT_EQ(of_device(with(both, "memory", "cuda:1"), 1).initiator.memory, "cuda:1");
  EXPECT_EQ(of_device(with(both, "memory", "file:/a+b"), 1).initiator.memory, "file:/a+b");
  EXPECT_EQ(case_from_wire(case_to_wire(each)).initiator.memory, "cuda:1+rocm:0");
  for (const char* wrong : {"cuda:0+", "+cuda:0", "cuda:0+host", "cuda:0+x", "huge+cuda:0"})
    EXPECT_THROW(with(bandwidth(), "memory", wrong), UsageError) << wrong;
  for (const TestCase& one : {bandwidth(), with(bandwidth(), "device", "all"),
                              with(bandwidth(), "device", "a+b+c"), with(latency(), "device", "a")})
    EXPECT_THAT(why_impossible(with(one, "memory", "cuda:0+cuda:1")),
                HasSubstr("--memory names 2 GPUs, one for each device in order: name 2 devices by "
                          "--device A+B"));
  EXPECT_THAT(
      why_impossible(with(with(bandwidth(), "device", "a+b"), "peer-memory", "cuda:0+cuda:1")),
      HasSubstr("--peer-memory names 2 GPUs"));
}

TEST(WhyImpossible, FindsQueuesInWhichNothingEverCompletes) {
  const auto why = [](const char* depth, const char* signal_every, const char* post_list) {
    return why_impossible(
        with(with(with(bandwidth(), "depth", depth), "signal-every", signal_every), "post-list",
             post_list));
  };
  EXPECT_EQ(why("32", "32", "1"), "");
  EXPECT_THAT(why("31", "32", "1"), HasSubstr("nothing ever completes: use --depth 32 or more"));
  EXPECT_EQ(why("35", "32", "4"), "");
  EXPECT_THAT(why("34", "32", "4"), HasSubstr("use --depth 35 or more"));
  EXPECT_THAT(why("4", "1", "8"), HasSubstr("a list of 8 WRs does not fit"));
  EXPECT_THAT(why("1048576", "65535", "65534"), HasSubstr("prebuilt"));
  EXPECT_EQ(why_impossible(with(latency(), "signal-every", "64")), "")
      << "a ping-pong sizes its own";
}

}  // namespace
}  // namespace rdmameter
