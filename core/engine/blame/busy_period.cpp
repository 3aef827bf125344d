// SPDX-License-Identifier: Apache-2.0
#include "core/engine/blame/busy_period.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "core/engine/loop/bandwidth.h"

namespace rdmameter {
namespace {

using Gap = WatchData::Gap;
using Sample = WatchData::Sample;

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
        local_(std::move(local_gaps)),
        peer_(std::move(peer_gaps)),
        local_costs_(local_.size()),
        peer_costs_(peer_.size()),
        stalls_(stalls) {
    std::ranges::copy_if(own.samples, std::back_inserter(late_),
                         [&](const Sample& sample) { return sample.length_ns >= limit_ns; });
    std::ranges::sort(local_, {}, &Gap::begun_ns);
    std::ranges::sort(peer_, {}, &Gap::message);
    by_message_ = late_;
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

  /// Would it not have been late without that?
  bool in_time_without(const Sample& sample, std::uint64_t ns) const {
    return sample.length_ns < limit_ns_ + ns;
  }

  /// The loop polls once in a turn, and a turn that is no gap is shorter than `turn_ns_`: so what
  /// is seen that soon after a gap was found by the first poll after it, or within it.
  bool delayed(const Sample& sample, const Gap& gap) const {
    const std::uint64_t end_ns = gap.begun_ns + gap.length_ns, seen = seen_ns(sample);
    if (seen > gap.begun_ns && seen <= end_ns + turn_ns_) return true;
    return sample.begun_ns >= gap.begun_ns && sample.begun_ns < end_ns &&
           in_time_without(sample, end_ns - sample.begun_ns);
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
    if (!gap.first || gap.message <= sample.message || !in_time_without(sample, gap.length_ns))
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
