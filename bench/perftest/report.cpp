// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/parse_value.h"
#include "core/engine/loop/step.h"
#include "core/instrument/histogram_data.h"
#include "core/result/checked_json.h"
#include "core/result/json_text.h"
#include "core/result/row_json.h"
#include "reports/summary/facts.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

using ReportTable = PerftestReport::Table;
using ReportOutput = PerftestReport::Output;

constexpr double kMib = 1 << 20;
/// Below this perftest prints Gb/s with six decimals.
constexpr double kSmallGbits = 0.1;

bool shows_six_digits(const PerftestReport& report, double average) {
  return report.gbits && average < kSmallGbits;
}

/// From ns of a whole round trip to us of what is shown.
double divisor_of(const LatencyData& latency) {
  return latency.half_round_trip ? 2000 : 1000;
}

PerftestLatency latency_of(const LatencyData& latency) {
  const HistogramData& samples = latency.histogram;
  const double divisor = divisor_of(latency);
  const LatencySummary summary = summarize(samples, divisor);
  // What perftest shows is half of a round trip.
  const double exchange_us = summary.mean * (latency.half_round_trip ? 2 : 1);
  const auto at = [&](double percent) {
    return static_cast<double>(percentile(samples, percent)) / divisor;
  };
  return {.samples = summary,
          .typical = at(50),
          .p99 = at(99),
          .p99_9 = at(99.9),
          .exchanges_per_s = exchange_us == 0 ? 0 : 1e6 / exchange_us};
}

/// Of one direction it is without its warm-up, as perftest's averages are, and at a server what
/// has arrived.
/// @param both  of both directions together
PerftestTraffic traffic_of(const Row& row, bool both, bool server) {
  const BandwidthData& data = *row.bandwidth;
  const PeakData peak = data.peak.value_or(PeakData());
  const bool warm = !both && count_at(row.case_object, "warmup") > 0;
  if (data.traffic_ns == 0 || warm) return {data.messages, data.window_ns, peak};
  const std::uint64_t lost = server && !both ? bandwidth_lost(data).value_or(0) : 0;
  return {data.traffic_messages - std::min(lost, data.traffic_messages), data.traffic_ns, peak};
}

/// "forward" or "backward" of a bidirectional row.
PerftestTraffic direction_of(const CheckedJson& directions, const char* name) {
  const CheckedJson one = directions.at(name);
  PerftestTraffic traffic{one.at("messages").count(), one.at("window_ns").count()};
  if (const auto all = one.find("traffic_messages"))  // a client before that has the window alone
    traffic = {all->count(), one.at("traffic_ns").count()};
  if (const auto best = one.find("peak"))
    traffic.peak = {.messages = best->at("messages").count(),
                    .window_ns = best->at("window_ns").count()};
  return traffic;
}

/// -n, times the QPs; nothing: it went by time, or was interrupted. Our bandwidth posts some more,
/// which fill and empty the queue: scripts look for the number that they asked for.
std::optional<std::uint64_t> asked_iterations(const Row& row) {
  const auto found = row.case_object.find("iterations");
  if (row.interrupted || found == row.case_object.end() || !found->is_number_unsigned())
    return std::nullopt;
  return found->get<std::uint64_t>();
}

std::string cpu_column(const PerftestReport& report, const PerftestNumbers& numbers) {
  return report.cpu_util ? fmt::format("\t    {:<3.2f}\n", numbers.cpu_percent) : "\n";
}

std::string columns_of(const PerftestReport& report) {
  std::string text;
  switch (report.table) {
    case ReportTable::bandwidth:
      text =
          fmt::format(" #bytes     #iterations    BW peak[{0}]    BW average[{0}]   MsgRate[Mpps]",
                      report.gbits ? "Gb/sec" : "MiB/sec");
      break;
    case ReportTable::latency:
      text =
          " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
          "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] ";
      break;
    case ReportTable::latency_duration:
      text = " #bytes        #iterations       t_avg[usec]    tps average";
      break;
  }
  return text + (report.cpu_util ? "    CPU_Util[%]\n" : "\n");
}

std::string latency_row(const PerftestReport& report, const PerftestNumbers& numbers) {
  const PerftestLatency& latency = *numbers.latency;
  const LatencySummary& samples = latency.samples;
  if (report.output == ReportOutput::latency) return fmt::format("{:.6f}\n", samples.mean);
  const std::string text =
      report.table == ReportTable::latency_duration
          ? fmt::format(" {:<7}       {}            {:<7.2f}        {:<7.2f}", numbers.size_bytes,
                        numbers.iterations, samples.mean, latency.exchanges_per_s)
          : fmt::format(
                " {:<7} {}          {:<7.2f}        {:<7.2f}      {:<7.2f}  \t       {:<7.2f}     "
                "\t{:<7.2f}\t\t{:<7.2f} \t\t{:<7.2f}",
                numbers.size_bytes, numbers.iterations, samples.min, samples.max, latency.typical,
                samples.mean, samples.stddev, latency.p99, latency.p99_9);
  return text + cpu_column(report, numbers);
}

