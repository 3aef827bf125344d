// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "bench/perftest/notes.h"
#include "core/result/row_json.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

using OptionFate = PerftestOption::Fate;
using ToolOperation = PerftestTool::Operation;

// A tool has an option where the option's bits hold both what it measures and its operation.
constexpr unsigned bit_of(ToolOperation operation) {
  return 4U << static_cast<unsigned>(operation);
}
constexpr unsigned kBandwidth = 1, kLatency = 2, kBoth = kBandwidth | kLatency;
constexpr unsigned kSend = bit_of(ToolOperation::send), kWrite = bit_of(ToolOperation::write);
constexpr unsigned kRead = bit_of(ToolOperation::read), kAtomic = bit_of(ToolOperation::atomic);
constexpr unsigned kOnlyBandwidth = ~kLatency, kOnlyLatency = ~kBandwidth;
constexpr unsigned kHasSizes = ~kAtomic;
constexpr unsigned kPushesData = kBoth | kSend | kWrite, kPullsData = kBoth | kRead | kAtomic;
constexpr unsigned kOnlySend = kBoth | kSend, kOnlyWrite = kBoth | kWrite;
constexpr unsigned kOnlyAtomic = kBoth | kAtomic;

constexpr std::string_view kGpu =
    "rdmameter measures memory of the host, of the RDMA device, and of GPUs by --use_cuda and "
    "--use_rocm; for this use perftest itself";
constexpr std::string_view kByHost = "an end is a client if a host is named";
constexpr std::string_view kEthernet = "it belongs to perftest's raw_ethernet_* tools; use those";
constexpr std::string_view kOneVendor =
    "rdmameter uses no extension of one vendor; leave it out, or use perftest itself";
constexpr std::string_view kTwoPorts =
    "run the test once for each port, at the same time, with -i 1 and -i 2 and different -p";

constexpr auto kFateTexts = names_to<OptionFate::alias>("as in perftest", "as in perftest",
                                                        "accepted", "refused", "the same as");

}  // namespace

std::vector<std::string> options_of_perftest_letter(char letter) {
  constexpr std::string_view kBegin = "`--";
  std::vector<std::string> ours;
  for (const PerftestOption& option : perftest_options())
    if (option.letter == letter && option.becomes.starts_with(kBegin))
      ours.emplace_back(option.becomes.substr(1, option.becomes.find_first_of(" `", 1) - 1));
  return ours;
}

bool PerftestOption::applies(const PerftestTool& tool) const noexcept {
  const unsigned bits = (tool.bandwidth ? kBandwidth : kLatency) | bit_of(tool.operation);
  return (tools & bits) == bits;
}

std::string PerftestOption::text() const {
  return letter == 0 ? fmt::format("--{}", name) : fmt::format("-{}, --{}", letter, name);
}

