// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "bench/perftest/cases.h"
#include "bench/perftest/tool.h"
#include "core/base/error.h"
#include "core/base/ip_address.h"
#include "core/base/parse_value.h"
#include "core/result/row_json.h"
#include "core/test_case/flow_label.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

using ToolOperation = PerftestTool::Operation;

// perftest's defaults (src/perftest_parameters.h).
constexpr std::uint64_t kPerftestDepth = 128, kPerftestRxDepth = 512, kPerftestCqMod = 100;
constexpr std::uint64_t kPerftestIterations = 1000, kPerftestWriteBwIterations = 5000;
constexpr std::uint64_t kPerftestSize = 65536, kPerftestLatencySize = 2;
constexpr std::uint64_t kPerftestSeconds = 5;  ///< between rows of --run_infinitely
/// Beyond it perftest asks for a completion of every message, unless -Q says otherwise.
constexpr std::uint64_t kModeratedBytes = 8192;
/// Receives of UC and UD: as many as there are messages, up to this.
constexpr std::uint64_t kMaxUnreliableReceives = 16000;
/// perftest's bound on -I over UD.
constexpr std::uint64_t kMaxInlineOfDatagrams = 1024;
/// Of a QP; of more perftest measures no peak.
constexpr std::uint64_t kMaxIterationsOfPeak = 20000;

// By operation; of atomics the default ones.
constexpr auto kTestNames = names_to<ToolOperation::atomic>("send", "write", "read", "fetch_add");
constexpr auto kTestTitles =
    names_to<ToolOperation::atomic>("Send", "RDMA_Write", "RDMA_Read", "Atomic FETCH_AND_ADD");

UsageError invalid(std::string_view option, std::string_view typed, std::string_view expected) {
  return invalid_value(perftest_option(option).text(), typed, expected);
}

PerftestReport::Output output_named(const std::string& name, bool bandwidth) {
  using Output = PerftestReport::Output;
  if (bandwidth && name == "bandwidth") return Output::bandwidth;
  if (bandwidth && name == "message_rate") return Output::message_rate;
  if (!bandwidth && name == "latency") return Output::latency;
  throw invalid("output", name, bandwidth ? "bandwidth or message_rate" : "latency");
}

class Translation {
 public:
  explicit Translation(const PerftestCommand& command) : plan_{command} {}

  PerftestPlan plan() {
    choose_test();
    choose_length();
    choose_sizes();
    if (tool_.bandwidth) choose_queues();
    choose_receives();
    choose_posting();
    check_pace();
    choose_memory();
    choose_path();
    choose_ends();
    choose_report();
    choose_peak();
    add_notes();
    return std::move(plan_);
  }

 private:
  bool has(std::string_view option) const { return plan_.has(option); }
  bool datagrams() const { return connection_ == "UD"; }
  bool by_time() const { return has("duration") || has("run_infinitely"); }