std::string bandwidth_row(const PerftestReport& report, const PerftestNumbers& numbers) {
  const auto [average, rate, peak] = perftest_bandwidth(report, numbers);
  if (report.output == ReportOutput::bandwidth) return fmt::format("{:.6f}\n", average);
  if (report.output == ReportOutput::message_rate) return fmt::format("{:.6f}\n", rate);
  const std::string text =
      shows_six_digits(report, average)
          ? fmt::format(" {:<7}    {}           {:<7.6f}            {:<7.6f}            {:<7.6f}",
                        numbers.size_bytes, numbers.iterations, peak, average, rate)
          : fmt::format(" {:<7}    {:<10}       {:<7.2f}            {:<7.2f}\t\t     {:<7.6f}",
                        numbers.size_bytes, numbers.iterations, peak, average, rate);
  return text + cpu_column(report, numbers);
}

std::string both_directions(const PerftestReport& report, const PerftestNumbers& numbers) {
  std::string text;
  // -n; or what a time has brought, which is not the same in both directions.
  const bool by_number = numbers.iterations != numbers.traffic->messages / 2;
  const auto add = [&](const char* title, const PerftestTraffic& traffic) {
    const PerftestNumbers one{.size_bytes = numbers.size_bytes,
                              .iterations = by_number ? numbers.iterations : traffic.messages,
                              .traffic = traffic,
                              .cpu_percent = numbers.cpu_percent};
    text += fmt::format("{0}\n {1}: \n{0}{2}{3}", kPerftestDashes, title, columns_of(report),
                        bandwidth_row(report, one));
  };
  // Each end calls its own direction local; the row is the client's.
  add("Local results", report.server ? *numbers.backward : *numbers.forward);
  add("Remote results", report.server ? *numbers.forward : *numbers.backward);
  return text;
}

}  // namespace

PerftestNumbers perftest_numbers(const Row& row, bool server) {
  const auto size = CheckedJson(row.case_object, "the row: case").find("size_bytes");
  PerftestNumbers numbers{.size_bytes = size ? size->count() : kAtomicBytes};
  if (row.latency) {
    numbers.iterations = row.latency->histogram.count;
    numbers.lost = row.lost;
    numbers.latency = latency_of(*row.latency);
  }
  std::optional<CheckedJson> directions;
  if (row.extra.is_object()) directions = CheckedJson(row.extra, "the row").find("directions");
  if (row.bandwidth) {
    numbers.traffic = traffic_of(row, directions.has_value(), server);
    numbers.iterations =
        asked_iterations(row).value_or(numbers.traffic->messages / (directions ? 2 : 1));
    numbers.lost = bandwidth_lost(*row.bandwidth);
  }
  if (directions) {
    numbers.forward = direction_of(*directions, "forward");
    numbers.backward = direction_of(*directions, "backward");
  }
  return numbers;
}

PerftestNumbers perftest_last(const PerftestReport& report, PerftestNumbers numbers) {
  if (!report.both || !numbers.forward) return numbers;
  const bool by_number = numbers.iterations != numbers.traffic->messages / 2;
  numbers.traffic = report.server ? numbers.forward : numbers.backward;
  if (!by_number) numbers.iterations = numbers.traffic->messages;
  return numbers;
}

PerftestBandwidth perftest_bandwidth(const PerftestReport& report, const PerftestNumbers& numbers) {
  const PerftestTraffic& traffic = *numbers.traffic;
  const auto per_second = [](std::uint64_t messages, std::uint64_t time_ns) {
    return time_ns == 0 ? 0 : static_cast<double>(messages) / (static_cast<double>(time_ns) * 1e-9);
  };
  const auto in_unit = [&](double messages_per_s) {
    const double bytes_per_s = messages_per_s * static_cast<double>(numbers.size_bytes);
    return report.gbits ? bytes_per_s * 8e-9 : bytes_per_s / kMib;
  };
  const double rate = per_second(traffic.messages, traffic.time_ns);
  const double peak = report.peak ? per_second(traffic.peak.messages, traffic.peak.window_ns) : 0;
  return {.average = in_unit(rate), .message_rate = rate * 1e-6, .peak = in_unit(peak)};
}

std::string perftest_header(const PerftestReport& report) {
  if (report.output != ReportOutput::full) return "";
  return std::string(kPerftestDashes) + columns_of(report);
}

