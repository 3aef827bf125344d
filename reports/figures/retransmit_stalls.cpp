// SPDX-License-Identifier: Apache-2.0
#include "reports/figures/retransmit_stalls.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>

#include "core/instrument/histogram_data.h"
#include "reports/summary/facts.h"
#include "reports/summary/metric.h"
#include "reports/text/table.h"

namespace rdmameter {
namespace {

/// [us]
constexpr double kRnrTimers[32] = {655360, 10,    20,    30,     40,     60,     80,     120,
                                   160,    240,   320,   480,    640,    960,    1280,   1920,
                                   2560,   3840,  5120,  7680,   10240,  15360,  20480,  30720,
                                   40960,  61440, 81920, 122880, 163840, 245760, 327680, 491520};

/// What the drivers of the ends that send requests counted over all repetitions.
struct Counted {
  bool all = false;  ///< else an event that is not here may have happened all the same
  std::array<std::uint64_t, kStallCauses + 1> events{};  ///< by StallCause

  /// @param cause  not unknown
  std::uint64_t of(StallCause cause) const { return events[static_cast<std::size_t>(cause)]; }
};

bool mixes_sends(const CaseSummary& summary) {
  const Json& mix = fact_at(summary.case_object, "mix");
  return mix.is_string() && mix.get<std::string>().find("send:") != std::string::npos;
}

/// Does that end send requests on which a sample waits? A responder does where it answers each.
/// @param end  "initiator" or "responder"
bool sends_requests(const CaseSummary& summary, std::string_view end) {
  if (end == "initiator") return true;
  const std::string test = test_of(summary.first());
  const bool one_sided = test.starts_with("read_") || test.starts_with("fetch_add_") ||
                         test.starts_with("cmp_swap_") || test.starts_with("flush_") ||
                         test == "write_load" || (test == "mix_load" && !mixes_sends(summary));
  return !one_sided && !test.ends_with("_cqe_lat") && !test.ends_with("_bw");
}

/// @param counted  nullptr: the end's events are no cause of stalls
void note(RetransmitReport& report, Counted* counted, std::string_view end, const std::string& name,
          std::uint64_t events) {
  const LossCounterInfo* known = find_loss_counter(name);
  if (known == nullptr || events == 0) return;
  if (counted != nullptr) counted->events[static_cast<std::size_t>(known->event)] += events;
  // A known name is printable.
  LossCounter& counter = entry_of(report.counters, fmt::format("{} {}", end, name));
  counter.events += events;
  counter.meaning = known->meaning;
}

Counted count(const CaseSummary& summary, std::span<const UncountedEnd> uncounted,
              RetransmitReport& report) {
  Counted counted;
  for (const Row* row : summary.repetitions)
    for (const char* end : {"initiator", "responder"}) {
      const auto& counters = fact_at(row->device_counters, end);
      if (!counters.is_object()) continue;
      report.counted = true;
      const bool may_stall = sends_requests(summary, end);
      if (may_stall) counted.all = true;
      for (const auto& [name, value] : counters.items())
        if (value.is_number_integer())
          note(report, may_stall ? &counted : nullptr, end, name, value.get<std::uint64_t>());
    }
  auto& [timeouts, rnr_naks, sequence_naks, others, retries] = counted.events;
  timeouts += retries - std::min(retries, sequence_naks);  // rxe counts both in one
  if (std::ranges::any_of(
          uncounted, [&](const UncountedEnd& each) { return sends_requests(summary, each.end); }))
    counted.all = false;
  return counted;
}

std::optional<std::uint64_t> setting(const CaseSummary& summary, const char* key) {
  const auto& value = fact_at(summary.case_object, key);
  return value.is_number_integer() ? std::optional(value.get<std::uint64_t>()) : std::nullopt;
}

/// How far from the timer or a few times as much, as a share of that; nothing: too short for one.
Number misfit(double stall_ns, const Number& timer_ns) {
  constexpr double kEarly = 0.05;   // the median is an estimate, and timers have a grain
  constexpr double kMostTimes = 4;  // any length is near a large multiple
  if (!timer_ns || stall_ns < (1 - kEarly) * *timer_ns) return std::nullopt;
  const double times = std::clamp(std::floor(stall_ns / *timer_ns + kEarly), 1.0, kMostTimes);
  return std::abs(stall_ns / *timer_ns - times) / times;
}

/// Nothing: the cause has no timer, or none is set.
Number timer_of(const RetransmitReport& report, StallCause cause) {
  return cause == StallCause::timeout ? report.timeout_ns
         : cause == StallCause::rnr   ? report.rnr_ns
                                      : std::nullopt;
}

struct RetransmitStall {
  double ns;
  std::uint64_t samples;
  StallCause cause = StallCause::unknown;
  double misfit = 0;
};

/// What a sample may be longer than its timer.
constexpr double kAlike = 0.15;

/// The misfit where the cause may be one of the stall.
Number possible(double stall_ns, StallCause cause, const RetransmitReport& report,
                const Counted& counted) {
  const auto off = misfit(stall_ns, timer_of(report, cause));
  if (counted.of(cause) > 0) return off;
  return counted.all || !off || *off > kAlike ? std::nullopt : off;
}

void judge_stall(RetransmitStall& stall, const RetransmitReport& report, const Counted& counted) {
  using enum StallCause;
  const auto as_timeout = possible(stall.ns, timeout, report, counted);
  const auto as_rnr = possible(stall.ns, rnr, report, counted);
  if (as_timeout && as_rnr) {
    const bool timeout_fits = *as_timeout <= kAlike, rnr_fits = *as_rnr <= kAlike;
    if (timeout_fits == rnr_fits) return;
    stall.cause = timeout_fits ? timeout : rnr;
  } else if (as_timeout || as_rnr) {
    stall.cause = as_timeout ? timeout : rnr;
  } else if (counted.of(sequence_nak) > 0 && !misfit(stall.ns, report.timeout_ns) &&
             !misfit(stall.ns, report.rnr_ns)) {
    stall.cause = sequence_nak;
  }
  stall.misfit = as_timeout.value_or(as_rnr.value_or(-stall.ns));  // of NAKs the longest come first
}

/// Of each cause at most as many as were counted, the best fits first.
void keep_to(const Counted& counted, std::vector<RetransmitStall>& stalls) {
  auto left = counted.events;
  std::ranges::stable_sort(stalls, {}, &RetransmitStall::misfit);
  std::vector<RetransmitStall> beyond;
  for (RetransmitStall& stall : stalls) {
    if (stall.cause == StallCause::unknown) continue;
    std::uint64_t& of_cause = left[static_cast<std::size_t>(stall.cause)];
    const std::uint64_t kept = std::min(of_cause, stall.samples);
    of_cause -= kept;
    if (kept < stall.samples) beyond.push_back({stall.ns, stall.samples - kept});
    stall.samples = kept;
  }
  stalls.insert(stalls.end(), beyond.begin(), beyond.end());
}

double middle_ns(const HistogramData& samples, std::uint32_t bucket) {
  const std::uint64_t middle =
      std::midpoint(histogram_lowest(bucket), histogram_lowest(bucket + 1));
  return static_cast<double>(std::clamp(middle, samples.min_ns, samples.max_ns));
}

RetransmitStalls sum_up(const std::vector<RetransmitStall>& stalls, StallCause cause) {
  std::map<double, std::uint64_t> samples_of_ns;
  for (const RetransmitStall& stall : stalls)
    if (stall.cause == cause && stall.samples > 0) samples_of_ns[stall.ns] += stall.samples;
  RetransmitStalls all;
  for (const auto& [ns, samples] : samples_of_ns) all.samples += samples;
  std::uint64_t before = 0;
  for (const auto& [ns, samples] : samples_of_ns) {
    if (2 * before < all.samples) all.median_ns = ns;
    all.max_ns = ns;
    before += samples;
  }
  return all;
}

/// Names of Linux' drivers: mlx5 (`local_ack_timeout_err`...), mlx4 (`sq_num_to`...), bnxt_re, EFA,
/// rxe, mana (`requester_timeout`...), irdma (`tcpRetransSegs`...), hns, erdma, cxgb4
/// (`ip4RetransSegs`). TCP retransmits by timers of its own: these of iWARP tell of no --qp-timeout.
constexpr LossCounterInfo kLossCounters[] = {
    {"no acknowledgement within --qp-timeout",
     {"local_ack_timeout_err", "requester_timeout", "sq_num_to"},
     StallCause::timeout},
    {"sent again after a timeout", {"to_retransmits"}, StallCause::timeout},
    {"timeouts of the device's own transport", {"retrans_timeout_events"}, StallCause::timeout},
    {"NAKs: a packet before this one is missing",
     {"requester_oos_nak", "packet_seq_err", "rcvd_seq_err", "seq_err_naks_rcvd", "sq_num_oos"},
     StallCause::sequence_nak},
    {"a response is missing",
     {"requester_implicit_nak", "implied_nak_seq_err"},
     StallCause::sequence_nak},
    {"RNR NAKs: the peer had no receive",
     {"requester_rnr_nak", "rnr_nak_retry_err", "rcvd_rnr_err", "rnr_naks_rcvd", "sq_num_rnr"},
     StallCause::rnr},
    {"sent again after a timeout or a sequence NAK", {"completer_retry_err"}, StallCause::retry},
    {"RNR NAKs sent: no receive was here", {"responder_rnr_nak", "send_rnr_err", "rq_num_rnr"}},
    {"requests that came out of order", {"responder_oos", "out_of_seq_request", "rq_num_oos"}},
    {"requests that came twice: an answer was lost or late",
     {"responder_dup_request", "duplicate_request", "dup_req", "rq_num_dup"}},
    {"requests given up after all retries",
     {"requester_retries_exceeded", "retry_exceeded_err", "max_retry_exceeded", "sq_num_tree"}},
    {"requests given up after all RNR retries",
     {"requester_rnr_nak_retries_exceeded", "sq_num_rree"}},
    {"packets that a switch marked: congestion (ECN)",
     {"received_ecns", "RxECNMrkd", "np_ecn_marked_roce_packets", "rx_ecn_marked_pkts"}},
    {"CNPs sent: the peer is told of congestion",
     {"sent_cnps", "cnpSent", "tx_cnp_pkt", "np_cnp_sent", "tx_cnp_pkts"}},
    {"CNPs received: this end slowed down",
     {"received_cnps", "cnpHandled", "rx_cnp_pkt", "rp_cnp_handled", "rx_cnp_pkts"}},
    {"TCP segments sent again", {"tcpRetransSegs"}},
    {"TCP segments sent again, over IPv4", {"ip4RetransSegs"}},
    {"TCP segments sent again, over IPv6", {"ip6RetransSegs"}},
    {"packets of IPv4 that came and were dropped", {"ip4InDiscards"}},
    {"packets of IPv6 that came and were dropped", {"ip6InDiscards"}},
    {"CNPs received and ignored", {"cnpIgnored", "rp_cnp_ignored"}},
    {"packets with errors", {"rx_err_pkt", "port_rcv_errors"}},
    {"packets dropped by the instance's limit of bits",
     {"tx_bps_limit_drop_cnt", "rx_bps_limit_drop_cnt"}},
    {"packets dropped by the instance's limit of packets",
     {"tx_pps_limit_drop_cnt", "rx_pps_limit_drop_cnt"}},
    {"packets dropped, as sending was disabled", {"tx_disable_drop_cnt"}},
    {"packets dropped, as receiving was disabled", {"rx_disable_drop_cnt"}},
    {"messages that found no receive here", {"out_of_buffer"}},
    {"packets that came out of order", {"out_of_sequence", "oos_drop_count"}},
    {"a response is missing", {"missing_resp"}},
    {"adaptive retransmissions", {"roce_adp_retrans"}},
    {"timeouts of adaptive retransmission", {"roce_adp_retrans_to"}},
    {"slow restarts after loss", {"roce_slow_restart"}},
    {"packets sent again", {"retrans_pkts"}},
    {"ticks with data to send and no credit", {"port_xmit_wait"}},
    {"packets dropped before they were sent", {"port_xmit_discards"}},
    {"symbol errors of the link", {"symbol_error"}},
    {"the link went down", {"link_downed"}},
};

/// As sysfs names the drivers that count what a sample may wait for, and of which the table has
/// that: a PCI device's, so bnxt_re is bnxt_en. (irdma, hns, erdma and cxgb4 count other things.)
constexpr std::string_view kDrivers[] = {"mlx5_core", "mlx4_core", "bnxt_en",
                                         "efa",       "rdma_rxe",  "mana"};

/// The ends of a result whose drivers have no counter of a cause: that none has changed there tells
/// nothing.
/// @param context  of the result
std::vector<UncountedEnd> ends_without_loss_counters(const Json& context) {
  std::vector<UncountedEnd> ends;
  for (const char* const end : {"initiator", "responder"}) {
    const auto& device = fact_at(context, fmt::format("/rdmameter/{}/device", end));
    const auto &driver = fact_at(device, "driver"), &name = fact_at(device, "name");
    std::string told = driver.is_string() ? driver : "";
    if (!driver.is_string() && name.is_string()) told = "the driver of " + name.get<std::string>();
    const bool known = told.empty() || std::ranges::find(kDrivers, told) != std::end(kDrivers);
    if (!known) ends.push_back({end, told});
  }
  return ends;
}

Table table_of(const RetransmitReport& report) {
  Table table{.columns = {{"cause"}, {"samples"}, {"stall", "median"}, {"longest"}, {"timer"}},
              .key_columns = 1};
  constexpr const char* kNames[kStallCauses] = {"timeout", "RNR NAK", "sequence NAK", "unknown"};
  const auto time = [](double ns) { return metric_text(Metric::max, ns); };
  for (std::size_t i = 0; i < kStallCauses; ++i) {
    const auto cause = static_cast<StallCause>(i);
    const auto& [samples, median_ns, max_ns] = report.of(cause);
    const Number timer = timer_of(report, cause);
    table.add_line({kNames[i], samples, samples == 0 ? kUnknown : time(median_ns),
                    samples == 0 ? kUnknown : time(max_ns), timer ? time(*timer) : kUnknown});
  }
  return table;
}

std::string uncounted_text(const CaseSummary& summary, std::span<const UncountedEnd> uncounted,
                           const TextStyle& style) {
  const auto line = [&](const UncountedEnd& each, std::string_view end) {
    const std::string driver = printable(each.driver);
    return wrap("  ",
                fmt::format("No counters of timeouts and NAKs are known for {} ({}){}",
                            driver.starts_with("the ") ? driver : "driver " + driver, end,
                            sends_requests(summary, each.end)
                                ? ": a stall whose cause was not counted is judged by its length."
                                : ", which sent no requests here."),
                style.width);
  };
  if (uncounted.size() == 2 && uncounted[0].driver == uncounted[1].driver)
    return line(uncounted[0], "both ends");
  std::string text;
  for (const UncountedEnd& each : uncounted) text += line(each, each.end);
  return text;
}

/// @param uncounted  ends whose driver has no known counter of loss
std::string counters_text(const RetransmitReport& report, const CaseSummary& summary,
                          std::span<const UncountedEnd> uncounted, const TextStyle& style) {
  if (!report.counted)
    return wrap("  ", "No driver here counts: causes rest on the length of the stalls alone.",
                style.width);
  std::string text;
  for (const auto& [name, counter] : report.counters)
    text +=
        wrap("  ", fmt::format("{} {}: {}", name, counter.events, counter.meaning), style.width);
  text += uncounted_text(summary, uncounted, style);
  return text.empty() ? wrap("  ", "No counter of loss or congestion changed.", style.width) : text;
}

std::string stall_text(const CaseSummary& summary, std::span<const UncountedEnd> uncounted,
                       const TextStyle& style) {
  const auto report = stalls_of(summary, uncounted);
  if (!report) return "";
  std::uint64_t stalled = 0;
  for (const RetransmitStalls& stalls : report->causes) stalled += stalls.samples;
  const std::string what =
      report->typical_ns == 0
          ? fmt::format("All of {} samples are as long as a timer.", report->samples)
          : fmt::format("{} of {} samples took more than {} times the {} ({}).", stalled,
                        report->samples, kStalledTimes,
                        report->mostly_stalled ? "smallest, since the median is a stall" : "median",
                        metric_text(Metric::max, report->typical_ns));
  return (stalled == 0 ? "" : render(table_of(*report), style)) + wrap("  ", what, style.width) +
         counters_text(*report, summary, uncounted, style);
}

}  // namespace

double rnr_timer_ns(std::uint64_t code) {
  return kRnrTimers[code % std::size(kRnrTimers)] * 1e3;
}

std::optional<RetransmitReport> stalls_of(const CaseSummary& summary,
                                          std::span<const UncountedEnd> uncounted) {
  const HistogramData samples = merged_latency(summary);
  if (samples.count == 0) return std::nullopt;
  RetransmitReport report{.samples = samples.count,
                          .typical_ns = static_cast<double>(percentile(samples, 50))};
  if (const auto code = setting(summary, "qp_timeout"); code && *code != 0)
    report.timeout_ns = std::ldexp(4096.0, static_cast<int>(*code));
  if (const auto code = setting(summary, "min_rnr_timer")) report.rnr_ns = rnr_timer_ns(*code);
  const Counted counted = count(summary, uncounted, report);
  const auto as_stall = [&](double ns) {
    return (counted.of(StallCause::timeout) > 0 && misfit(ns, report.timeout_ns)) ||
           (counted.of(StallCause::rnr) > 0 && misfit(ns, report.rnr_ns));
  };
  report.mostly_stalled = as_stall(report.typical_ns);
  if (report.mostly_stalled) report.typical_ns = static_cast<double>(samples.min_ns);
  if (as_stall(report.typical_ns)) report.typical_ns = 0;

  std::vector<RetransmitStall> stalls;
  for (const auto& [index, n] : samples.buckets) {
    const double value = middle_ns(samples, index);
    if (value <= kStalledTimes * report.typical_ns) continue;
    judge_stall(stalls.emplace_back(RetransmitStall{value - report.typical_ns, n}), report,
                counted);
  }
  const Row& row = summary.first();
  if (counted.all && !row.bandwidth && !row.load) keep_to(counted, stalls);
  for (std::size_t cause = 0; cause < kStallCauses; ++cause)
    report.causes[cause] = sum_up(stalls, static_cast<StallCause>(cause));
  return report;
}

const LossCounterInfo* find_loss_counter(std::string_view name) {
  const auto* found = std::ranges::find_if(kLossCounters, [&](const LossCounterInfo& one) {
    return !name.empty() && std::ranges::count(one.names, name) > 0;
  });
  return found == std::end(kLossCounters) ? nullptr : found;
}

std::string loss_report(std::span<const Row> rows, const Json& context, const TextStyle& style) {
  std::string text;
  const std::vector<UncountedEnd> uncounted = ends_without_loss_counters(context);
  for (const Group& group : group_rows(rows))
    for (const CaseSummary& summary : group.cases)
      text += chapter(printable(summary.first().name) + ": stalls",
                      stall_text(summary, uncounted, style), style);
  return text;
}

}  // namespace rdmameter