  /// A value on one of our axes, which was `typed` for perftest's option.
  void put(std::string_view option, std::string_view axis_name, const std::string& typed) {
    const Axis& axis = *find_axis(axis_name);
    const std::string text = decimal_text(typed);
    TestCase scratch = plan_.tests.front()->default_case();
    try {
      set_axis(scratch, axis, text);
    } catch (const UsageError&) {
      throw invalid(option, typed, accepts_text(axis));
    }
    plan_.axes.push_back({&axis, {text}});
  }
  void put(std::string_view axis_name, const std::string& text) {
    plan_.axes.push_back({find_axis(axis_name), {text}});
  }
  void put(std::string_view axis_name, std::uint64_t number) {
    put(axis_name, std::to_string(number));
  }
  void put_flag(std::string_view option, std::string_view axis_name, const char* text) {
    if (has(option)) put(axis_name, text);
  }
  void put_given(std::string_view option, std::string_view axis_name) {
    if (const auto typed = plan_.value(option)) put(option, axis_name, *typed);
  }
  /// @throws UsageError  the option is given, and not what it needs
  void require(std::string_view option, bool there, std::string_view with) const {
    if (has(option) && !there)
      throw UsageError("{}: it goes with {}", perftest_option(option).text(), with);
  }
  void refuse_both(std::string_view one, std::string_view other) const {
    if (has(one) && has(other))
      throw UsageError("{} and {}: give one", perftest_option(one).text(),
                       perftest_option(other).text());
  }
  /// A whole number within an axis's range, or `otherwise` where the option was not given.
  std::uint64_t number(std::string_view option, std::string_view axis_name,
                       std::uint64_t otherwise) {
    const auto typed = plan_.value(option);
    if (!typed) return otherwise;
    const Axis& axis = *find_axis(axis_name);
    const bool bytes = axis.kind == AxisKind::bytes;
    const std::string text = decimal_text(*typed);
    const auto value = bytes ? parse_bytes(text) : parse_count(text);
    if (!value || *value < axis.min || *value > axis.max)
      throw invalid(
          option, *typed,
          fmt::format("{} from {} to {}", bytes ? "bytes" : "a whole number", axis.min, axis.max));
    return *value;
  }
  std::optional<double> decimal(std::string_view option) {
    const auto typed = plan_.value(option);
    if (!typed) return std::nullopt;
    const double value = number_and_unit(*typed).first;  // without its unit, as in "100M"
    if (!(value >= 0)) throw invalid(option, *typed, "a decimal number of 0 or more");
    return value;
  }

  /// Which of our tests; "RDMA_Write BW Test" is what perftest calls it.
  void choose_test() {
    refuse_both("send_with_imm", "mcg");
    const std::string imm = has("send_with_imm") || has("write_with_imm") ? "_imm" : "";
    std::string name = std::string(name_in(kTestNames, tool_.operation)) + imm;
    std::string title = std::string(name_in(kTestTitles, tool_.operation)) + imm;
    if (has("mcg")) name = "mcast";
    if (const auto type = plan_.value("atomic_type")) {
      if (type != "FETCH_AND_ADD" && type != "CMP_AND_SWAP")
        throw invalid("atomic_type", *type, "CMP_AND_SWAP or FETCH_AND_ADD");
      if (type == "CMP_AND_SWAP") name = "cmp_swap";
      title = "Atomic " + *type;
    }
    plan_.tests = select_tests(std::array{name + (tool_.bandwidth ? "_bw" : "_lat")});
    if (has("bidirectional")) title += " Bidirectional";
    if (number("post_list", "post-list", 1) > 1) title += " Post List";
    plan_.report.title = fmt::format("{} {}{} Test", title, tool_.bandwidth ? "BW" : "Latency",
                                     has("mcg") ? " Multicast" : "");
    connection_ = plan_.value("connection").value_or(has("mcg") ? "UD" : "RC");
    const auto accepted = split(tool_.connections, "/");
    if (std::ranges::find(accepted, connection_) == accepted.end())
      throw invalid("connection", connection_,
                    fmt::format("{}, which {} can use here", tool_.connections, tool_.name));
    put("transport", connection_ == "RC" ? "rc" : connection_ == "UC" ? "uc" : "ud");
    if (!tool_.bandwidth && connection_ != "RC") put("loss-timeout", std::string(kPongIsLostAfter));
  }

