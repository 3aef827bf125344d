// SPDX-License-Identifier: Apache-2.0
#include "core/engine/account/peak.h"

#include <algorithm>
#include <vector>

#include "core/test_case/peak_times.h"

namespace rdmameter {
namespace {

/// Messages per tick from one moment to a later one; no time between them is no rate.
double slope(const Moment& from, const Moment& to) {
  return to.time == from.time ? 0
                              : static_cast<double>(to.messages - from.messages) /
                                    static_cast<double>(to.time - from.time);
}

/// Posts on the lower hull: each edge is steeper than the one before it.
class LowerHull {
 public:
  void add(const Moment& post) {
    if (!hull_.empty() && hull_.back().time == post.time) return;  // the earlier one sees more
    while (hull_.size() > 1 &&
           slope(hull_[hull_.size() - 2], hull_.back()) >= slope(hull_.back(), post))
      hull_.pop_back();
    hull_.push_back(post);
  }
  /// From where the slope to `completion` is the steepest. Not where the hull is empty.
  const Moment& best(const Moment& completion) const {
    std::size_t low = 0, high = hull_.size() - 1;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (slope(hull_[middle], hull_[middle + 1]) < slope(hull_[middle], completion))
        low = middle + 1;
      else
        high = middle;
    }
    return hull_[low];
  }
  bool empty() const { return hull_.empty(); }

 private:
  std::vector<Moment> hull_;
};

/// Those that a ring still has, in order.
/// @param messages  of the n-th, from 0
template <class Messages>
std::vector<Moment> moments_of(const std::uint64_t* first, std::uint64_t capacity,
                               std::uint64_t kept, const Messages& messages) {
  std::vector<Moment> moments;
  moments.reserve(std::min(kept, capacity));
  for (std::uint64_t n = kept > capacity ? kept - capacity : 0; n < kept; ++n)
    moments.push_back({first[n & (capacity - 1)], messages(n)});
  return moments;
}

}  // namespace

Stretch best_stretch(std::span<const Moment> posts, std::span<const Moment> completions) {
  LowerHull hull;
  Stretch best;
  double steepest = 0;
  auto post = posts.begin();
  for (const Moment& completion : completions) {
    while (post != posts.end() && post->messages < completion.messages &&
           post->time <= completion.time)
      hull.add(*post++);
    if (hull.empty()) continue;
    const Moment& from = hull.best(completion);
    if (const double rate = slope(from, completion); rate > steepest) {
      steepest = rate;
      best = {completion.messages - from.messages, completion.time - from.time};
    }
  }
  return best;
}

PeakLog::PeakLog(const TestCase& test_case)
    : capacity_(peak_times(test_case)),
      posts_(std::make_unique<std::uint64_t[]>(capacity_)),
      completions_(std::make_unique<std::uint64_t[]>(capacity_)) {
  times_.posts = {.first = posts_.get(), .mask = capacity_ - 1};
  times_.completions = {.first = completions_.get(), .mask = capacity_ - 1};
}

std::optional<PeakData> PeakLog::peak(const LoopState& loop_state, std::uint64_t size_bytes,
                                      const TickScale& scale) const {
  const auto posts = moments_of(posts_.get(), capacity_, times_.kept_posts,
                                [&](std::uint64_t n) { return n * loop_state.post_list; });
  auto completions = moments_of(completions_.get(), capacity_, times_.kept_completions,
                                [&](std::uint64_t n) { return (n + 1) * loop_state.signal_every; });
  if (times_.last_messages != 0) completions.push_back({times_.last, times_.last_messages});
  const Stretch best = best_stretch(posts, completions);
  if (best.messages == 0) return std::nullopt;
  return PeakData{.messages = best.messages,
                  .bytes = best.messages * size_bytes,
                  .window_ns = std::max<std::uint64_t>(scale.to_ns(best.ticks), 1)};
}

}  // namespace rdmameter
