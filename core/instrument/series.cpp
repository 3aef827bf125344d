// SPDX-License-Identifier: Apache-2.0
#include "core/instrument/series.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/instrument/histogram_data.h"

namespace rdmameter {

void Series::note(std::uint64_t messages, Clock::time_point now) {
  if (now - last_ >= interval()) close(messages, now);
}

void Series::close(std::uint64_t messages, Clock::time_point now) {
  const auto since_begin = std::chrono::duration_cast<std::chrono::nanoseconds>(now - begin_);
  points_.push_back({static_cast<std::uint64_t>(since_begin.count()), messages - counted_});
  counted_ = messages;
  last_ = now;
  if (points_.size() == kMaxPoints) join_pairs();
}

void Series::join_pairs() {
  for (std::size_t i = 0; i < kMaxPoints / 2; ++i)
    points_[i] = {points_[2 * i + 1].end_ns, points_[2 * i].messages + points_[2 * i + 1].messages};
  points_.resize(kMaxPoints / 2);
  interval_ns_ *= 2;
}

nlohmann::ordered_json Series::json() const {
  auto end_ns = nlohmann::ordered_json::array(), messages = nlohmann::ordered_json::array();
  double min = std::numeric_limits<double>::max(), max = 0;
  std::uint64_t begin_ns = 0;
  for (const Point& point : points_) {
    end_ns.push_back(point.end_ns);
    messages.push_back(point.messages);
    const std::uint64_t length_ns = std::max<std::uint64_t>(point.end_ns - begin_ns, 1);
    begin_ns = point.end_ns;
    if (length_ns < interval_ns_ / 2 && points_.size() > 1) continue;
    const double rate = 1e3 * static_cast<double>(point.messages) / static_cast<double>(length_ns);
    min = std::min(min, rate);
    max = std::max(max, rate);
  }
  return {{"interval_ns", interval_ns_},
          {"end_ns", end_ns},
          {"messages", messages},
          {"mmsg_per_s_min", std::min(min, max)},
          {"mmsg_per_s_max", max}};
}

namespace {

constexpr std::uint64_t kNoValue = std::numeric_limits<std::uint64_t>::max();
// As reported_percentile() has it: ten samples beyond.
constexpr std::uint64_t kFewestForP50 = 20, kFewestForP99 = 1000;

std::optional<std::uint64_t> known(std::uint64_t value) {
  return value == kNoValue ? std::nullopt : std::optional(value);
}

}  // namespace

const std::size_t LatencySeries::kBytes =
    kMostIntervals * sizeof(Slot) + kHistogramBuckets * sizeof(std::uint64_t);

LatencySeries::LatencySeries(std::uint64_t interval_ns, bool lossy)
    : lossy_(lossy),
      interval_ns_(interval_ns),
      ends_ns_(interval_ns),
      slots_(std::make_unique<Slot[]>(kMostIntervals)),
      before_(std::make_unique<std::uint64_t[]>(kHistogramBuckets)) {
  std::iota(order_.begin(), order_.end(), std::uint16_t{0});
}

LatencySeries::Slot& LatencySeries::next_slot() noexcept {
  return joining_ ? join(fresh_) : slots_[order_[count_]];
}

void LatencySeries::close(const Histogram& all, std::uint64_t lost) noexcept {
  Slot& slot = next_slot();
  if (all.min_ns() != kNoValue) {
    constexpr std::uint64_t kLargest = (std::uint64_t{1} << kHistogramMaxBits) - 1;
    const auto first =
        static_cast<std::uint32_t>(histogram_index(std::min(all.min_ns(), kLargest)));
    const auto last = static_cast<std::uint32_t>(histogram_index(std::min(all.max_ns(), kLargest)));
    for (std::uint32_t index = first; index <= last; ++index) {
      const std::uint64_t n = all.bucket(index) - before_[index];
      if (n == 0) continue;
      before_[index] += n;
      slot.n[index >> kCoarser] += static_cast<std::uint32_t>(n);
      slot.count += n;
      slot.max_ns = std::min(histogram_lowest(index + 1) - 1, all.max_ns());
    }
    if (const std::uint64_t beyond = all.overflow() - overflow_before_; beyond != 0) {
      overflow_before_ += beyond;
      slot.count += beyond;
      slot.max_ns = all.max_ns();
    }
  }
  slot.lost = lost - lost_before_;
  lost_before_ = lost;
  end_interval(slot);
}

void LatencySeries::close_empty() noexcept {
  end_interval(next_slot());
}

/// Tells of it, and makes room for the next one.
void LatencySeries::end_interval(const Slot& slot) noexcept {
  const IntervalLatency latency = latency_of(slot);
  const std::uint64_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1);
  told_.count = latency.count;
  told_.lost = latency.lost;
  told_.p50 = latency.p50.value_or(kNoValue);
  told_.p99 = latency.p99.value_or(kNoValue);
  told_.max = latency.max.value_or(kNoValue);
  version_.store(version + 2);