  /// perftest counts the messages of each QP, we those of all.
  void choose_length() {
    const bool many = tool_.operation == ToolOperation::write && tool_.bandwidth;
    iterations_ =
        number("iters", "iterations", many ? kPerftestWriteBwIterations : kPerftestIterations);
    for (const auto& [option, axis] : {std::pair{"qp", "qps"},
                                       {"post_list", "post-list"},
                                       {"recv_post_list", "recv-post-list"}}) {
      const std::uint64_t value = number(option, axis, 1);  // of a bandwidth it is checked, too
      if (value != 1 && !tool_.bandwidth)
        throw UsageError("{}: a latency test takes 1 alone; use {}_bw for more",
                         perftest_option(option).text(),
                         tool_.name.substr(0, tool_.name.rfind('_')));
    }
    qps_ = number("qp", "qps", 1);
    number("tx-depth", "depth", kPerftestDepth);  // of a latency they are checked, and do nothing
    number("cq-mod", "signal-every", kPerftestCqMod);
    put("qps", qps_);
    const bool sends = tool_.operation == ToolOperation::send;  // perftest's ib_send_bw has none
    const bool warm = has("perform_warm_up") && !(sends && tool_.bandwidth);
    put("warmup", !warm ? "0" : tool_.bandwidth ? "256" : "100");
    if (has("run_infinitely")) {
      put("duration", "0");
      put("interval", number("duration", "iterations", kPerftestSeconds));
    } else if (has("duration")) {
      put("duration", number("duration", "iterations", 0));
    } else {
      if (iterations_ > std::numeric_limits<std::uint64_t>::max() / qps_)
        throw UsageError("-n, --iters: too many for so many QPs");
      put("iters", "iterations", std::to_string(iterations_ * qps_));
    }
  }

  void choose_sizes() {
    const bool atomic = tool_.operation == ToolOperation::atomic;
    size_ = number("size", "size",
                   atomic            ? kAtomicBytes
                   : tool_.bandwidth ? kPerftestSize
                                     : kPerftestLatencySize);
    if (atomic && size_ != kAtomicBytes)
      throw UsageError("-s, --size: an atomic is of {} bytes", kAtomicBytes);
    if (has("all")) {
      std::vector<std::string> sizes;
      for (unsigned bit = 1; bit < 24; ++bit) sizes.push_back(std::to_string(1ULL << bit));
      plan_.axes.push_back({find_axis("size"), std::move(sizes)});
    } else if (!atomic) {
      put("size", size_);
    }
  }

  /// As force_dependecies() of perftest does it.
  void choose_queues() {
    const std::uint64_t list = number("post_list", "post-list", 1);
    std::uint64_t depth = number("tx-depth", "depth", kPerftestDepth);
    if (!by_time()) depth = std::min(depth, iterations_);
    std::uint64_t every = number("cq-mod", "signal-every", kPerftestCqMod);
    if (!has("cq-mod")) {
      // -g alone is UD, too, but perftest looks before it knows.
      const bool says_datagrams = plan_.value("connection") == "UD";
      if (size_ > kModeratedBytes && !has("all") && !says_datagrams && !has("events")) every = 1;
      if (list > 1) every = list;
    }
    every = std::min(every, depth);
    // The queue must hold every - 1 requests without a completion, and one more list.
    if (depth < every - 1 + list) {
      depth = every - 1 + list;
      plan_.notes.push_back(fmt::format(
          "-t, --tx-depth: the send queue has {} entries, which -l and -Q need here", depth));
    }
    tx_depth_ = depth;
    put("depth", depth);
    put("signal-every", every);
    put("post-list", list);
    if (has("bidirectional")) put("bidirectional", "on");
  }

  void choose_receives() {
    const bool unreliable = connection_ != "RC";
    const bool pulls =
        tool_.operation == ToolOperation::read || tool_.operation == ToolOperation::atomic;
    std::uint64_t depth = number("rx-depth", "rx-depth", pulls ? 1 : kPerftestRxDepth);
    if (pulls && depth != 1)
      throw UsageError("-r, --rx-depth: reads and atomics take 1 alone: they need no receives");
    if (!has("rx-depth") && unreliable && !by_time())
      depth = std::max(depth, std::min(iterations_, kMaxUnreliableReceives));
    // Those that fill and empty the queue come, too, and one that finds no receive is lost.
    const std::uint64_t beyond = unreliable && !has("rx-depth") ? 3 * tx_depth_ : 0;
    if (!by_time()) depth = std::min(depth, iterations_ + beyond);
    if (depth % 2 == 1 && !pulls && !has("all") && !has("run_infinitely")) ++depth;
    const std::uint64_t list = number("recv_post_list", "recv-post-list", 1);
    if (list > 1) {
      depth = (depth + list - 1) / list * list;
      put("recv-post-list", list);
    }
    put("rx-depth", depth);
    put_flag("use-srq", "recv", "srq");
    put("thread-domain", has("no_lock") ? "on" : "off");
  }

