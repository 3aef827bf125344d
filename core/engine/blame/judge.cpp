// SPDX-License-Identifier: Apache-2.0
#include "core/engine/blame/judge.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <memory>
#include <span>

#include "core/base/lists.h"
#include "core/engine/loop/step.h"
#include "core/instrument/histogram.h"

namespace rdmameter {
namespace {

using Gap = WatchData::Gap;
using Sample = WatchData::Sample;

std::uint32_t bucket_of(std::uint64_t ns) {
  constexpr std::uint64_t kLargest = (1ULL << kHistogramMaxBits) - 1;
  return static_cast<std::uint32_t>(histogram_index(std::min(ns, kLargest)));
}

/// The least length that is late, where a bucket begins.
std::uint64_t late_limit(const HistogramData& samples, std::uint64_t asked_ns) {
  if (asked_ns == kAuto) return histogram_lowest(bucket_of(percentile(samples, 99)) + 1);
  const std::uint32_t bucket = bucket_of(asked_ns);
  return histogram_lowest(histogram_lowest(bucket) == asked_ns ? bucket : bucket + 1);
}

/// An end's gaps before messages `first` up to `last`, by message.
std::vector<Gap> gaps_between(const WatchData& end, std::uint64_t first, std::uint64_t last) {
  std::vector<Gap> gaps = filtered(
      end.gaps, [&](const Gap& gap) { return gap.message >= first && gap.message <= last; });
  std::ranges::sort(gaps, {}, &Gap::message);
  return gaps;
}

std::span<const Gap> before(const std::vector<Gap>& gaps, std::uint64_t message) {
  return {std::ranges::lower_bound(gaps, message, {}, &Gap::message),
          std::ranges::upper_bound(gaps, message, {}, &Gap::message)};
}

PollGaps gaps_data(std::uint64_t limit_ns, const std::vector<Gap>& gaps) {
  const auto lengths = std::make_unique<Histogram>();
  for (const Gap& gap : gaps) lengths->record(gap.length_ns);
  return {.limit_ns = limit_ns, .histogram = snapshot(*lengths)};
}

std::string utc_text(std::int64_t ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const auto seconds = static_cast<std::time_t>(ns / kSecond);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:09}Z", fmt::gmtime(seconds), ns % kSecond);
}

/// Would a sample not have been late without a gap of that length?
bool in_time_without(const Sample& sample, std::uint64_t gap_ns, std::uint64_t limit_ns) {
  return sample.length_ns < limit_ns + gap_ns;
}

/// The lengths of the late samples by cause.
struct Causes {
  Histogram local, peer, path, undecided;
};

class Judge {
 public:
  explicit Judge(const Evidence& evidence)
      : evidence_(evidence),
        last_(evidence.warmup + std::max<std::uint64_t>(evidence.samples.count, 1) - 1),
        // An open loop forgets those of the warm-up by itself; its gaps are before no message.
        local_gaps_(evidence.open_loop ? evidence.own.gaps
                                       : gaps_between(evidence.own, evidence.warmup, last_)) {
    // The one that waits for the message behind the last begins with the last one's turnaround.
    if (evidence.peer != nullptr)
      peer_gaps_ = gaps_between(*evidence.peer, evidence.warmup, last_ + 1);
    data_.limit_ns = late_limit(evidence.samples, evidence.late_ns);
    data_.p50_ns = percentile(evidence.samples, 50);
  }

  BlameData judge() {
    if (evidence_.open_loop)
      for (const AwayTimes& each :
           times_away(evidence_.own, data_.limit_ns, local_gaps_, peer_gaps_, stalls_))
        judge(each.sample, each.local_ns, each.peer_ns);
    else
      for (const Sample& sample : evidence_.own.samples)
        if (sample.length_ns >= data_.limit_ns) judge(sample, local_ns(sample), peer_ns(sample));
    add_those_not_kept();
    data_.local = snapshot(causes_->local);
    data_.peer = snapshot(causes_->peer);
    data_.path = snapshot(causes_->path);
    data_.undecided = snapshot(causes_->undecided);
    data_.local_gaps = gaps_data(evidence_.own.gap_limit_ns, local_gaps_);
    if (const WatchData* const peer = evidence_.peer; peer != nullptr)
      data_.peer_gaps = gaps_data(peer->gap_limit_ns, gaps_between(*peer, evidence_.warmup, last_));
    name_stalls();
    return std::move(data_);
  }

 private:
  /// What a sample takes that is not late: p50, unless that is late itself.
  std::uint64_t usual_ns() const {
    return data_.p50_ns < data_.limit_ns ? data_.p50_ns : data_.limit_ns / 2;
  }