std::string perftest_samples(const LatencyData& latency) {
  const HistogramData& samples = latency.histogram;
  const double divisor = divisor_of(latency);
  std::string text = "#, usec\n";
  std::uint64_t number = 0;
  for (const auto& [index, count] : samples.buckets) {
    const std::uint64_t lowest = histogram_lowest(index);
    const std::uint64_t middle = std::clamp(lowest + (histogram_lowest(index + 1) - lowest) / 2,
                                            samples.min_ns, samples.max_ns);
    for (std::uint64_t i = 0; i < count; ++i)
      text += fmt::format("{}, {:g}\n", ++number, static_cast<double>(middle) / divisor);
  }
  return text;
}

bool perftest_fits(const PerftestReport& report, const PerftestNumbers& numbers) {
  if (report.table == ReportTable::bandwidth) return numbers.traffic.has_value();
  return numbers.latency.has_value();
}

std::string perftest_row(const PerftestReport& report, const PerftestNumbers& numbers) {
  if (report.table != ReportTable::bandwidth) return latency_row(report, numbers);
  std::string text = bandwidth_row(report, numbers);
  if (report.both && numbers.forward) text += both_directions(report, numbers);
  return text;
}

std::string perftest_results_json(const PerftestReport& report, const PerftestNumbers& numbers) {
  std::string text = fmt::format("\"results\": {{\n\"MsgSize\": {},\n\"n_iterations\": {}",
                                 numbers.size_bytes, numbers.iterations);
  const auto put = [&](const char* key, double value, int digits = 2) {
    text += fmt::format(",\n\"{}\": {:.{}f}", key, value, digits);
  };
  if (report.table == ReportTable::bandwidth) {
    const auto [average, rate, peak] = perftest_bandwidth(report, numbers);
    const int digits = shows_six_digits(report, average) ? 6 : 2;
    put("BW_peak", peak, digits);
    put("BW_average", average, digits);
    put("MsgRate", rate, 6);
  } else if (report.table == ReportTable::latency_duration) {
    put("t_avg", numbers.latency->samples.mean);
    put("tps_average", numbers.latency->exchanges_per_s);
  } else {
    const PerftestLatency& latency = *numbers.latency;
    put("t_min", latency.samples.min);
    put("t_max", latency.samples.max);
    put("t_typical", latency.typical);
    put("t_avg", latency.samples.mean);
    put("t_stdev", latency.samples.stddev);
    put("percentile_99", latency.p99);
    put("percentile_99.9", latency.p99_9);
  }
  if (report.cpu_util) put("CPU_util", numbers.cpu_percent);
  return text + "\n}";
}

std::string perftest_footer(const PerftestReport& report) {
  return report.output == ReportOutput::full ? std::string(kPerftestDashes) : "";
}