  void choose_posting() {
    put("api", has("use_old_post_send") ? "classic" : "extended");
    PerftestReport& report = plan_.report;
    if (const auto typed = plan_.value("inline_size")) {  // of which 0 is none
      const bool none = parse_count(decimal_text(*typed)) == 0;
      report.inline_bytes = none ? 0 : number("inline_size", "inline", 0);
      if (datagrams()) report.inline_bytes = std::min(report.inline_bytes, kMaxInlineOfDatagrams);
    } else if (gpu_option().empty()) {  // the CPU copies inline data, and reaches no GPU
      report.inline_bytes = datagrams() ? tool_.datagram_inline_bytes : tool_.inline_bytes;
    }
    put("inline", report.inline_bytes == 0 ? "off" : std::to_string(report.inline_bytes));
  }

  /// What perftest's software limiter does to a latency, and in a run of one burst: nothing.
  void check_pace() {
    require("burst_size", has("rate_limit"), "--rate_limit");
    if (!has("rate_limit")) return;
    if (has("rdma_cm")) throw UsageError("--rate_limit: perftest has none with -R");
    if (*decimal("rate_limit") <= 0)
      throw invalid("rate_limit", *plan_.value("rate_limit"), "a decimal number above 0");
    const std::string typed = plan_.value("burst_size").value_or("0");
    const auto burst = parse_count(decimal_text(typed));
    if (!burst || *burst > std::numeric_limits<int>::max())
      throw invalid("burst_size", typed, "a whole number");
    if (!tool_.bandwidth || (!by_time() && *burst >= iterations_ * qps_)) return;
    throw UsageError("--rate_limit: {}", kPerftestPaced);
  }

  void choose_memory() {
    const bool plain_write_lat =
        tool_.operation == ToolOperation::write && !tool_.bandwidth && !has("write_with_imm");
    // A plain write's latency finds a message by its last byte, which must be the last to arrive.
    const bool relaxed = !plain_write_lat && !has("disable_pcie_relaxed") &&
                         plan_.value("ib-dev") != kPerftestNullDevice;
    put("relaxed-ordering", relaxed ? "on" : "off");
    refuse_both("use_hugepages", "mmap");
    put_flag("use_hugepages", "memory", "huge");
    put_flag("use_hugepages", "peer-memory", "huge");
    if (has("mmap")) {
      if (plan_.host.empty())
        throw UsageError("--mmap: the server maps no file; give it to the client only");
      put("mmap", "memory", std::string(kFileMemory) + *plan_.value("mmap"));
    }
    choose_gpu();
    put_flag("odp", "odp", "on");
    put_flag("mr_per_qp", "mr-per-qp", "on");
    put_flag("data_validation", "verify", "on");
  }

  /// The option that names this end's GPU; empty: none does.
  std::string_view gpu_option() const {
    for (const char* name : {"use_cuda", "use_cuda_bus_id", "use_rocm"})
      if (has(name)) return name;
    return {};
  }

