// SPDX-License-Identifier: Apache-2.0
#include "core/engine/account/interval_thread.h"

#include <chrono>
#include <utility>

#include "core/base/thread.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kShortestToldInterval_ns = 100'000'000;  // shorter ones are for a series

/// Does it hear of the case, which then has intervals that a person can follow?
bool hears_of(const IntervalListener& listener, const TestCase& test_case) {
  if (!listener.hear) return false;
  if (test_case.until_interrupted()) return true;
  return listener.bounded_too &&
         (test_case.pattern == Pattern::bandwidth || test_case.latency_over_time()) &&
         test_case.interval() >= kShortestToldInterval_ns &&
         test_case.duration_ns >= 2 * test_case.interval();
}

}  // namespace

IntervalThread::IntervalThread(const TestCase& test_case, std::function<std::uint64_t()> progress,
                               const IntervalListener& listener, const LatencySeries* latency)
    : case_(test_case), progress_(std::move(progress)), listener_(listener), latency_(latency) {
  if (hears_of(listener, test_case)) thread_ = start_thread([this] { report(); });
}

IntervalThread::~IntervalThread() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock{mutex_};
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void IntervalThread::report() {
  using Clock = std::chrono::steady_clock;
  const std::chrono::nanoseconds every{case_.interval()};
  const auto begin = Clock::now();
  auto last = begin, next = begin + every;
  std::uint64_t counted = 0, told = 0;
  std::unique_lock lock{mutex_};
  while (!changed_.wait_until(lock, next, [this] { return ended_; })) {
    const auto now = Clock::now();
    const std::uint64_t done = progress_();
    const auto seconds = [](Clock::duration time) {
      return std::chrono::duration<double>(time).count();
    };
    listener_.hear(case_, {.end_s = seconds(now - begin),
                           .length_s = seconds(now - last),
                           .operations = done >= counted ? done - counted : done,
                           .latency = latency_ == nullptr ? std::nullopt : latency_->latest(told)});
    counted = done;
    last = now;
    while (next <= now) next += every;
  }
}

std::unique_ptr<LatencySeries> make_latency_series(const TestCase& test_case) {
  if (!test_case.latency_over_time()) return nullptr;
  return std::make_unique<LatencySeries>(test_case.interval(), !test_case.reliable());
}

std::uint64_t latency_series_bytes(const TestCase& test_case) {
  return test_case.latency_over_time() ? LatencySeries::kBytes : 0;
}

std::optional<OverTimeData> over_time_of(LatencySeries* series) {
  if (series == nullptr) return std::nullopt;
  const std::vector<IntervalLatency> intervals = series->intervals();
  OverTimeData data{.interval_ns = series->interval_ns()};
  for (const IntervalLatency& one : intervals) {
    data.count.push_back(one.count);
    data.p50_ns.emplace_back(one.p50);
    data.p99_ns.emplace_back(one.p99);
    data.max_ns.emplace_back(one.max);
    if (series->lossy()) data.lost.push_back(one.lost);
  }
  return data;
}

}  // namespace rdmameter
