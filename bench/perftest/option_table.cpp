// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "bench/perftest/notes.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

using OptionFate = PerftestOption::Fate;
using ToolOperation = PerftestTool::Operation;

constexpr std::array kPerftestTools{
    PerftestTool{"ib_send_bw", ToolOperation::send, true},
    PerftestTool{"ib_send_lat", ToolOperation::send, false},
    PerftestTool{"ib_write_bw", ToolOperation::write, true},
    PerftestTool{"ib_write_lat", ToolOperation::write, false},
    PerftestTool{"ib_read_bw", ToolOperation::read, true},
    PerftestTool{"ib_read_lat", ToolOperation::read, false},
    PerftestTool{"ib_atomic_bw", ToolOperation::atomic, true},
    PerftestTool{"ib_atomic_lat", ToolOperation::atomic, false},
};

// A tool has an option where the option's bits hold both what it measures and its operation.
constexpr unsigned kBandwidth = 1, kLatency = 2;
constexpr unsigned kSend = 4, kWrite = 8, kRead = 16, kAtomic = 32;
constexpr unsigned kEveryOperation = kSend | kWrite | kRead | kAtomic;
constexpr unsigned kAll = kBandwidth | kLatency | kEveryOperation;
constexpr unsigned kOnlyBandwidth = kAll & ~kLatency;
constexpr unsigned kOnlyLatency = kAll & ~kBandwidth;
constexpr unsigned kHasSizes = kAll & ~kAtomic;
constexpr unsigned kPushesData = kBandwidth | kLatency | kSend | kWrite;
constexpr unsigned kPullsData = kBandwidth | kLatency | kRead | kAtomic;
constexpr unsigned kOnlySend = kBandwidth | kLatency | kSend;

constexpr std::string_view kGpu =
    "rdmameter measures memory of the host, of the RDMA device, and of GPUs by --use_cuda and "
    "--use_rocm; for this use perftest itself";
constexpr std::string_view kPaced =
    "a bandwidth test goes as fast as the device; for the latency at a given rate: `rdmameter run "
    "HOST write_load --rate RATE`";
constexpr std::string_view kEthernet = "it belongs to perftest's raw_ethernet_* tools; use those";
constexpr std::string_view kOneVendor =
    "rdmameter uses no extension of one vendor; leave it out, or use perftest itself";
constexpr std::string_view kTwoPorts =
    "run the test once for each port, at the same time, with -i 1 and -i 2 and different -p";

unsigned bits_of(const PerftestTool& tool) {
  const unsigned measures = tool.bandwidth ? kBandwidth : kLatency;
  switch (tool.operation) {
    case ToolOperation::send:
      return measures | kSend;
    case ToolOperation::write:
      return measures | kWrite;
    case ToolOperation::read:
      return measures | kRead;
    case ToolOperation::atomic:
      return measures | kAtomic;
  }
  return 0;
}

std::string_view fate_text(PerftestOption::Fate fate) {
  using enum PerftestOption::Fate;
  switch (fate) {
    case axis:
    case meaning:
      return "as in perftest";
    case nothing:
      return "accepted";
    case refused:
      return "refused";
    case alias:
      return "the same as";
  }
  return "";
}

}  // namespace

std::span<const PerftestTool> perftest_tools() {
  return kPerftestTools;
}

const PerftestTool* find_perftest_tool(std::string_view name) {
  const auto found = std::ranges::find(kPerftestTools, name, &PerftestTool::name);
  return found == kPerftestTools.end() ? nullptr : &*found;
}

std::vector<std::string> options_of_perftest_letter(char letter) {
  constexpr std::string_view kBegin = "`--";
  std::vector<std::string> ours;
  for (const PerftestOption& option : perftest_options())
    if (option.letter == letter && option.becomes.starts_with(kBegin))
      ours.emplace_back(option.becomes.substr(1, option.becomes.find_first_of(" `", 1) - 1));
  return ours;
}

