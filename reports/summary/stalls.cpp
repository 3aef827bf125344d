// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/stalls.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/instrument/histogram_data.h"
#include "reports/summary/loss_counters.h"

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
  std::array<std::uint64_t, kLossEvents> events{};  ///< by LossEvent

  /// rxe counts timeouts and sequence NAKs in one.
  std::uint64_t timeouts() const {
    return of(LossEvent::timeout) +
           (of(LossEvent::retry) - std::min(of(LossEvent::retry), of(LossEvent::sequence_nak)));
  }
  std::uint64_t of(LossEvent event) const { return events[static_cast<std::size_t>(event)]; }
  /// @param cause  not unknown
  std::uint64_t of(StallCause cause) const {
    if (cause == StallCause::timeout) return timeouts();
    return of(cause == StallCause::rnr ? LossEvent::rnr_nak : LossEvent::sequence_nak);
  }
};

/// @param counted  nullptr: the end's events are no cause of stalls
void note(StallReport& report, Counted* counted, std::string_view end, const std::string& name,
          std::uint64_t events) {
  const LossCounterInfo* known = find_loss_counter(name);
  if (known == nullptr || events == 0) return;
  if (counted != nullptr) counted->events[static_cast<std::size_t>(known->event)] += events;
  const auto same = std::ranges::find_if(report.counters, [&](const LossCounter& counter) {
    return counter.end == end && counter.name == name;
  });
  if (same != report.counters.end())
    same->events += events;
  else
    report.counters.push_back({end, name, events, known->meaning});
}

Counted count(const CaseSummary& summary, std::span<const UncountedEnd> uncounted,
              StallReport& report) {
  Counted counted;
  for (const Row* row : summary.repetitions)
    for (const char* end : {"initiator", "responder"}) {
      if (!row->device_counters.is_object()) continue;
      const auto found = row->device_counters.find(end);
      if (found == row->device_counters.end() || !found->is_object()) continue;
      report.counted = true;
      const bool may_stall = sends_requests(summary, end);
      if (may_stall) counted.all = true;
      for (const auto& [name, value] : found->items())
        if (value.is_number_integer())
          note(report, may_stall ? &counted : nullptr, end, name, value.get<std::uint64_t>());
    }
  if (std::ranges::any_of(
          uncounted, [&](const UncountedEnd& each) { return sends_requests(summary, each.end); }))
    counted.all = false;
  return counted;
}