  /// How long the initiator was away so that this sample took longer: until it found the pong, or
  /// before it had posted the ping.
  std::uint64_t local_ns(const Sample& sample) {
    std::uint64_t ns = 0;
    for (const Gap& gap : before(local_gaps_, sample.message)) {
      if (!gap.found && !(gap.first && in_time_without(sample, gap.length_ns, data_.limit_ns)))
        continue;
      ns += gap.length_ns;
      stalls_.push_back(gap);
    }
    return ns;
  }

  /// How long the responder was: until it found the ping, or before it had posted the pong. A gap
  /// of the second kind is before the next ping.
  std::uint64_t peer_ns(const Sample& sample) const {
    std::uint64_t ns = 0;
    for (const Gap& gap : before(peer_gaps_, sample.message))
      if (gap.found) ns += gap.length_ns;
    for (const Gap& gap : before(peer_gaps_, sample.message + 1))
      if (gap.first && in_time_without(sample, gap.length_ns, data_.limit_ns)) ns += gap.length_ns;
    return ns;
  }

  /// The least length of which every gap was kept.
  std::uint64_t gaps_kept_ns() const {
    const std::uint64_t peer_ns = evidence_.peer == nullptr ? 0 : evidence_.peer->gap_limit_ns;
    return std::max(evidence_.own.gap_limit_ns, peer_ns);
  }

  /// @param local, peer  how long each end was away so that it took longer [ns]
  void judge(const Sample& sample, std::uint64_t local, std::uint64_t peer) {
    ++data_.late;
    const std::uint64_t half_ns = (sample.length_ns - usual_ns() + 1) / 2;
    const bool by_local = local >= half_ns, by_peer = peer >= half_ns;
    Histogram* cause = &causes_->undecided;
    if (by_local != by_peer)
      cause = by_local ? &causes_->local : &causes_->peer;
    else if (local + peer >= half_ns)
      ++data_.both;
    else if (half_ns < gaps_kept_ns())
      ++data_.not_kept;
    else
      cause = &causes_->path;
    cause->record(sample.length_ns);
  }

  /// Late samples that only the histogram knows.
  void add_those_not_kept() {
    for (const auto& [bucket, count] : evidence_.samples.buckets) {
      if (bucket < bucket_of(data_.limit_ns)) continue;
      std::uint64_t kept = causes_->local.bucket(bucket) + causes_->peer.bucket(bucket) +
                           causes_->path.bucket(bucket) + causes_->undecided.bucket(bucket);
      for (; kept < count; ++kept) {
        causes_->undecided.record(histogram_lowest(bucket));
        ++data_.not_kept;
        ++data_.late;
      }
    }
  }

  void name_stalls() {
    std::ranges::sort(stalls_, std::ranges::greater{}, &Gap::length_ns);
    stalls_.resize(std::min(stalls_.size(), kMaxStalls));
    for (const Gap& gap : stalls_)
      data_.stalls.push_back({.duration_ns = gap.length_ns,
                              .monotonic_ns = gap.begun_ns,
                              .utc = utc_text(gap.begun_utc_ns)});
  }

  const Evidence evidence_;
  const std::uint64_t last_;  ///< of the measured messages
  const std::vector<Gap> local_gaps_;
  std::vector<Gap> peer_gaps_;
  const std::unique_ptr<Causes> causes_ = std::make_unique<Causes>();
  std::vector<Gap> stalls_;
  BlameData data_;
};

}  // namespace

BlameData judge_late_samples(const Evidence& evidence) {
  return Judge(evidence).judge();
}

namespace {

std::uint64_t seen_ns(const Sample& sample) {
  return sample.begun_ns + sample.length_ns;
}

std::uint64_t less(std::uint64_t a, std::uint64_t b) {
  return a - std::min(a, b);
}

/// An end's gaps, and what each has cost the present busy period so far.
class Costs {
 public:
  explicit Costs(std::size_t gaps) : of_gap_(gaps) {}
  void begin_period() {
    ++period_;
    total_ns_ = 0;
  }
  /// A sample was delayed by it. @return is that new?
  bool add(std::size_t gap, std::uint64_t ns) {
    Cost& cost = of_gap_[gap];
    const bool fresh = cost.period != period_;
    const std::uint64_t before_ns = fresh ? 0 : cost.ns;
    if (ns <= before_ns) return false;
    total_ns_ += ns - before_ns;
    cost = {period_, ns};
    return fresh;
  }
  std::uint64_t total_ns() const { return total_ns_; }

 private:
  struct Cost {
    std::uint64_t period = 0, ns = 0;
  };
  std::vector<Cost> of_gap_;
  std::uint64_t period_ = 0, total_ns_ = 0;
};

class BusyPeriods {
 public:
  BusyPeriods(const WatchData& own, std::uint64_t limit_ns, std::vector<Gap> local_gaps,
              std::vector<Gap> peer_gaps, std::vector<Gap>& stalls)
      : limit_ns_(limit_ns),
        turn_ns_(own.gap_limit_ns),
        late_(filtered(own.samples,
                       [&](const Sample& sample) { return sample.length_ns >= limit_ns; })),
        by_message_(late_),
        local_(std::move(local_gaps)),
        peer_(std::move(peer_gaps)),
        local_costs_(local_.size()),
        peer_costs_(peer_.size()),
        stalls_(stalls) {
    std::ranges::sort(local_, {}, &Gap::begun_ns);
    std::ranges::sort(peer_, {}, &Gap::message);
    std::ranges::sort(by_message_, {}, &Sample::message);
    std::ranges::sort(late_, {}, &Sample::begun_ns);
  }