std::span<const PerftestOption> perftest_options() {
  using enum PerftestOption::Fate;
  static constexpr PerftestOption kOptions[]{
      {'a', "all", "", meaning, "`--size 2..8M`", "Run sizes from 2 till 2^23", kHasSizes},
      {'A', "atomic_type", "type", meaning, "test `fetch_add_*` or `cmp_swap_*`",
       "type of atomic operation from {CMP_AND_SWAP,FETCH_AND_ADD} (default FETCH_AND_ADD)",
       kOnlyAtomic},
      {'b', "bidirectional", "", meaning,
       "`--bidirectional on`, by separate QPs for each direction",
       "Measure bidirectional bandwidth (default unidirectional)", kOnlyBandwidth},
      {'c', "connection", "RC/UC/UD", meaning, "`--transport`", "Connection type (default RC)"},
      {0, "log_dci_streams", "N", refused, kOneVendor},
      {0, "log_active_dci_streams", "N", refused, kOneVendor},
      {0, "aes_xts", "", refused, kOneVendor},
      {0, "encrypt_on_tx", "", refused, kOneVendor},
      {0, "sig_before", "", refused, kOneVendor},
      {0, "aes_block_size", "N", refused, kOneVendor},
      {0, "data_enc_keys_number", "N", refused, kOneVendor},
      {0, "kek_path", "FILE", refused, kOneVendor},
      {0, "credentials_path", "FILE", refused, kOneVendor},
      {0, "data_enc_key_app_path", "FILE", refused, kOneVendor},
      {0, "sig_offload", "", refused, kOneVendor},
      {'C', "report-cycles", "", refused,
       "rdmameter reports times, not cycles; leave it out to get microseconds", "", kOnlyLatency},
      {'d', "ib-dev", "dev", meaning, "`--device`; the server's is its own -d",
       "Use IB device <dev> (default first device found)"},
      {'D', "duration", "seconds", meaning, "`--duration`, all of it measured",
       "Run test for a customized period of seconds"},
      {'e', "events", "", meaning, "`--wait event`; writes: with --write_with_imm",
       "Sleep on CQ events (default poll)"},
      {'X', "vector", "completion vector", meaning, "`--comp-vector`",
       "Set <completion vector> used for events"},
      {'f', "margin", "seconds", nothing, "all of -D is measured",
       "measure results within margins: accepted, all of -D is measured"},
      {'F', "CPU-freq", "", nothing, "the clock does not depend on the CPU's frequency",
       "accepted: the clock does not depend on the CPU's frequency"},
      {'g', "mcg", "", meaning, "test `mcast_bw` or `mcast_lat`",
       "Send messages to multicast group with 1 QP attached to it", kOnlySend},
      {'h', "help", "", meaning, "this help", "Show this help screen."},
      {'H', "report-histogram", "", meaning,
       "every sample, sorted, each within 0.05 % of what was measured",
       "Print out all results (default print summary only)", kOnlyLatency},
      {0, "report-histogrm", "", alias, "report-histogram", "", kOnlyLatency},
      {'i', "ib-port", "port", meaning, "`--port-num`; the server's is its own -i",
       "Use port <port> of IB device (default: the first active one)"},
      {'I', "inline_size", "size", meaning, "`--inline`",
       "Max size of message to be sent in inline", kPushesData},
      {'l', "post_list", "list size", meaning, "`--post-list`; latency: 1",
       "Post list of send WQEs of <list size> size (instead of single post)"},
      {0, "recv_post_list", "list size", meaning, "`--recv-post-list`; latency: 1",
       "Post list of receive WQEs of <list size> size (instead of single post)"},
      {'L', "hop_limit", "hop_limit", refused, kEthernet},
      {'m', "mtu", "mtu", axis, "mtu", "MTU size : 256 - 4096 (default port mtu)"},
      {'M', "MGID", "multicast_gid", meaning, "`--group`",
       "In multicast, uses <multicast_gid> as the group MGID.", kOnlySend},
      {0, "connectionless", "", refused, "the receivers take part in the session; use -g alone", "",
       kOnlySend},
      {'n', "iters", "iters", meaning, "`--iterations`, times the QPs",
       "Number of exchanges (default 1000, ib_write_bw: 5000)"},
      {'N', "noPeak", "", nothing, "measure no BW peak: its column is 0.00",
       "BW peak is not measured", kOnlyBandwidth},
      {'o', "outs", "num", axis, "outstanding-reads",
       "num of outstanding read/atom (default max of device)", kPullsData},
      {'O', "dualport", "", refused, kTwoPorts, "", kOnlyBandwidth},
      {'p', "port", "port", meaning, "`--port`",
       "Listen on/connect to port <port> (default 18515)"},
      {'q', "qp", "num of qp's", meaning, "`--qps`; latency: 1", "Num of qp's(default 1)"},
      {'Q', "cq-mod", "cq-mod", meaning, "`--signal-every`; no effect on a latency",
       "Generate Cqe only after <cq-mod> completion"},
      {'r', "rx-depth", "dep", meaning, "`--rx-depth`; reads and atomics: 1",
       "Rx queue size (default 512)"},
      {'R', "rdma_cm", "", meaning, "`--connect cm`",
       "Connect QPs with rdma_cm and run test on those QPs"},
      {'s', "size", "size", meaning, "`--size`; atomics: 8",
       "Size of message to exchange (default 65536, latency: 2)"},
      {'S', "sl", "sl", axis, "sl", "SL (default 0)"},
      {'t', "tx-depth", "dep", meaning, "`--depth`; no effect on a latency",
       "Size of tx queue (default 128)"},
      {'T', "tos", "tos value", meaning, "`--tclass`, with -R alone",
       "Set <tos_value> to RDMA-CM QPs. available only with -R flag."},
      {'u', "qp-timeout", "timeout", axis, "qp-timeout",
       "QP timeout, timeout value is 4 usec * 2 ^(timeout), default 14"},
      {'U', "report-unsorted", "", refused,
       "the order of samples is not kept; use --report-histogram for all of them, sorted", "",
       kOnlyLatency},
      {'V', "version", "", meaning, "the version of rdmameter", "Display version number"},
      {'w', "limit_bw", "value", meaning,
       "exit status 1 where no row reaches it; a server's own `-w` counts where it prints each row; no effect on a latency",
       "Set verifier limit for bandwidth"},
      {'W', "report-counters", "list of counter names", refused,
       "use --out_json_file FILE, whose rows have device_counters"},
      {'x', "gid-index", "index", meaning, "`--gid-index`; the server's is its own -x",
       "Test uses GID with GID index"},
      {'y', "limit_msgrate", "value", meaning,
       "with -w: exit status 1 where no row reaches it, too; alone, or of a latency, no effect",
       "Set verifier limit for Msg Rate"},
      {'z', "comm_rdma_cm", "", nothing, "the two ends exchange addresses over TCP",
       "accepted: the two ends exchange addresses over TCP"},
      {0, "com_rdma_cm", "", alias, "comm_rdma_cm"},

      {0, "out_json", "", meaning, "our result file with perftest's keys, perftest_out.json",
       "Save the result (of rdmameter) in a json file"},
      {0, "out_json_file", "file", meaning, "`-o FILE`: our result file",
       "Name of the json file. (Default: perftest_out.json in the working directory)"},
      {0, "cpu_util", "", meaning,
       "a column: user time over user and idle time; 0.00 at a server that takes no part; without -D no effect",
       "Show CPU Utilization in report, valid only in Duration mode"},
      {0, "cqe_poll", "N", refused,
       "the number of CQEs that one call polls is fixed; leave it out"},
      {0, "disable_dynamic_polling", "", nothing, "the number of CQEs that one call polls is fixed",
       "accepted: polling never adapts"},
      {0, "data_validation", "", meaning, "`--verify on`", "Enable data validation",
       kOnlyBandwidth},
      {0, "data_validation_debug", "", refused,
       "use --data_validation, which reports the first wrong byte", "", kOnlyBandwidth},
      {0, "tph_mem", "memory_type", refused, kOneVendor},
      {0, "cpu_id", "cpu_core_id", refused, kOneVendor},
      {0, "ph", "processing_hints", refused, kOneVendor},
      {0, "congest_type", "type", refused, kOneVendor},
      {0, "pin_cores", "cpu", meaning, "`--core`; one CPU", "Set CPU affinity: one CPU"},
      {0, "numa_node", "N", refused, "use --pin_cores with a CPU of that node, or numactl"},
      {0, "disable_numa", "", meaning, "`--core off`", "Do not pin to the NUMA node of the device"},
      {0, "dlid", "LID", refused, "the peer tells its LID; leave it out"},
      {0, "dont_xchg_versions", "", nothing, "the session always compares versions",
       "accepted: the session always compares versions"},
      {0, "force-link", "value", meaning,
       "IB or Ethernet: shown as the link type; else as the port's",
       "Force the link(s) to a specific type: IB or Ethernet."},
      {0, "inline_recv", "size", refused, kOneVendor},
      {0, "use-srq", "", meaning, "`--recv srq`",
       "Use a Shared Receive Queue. --rx-depth controls max-wr size of the SRQ", kOnlySend},
      {0, "no_lock", "", meaning, "`--thread-domain on`; without it `off`",
       "Enable no lock in IB post send and poll cq"},
      {0, "no_enhanced_reorder", "", refused, kOneVendor},
      {0, "use_ooo", "", refused, kOneVendor},
      {0, "ipv6", "", meaning,
       "no effect with -x; else refused: use -x with the index of an IPv6 GID (`rdmameter devices` lists them)",
       "Use IPv6 GID. Default is IPv4"},
      {0, "ipv6-addr", "", nothing, "a name or an address of either kind is taken",
       "accepted: a name or an address of either kind is taken"},
      {0, "bind_source_ip", "ip", meaning,
       "the server's `--bind`; the address that a client connects from; with -R the device and GID that have it",
       "Source IP of the interface used for connection establishment"},
      {'j', "source_ip", "ip", meaning, "the server's `--bind`; no effect on a client"},
      {0, "latency_gap", "usec", refused, "rdmameter sends the next message at once; leave it out",
       "", kOnlyLatency},
      {0, "mmap", "file", meaning, "`--memory file:PATH`, at the client",
       "Use an mmap'd file as the buffer for testing P2P transfers."},
      {0, "mmap-offset", "offset", refused, "the file is mapped from its start; leave it out"},
      {0, "mr_per_qp", "", meaning, "`--mr-per-qp on`", "Create memory region for each qp.",
       kOnlyBandwidth},
      {0, "odp", "", meaning, "`--odp on`", "Use On Demand Paging instead of Memory Registration."},
      {0, "output", "units", meaning, "one number per row",
       "Set verbosity output level: bandwidth , message_rate, latency"},
      {0, "payload_file_path", "file", refused,
       "its format is perftest's own; use `rdmameter run --payload file:PATH`, which sends the file's bytes"},
      {0, "use_old_post_send", "", meaning, "`--api classic`",
       "Use old post send flow (ibv_post_send)."},
      {0, "perform_warm_up", "", meaning, "`--warmup 256`, latency 100, `ib_send_bw` none",
       "Perform some iterations before start measuring"},
      {0, "pkey_index", "pkey index", axis, "pkey-index", "PKey index to use for QP"},
      {0, "report-both", "", meaning, "both directions apart",
       "Report RX & TX results separately on Bidirectional BW tests", kOnlyBandwidth},
      {0, "report_gbits", "", meaning, "columns in Gb/sec",
       "Report Max/Average BW of test in Gbit/sec (instead of MiB/sec)"},
      {0, "report-per-port", "", refused, kTwoPorts, "", kOnlyBandwidth},
      {0, "reversed", "", refused, "start the server on the other machine, without --reversed", "",
       kOnlyBandwidth},
      {0, "run_infinitely", "", meaning, "`--duration 0`, a row every -D seconds",
       "Run test forever, print results every <duration> seconds", kOnlyBandwidth},
      {0, "retry_count", "value", axis, "retry-count", "Set retry count value"},
      {0, "tclass", "value", axis, "tclass", "Set the Traffic Class in GRH (if GRH is in use)"},
      {0, "flow_label", "fl", meaning, "`--flow-label`; several: one for each QP, in turn",
       "Set the flow_label in GRH (if GRH is in use)"},
      {0, "use_cuda", "N", meaning,
       "this end's memory is `cuda:N`, by `--gpu-registration pointer-first`",
       "Use CUDA device N's memory as this end's buffer"},
      {0, "use_cuda_bus_id", "ID", meaning,
       "this end's memory is `cuda:ID`, by `--gpu-registration pointer-first`",
       "Use CUDA device by its bus ID"},
      {0, "cuda_mem_type", "N", refused, kGpu},
      {0, "use_cuda_dmabuf", "", meaning, "`--gpu-registration dmabuf`",
       "Share the CUDA device's memory by a dma-buf"},
      {0, "use_cuda_pcie_mapping", "", refused, kGpu},
      {0, "use_data_direct", "", meaning, "`--gpu-registration data-direct`",
       "With --use_cuda_dmabuf: use mlx5 Data Direct"},
      {0, "use_musa", "N", refused, kGpu},
      {0, "use_musa_bus_id", "ID", refused, kGpu},
      {0, "use_musa_dmabuf", "", refused, kGpu},
      {0, "use_musa_pcie_mapping", "", refused, kGpu},
      {0, "use_rocm", "N", meaning,
       "this end's memory is `rocm:N`, by `--gpu-registration pointer-first`",
       "Use ROCm device N's memory as this end's buffer"},
      {0, "use_rocm_dmabuf", "", meaning, "`--gpu-registration dmabuf`",
       "Share the ROCm device's memory by a dma-buf"},
      {0, "use_neuron", "N", refused, kGpu},
      {0, "use_neuron_dmabuf", "", refused, kGpu},
      {0, "use_hl", "N", refused, kGpu},
      {0, "use_mlu", "N", refused, kGpu},
      {0, "use_mlu_dmabuf", "", refused, kGpu},
      {0, "use_opencl", "N", refused, kGpu},
      {0, "opencl_platform_id", "N", refused, kGpu},
      {0, "gpu_touch", "WHEN", refused, kGpu},
      {0, "use_ib_dm_dmabuf", "ib_device", refused,
       "use `rdmameter run --memory device` for memory of the RDMA device"},
      {0, "use_hugepages", "", meaning, "`--memory huge`",
       "Use Hugepages instead of contig, memalign allocations."},
      {0, "use-null-mr", "", refused,
       "a null memory region holds no data to measure with; leave it out"},
      {0, "wait_destroy", "seconds", nothing, "what a test made is destroyed when it ends",
       "accepted: resources are destroyed when the test ends"},
      {0, "disable_pcie_relaxed", "", meaning, "`--relaxed-ordering off`",
       "Disable PCIe relaxed ordering"},
      {0, "burst_size", "size", meaning, "with `--rate_limit`",
       "Messages between two pauses, with --rate_limit"},
      {0, "typical_pkt_size", "bytes", refused, kPerftestPaced},
      {0, "rate_limit", "rate", meaning,
       "not on InfiniBand, where perftest has the device limit the rate. Else no effect on a latency; of a bandwidth where no "
       "pause falls due: `--burst_size` is at least `-n`, times the QPs",
       "Accepted where it has no effect: a latency, or a burst of all messages"},
      {0, "rate_units", "units", refused, kPerftestPaced},
      {0, "rate_limit_type", "type", refused, kPerftestPaced},
      {0, "write_with_imm", "", meaning, "test `write_imm_bw` or `write_imm_lat`",
       "Use write-with-immediate verb instead of write", kOnlyWrite},
      {0, "unsolicited_write", "", refused, kOneVendor, "", kOnlyWrite},
      {0, "send_with_imm", "", meaning, "test `send_imm_bw` or `send_imm_lat`",
       "Use send-with-immediate verb instead of send", kOnlySend},

      {'B', "source_mac", "MAC", refused, kEthernet},
      {'E', "dest_mac", "MAC", refused, kEthernet},
      {'G', "use_rss", "", refused, kEthernet},
      {'J', "dest_ip", "ip", refused, kEthernet},
      {'K', "dest_port", "port", refused, kEthernet},
      {'k', "source_port", "port", refused, kEthernet},
      {'Y', "ethertype", "type", refused, kEthernet},
      {'Z', "server", "", nothing, kByHost},
      {'P', "client", "", nothing, kByHost},
      {'v', "mac_fwd", "", refused, kEthernet},
      {0, "remote_mac", "MAC", refused, kEthernet},
      {0, "local_mac", "MAC", refused, kEthernet},
      {0, "remote_ip", "ip", refused, kEthernet},
      {0, "local_ip", "ip", refused, kEthernet},
      {0, "remote_port", "port", refused, kEthernet},
      {0, "local_port", "port", refused, kEthernet},
      {0, "vlan_en", "", refused, kEthernet},
      {0, "vlan_pcp", "N", refused, kEthernet},
      {0, "flows", "N", refused, kEthernet},
      {0, "flows_burst", "N", refused, kEthernet},
      {0, "promiscuous", "", refused, kEthernet},
      {0, "reply_every", "N", refused, kEthernet},
      {0, "sniffer", "", refused, kEthernet},
      {0, "tcp", "", refused, kEthernet},
      {0, "raw_ipv6", "", refused, kEthernet},
      {0, "raw_mcast", "", refused, kEthernet},
  };
  return kOptions;
}