  void choose_gpu() {
    const std::string_view option = gpu_option();
    const bool rocm = option == "use_rocm";
    require("use_cuda_dmabuf", !option.empty() && !rocm, "--use_cuda");
    require("use_rocm_dmabuf", rocm, "--use_rocm");
    require("use_data_direct", has("use_cuda_dmabuf"), "--use_cuda_dmabuf");
    if (option.empty()) return;
    refuse_both("use_cuda", "use_cuda_bus_id");
    const std::string which = *plan_.value(option);
    const bool by_place = has("use_cuda_bus_id");
    if (by_place ? which.find(':') == which.npos : !parse_count(which))
      throw invalid(option, which,
                    by_place ? "a place such as 0000:17:00.0" : "the number of a GPU, from 0");
    if (has("use_hugepages") || has("mmap") || (!rocm && has("use_rocm")))
      throw UsageError("--use_cuda, --use_rocm, --use_hugepages and --mmap: give one");
    put(option, plan_.host.empty() ? "peer-memory" : "memory",
        fmt::format("{}{}", rocm ? kRocmMemory : kCudaMemory, which));
    put(option, "gpu-registration",
        has("use_data_direct")                             ? "data-direct"
        : has("use_cuda_dmabuf") || has("use_rocm_dmabuf") ? "dmabuf"
                                                           : "pointer-first");
  }

  /// One for all QPs, or one for each in turn.
  void put_flow_labels(const std::string& typed) {
    if (typed.find(',') == typed.npos) return put("flow_label", "flow-label", typed);
    const auto labels = parse_flow_labels(std::string(kLabelsPerQp) + typed);
    if (!labels)
      throw invalid("flow_label", typed,
                    fmt::format("whole numbers from 0 to {}, separated by commas", kMaxFlowLabel));
    put("flow-label", flow_labels_text(*labels));
  }

  void choose_path() {
    for (const auto& [name, typed] : plan_.given) {
      const PerftestOption& option = perftest_option(name);
      if (option.fate == PerftestOption::Fate::axis) put(name, option.becomes, typed);
    }
    if (has("ipv6") && !has("gid-index"))  // it chooses among the GIDs where -x does not
      throw UsageError(
          "--ipv6: use -x with the index of an IPv6 GID (`rdmameter devices` lists them)");
    put_flag("rdma_cm", "connect", "cm");
    require("tos", has("rdma_cm"), "-R, --rdma_cm; else use --tclass");
    refuse_both("tos", "tclass");
    put_given("tos", "tclass");
    if (const auto label = plan_.value("flow_label")) put_flow_labels(*label);
    require("MGID", has("mcg"), "-g, --mcg");
    put_given("MGID", "group");
    if (has("events") && tool_.operation == ToolOperation::write && !has("write_with_imm"))
      throw UsageError("-e, --events: of writes it goes with --write_with_imm alone");
    put_flag("events", "wait", "event");
    require("vector", has("events"), "-e, --events");
    put_given("vector", "comp-vector");
  }

  /// Each end chooses its own device, as in perftest.
  void choose_ends() {
    if (plan_.host.empty() && plan_.value("ib-dev") == kPerftestNullDevice)
      throw UsageError("-d null: the null device has no server; name a host, which is not asked");
    if (const auto port = plan_.value("port"))
      plan_.port =
          static_cast<std::uint16_t>(read_count(perftest_option("port").text(), *port, 1, 65535));
    put_given("ib-dev", "device");
    put_given("ib-port", "port-num");
    put_given("gid-index", "gid-index");
    put_given("pin_cores", "core");
    if (!has("pin_cores")) put_flag("disable_numa", "core", "off");
    TestCase scratch = plan_.tests.front()->default_case();
    for (const GivenAxis& given : plan_.axes)
      if (given.values.size() == 1) set_axis(scratch, *given.axis, given.values.front());
    plan_.own = {scratch.initiator, scratch.registration.gpu};
    // A server's GPU is its own to choose; other memory is the client's.
    const bool own_gpu = plan_.host.empty() && is_gpu(scratch.responder.memory);
    plan_.own.memory = own_gpu ? scratch.responder.memory : std::string();
    for (const char* option : {"bind_source_ip", "source_ip"})
      if (const auto typed = plan_.value(option); typed && !IpAddress::parse(without_scope(*typed)))
        throw invalid(option, *typed, "a numeric address");
    const auto own = plan_.host.empty() ? plan_.value("source_ip") : std::nullopt;  // a server's
    plan_.address = plan_.value("bind_source_ip").value_or(own.value_or(""));
  }