  ends_ns_ += interval_ns_;
  if (!joining_) {
    ++count_;
  } else if (++fresh_ == kMostIntervals / 2) {
    settle();
  }
  if (joining_ || count_ < kMostIntervals) return;
  joining_ = true;
  fresh_ = 0;
  ends_ns_ += interval_ns_;
  interval_ns_ *= 2;
}

void LatencySeries::note(const Histogram& all, std::uint64_t lost,
                         std::uint64_t elapsed_ns) noexcept {
  if (elapsed_ns < ends_ns_) return;
  close(all, lost);
  while (elapsed_ns >= ends_ns_) close_empty();
}

std::optional<IntervalLatency> LatencySeries::latest(std::uint64_t& seen) const noexcept {
  for (;;) {
    const std::uint64_t version = version_.load();
    if (version / 2 == seen) return std::nullopt;
    const IntervalLatency latency{.count = told_.count,
                                  .lost = told_.lost,
                                  .p50 = known(told_.p50),
                                  .p99 = known(told_.p99),
                                  .max = known(told_.max)};
    if (version % 2 == 0 && version_.load() == version) {
      seen = version / 2;
      return latency;
    }
  }
}

void LatencySeries::take_over(Slot& into, const Slot& from) noexcept {
  for (std::size_t i = 0; i < kBuckets; ++i) into.n[i] += from.n[i];
  into.count += from.count;
  into.lost += from.lost;
  into.max_ns = std::max(into.max_ns, from.max_ns);
}

/// @return  the slot that it frees, empty
LatencySeries::Slot& LatencySeries::join(std::size_t pair) noexcept {
  Slot& freed = slots_[order_[2 * pair + 1]];
  take_over(slots_[order_[2 * pair]], freed);
  return freed = {};
}

/// Of the first intervals: those at even places go before the others.
void LatencySeries::evens_first(std::size_t intervals) noexcept {
  const decltype(order_) before = order_;
  const std::size_t evens = (intervals + 1) / 2;
  for (std::size_t i = 0; i < intervals; ++i) order_[(i % 2) * evens + i / 2] = before[i];
}

/// Joins what is left to be joined; then the intervals are in order again.
void LatencySeries::settle() {
  if (!joining_) return;
  constexpr std::size_t kPairs = kMostIntervals / 2;
  for (std::size_t pair = fresh_; pair < kPairs; ++pair) join(pair);
  evens_first(kMostIntervals);
  count_ = kPairs + fresh_;
  joining_ = false;
}

/// Intervals of twice the length.
void LatencySeries::halve() {
  settle();
  for (std::size_t pair = 0; pair < count_ / 2; ++pair) join(pair);
  evens_first(count_);
  count_ = (count_ + 1) / 2;
  interval_ns_ *= 2;
}

void LatencySeries::add(LatencySeries& other) {
  settle();
  other.settle();
  while (interval_ns_ < other.interval_ns_) halve();
  while (other.interval_ns_ < interval_ns_) other.halve();
  for (std::size_t i = 0; i < other.count_; ++i)
    take_over(slots_[order_[i]], other.slots_[other.order_[i]]);
  count_ = std::max(count_, other.count_);
}

IntervalLatency LatencySeries::latency_of(const Slot& slot) noexcept {
  IntervalLatency latency{.count = slot.count, .lost = slot.lost, .p50 = {}, .p99 = {}, .max = {}};
  if (slot.count == 0) return latency;
  latency.max = slot.max_ns;
  if (slot.count >= kFewestForP50)
    latency.p50 = value_at_rank(slot.n, kCoarser, (slot.count + 1) / 2, 0, slot.max_ns);
  if (slot.count >= kFewestForP99)
    latency.p99 = value_at_rank(slot.n, kCoarser, slot.count - slot.count / 100, 0, slot.max_ns);
  return latency;
}

std::vector<IntervalLatency> LatencySeries::intervals() {
  settle();
  std::vector<IntervalLatency> list;
  for (std::size_t i = 0; i < count_; ++i) list.push_back(latency_of(slots_[order_[i]]));
  const bool nothing = list.size() > 1 && list.back().count == 0 && list.back().lost == 0;
  if (nothing) list.pop_back();  // the loop ended with the interval before
  return list;
}

}  // namespace rdmameter