const PerftestOption& perftest_option(std::string_view name) {
  const auto found = std::ranges::find(perftest_options(), name, &PerftestOption::name);
  if (found == perftest_options().end())
    throw std::logic_error(fmt::format("the table of perftest's options has no '{}'", name));
  return *found;
}

std::string perftest_help(const PerftestTool& tool, std::size_t width) {
  std::string text =
      "Usage:\n" +
      wrap(fmt::format("  {}            ", tool.name), "start a server and wait for connection",
           width) +
      wrap(fmt::format("  {} <host>     ", tool.name), "connect to server at <host>", width) +
      fmt::format(
          "\nThis is rdmameter {} with the options of perftest.\n"
          "Both ends must be rdmameter.\n\nOptions:\n",
          RDMAMETER_VERSION);
  for (const PerftestOption& option : perftest_options()) {
    if (option.help.empty() || !option.applies(tool)) continue;
    const bool connection = option.name == "connection";
    const std::string_view value = connection ? tool.connections : option.value;
    const std::string letter = option.letter == 0 ? "    " : fmt::format("-{}, ", option.letter);
    const std::string head = fmt::format("  {}--{}{}  ", letter, option.name,
                                         value.empty() ? "" : fmt::format("=<{}>", value));
    constexpr std::size_t kRoom = 20;  // below which a description has lines of its own
    if (head.size() + kRoom <= width)
      text += wrap(head, option.help, width);
    else
      text += head.substr(0, head.size() - 2) + "\n" + wrap("          ", option.help, width);
  }
  return text + "\n" +
         wrap("", "Other options of perftest are refused, with what to use instead.", width) +
         wrap("",
              fmt::format("With {}=1 in the environment stderr has notes: what is measured "
                          "otherwise than by perftest, and at the server who came.",
                          kNotesVariable),
              width) +
         "'rdmameter perftest --options' lists them all.\n";
}

std::string perftest_options_text(std::size_t width) {
  std::string text;
  for (const PerftestOption& option : perftest_options()) {
    const bool code = option.fate == OptionFate::axis || option.fate == OptionFate::alias;
    text += wrap("", option.text(), width) +
            wrap("      ",
                 fmt::format("{}{}{}", name_in(kFateTexts, option.fate), code ? " --" : ": ",
                             option.becomes),
                 width);
  }
  return text;
}

std::string perftest_options_markdown() {
  std::string text = "| perftest | here | |\n| --- | --- | --- |\n";
  for (const PerftestOption& option : perftest_options()) {
    const bool code = option.fate == OptionFate::axis || option.fate == OptionFate::alias;
    const std::string becomes =
        code ? fmt::format("`--{}`", option.becomes) : std::string(option.becomes);
    const std::string letter = option.letter == 0 ? "" : fmt::format("`-{}`, ", option.letter);
    text += fmt::format("| {}`--{}` | {} | {} |\n", letter, option.name,
                        name_in(kFateTexts, option.fate), becomes);
  }
  return text;
}

}  // namespace rdmameter
