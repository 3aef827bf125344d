// SPDX-License-Identifier: Apache-2.0
#include "core/instrument/series.h"

#include <algorithm>
#include <limits>

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

}  // namespace rdmameter