std::optional<std::uint64_t> setting(const CaseSummary& summary, const char* key) {
  const auto found = summary.case_object.find(key);
  if (found == summary.case_object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::uint64_t>();
}

/// How far from the timer or a few times as much, as a share of that; nothing: too short for one.
std::optional<double> misfit(double stall_ns, const std::optional<double>& timer_ns) {
  constexpr double kEarly = 0.05;   // the median is an estimate, and timers have a grain
  constexpr double kMostTimes = 4;  // any length is near a large multiple
  if (!timer_ns || stall_ns < (1 - kEarly) * *timer_ns) return std::nullopt;
  const double times = std::clamp(std::floor(stall_ns / *timer_ns + kEarly), 1.0, kMostTimes);
  return std::abs(stall_ns / *timer_ns - times) / times;
}

struct Stall {
  double ns;
  std::uint64_t samples;
  StallCause cause = StallCause::unknown;
  double misfit = 0;
};

class Judge {
 public:
  Judge(const StallReport& report, const Counted& counted) : report_(report), counted_(counted) {}

  void judge(Stall& stall) const {
    const auto timeout = possible(stall.ns, report_.timeout_ns, counted_.timeouts());
    const auto rnr = possible(stall.ns, report_.rnr_ns, counted_.of(LossEvent::rnr_nak));
    if (timeout && rnr) {
      const bool as_timeout = *timeout <= kAlike, as_rnr = *rnr <= kAlike;
      if (as_timeout == as_rnr) return;
      stall.cause = as_timeout ? StallCause::timeout : StallCause::rnr;
    } else if (timeout || rnr) {
      stall.cause = timeout ? StallCause::timeout : StallCause::rnr;
    } else if (counted_.of(LossEvent::sequence_nak) > 0 && shorter_than_timers(stall.ns)) {
      stall.cause = StallCause::sequence_nak;
    }
    stall.misfit = timeout.value_or(rnr.value_or(-stall.ns));  // of NAKs the longest come first
  }

 private:
  /// What a sample may be longer than its timer.
  static constexpr double kAlike = 0.15;

  std::optional<double> possible(double stall_ns, const std::optional<double>& timer_ns,
                                 std::uint64_t events) const {
    const auto off = misfit(stall_ns, timer_ns);
    if (events > 0) return off;
    return counted_.all || !off || *off > kAlike ? std::nullopt : off;
  }
  bool shorter_than_timers(double stall_ns) const {
    return !misfit(stall_ns, report_.timeout_ns) && !misfit(stall_ns, report_.rnr_ns);
  }

  const StallReport& report_;
  const Counted& counted_;
};

/// Of each cause at most as many as were counted, the best fits first.
void keep_to(const Counted& counted, std::vector<Stall>& stalls) {
  std::array<std::uint64_t, kStallCauses> left{};
  for (const auto cause : {StallCause::timeout, StallCause::rnr, StallCause::sequence_nak})
    left[static_cast<std::size_t>(cause)] = counted.of(cause);
  std::ranges::stable_sort(stalls, {}, &Stall::misfit);
  std::vector<Stall> beyond;
  for (Stall& stall : stalls) {
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

Stalls sum_up(std::vector<Stall>& stalls, StallCause cause) {
  std::ranges::stable_sort(stalls, {}, &Stall::ns);
  Stalls all;
  for (const Stall& stall : stalls)
    if (stall.cause == cause && stall.samples > 0) {
      all.samples += stall.samples;
      all.max_ns = stall.ns;
    }
  std::uint64_t seen = 0;
  for (const Stall& stall : stalls) {
    if (stall.cause != cause) continue;
    seen += stall.samples;
    if (2 * seen < all.samples || all.samples == 0) continue;
    all.median_ns = stall.ns;
    break;
  }
  return all;
}

}  // namespace

std::string_view name_of(StallCause cause) {
  constexpr std::string_view kNames[kStallCauses] = {"timeout", "RNR NAK", "sequence NAK",
                                                     "unknown"};
  return kNames[static_cast<std::size_t>(cause)];
}

double rnr_timer_ns(std::uint64_t code) {
  return kRnrTimers[code % std::size(kRnrTimers)] * 1e3;
}

bool sends_requests(const CaseSummary& summary, std::string_view end) {
  if (end == "initiator") return true;
  const std::string test = test_of(*summary.repetitions.front());
  const bool one_sided = test.starts_with("read_") || test.starts_with("fetch_add_") ||
                         test.starts_with("cmp_swap_") || test == "write_load";
  return !one_sided && !test.ends_with("_cqe_lat");
}

std::optional<StallReport> stalls_of(const CaseSummary& summary,
                                     std::span<const UncountedEnd> uncounted) {
  const HistogramData samples = merged_latency(summary);
  if (samples.count == 0) return std::nullopt;
  StallReport report{.samples = samples.count,
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

  const Judge judge(report, counted);
  std::vector<Stall> stalls;
  for (const auto& [index, n] : samples.buckets) {
    const double value = middle_ns(samples, index);
    if (value <= kStalledTimes * report.typical_ns) continue;
    judge.judge(stalls.emplace_back(Stall{value - report.typical_ns, n}));
  }
  const Row& row = *summary.repetitions.front();
  if (counted.all && !row.bandwidth && !row.load) keep_to(counted, stalls);
  for (std::size_t cause = 0; cause < kStallCauses; ++cause)
    report.causes[cause] = sum_up(stalls, static_cast<StallCause>(cause));
  return report;
}

}  // namespace rdmameter
