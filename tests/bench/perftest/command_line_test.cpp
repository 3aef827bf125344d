// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/command_line.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.h"

namespace rdmameter {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The long options of perftest 4.5 and of its sources of July 2026.
constexpr std::string_view kLongOptions[] = {
    "CPU-freq",
    "MGID",
    "aes_block_size",
    "aes_xts",
    "all",
    "atomic_type",
    "bidirectional",
    "bind_source_ip",
    "burst_size",
    "client",
    "comm_rdma_cm",
    "congest_type",
    "connection",
    "connectionless",
    "cpu_id",
    "cpu_util",
    "cq-mod",
    "cqe_poll",
    "credentials_path",
    "cuda_mem_type",
    "data_enc_key_app_path",
    "data_enc_keys_number",
    "data_validation",
    "data_validation_debug",
    "dest_ip",
    "dest_mac",
    "dest_port",
    "disable_dynamic_polling",
    "disable_pcie_relaxed",
    "dlid",
    "dont_xchg_versions",
    "dualport",
    "duration",
    "encrypt_on_tx",
    "ethertype",
    "events",
    "flow_label",
    "flows",
    "flows_burst",
    "force-link",
    "gid-index",
    "gpu_touch",
    "help",
    "hop_limit",
    "ib-dev",
    "ib-port",
    "inline_recv",
    "inline_size",
    "ipv6",
    "ipv6-addr",
    "iters",
    "kek_path",
    "latency_gap",
    "limit_bw",
    "limit_msgrate",
    "local_ip",
    "local_mac",
    "local_port",
    "log_active_dci_streams",
    "log_dci_streams",
    "mac_fwd",
    "margin",
    "mcg",
    "mmap",
    "mmap-offset",
    "mr_per_qp",
    "mtu",
    "noPeak",
    "no_enhanced_reorder",
    "no_lock",
    "numa_node",
    "odp",
    "opencl_platform_id",
    "out_json",
    "out_json_file",
    "output",
    "outs",
    "payload_file_path",
    "perform_warm_up",
    "ph",
    "pin_cores",
    "pkey_index",
    "port",
    "post_list",
    "promiscuous",
    "qp",
    "qp-timeout",
    "rate_limit",
    "rate_limit_type",
    "rate_units",
    "raw_ipv6",
    "raw_mcast",
    "rdma_cm",
    "recv_post_list",
    "remote_ip",
    "remote_mac",
    "remote_port",
    "reply_every",
    "report-both",
    "report-counters",
    "report-cycles",
    "report-histogrm",
    "report-per-port",
    "report-unsorted",
    "report_gbits",
    "retry_count",
    "reversed",
    "run_infinitely",
    "rx-depth",
    "send_with_imm",
    "server",
    "sig_before",
    "sig_offload",
    "size",
    "sl",
    "sniffer",
    "source_ip",
    "source_mac",
    "source_port",
    "tclass",
    "tcp",
    "tos",
    "tph_mem",
    "tx-depth",
    "typical_pkt_size",
    "unsolicited_write",
    "use-null-mr",
    "use-srq",
    "use_cuda",
    "use_cuda_bus_id",
    "use_cuda_dmabuf",
    "use_cuda_pcie_mapping",
    "use_data_direct",
    "use_hl",
    "use_hugepages",
    "use_ib_dm_dmabuf",
    "use_mlu",
    "use_mlu_dmabuf",
    "use_musa",
    "use_musa_bus_id",
    "use_musa_dmabuf",
    "use_musa_pcie_mapping",
    "use_neuron",
    "use_neuron_dmabuf",
    "use_old_post_send",
    "use_ooo",
    "use_opencl",
    "use_rocm",
    "use_rocm_dmabuf",
    "use_rss",
    "vector",
    "version",
    "vlan_en",
    "vlan_pcp",
    "wait_destroy",
    "write_with_imm",
};
/// The short ones of both, as getopt(3) takes them.
constexpr std::string_view kLetters =
    "w:y:p:d:i:m:s:n:t:u:S:x:c:q:I:o:M:r:Q:A:l:D:f:B:T:L:E:J:j:K:k:X:W:aFegzRvhbNVCHUOZP";

PerftestCommand read(const char* tool, std::vector<std::string> arguments) {
  return read_perftest_command(*find_perftest_tool(tool), arguments);
}

std::string refusal(const char* tool, std::vector<std::string> arguments) {
  try {
    read(tool, std::move(arguments));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(PerftestOptions, HaveEveryLongOptionOfPerftest) {
  for (const std::string_view name : kLongOptions)
    EXPECT_EQ(std::ranges::count(perftest_options(), name, &PerftestOption::name), 1) << name;
}

TEST(PerftestOptions, HaveEveryShortOptionOfPerftestWithItsValue) {
  for (std::size_t i = 0; i < kLetters.size(); ++i) {
    if (kLetters[i] == ':') continue;
    const auto row = std::ranges::find(perftest_options(), kLetters[i], &PerftestOption::letter);
    ASSERT_NE(row, perftest_options().end()) << kLetters[i];
    EXPECT_EQ(!row->value.empty(), i + 1 < kLetters.size() && kLetters[i + 1] == ':') << row->name;
  }
}

TEST(PerftestOptions, OfOneNameAndLetterAreOne) {
  for (const PerftestOption& row : perftest_options()) {
    EXPECT_EQ(std::ranges::count(perftest_options(), row.name, &PerftestOption::name), 1)
        << row.name;
    if (row.letter == 0) continue;
    EXPECT_EQ(std::ranges::count(perftest_options(), row.letter, &PerftestOption::letter), 1)
        << row.name;
  }
}

TEST(PerftestOptions, ThatAreRefusedSayByTheirNameWhatToDo) {
  for (const PerftestOption& row : perftest_options()) {
    if (row.fate != PerftestOption::Fate::refused) continue;
    const std::string typed =
        row.value.empty() ? fmt::format("--{}", row.name) : fmt::format("--{}=1", row.name);
    for (const PerftestTool& tool : perftest_tools()) {
      const std::string said = refusal(std::string(tool.name).c_str(), {typed, "host"});
      EXPECT_THAT(said, HasSubstr(std::string(row.text() + ": "))) << tool.name;
      EXPECT_GT(said.size(), row.text().size() + 10) << tool.name;
    }
  }
}

TEST(PerftestCommand, TakesShortLongJoinedAbbreviatedAndTrailingOptions) {
  const PerftestCommand command = read(
      "ib_write_bw", {"-s65536", "192.0.2.1", "-Fb", "--iters=7", "--report_gbit", "-d", "mlx5_0"});
  EXPECT_EQ(command.host, "192.0.2.1");
  EXPECT_EQ(command.value("size"), "65536");
  EXPECT_EQ(command.value("iters"), "7");
  EXPECT_EQ(command.value("ib-dev"), "mlx5_0");
  EXPECT_TRUE(command.has("CPU-freq"));
  EXPECT_TRUE(command.has("bidirectional"));
  EXPECT_TRUE(command.has("report_gbits"));
  EXPECT_FALSE(command.has("all"));
}

TEST(PerftestCommand, WithoutAHostIsTheServer) {
  EXPECT_THAT(read("ib_send_lat", {}).host, IsEmpty());
  EXPECT_THAT(read("ib_send_lat", {"-d", "mlx5_0"}).host, IsEmpty());
}

TEST(PerftestCommand, TakesTheOldAndTheMisspeltNames) {
  EXPECT_TRUE(read("ib_send_lat", {"--com_rdma_cm"}).has("comm_rdma_cm"));
  EXPECT_TRUE(read("ib_send_lat", {"--report-histogrm"}).has("report-histogram"));
}

TEST(PerftestCommand, TakesTheLastOfTwoValues) {
  EXPECT_EQ(read("ib_send_bw", {"-F", "-F", "-s", "8", "--size", "16"}).value("size"), "16");
}

TEST(PerftestCommand, NamesAnUnknownOptionAndTheNearestKnown) {
  EXPECT_THAT(refusal("ib_send_bw", {"--sizes", "8"}),
              HasSubstr("ib_send_bw has no option '--sizes'; did you mean '--size'?"));
  EXPECT_THAT(refusal("ib_send_bw", {"-1"}), HasSubstr("has no option '-1' ("));
  EXPECT_THAT(refusal("ib_send_bw", {"--report=1"}),
              HasSubstr("ib_send_bw: '--report' is short for several options"));
}

TEST(PerftestCommand, RefusesAMissingOrNeedlessValueASecondHostAndAnotherToolsOption) {
  EXPECT_THAT(refusal("ib_send_bw", {"host", "-s"}), HasSubstr("-s, --size: its value is missing"));
  EXPECT_THAT(refusal("ib_send_bw", {"--all=1"}), HasSubstr("-a, --all: it takes no value"));
  EXPECT_THAT(refusal("ib_send_bw", {"one", "two"}), HasSubstr("not 'one' and 'two'"));
  EXPECT_THAT(refusal("ib_send_lat", {"-b"}),
              HasSubstr("-b, --bidirectional: ib_send_lat has no such option"));
  EXPECT_THAT(refusal("ib_write_bw", {"-A", "CMP_AND_SWAP"}), HasSubstr("-A, --atomic_type"));
}

TEST(PerftestHelp, ListsConnectionsWhereScriptsLookForThem) {
  EXPECT_THAT(perftest_help(*find_perftest_tool("ib_send_bw"), 80),
              HasSubstr("  -c, --connection=<RC/UC/UD>  "));
  EXPECT_THAT(perftest_help(*find_perftest_tool("ib_read_lat"), 80),
              HasSubstr("--connection=<RC>  "));
}

}  // namespace
}  // namespace rdmameter