namespace {

/// Before a setting: on a line of its own, or on that of the one before.
constexpr const char *kOwnLine = "\n ", *kBeside = "\t\t";

struct Setting {
  const char* name;  ///< in the block, to the letter; empty: it is not there
  const char* key;   ///< in the file; empty: it is not there
  Json value;        ///< a text or a number
  const char* unit = "";
  const char* before = kOwnLine;
};

const char* on_off(bool on) {
  return on ? "ON" : "OFF";
}

/// Up to which size messages are inlined: what perftest asks for, or what the device took of it. A
/// longer message asks for none.
std::uint64_t inline_shown(const PerftestReport& report, const TestCase& test_case) {
  if (test_case.size_bytes > report.inline_bytes) return report.inline_bytes;
  return std::min(report.inline_bytes, test_case.queues.inline_bytes);
}

std::vector<Setting> settings_of(const PerftestReport& report, const TestCase& test_case,
                                 const Json& environment) {
  const QueueSettings& queues = test_case.queues;
  const EndSettings& end = test_case.end(report.server ? Role::responder : Role::initiator);
  const bool bandwidth = report.table == ReportTable::bandwidth;
  const std::string link = report.link.empty()
                               ? upper_case(value_text(fact_at(environment, "/device/link_layer")))
                               : report.link;
  const bool ethernet = link.starts_with('E');
  std::vector<Setting> all{
      {"Dual-port       ", "Dual_port", "OFF"},
      {"Device         ", "Device", value_text(fact_at(environment, "/device/name")), "", kBeside},
      {"Number of qps   ", "Number_of_qps", test_case.qps},
      {"Transport type ", "Transport_type", report.transport, "", kBeside},
      {"Connection type ", "Connection_type", upper_case(transport_text(test_case))},
      {"Using SRQ      ", "Using_SRQ", on_off(test_case.shared_receives()), "", kBeside},
      {"PCIe relax order", "PCIe_relax_order", on_off(test_case.relaxes_ordering())},
      {"Lock-free      ", "", on_off(queues.thread_domain == 1), "", kBeside},
      {"ibv_wr* API     ", "ibv_wr_API", on_off(test_case.extended_api())},
      {"Using Enhanced Reorder      ", "", "OFF", "", kBeside}};
  const auto add = [&all](bool shown, Setting setting) {
    if (shown) all.push_back(std::move(setting));
  };
  add(!report.server || test_case.bidirectional,
      {"TX depth        ", "TX_depth", bandwidth ? queues.depth : 1});
  add(queues.post_list > 1, {"Post List       ", "Post_List", queues.post_list});
  add(queues.recv_post_list > 1 && report.recv_list_given && test_case.takes_receive(),
      {"Recv Post List  ", "Recv_Post_List", queues.recv_post_list});
  // perftest's client names it only where it receives as well.
  add(test_case.takes_receive() && (report.server || test_case.bidirectional),
      {"RX depth        ", "RX_depth", queues.rx_depth});
  add(bandwidth, {"CQ Moderation   ", "CQ_Moderation", queues.signal_every});
  add(bandwidth, {"CQE Poll Batch  ", "", kCqeBatch});
  const Json mtu = test_case.path.mtu_bytes != kAuto && test_case.path.mtu_bytes != 0
                       ? Json(test_case.path.mtu_bytes)
                       : fact_at(environment, "/device/active_mtu_bytes");
  add(!mtu.is_null(), {"Mtu             ", "Mtu", mtu, "[B]"});
  add(!link.empty(), {"Link type       ", "Link_type", ethernet ? "Ethernet" : "IB"});
  const Json gid =
      end.gid_index != kAuto ? Json(end.gid_index) : fact_at(environment, "/device/gid_index");
  add(!gid.is_null() && perftest_names_gid(report, ethernet),
      {"GID index       ", "GID_index", gid});
  const bool reads = test_case.returns_data();
  add(!reads, {"Max inline data ", "Max_inline_data", inline_shown(report, test_case), "[B]"});
  add(reads && queues.outstanding_reads != kAuto,
      {"Outstand reads  ", "Outstand_reads", queues.outstanding_reads});
  add(true, {"rdma_cm QPs\t ", "rdma_cm_QPs", on_off(test_case.by_cm())});
  if (end.memory.starts_with(kCudaMemory))
    add(true, {"", "cuda_device", parse_count(end.memory.substr(kCudaMemory.size())).value_or(0)});
  const bool rocm = end.memory.starts_with(kRocmMemory);
  add(true, {rocm ? "Use ROCm memory" : "", "Use_ROCm_memory", on_off(rocm)});
  add(true, {"", "Use_MUSA_memory", "OFF"});
  add(true, {"Data ex. method ", "Data_ex_method", test_case.by_cm() ? "rdma_cm" : "Ethernet"});
  add(test_case.by_cm() && test_case.path.traffic_class != 0,
      {"TOS    ", "TOS", test_case.path.traffic_class, "", " \t"});
  return all;
}

}  // namespace

std::string perftest_banner(const PerftestReport& report, const TestCase& test_case,
                            const Json& environment) {
  if (report.output != ReportOutput::full) return "";
  std::string text = fmt::format("{}                    {}", kPerftestDashes, report.title);
  if (test_case.wait == Wait::event)
    text +=
        fmt::format("{}Test with events. Using {}_comp{}", kOwnLine,
                    value_text(fact_at(environment, "/device/name")), test_case.queues.comp_vector);
  if (test_case.multicast()) text += fmt::format("{}MultiCast runs on UD!", kOwnLine);
  for (const Setting& setting : settings_of(report, test_case, environment))
    if (*setting.name != '\0')
      text += fmt::format("{}{}: {}{}", setting.before, setting.name, value_text(setting.value),
                          setting.unit);
  text += '\n';
  if (report.server && test_case.by_cm())
    text += fmt::format(
        "{} Waiting for client rdma_cm QP to connect\n"
        " Please run the same command with the IB/RoCE interface IP\n",
        kPerftestDashes);
  return text + std::string(kPerftestDashes);
}

std::string perftest_test_info(const PerftestReport& report, const TestCase& test_case,
                               const Json& environment) {
  std::string title = report.title;
  std::ranges::replace(title, ' ', '_');
  std::string text = fmt::format("\"test_info\": {{\n\"test\": \"{}\"", title);
  const auto put = [&text](const char* key, const Json& value) {
    text += fmt::format(",\n\"{}\": {}", key, json_text(value));
  };
  if (test_case.wait == Wait::event)
    put("Test with events",
        fmt::format("Using_{}_comp{}", value_text(fact_at(environment, "/device/name")),
                    test_case.queues.comp_vector));
  if (test_case.multicast()) put("MultiCast_runs", "on_UD");
  for (const Setting& setting : settings_of(report, test_case, environment))
    if (*setting.key != '\0') put(setting.key, setting.value);
  return text + "\n}";
}

}  // namespace rdmameter