  std::vector<AwayTimes> all() {
    for (auto begin = late_.begin(); begin != late_.end();) {
      const auto end = end_of_period(begin);
      judge({begin, end});
      begin = end;
    }
    return std::move(all_);
  }

 private:
  using Place = std::vector<Sample>::iterator;

  Place end_of_period(Place begin) {
    std::uint64_t busy_until_ns = seen_ns(*begin);
    Place at = std::next(begin);
    for (; at != late_.end() && at->begun_ns <= busy_until_ns; ++at)
      busy_until_ns = std::max(busy_until_ns, seen_ns(*at));
    return at;
  }

  void judge(std::span<Sample> period) {
    period_begun_ns_ = period.front().begun_ns;
    local_costs_.begin_period();
    peer_costs_.begin_period();
    std::ranges::sort(period, {}, &Sample::message);  // as they were seen
    for (const Sample& sample : period) {
      note_local(sample);
      note_peer(sample);
      all_.push_back({sample, local_costs_.total_ns(), peer_costs_.total_ns()});
    }
  }

  /// The loop polls once in a turn, and a turn that is no gap is shorter than `turn_ns_`: so what
  /// is seen that soon after a gap was found by the first poll after it, or within it.
  bool delayed(const Sample& sample, const Gap& gap) const {
    const std::uint64_t end_ns = gap.begun_ns + gap.length_ns, seen = seen_ns(sample);
    if (seen > gap.begun_ns && seen <= end_ns + turn_ns_) return true;
    return sample.begun_ns >= gap.begun_ns && sample.begun_ns < end_ns &&
           in_time_without(sample, end_ns - sample.begun_ns, limit_ns_);
  }

  void note_local(const Sample& sample) {
    const std::uint64_t seen = seen_ns(sample);
    // Gaps do not overlap: the last that begins before it was seen, and so on.
    auto at = std::ranges::lower_bound(local_, seen, {}, &Gap::begun_ns);
    while (at != local_.begin()) {
      const Gap& gap = *--at;
      const std::uint64_t end_ns = gap.begun_ns + gap.length_ns;
      if (end_ns + turn_ns_ < sample.begun_ns) break;
      if (!delayed(sample, gap)) continue;
      const std::uint64_t cost_ns =
          less(std::min(end_ns, seen), std::max(gap.begun_ns, period_begun_ns_));
      if (local_costs_.add(static_cast<std::size_t>(at - local_.begin()), cost_ns))
        stalls_.push_back(gap);
    }
  }

  /// A gap before the message was found; or after it was, and before it was answered, with others
  /// of its CQE batch.
  void note_peer(const Sample& sample) {
    auto at = std::ranges::lower_bound(peer_, sample.message, {}, &Gap::message);
    for (; at != peer_.end() && at->message <= sample.message + kCqeBatch; ++at) {
      const bool found_then = at->found && at->message == sample.message;
      if (!found_then && !answered_after(sample, *at)) continue;
      peer_costs_.add(static_cast<std::size_t>(at - peer_.begin()),
                      std::min(at->length_ns, less(seen_ns(sample), period_begun_ns_)));
    }
  }

  bool answered_after(const Sample& sample, const Gap& gap) const {
    if (!gap.first || gap.message <= sample.message ||
        !in_time_without(sample, gap.length_ns, limit_ns_))
      return false;
    // The last late one that was answered before the next message: `sample`, or one behind it.
    const auto behind = std::ranges::lower_bound(by_message_, gap.message, {}, &Sample::message);
    return seen_ns(sample) + gap.length_ns / 2 >= seen_ns(*std::prev(behind));
  }

  const std::uint64_t limit_ns_, turn_ns_;
  std::vector<Sample> late_, by_message_;
  std::vector<Gap> local_, peer_;
  Costs local_costs_, peer_costs_;
  std::vector<Gap>& stalls_;
  std::uint64_t period_begun_ns_ = 0;
  std::vector<AwayTimes> all_;
};

}  // namespace

std::vector<AwayTimes> times_away(const WatchData& own, std::uint64_t limit_ns,
                                  std::vector<Gap> local_gaps, std::vector<Gap> peer_gaps,
                                  std::vector<Gap>& stalls) {
  return BusyPeriods(own, limit_ns, std::move(local_gaps), std::move(peer_gaps), stalls).all();
}

}  // namespace rdmameter