  /// As perftest takes it: by its beginning, in any case.
  static std::string forced_link(const std::string& typed) {
    const std::string link = upper_case(typed);
    if (link.starts_with("IB")) return "IB";
    if (link.starts_with("ETHERNET")) return "ETHERNET";
    throw invalid("force-link", typed, "IB or Ethernet");
  }

  void choose_report() {
    PerftestReport& report = plan_.report;
    const bool lasts = has("duration");
    report.table = tool_.bandwidth ? PerftestReport::Table::bandwidth
                   : lasts         ? PerftestReport::Table::latency_duration
                                   : PerftestReport::Table::latency;
    report.gbits = has("report_gbits");
    report.samples = has("report-histogram") && !lasts;  // of a time perftest shows none
    report.both = has("report-both");
    report.cpu_util = has("cpu_util") && lasts;  // without -D perftest has no such column, either
    report.intervals = has("run_infinitely");
    report.gid_given = has("gid-index");
    if (const auto link = plan_.value("force-link")) report.link = forced_link(*link);
    report.recv_list_given = has("recv_post_list");
    require("report-both", has("bidirectional"), "-b, --bidirectional");
    if (const auto output = plan_.value("output"))
      report.output = output_named(*output, tool_.bandwidth);
    if (has("out_json")) plan_.json = kPerftestJson;
    if (const auto file = plan_.value("out_json_file")) plan_.json = *file;
    plan_.limits.bandwidth = decimal("limit_bw");
    plan_.limits.rate = decimal("limit_msgrate");
  }

  /// Where perftest has none, it says so, unless none is wanted.
  void choose_peak() {
    if (!tool_.bandwidth || has("noPeak")) return;
    const bool receives = tool_.operation == ToolOperation::send || has("write_with_imm");
    plan_.report.peak = !by_time() && iterations_ <= kMaxIterationsOfPeak &&
                        !(receives && plan_.host.empty() && !has("bidirectional"));
    if (plan_.report.peak) plan_.report.peak = perftest_cases(plan_).front().test_case.peak;
    plan_.warns_of_no_peak = !plan_.report.peak;
  }

  /// Only what changes how a number is to be read.
  void add_notes() {
    std::vector<std::string>& notes = plan_.notes;
    if (plan_.host.empty() || plan_.report.output != PerftestReport::Output::full) return;
    if (plan_.report.table == PerftestReport::Table::latency)
      notes.emplace_back(
          "t_max is the largest sample, and t_avg, t_stdev and percentiles are of all samples "
          "(perftest leaves out the two largest)");
    if (has("duration") && !has("run_infinitely"))
      notes.emplace_back("-D: all of it is measured (perftest leaves out its begin and its end)");
    if (has("duration") && !tool_.bandwidth)
      notes.emplace_back("-D: percentiles are in the file of --out_json_file");
    if (const auto size = plan_.value("size"); size && !parse_count(decimal_text(*size)))
      notes.push_back(fmt::format("-s, --size: {} is {} bytes", *size, size_));
    if (!plan_.json.empty())
      notes.push_back(fmt::format(
          "{} holds rdmameter's result; of perftest's keys it has `test_info` and `results`",
          plan_.json));
  }

  PerftestPlan plan_;
  const PerftestTool& tool_ = *plan_.tool;
  std::string connection_ = "RC";
  std::uint64_t iterations_ = 0;  ///< of one QP
  std::uint64_t tx_depth_ = 0;    ///< of a bandwidth
  std::uint64_t qps_ = 1, size_ = 0;
};

}  // namespace

PerftestPlan translate(const PerftestCommand& command) {
  return Translation(command).plan();
}

}  // namespace rdmameter