std::string_view perftest_connections(const PerftestTool& tool) {
  switch (tool.operation) {
    case ToolOperation::send:
      return "RC/UC/UD";
    case ToolOperation::write:
      return "RC/UC";
    case ToolOperation::read:
    case ToolOperation::atomic:
      return "RC";
  }
  return "";
}

bool PerftestOption::applies(const PerftestTool& tool) const noexcept {
  const unsigned bits = bits_of(tool);
  return (tools & bits) == bits;
}

std::string PerftestOption::text() const {
  return letter == 0 ? fmt::format("--{}", name) : fmt::format("-{}, --{}", letter, name);
}

std::span<const PerftestOption> perftest_options() {
  using enum PerftestOption::Fate;
  static constexpr std::array kOptions{
      PerftestOption{'a', "all", "", kHasSizes, meaning, "`--size 2..8M`",
                     "Run sizes from 2 till 2^23"},
      PerftestOption{'A', "atomic_type", "type", kBandwidth | kLatency | kAtomic, meaning,
                     "test `fetch_add_*` or `cmp_swap_*`",
                     "type of atomic operation from {CMP_AND_SWAP,FETCH_AND_ADD} (default "
                     "FETCH_AND_ADD)"},
      PerftestOption{'b', "bidirectional", "", kOnlyBandwidth, meaning,
                     "`--bidirectional on`, by separate QPs for each direction",
                     "Measure bidirectional bandwidth (default unidirectional)"},
      PerftestOption{'c', "connection", "RC/UC/UD", kAll, meaning, "`--transport`",
                     "Connection type (default RC)"},
      PerftestOption{0, "log_dci_streams", "N", kAll, refused, kOneVendor, ""},
      PerftestOption{0, "log_active_dci_streams", "N", kAll, refused, kOneVendor, ""},
      PerftestOption{0, "aes_xts", "", kAll, refused, kOneVendor, ""},
      PerftestOption{0, "encrypt_on_tx", "", kAll, refused, kOneVendor, ""},
      PerftestOption{0, "sig_before", "", kAll, refused, kOneVendor, ""},
      PerftestOption{0, "aes_block_size", "N", kAll, refused, kOneVendor, ""},
      PerftestOption{0, "data_enc_keys_number", "N", kAll, refused, kOneVendor, ""},
      PerftestOption{0, "kek_path", "FILE", kAll, refused, kOneVendor, ""},
      PerftestOption{0, "credentials_path", "FILE", kAll, refused, kOneVendor, ""},
      PerftestOption{0, "data_enc_key_app_path", "FILE", kAll, refused, kOneVendor, ""},
      PerftestOption{0, "sig_offload", "", kAll, refused, kOneVendor, ""},
      PerftestOption{'C', "report-cycles", "", kOnlyLatency, refused,
                     "rdmameter reports times, not cycles; leave it out to get microseconds", ""},
      PerftestOption{'d', "ib-dev", "dev", kAll, meaning, "`--device`; the server's is its own -d",
                     "Use IB device <dev> (default first device found)"},
      PerftestOption{'D', "duration", "seconds", kAll, meaning, "`--duration`, all of it measured",
                     "Run test for a customized period of seconds"},
      PerftestOption{'e', "events", "", kAll, meaning,
                     "`--wait event`; writes: with --write_with_imm",
                     "Sleep on CQ events (default poll)"},
      PerftestOption{'X', "vector", "completion vector", kAll, meaning, "`--comp-vector`",
                     "Set <completion vector> used for events"},
      PerftestOption{'f', "margin", "seconds", kAll, nothing, "all of -D is measured",
                     "measure results within margins: accepted, all of -D is measured"},
      PerftestOption{'F', "CPU-freq", "", kAll, nothing,
                     "the clock does not depend on the CPU's frequency",
                     "accepted: the clock does not depend on the CPU's frequency"},
      PerftestOption{'g', "mcg", "", kOnlySend, meaning, "test `mcast_bw` or `mcast_lat`",
                     "Send messages to multicast group with 1 QP attached to it"},
      PerftestOption{'h', "help", "", kAll, meaning, "this help", "Show this help screen."},
      PerftestOption{'H', "report-histogram", "", kOnlyLatency, meaning,
                     "every sample, sorted, each within 0.05 % of what was measured",
                     "Print out all results (default print summary only)"},
      PerftestOption{0, "report-histogrm", "", kOnlyLatency, alias, "report-histogram", ""},
      PerftestOption{'i', "ib-port", "port", kAll, meaning,
                     "`--port-num`; the server's is its own -i",
                     "Use port <port> of IB device (default: the first active one)"},
      PerftestOption{'I', "inline_size", "size", kPushesData, meaning, "`--inline`",
                     "Max size of message to be sent in inline"},
      PerftestOption{'l', "post_list", "list size", kAll, meaning, "`--post-list`; latency: 1",
                     "Post list of send WQEs of <list size> size (instead of single post)"},
      PerftestOption{0, "recv_post_list", "list size", kAll, meaning,
                     "`--recv-post-list`; latency: 1",
                     "Post list of receive WQEs of <list size> size (instead of single post)"},
      PerftestOption{'L', "hop_limit", "hop_limit", kAll, refused, kEthernet, ""},
      PerftestOption{'m', "mtu", "mtu", kAll, axis, "mtu",
                     "MTU size : 256 - 4096 (default port mtu)"},
      PerftestOption{'M', "MGID", "multicast_gid", kOnlySend, meaning, "`--group`",
                     "In multicast, uses <multicast_gid> as the group MGID."},
      PerftestOption{0, "connectionless", "", kOnlySend, refused,
                     "the receivers take part in the session; use -g alone", ""},
      PerftestOption{'n', "iters", "iters", kAll, meaning, "`--iterations`, times the QPs",
                     "Number of exchanges (default 1000, ib_write_bw: 5000)"},
      PerftestOption{'N', "noPeak", "", kOnlyBandwidth, nothing,
                     "measure no BW peak: its column is 0.00", "BW peak is not measured"},
      PerftestOption{'o', "outs", "num", kPullsData, axis, "outstanding-reads",
                     "num of outstanding read/atom (default max of device)"},
      PerftestOption{'O', "dualport", "", kOnlyBandwidth, refused, kTwoPorts, ""},
      PerftestOption{'p', "port", "port", kAll, meaning, "`--port`",
                     "Listen on/connect to port <port> (default 18515)"},
      PerftestOption{'q', "qp", "num of qp's", kAll, meaning, "`--qps`; latency: 1",
                     "Num of qp's(default 1)"},
      PerftestOption{'Q', "cq-mod", "cq-mod", kAll, meaning,
                     "`--signal-every`; no effect on a latency",
                     "Generate Cqe only after <cq-mod> completion"},
      PerftestOption{'r', "rx-depth", "dep", kAll, meaning, "`--rx-depth`; reads and atomics: 1",
                     "Rx queue size (default 512)"},
      PerftestOption{'R', "rdma_cm", "", kAll, meaning, "`--connect cm`",
                     "Connect QPs with rdma_cm and run test on those QPs"},
      PerftestOption{'s', "size", "size", kAll, meaning, "`--size`; atomics: 8",
                     "Size of message to exchange (default 65536, latency: 2)"},
      PerftestOption{'S', "sl", "sl", kAll, axis, "sl", "SL (default 0)"},
      PerftestOption{'t', "tx-depth", "dep", kAll, meaning, "`--depth`; no effect on a latency",
                     "Size of tx queue (default 128)"},
      PerftestOption{'T', "tos", "tos value", kAll, meaning, "`--tclass`, with -R alone",
                     "Set <tos_value> to RDMA-CM QPs. available only with -R flag."},
      PerftestOption{'u', "qp-timeout", "timeout", kAll, axis, "qp-timeout",
                     "QP timeout, timeout value is 4 usec * 2 ^(timeout), default 14"},
      PerftestOption{
          'U', "report-unsorted", "", kOnlyLatency, refused,
          "the order of samples is not kept; use --report-histogram for all of them, sorted", ""},
      PerftestOption{'V', "version", "", kAll, meaning, "the version of rdmameter",
                     "Display version number"},
      PerftestOption{'w', "limit_bw", "value", kAll, meaning,
                     "exit status 1 where no row reaches it; a server's own `-w` counts where it "
                     "prints each row; no effect on a latency",
                     "Set verifier limit for bandwidth"},
      PerftestOption{'W', "report-counters", "list of counter names", kAll, refused,
                     "use --out_json_file FILE, whose rows have device_counters", ""},
      PerftestOption{'x', "gid-index", "index", kAll, meaning,
                     "`--gid-index`; the server's is its own -x", "Test uses GID with GID index"},
      PerftestOption{
          'y', "limit_msgrate", "value", kAll, meaning,
          "with -w: exit status 1 where no row reaches it, too; alone, or of a latency, no effect",
          "Set verifier limit for Msg Rate"},
      PerftestOption{'z', "comm_rdma_cm", "", kAll, nothing,
                     "the two ends exchange addresses over TCP",
                     "accepted: the two ends exchange addresses over TCP"},
      PerftestOption{0, "com_rdma_cm", "", kAll, alias, "comm_rdma_cm", ""},

      PerftestOption{0, "out_json", "", kAll, meaning,
                     "our result file with perftest's keys, perftest_out.json",
                     "Save the result (of rdmameter) in a json file"},
      PerftestOption{
          0, "out_json_file", "file", kAll, meaning, "`-o FILE`: our result file",
          "Name of the json file. (Default: perftest_out.json in the working directory)"},
      PerftestOption{0, "cpu_util", "", kAll, meaning,
                     "a column: user time over user and idle time; 0.00 at a server that takes no "
                     "part; without -D no effect",
                     "Show CPU Utilization in report, valid only in Duration mode"},
      PerftestOption{0, "cqe_poll", "N", kAll, refused,
                     "the number of CQEs that one call polls is fixed; leave it out", ""},
      PerftestOption{0, "disable_dynamic_polling", "", kAll, nothing,
                     "the number of CQEs that one call polls is fixed",
                     "accepted: polling never adapts"},
      PerftestOption{0, "data_validation", "", kOnlyBandwidth, meaning, "`--verify on`",
                     "Enable data validation"},
      PerftestOption{0, "data_validation_debug", "", kOnlyBandwidth, refused,
                     "use --data_validation, which reports the first wrong byte", ""},
      PerftestOption{0, "tph_mem", "memory_type", kAll, refused, kOneVendor, ""},
      PerftestOption{0, "cpu_id", "cpu_core_id", kAll, refused, kOneVendor, ""},
      PerftestOption{0, "ph", "processing_hints", kAll, refused, kOneVendor, ""},
      PerftestOption{0, "congest_type", "type", kAll, refused, kOneVendor, ""},
      PerftestOption{0, "pin_cores", "cpu", kAll, meaning, "`--core`; one CPU",
                     "Set CPU affinity: one CPU"},
      PerftestOption{0, "numa_node", "N", kAll, refused,
                     "use --pin_cores with a CPU of that node, or numactl", ""},
      PerftestOption{0, "disable_numa", "", kAll, meaning, "`--core off`",
                     "Do not pin to the NUMA node of the device"},
      PerftestOption{0, "dlid", "LID", kAll, refused, "the peer tells its LID; leave it out", ""},
      PerftestOption{0, "dont_xchg_versions", "", kAll, nothing,
                     "the session always compares versions",
                     "accepted: the session always compares versions"},
      PerftestOption{0, "force-link", "value", kAll, refused,
                     "the link type is that of the port; choose the port with -d and -i", ""},
      PerftestOption{0, "inline_recv", "size", kAll, refused, kOneVendor, ""},
      PerftestOption{0, "use-srq", "", kOnlySend, meaning, "`--recv srq`",
                     "Use a Shared Receive Queue. --rx-depth controls max-wr size of the SRQ"},
      PerftestOption{0, "no_lock", "", kAll, meaning, "`--thread-domain on`; without it `off`",
                     "Enable no lock in IB post send and poll cq"},
      PerftestOption{0, "no_enhanced_reorder", "", kAll, refused, kOneVendor, ""},
      PerftestOption{0, "use_ooo", "", kAll, refused, kOneVendor, ""},
      PerftestOption{0, "ipv6", "", kAll, refused,
                     "use -x with the index of an IPv6 GID (`rdmameter devices` lists them)", ""},
      PerftestOption{0, "ipv6-addr", "", kAll, nothing,
                     "a name or an address of either kind is taken",
                     "accepted: a name or an address of either kind is taken"},
      PerftestOption{0, "bind_source_ip", "ip", kAll, meaning,
                     "the server's `--bind`; the address that a client connects from; with -R the "
                     "device and GID that have it",
                     "Source IP of the interface used for connection establishment"},
      PerftestOption{'j', "source_ip", "ip", kAll, meaning,
                     "the server's `--bind`; no effect on a client", ""},
      PerftestOption{0, "latency_gap", "usec", kOnlyLatency, refused,
                     "rdmameter sends the next message at once; leave it out", ""},
      PerftestOption{0, "mmap", "file", kAll, meaning, "`--memory file:PATH`, at the client",
                     "Use an mmap'd file as the buffer for testing P2P transfers."},
      PerftestOption{0, "mmap-offset", "offset", kAll, refused,
                     "the file is mapped from its start; leave it out", ""},
      PerftestOption{0, "mr_per_qp", "", kOnlyBandwidth, meaning, "`--mr-per-qp on`",
                     "Create memory region for each qp."},
      PerftestOption{0, "odp", "", kAll, meaning, "`--odp on`",
                     "Use On Demand Paging instead of Memory Registration."},
      PerftestOption{0, "output", "units", kAll, meaning, "one number per row",
                     "Set verbosity output level: bandwidth , message_rate, latency"},
      PerftestOption{0, "payload_file_path", "file", kAll, refused,
                     "its format is perftest's own; use `rdmameter run --payload file:PATH`, which "
                     "sends the file's bytes",
                     ""},
      PerftestOption{0, "use_old_post_send", "", kAll, meaning, "`--api classic`",
                     "Use old post send flow (ibv_post_send)."},
      PerftestOption{0, "perform_warm_up", "", kAll, meaning, "`--warmup 256`, latency 100",
                     "Perform some iterations before start measuring"},
      PerftestOption{0, "pkey_index", "pkey index", kAll, axis, "pkey-index",
                     "PKey index to use for QP"},
      PerftestOption{0, "report-both", "", kOnlyBandwidth, meaning, "both directions apart",
                     "Report RX & TX results separately on Bidirectional BW tests"},
      PerftestOption{0, "report_gbits", "", kAll, meaning, "columns in Gb/sec",
                     "Report Max/Average BW of test in Gbit/sec (instead of MiB/sec)"},
      PerftestOption{0, "report-per-port", "", kOnlyBandwidth, refused, kTwoPorts, ""},
      PerftestOption{0, "reversed", "", kOnlyBandwidth, refused,
                     "start the server on the other machine, without --reversed", ""},
      PerftestOption{0, "run_infinitely", "", kOnlyBandwidth, meaning,
                     "`--duration 0`, a row every -D seconds",
                     "Run test forever, print results every <duration> seconds"},
      PerftestOption{0, "retry_count", "value", kAll, axis, "retry-count", "Set retry count value"},
      PerftestOption{0, "tclass", "value", kAll, axis, "tclass",
                     "Set the Traffic Class in GRH (if GRH is in use)"},
      PerftestOption{0, "flow_label", "fl", kAll, meaning,
                     "`--flow-label`; several: one for each QP, in turn",
                     "Set the flow_label in GRH (if GRH is in use)"},
      PerftestOption{0, "use_cuda", "N", kAll, meaning,
                     "this end's memory is `cuda:N`, by `--gpu-registration pointer-first`",
                     "Use CUDA device N's memory as this end's buffer"},
      PerftestOption{0, "use_cuda_bus_id", "ID", kAll, meaning,
                     "this end's memory is `cuda:ID`, by `--gpu-registration pointer-first`",
                     "Use CUDA device by its bus ID"},
      PerftestOption{0, "cuda_mem_type", "N", kAll, refused, kGpu, ""},
      PerftestOption{0, "use_cuda_dmabuf", "", kAll, meaning, "`--gpu-registration dmabuf`",
                     "Share the CUDA device's memory by a dma-buf"},
      PerftestOption{0, "use_cuda_pcie_mapping", "", kAll, refused, kGpu, ""},
      PerftestOption{0, "use_data_direct", "", kAll, meaning, "`--gpu-registration data-direct`",
                     "With --use_cuda_dmabuf: use mlx5 Data Direct"},
      PerftestOption{0, "use_musa", "N", kAll, refused, kGpu, ""},
      PerftestOption{0, "use_musa_bus_id", "ID", kAll, refused, kGpu, ""},
      PerftestOption{0, "use_musa_dmabuf", "", kAll, refused, kGpu, ""},
      PerftestOption{0, "use_musa_pcie_mapping", "", kAll, refused, kGpu, ""},
      PerftestOption{0, "use_rocm", "N", kAll, meaning,
                     "this end's memory is `rocm:N`, by `--gpu-registration pointer-first`",
                     "Use ROCm device N's memory as this end's buffer"},
      PerftestOption{0, "use_rocm_dmabuf", "", kAll, meaning, "`--gpu-registration dmabuf`",
                     "Share the ROCm device's memory by a dma-buf"},
      PerftestOption{0, "use_neuron", "N", kAll, refused, kGpu, ""},
      PerftestOption{0, "use_neuron_dmabuf", "", kAll, refused, kGpu, ""},
      PerftestOption{0, "use_hl", "N", kAll, refused, kGpu, ""},
      PerftestOption{0, "use_mlu", "N", kAll, refused, kGpu, ""},
      PerftestOption{0, "use_mlu_dmabuf", "", kAll, refused, kGpu, ""},
      PerftestOption{0, "use_opencl", "N", kAll, refused, kGpu, ""},
      PerftestOption{0, "opencl_platform_id", "N", kAll, refused, kGpu, ""},
      PerftestOption{0, "gpu_touch", "WHEN", kAll, refused, kGpu, ""},
      PerftestOption{0, "use_ib_dm_dmabuf", "ib_device", kAll, refused,
                     "use `rdmameter run --memory device` for memory of the RDMA device", ""},
      PerftestOption{0, "use_hugepages", "", kAll, meaning, "`--memory huge`",
                     "Use Hugepages instead of contig, memalign allocations."},
      PerftestOption{0, "use-null-mr", "", kAll, refused,
                     "a null memory region holds no data to measure with; leave it out", ""},
      PerftestOption{0, "wait_destroy", "seconds", kAll, nothing,
                     "what a test made is destroyed when it ends",
                     "accepted: resources are destroyed when the test ends"},
      PerftestOption{0, "disable_pcie_relaxed", "", kAll, meaning, "`--relaxed-ordering off`",
                     "Disable PCIe relaxed ordering"},
      PerftestOption{0, "burst_size", "size", kAll, meaning, "with `--rate_limit`",
                     "Messages between two pauses, with --rate_limit"},
      PerftestOption{0, "typical_pkt_size", "bytes", kAll, refused, kPaced, ""},
      PerftestOption{0, "rate_limit", "rate", kAll, meaning,
                     "no effect on a latency; of a bandwidth where no pause falls due: "
                     "`--burst_size` is at least `-n`, times the QPs",
                     "Accepted where it has no effect: a latency, or a burst of all messages"},
      PerftestOption{0, "rate_units", "units", kAll, refused, kPaced, ""},
      PerftestOption{0, "rate_limit_type", "type", kAll, refused, kPaced, ""},
      PerftestOption{0, "write_with_imm", "", kBandwidth | kLatency | kWrite, meaning,
                     "test `write_imm_bw` or `write_imm_lat`",
                     "Use write-with-immediate verb instead of write"},
      PerftestOption{0, "unsolicited_write", "", kBandwidth | kLatency | kWrite, refused,
                     kOneVendor, ""},
      PerftestOption{0, "send_with_imm", "", kOnlySend, meaning,
                     "test `send_imm_bw` or `send_imm_lat`",
                     "Use send-with-immediate verb instead of send"},

      PerftestOption{'B', "source_mac", "MAC", kAll, refused, kEthernet, ""},
      PerftestOption{'E', "dest_mac", "MAC", kAll, refused, kEthernet, ""},
      PerftestOption{'G', "use_rss", "", kAll, refused, kEthernet, ""},
      PerftestOption{'J', "dest_ip", "ip", kAll, refused, kEthernet, ""},
      PerftestOption{'K', "dest_port", "port", kAll, refused, kEthernet, ""},
      PerftestOption{'k', "source_port", "port", kAll, refused, kEthernet, ""},
      PerftestOption{'Y', "ethertype", "type", kAll, refused, kEthernet, ""},
      PerftestOption{'Z', "server", "", kAll, refused, kEthernet, ""},
      PerftestOption{'P', "client", "", kAll, refused, kEthernet, ""},
      PerftestOption{'v', "mac_fwd", "", kAll, refused, kEthernet, ""},
      PerftestOption{0, "remote_mac", "MAC", kAll, refused, kEthernet, ""},
      PerftestOption{0, "local_mac", "MAC", kAll, refused, kEthernet, ""},
      PerftestOption{0, "remote_ip", "ip", kAll, refused, kEthernet, ""},
      PerftestOption{0, "local_ip", "ip", kAll, refused, kEthernet, ""},
      PerftestOption{0, "remote_port", "port", kAll, refused, kEthernet, ""},
      PerftestOption{0, "local_port", "port", kAll, refused, kEthernet, ""},
      PerftestOption{0, "vlan_en", "", kAll, refused, kEthernet, ""},
      PerftestOption{0, "vlan_pcp", "N", kAll, refused, kEthernet, ""},
      PerftestOption{0, "flows", "N", kAll, refused, kEthernet, ""},
      PerftestOption{0, "flows_burst", "N", kAll, refused, kEthernet, ""},
      PerftestOption{0, "promiscuous", "", kAll, refused, kEthernet, ""},
      PerftestOption{0, "reply_every", "N", kAll, refused, kEthernet, ""},
      PerftestOption{0, "sniffer", "", kAll, refused, kEthernet, ""},
      PerftestOption{0, "tcp", "", kAll, refused, kEthernet, ""},
      PerftestOption{0, "raw_ipv6", "", kAll, refused, kEthernet, ""},
      PerftestOption{0, "raw_mcast", "", kAll, refused, kEthernet, ""},
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
    const std::string_view value = connection ? perftest_connections(tool) : option.value;
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
    const std::string letter = option.letter == 0 ? "" : fmt::format("-{}, ", option.letter);
    text += wrap("", fmt::format("{}--{}", letter, option.name), width) +
            wrap("      ",
                 fmt::format("{}{}{}", fate_text(option.fate), code ? " --" : ": ", option.becomes),
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
    text += fmt::format("| {}`--{}` | {} | {} |\n", letter, option.name, fate_text(option.fate),
                        becomes);
  }
  return text;
}

}  // namespace rdmameter
