// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/translate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "bench/perftest/cases.h"
#include "bench/perftest/tool.h"
#include "core/base/error.h"

namespace rdmameter {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

PerftestPlan plan_of(const char* tool, std::vector<std::string> arguments) {
  return translate(read_perftest_command(*find_perftest_tool(tool), arguments));
}

/// {"size": "65536", ...}; several values joined by blanks.
std::map<std::string, std::string> axes_of(const char* tool, std::vector<std::string> arguments) {
  arguments.emplace_back("host");
  std::map<std::string, std::string> axes;
  for (const GivenAxis& given : plan_of(tool, std::move(arguments)).axes)
    for (const std::string& value : given.values) {
      std::string& text = axes[std::string(given.axis->option)];
      text += (text.empty() ? "" : " ") + value;
    }
  return axes;
}

std::string refusal_of(const char* tool, std::vector<std::string> arguments) {
  try {
    plan_of(tool, std::move(arguments));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

/// The case that `axes` make, with what rules it out; there is one.
PlannedCase case_of(const char* tool, std::vector<std::string> arguments) {
  arguments.emplace_back("host");
  const PerftestPlan plan = plan_of(tool, std::move(arguments));
  return perftest_cases(plan).front();
}

TEST(PerftestTranslation, HasPerftestsDefaults) {
  const auto write = axes_of("ib_write_bw", {});
  EXPECT_THAT(write, Contains(Pair("size", "65536")));
  EXPECT_THAT(write, Contains(Pair("iterations", "5000")));
  EXPECT_THAT(write, Contains(Pair("depth", "128")));
  EXPECT_THAT(write, Contains(Pair("post-list", "1")));
  EXPECT_THAT(write, Contains(Pair("warmup", "0")));
  EXPECT_THAT(write, Contains(Pair("transport", "rc")));
  EXPECT_THAT(write, Contains(Pair("relaxed-ordering", "on")));
  const auto lat = axes_of("ib_send_lat", {});
  EXPECT_THAT(lat, Contains(Pair("size", "2")));
  EXPECT_THAT(lat, Contains(Pair("iterations", "1000")));
  EXPECT_EQ(plan_of("ib_send_lat", {"host"}).port, 18515);
}

TEST(PerftestTranslation, NamesTheTestOfEachTool) {
  const auto test_of = [](const char* tool, std::vector<std::string> arguments) {
    return std::string(plan_of(tool, std::move(arguments)).tests.front()->name);
  };
  EXPECT_EQ(test_of("ib_send_bw", {}), "send_bw");
  EXPECT_EQ(test_of("ib_send_bw", {"--send_with_imm"}), "send_imm_bw");
  EXPECT_EQ(test_of("ib_send_lat", {"-g"}), "mcast_lat");
  EXPECT_EQ(test_of("ib_write_lat", {}), "write_lat");
  EXPECT_EQ(test_of("ib_write_lat", {"--write_with_imm"}), "write_imm_lat");
  EXPECT_EQ(test_of("ib_read_bw", {}), "read_bw");
  EXPECT_EQ(test_of("ib_atomic_bw", {}), "fetch_add_bw");
  EXPECT_EQ(test_of("ib_atomic_lat", {"-A", "CMP_AND_SWAP"}), "cmp_swap_lat");
}

TEST(PerftestTranslation, EveryToolMakesACaseThatCanBeMeasured) {
  for (const PerftestTool& tool : perftest_tools()) {
    const PlannedCase planned = case_of(std::string(tool.name).c_str(), {"-n", "100"});
    EXPECT_THAT(planned.why_skipped, IsEmpty()) << tool.name;
    EXPECT_EQ(planned.test_case.iterations, 100) << tool.name;
  }
  EXPECT_THAT(case_of("ib_send_bw", {"-c", "UD", "-s", "1024"}).why_skipped, IsEmpty());
  EXPECT_THAT(case_of("ib_write_bw", {"-c", "UC", "-b", "-q", "4", "-l", "8"}).why_skipped,
              IsEmpty());
}

TEST(PerftestTranslation, ModeratesCompletionsAsPerftest) {
  const auto every = [](std::vector<std::string> arguments) {
    return axes_of("ib_send_bw", std::move(arguments)).at("signal-every");
  };
  EXPECT_EQ(every({"-s", "8192"}), "100");
  EXPECT_EQ(every({"-s", "8193"}), "1");
  EXPECT_EQ(every({"-s", "65536", "-Q", "16"}), "16");
  EXPECT_EQ(every({"-a"}), "100");
  EXPECT_EQ(every({"-s", "65536", "-e"}), "100");
  EXPECT_EQ(every({"-s", "8", "-t", "32"}), "32");
  EXPECT_EQ(every({"-s", "8", "-n", "5"}), "5");
  EXPECT_EQ(every({"-s", "8", "-l", "16"}), "16");
}

TEST(PerftestTranslation, RaisesADepthThatNothingWouldEverCompleteIn) {
  const PerftestPlan plan = plan_of("ib_write_bw", {"-t", "16", "-l", "16", "-s", "8", "host"});
  EXPECT_THAT(axes_of("ib_write_bw", {"-t", "16", "-l", "16", "-s", "8"}),
              Contains(Pair("depth", "31")));
  EXPECT_THAT(plan.notes, Contains(HasSubstr("-t, --tx-depth: the send queue has 31 entries")));
}

TEST(PerftestTranslation, CountsTheMessagesOfEachQp) {
  EXPECT_EQ(axes_of("ib_write_bw", {"-q", "4", "-n", "1000"}).at("iterations"), "4000");
  EXPECT_THAT(refusal_of("ib_write_bw", {"-q", "4", "-n", "18446744073709551615"}),
              HasSubstr("-n, --iters"));
}

TEST(PerftestTranslation, MeasuresForATimeOrForEver) {
  EXPECT_EQ(axes_of("ib_write_bw", {"-D", "5"}).at("duration"), "5");
  EXPECT_THAT(refusal_of("ib_write_bw", {"-D", "0"}), HasSubstr("-D, --duration"));
  const auto endless = axes_of("ib_write_bw", {"--run_infinitely", "-D", "2"});
  EXPECT_EQ(endless.at("duration"), "0");
  EXPECT_EQ(endless.at("interval"), "2");
  EXPECT_EQ(axes_of("ib_write_bw", {"--run_infinitely"}).at("interval"), "5");
}

TEST(PerftestTranslation, ReadsSizesAsPeopleMeanThem) {
  EXPECT_EQ(axes_of("ib_send_bw", {"-s", "64K"}).at("size"), "65536");
  EXPECT_EQ(axes_of("ib_send_bw", {"-s", "0x40"}).at("size"), "64");
  EXPECT_EQ(axes_of("ib_send_bw", {"-s", "8k"}).at("size"), "8192");
  EXPECT_THAT(plan_of("ib_send_bw", {"-s", "8k", "host"}).notes,
              Contains(HasSubstr("-s, --size: 8k is 8192 bytes")));
  EXPECT_THAT(axes_of("ib_send_bw", {"-a"}).at("size"), HasSubstr("2 4 8 16"));
  EXPECT_THAT(axes_of("ib_send_bw", {"-a"}).at("size"), HasSubstr(" 8388608"));
  EXPECT_THAT(refusal_of("ib_send_bw", {"-s", "8x"}),
              HasSubstr("invalid value '8x' for -s, --size: expected bytes"));
  EXPECT_EQ(axes_of("ib_send_bw", {"-a", "-s", "8"}), axes_of("ib_send_bw", {"-a"}));
}

TEST(PerftestTranslation, TakesAtALatencyWhatPerftestTakesThereAndRefusesTheRest) {
  const auto usual = axes_of("ib_send_lat", {});
  for (const auto& taken : std::vector<std::vector<std::string>>{{"-t", "1024"},
                                                                 {"-Q", "10"},
                                                                 {"-w", "10M"},
                                                                 {"-y", "4G"},
                                                                 {"-l", "1"},
                                                                 {"-q", "1"},
                                                                 {"--recv_post_list", "1"}})
    EXPECT_EQ(axes_of("ib_send_lat", taken), usual) << taken.front();
  for (const auto& refused : std::vector<std::vector<std::string>>{
           {"-b"}, {"-N"}, {"-l", "2"}, {"-q", "2"}, {"-t", "0"}, {"-Q", "x"}})
    EXPECT_THAT(refusal_of("ib_send_lat", refused), HasSubstr(refused.front())) << refused.front();
  EXPECT_THAT(refusal_of("ib_send_lat", {"-q", "2"}), HasSubstr("use ib_send_bw for more"));
}

TEST(PerftestTranslation, TakesTheOneSizeOfAtomicsAndTheOneReceiveOfReads) {
  EXPECT_EQ(axes_of("ib_atomic_bw", {"-s", "8"}), axes_of("ib_atomic_bw", {}));
  EXPECT_THAT(refusal_of("ib_atomic_lat", {"-s", "16"}), HasSubstr("-s, --size"));
  EXPECT_EQ(axes_of("ib_read_bw", {"-r", "1"}), axes_of("ib_read_bw", {}));
  EXPECT_THAT(refusal_of("ib_read_lat", {"-r", "1024"}), HasSubstr("-r, --rx-depth"));
  EXPECT_THAT(refusal_of("ib_atomic_bw", {"-r", "2"}), HasSubstr("-r, --rx-depth"));
}

TEST(PerftestTranslation, ReadsALimitUpToWhatIsNoNumber) {
  EXPECT_EQ(plan_of("ib_write_bw", {"-w", "100M", "host"}).limits.bandwidth, 100);
  EXPECT_EQ(plan_of("ib_write_bw", {"-y", "1.5Gpps", "host"}).limits.rate, 1.5);
}

TEST(PerftestTranslation, GivesAServerTheAddressToListenOnAndAClientTheOneToConnectFrom) {
  EXPECT_EQ(plan_of("ib_write_bw", {"--bind_source_ip", "127.0.0.2"}).address, "127.0.0.2");
  EXPECT_EQ(plan_of("ib_write_bw", {"-j", "::1"}).address, "::1");
  const PerftestPlan client =
      plan_of("ib_write_bw", {"--bind_source_ip=127.0.0.2", "-j", "127.0.0.3", "host"});
  EXPECT_EQ(client.address, "127.0.0.2");
  EXPECT_THAT(plan_of("ib_write_bw", {"-j", "127.0.0.3", "host"}).address, IsEmpty());
  for (const char* option : {"-j", "--bind_source_ip"})
    EXPECT_THAT(refusal_of("ib_write_bw", {option, "eth0", "host"}), HasSubstr("numeric address"));
}

TEST(PerftestTranslation, InlinesALatencyAsPerftestDoesWhereItKnowsTheDevice) {
  EXPECT_EQ(axes_of("ib_send_lat", {}).at("inline"), "236");
  EXPECT_EQ(axes_of("ib_send_lat", {"-c", "UD"}).at("inline"), "188");
  EXPECT_EQ(axes_of("ib_write_lat", {}).at("inline"), "220");
  EXPECT_EQ(axes_of("ib_send_lat", {"-I", "64"}).at("inline"), "64");
  for (const char* tool : {"ib_write_bw", "ib_read_lat"})
    EXPECT_EQ(axes_of(tool, {}).at("inline"), "off");
  EXPECT_EQ(axes_of("ib_send_lat", {"-I", "0"}).at("inline"), "off");
  EXPECT_EQ(axes_of("ib_send_lat", {"-I", "0x0"}).at("inline"), "off");
  EXPECT_TRUE(plan_of("ib_send_lat", {"-I", "0", "host"}).has("inline_size"));
  EXPECT_EQ(axes_of("ib_send_lat", {"--use_cuda", "0"}).at("inline"), "off");
  EXPECT_EQ(axes_of("ib_send_lat", {"-c", "UD", "-I", "2000"}).at("inline"), "1024");
}

TEST(PerftestTranslation, AGpuIsThatOfTheEndThatNamesIt) {
  const auto client = axes_of("ib_write_bw", {"--use_cuda", "1"});
  EXPECT_EQ(client.at("memory"), "cuda:1");
  EXPECT_EQ(client.at("gpu-registration"), "pointer-first");
  EXPECT_FALSE(client.contains("peer-memory"));
  EXPECT_EQ(plan_of("ib_write_bw", {"--use_cuda", "1", "host"}).own.memory, "");
  const std::vector<std::string> typed{"--use_cuda_bus_id", "0000:17:00.0", "--use_cuda_dmabuf"};
  EXPECT_EQ(plan_of("ib_write_bw", typed).own.memory, "cuda:0000:17:00.0");
  EXPECT_EQ(plan_of("ib_write_bw", {"--use_hugepages"}).own.memory, "");
  EXPECT_EQ(axes_of("ib_write_bw", typed).at("gpu-registration"), "dmabuf");
  const auto direct =
      axes_of("ib_write_bw", {"--use_cuda=0", "--use_cuda_dmabuf", "--use_data_direct"});
  EXPECT_EQ(direct.at("gpu-registration"), "data-direct");
  EXPECT_EQ(axes_of("ib_write_bw", {"--use_rocm", "2"}).at("memory"), "rocm:2");
}

nlohmann::ordered_json end_with(std::uint32_t vendor, std::uint32_t part) {
  return {{"device", {{"vendor_id", vendor}, {"vendor_part_id", part}}}};
}

TEST(PerftestInline, IsPerftestsFigureForTheAdapter) {
  const auto on = [](std::uint32_t vendor, std::uint32_t part, bool datagrams = false) {
    return perftest_inline_on(end_with(vendor, part), datagrams ? 188 : 236, datagrams);
  };
  EXPECT_EQ(on(0x02c9, 4129), 236);  // ConnectX-7
  EXPECT_EQ(on(0x02c9, 4129, true), 188);
  EXPECT_EQ(on(0x14e4, 5968), 96);         // bnxt
  EXPECT_EQ(on(0x1d0f, 61345, true), 32);  // EFA
  EXPECT_EQ(on(0x1ded, 4223), 96);         // eRDMA
  EXPECT_EQ(on(0x19e5, 41506), 32);        // hns
  EXPECT_EQ(on(0x1077, 5718), 128);        // qedr
  EXPECT_EQ(on(0x1077, 32880), 236);
  EXPECT_EQ(on(0x8086, 14289), 48);        // X722
  EXPECT_EQ(on(0x8086, 5522), 101);        // E810
  EXPECT_EQ(on(0x1f0f, 0x3403, true), 0);  // Leonis
  EXPECT_EQ(on(0x1f0f, 0x3500), 465);      // Draco
}

TEST(PerftestInline, IsNoneOnADeviceThatPerftestDoesNotKnow) {
  EXPECT_EQ(perftest_inline_on(end_with(0xffffff, 0), 236, false), 0);  // rxe
  EXPECT_EQ(perftest_inline_on(nullptr, 236, false), 236);              // the null device
}

TEST(PerftestTranslation, GivesEachEndItsOwnDevice) {
  const PerftestPlan server =
      plan_of("ib_write_bw", {"-d", "mlx5_1", "-i", "2", "-x", "3", "-p", "4711"});
  EXPECT_EQ(server.own.device, "mlx5_1");
  EXPECT_EQ(server.own.port_num, 2);
  EXPECT_EQ(server.own.gid_index, 3);
  EXPECT_EQ(server.own.core, "");
  EXPECT_EQ(server.port, 4711);
  EXPECT_THAT(server.host, IsEmpty());
  const auto client = axes_of("ib_write_bw", {"-d", "mlx5_1", "-x", "3"});
  EXPECT_EQ(client.at("device"), "mlx5_1");
  EXPECT_EQ(client.at("gid-index"), "3");
  EXPECT_FALSE(client.contains("peer-device"));
}

TEST(PerftestTranslation, LeavesThePlaceToUsUnlessToldOtherwise) {
  EXPECT_FALSE(axes_of("ib_write_bw", {}).contains("core"));
  EXPECT_EQ(axes_of("ib_write_bw", {"--disable_numa"}).at("core"), "off");
  EXPECT_EQ(axes_of("ib_write_bw", {"--disable_numa", "--pin_cores", "3"}).at("core"), "3");
  EXPECT_EQ(plan_of("ib_write_bw", {"--disable_numa"}).own.core, "off");
}

TEST(PerftestTranslation, NamesPerftestsOptionWhereAValueIsWrong) {
  for (const auto& [option, value] :
       std::vector<std::pair<std::string, std::string>>{{"-i", "257"},
                                                        {"-x", "999"},
                                                        {"-m", "1000"},
                                                        {"-S", "16"},
                                                        {"-u", "32"},
                                                        {"-p", "0"},
                                                        {"-p", "65536"},
                                                        {"-q", "0"},
                                                        {"-l", "0"},
                                                        {"-t", "0"},
                                                        {"-n", "x"},
                                                        {"-D", "1s"},
                                                        {"--tclass", "256"},
                                                        {"-w", "-1"},
                                                        {"-y", "x"},
                                                        {"--flow_label", "1,x"}}) {
    const std::string said = refusal_of("ib_write_bw", {option, value, "host"});
    EXPECT_THAT(said, HasSubstr("invalid value '" + value + "' for ")) << option;
    EXPECT_THAT(said, HasSubstr(option)) << said;
  }
  EXPECT_THAT(refusal_of("ib_write_bw", {"-c", "XRC"}), HasSubstr("RC/UC"));
  EXPECT_THAT(refusal_of("ib_write_bw", {"-c", "UD"}), HasSubstr("-c, --connection"));
  EXPECT_THAT(refusal_of("ib_write_bw", {"-c", "rc"}), HasSubstr("-c, --connection"));
  EXPECT_THAT(refusal_of("ib_write_bw", {"-c", "RC/UC"}), HasSubstr("-c, --connection"));
}

TEST(PerftestTranslation, RefusesAnOptionWithoutTheOneThatItGoesWith) {
  EXPECT_THAT(refusal_of("ib_send_bw", {"-T", "8"}), HasSubstr("-R, --rdma_cm"));
  EXPECT_THAT(refusal_of("ib_send_bw", {"-X", "1"}), HasSubstr("-e, --events"));
  EXPECT_THAT(refusal_of("ib_write_bw", {"-e"}), HasSubstr("with --write_with_imm alone"));
  EXPECT_EQ(refusal_of("ib_write_lat", {"-e", "--write_with_imm"}), "");
  EXPECT_THAT(refusal_of("ib_send_bw", {"-M", "ff15::1"}), HasSubstr("-g, --mcg"));
  EXPECT_THAT(refusal_of("ib_send_bw", {"--report-both"}), HasSubstr("-b, --bidirectional"));
  EXPECT_THAT(refusal_of("ib_send_bw", {"--force-link", "FC"}), HasSubstr("IB or Ethernet"));
  EXPECT_THAT(refusal_of("ib_send_bw", {"--ipv6"}), HasSubstr("use -x with the index"));
  EXPECT_THAT(refusal_of("ib_send_bw", {"--output", "latency"}),
              HasSubstr("bandwidth or message_rate"));
  EXPECT_THAT(refusal_of("ib_send_lat", {"--output=bandwidth"}), HasSubstr("latency"));
  EXPECT_THAT(refusal_of("ib_send_lat", {"--mmap", "/dev/dax0.0"}),
              HasSubstr("the server maps no file"));
  EXPECT_THAT(refusal_of("ib_write_bw", {"--use_cuda_dmabuf", "host"}), HasSubstr("--use_cuda"));
  for (const std::string option : {"--use_cuda", "--use_rocm"}) {  // the next word is its value
    EXPECT_EQ(refusal_of("ib_write_bw", {option, "host"}),
              "invalid value 'host' for " + option + ": expected the number of a GPU, from 0");
    EXPECT_EQ(refusal_of("ib_write_bw", {"host", option}), option + ": its value is missing");
  }
  EXPECT_THAT(refusal_of("ib_write_bw", {"--use_cuda_bus_id", "1", "host"}), HasSubstr("a place"));
  EXPECT_THAT(refusal_of("ib_write_bw", {"--use_cuda", "0", "--use_rocm_dmabuf", "host"}),
              HasSubstr("--use_rocm"));
  EXPECT_THAT(refusal_of("ib_write_bw", {"--use_cuda", "0", "--use_data_direct", "host"}),
              HasSubstr("it goes with --use_cuda_dmabuf"));
  EXPECT_THAT(refusal_of("ib_write_bw", {"--use_cuda", "0", "--use_rocm", "0", "host"}),
              HasSubstr("give one"));
  EXPECT_THAT(refusal_of("ib_write_bw", {"--use_cuda", "0", "--mmap", "/dev/dax0.0", "host"}),
              HasSubstr("give one"));
  EXPECT_THAT(refusal_of("ib_send_lat", {"-d", "null"}), HasSubstr("name a host"));
}

TEST(PerftestTranslation, TakesARateLimitWherePerftestsOwnHasNoEffect) {
  const std::vector<std::string> all{"--rate_limit=10", "--burst_size=2147483647", "-q", "1"};
  for (const char* tool : {"ib_read_bw", "ib_atomic_bw", "ib_write_lat", "ib_read_lat"})
    EXPECT_EQ(refusal_of(tool, all), "") << tool;
  EXPECT_EQ(refusal_of("ib_write_lat", {"--rate_limit=10"}), "");
  EXPECT_EQ(
      refusal_of("ib_write_bw", {"-n", "100", "-q", "2", "--rate_limit=1", "--burst_size=200"}),
      "");
  for (const std::vector<std::string>& paced :
       {std::vector<std::string>{"-n", "100", "-q", "2", "--rate_limit=1", "--burst_size=199"},
        {"--rate_limit=1"},
        {"-D", "1", "--rate_limit=1", "--burst_size=2147483647"}})
    EXPECT_THAT(refusal_of("ib_write_bw", paced), HasSubstr("goes as fast as the device"));
  EXPECT_THAT(refusal_of("ib_write_lat", {"--rate_limit=10", "--burst_size=2G"}),
              HasSubstr("invalid value '2G' for --burst_size"));
  EXPECT_THAT(refusal_of("ib_write_lat", {"--rate_limit=0"}), HasSubstr("above 0"));
  EXPECT_THAT(refusal_of("ib_write_lat", {"--burst_size=2"}), HasSubstr("goes with --rate_limit"));
  EXPECT_THAT(refusal_of("ib_write_lat", {"--rate_limit=1", "-R"}), HasSubstr("-R"));
}

TEST(PerftestTranslation, ModeratesDatagramsThatAreAskedForAlone) {
  EXPECT_EQ(axes_of("ib_send_bw", {"-c", "UD"}).at("signal-every"), "100");
  EXPECT_EQ(axes_of("ib_send_bw", {"-g"}).at("signal-every"), "1");
  EXPECT_EQ(axes_of("ib_send_bw", {"-g", "-s", "64"}).at("signal-every"), "100");
}

TEST(PerftestTranslation, ShowsTheUseOfTheCpuOfATimeAlone) {
  EXPECT_FALSE(plan_of("ib_send_bw", {"--cpu_util", "host"}).report.cpu_util);
  EXPECT_TRUE(plan_of("ib_send_bw", {"--cpu_util", "-D", "2", "host"}).report.cpu_util);
}

TEST(PerftestTranslation, TellsTheClientOfWhatIsNotAsInPerftest) {
  EXPECT_THAT(plan_of("ib_send_lat", {"host"}).notes, Contains(HasSubstr("t_max is the largest")));
  EXPECT_THAT(plan_of("ib_send_bw", {"-D", "5", "host"}).notes,
              Contains(HasSubstr("-D: all of it")));
  EXPECT_THAT(plan_of("ib_send_lat", {"-D", "5", "host"}).notes,
              Contains(HasSubstr("percentiles")));
  EXPECT_THAT(plan_of("ib_send_bw", {"--out_json", "host"}).notes,
              Contains(HasSubstr("perftest_out.json holds rdmameter's result")));
  EXPECT_THAT(plan_of("ib_send_bw", {"--output=bandwidth", "host"}).notes, IsEmpty());
  EXPECT_THAT(plan_of("ib_send_bw", {}).notes, IsEmpty());
}

/// A message that finds no receive is lost, and -n is not all that comes.
TEST(PerftestTranslation, HasReceivesForAllThatComesOverAnUnreliableTransport) {
  for (const char* transport : {"UC", "UD"}) {
    EXPECT_EQ(axes_of("ib_send_bw", {"-c", transport, "-n", "5"}).at("rx-depth"), "20");
    EXPECT_EQ(axes_of("ib_send_bw", {"-c", transport, "-n", "5", "-r", "4"}).at("rx-depth"), "4");
    EXPECT_EQ(axes_of("ib_send_bw", {"-c", transport}).at("rx-depth"), "1000");
  }
  EXPECT_EQ(axes_of("ib_send_bw", {"-n", "5"}).at("rx-depth"), "6");
  EXPECT_EQ(axes_of("ib_send_lat", {"-c", "UD", "-n", "5"}).at("rx-depth"), "6");
}

}  // namespace
}  // namespace rdmameter
