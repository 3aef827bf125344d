// SPDX-License-Identifier: Apache-2.0
#include "core/interval_thread.h"

#include <chrono>
#include <utility>

namespace rdmameter {

IntervalThread::IntervalThread(const Case& one_case, std::function<std::uint64_t()> progress,
                               const IntervalListener& listener)
    : case_(one_case), progress_(std::move(progress)), listener_(listener) {
  if (one_case.until_interrupted() && listener) thread_ = std::thread([this] { tell(); });
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

void IntervalThread::tell() {
  using Clock = std::chrono::steady_clock;
  const std::chrono::nanoseconds every{case_.interval_ns};
  const auto begin = Clock::now();
  auto last = begin, next = begin + every;
  std::uint64_t counted = 0;
  std::unique_lock lock{mutex_};
  while (!changed_.wait_until(lock, next, [this] { return ended_; })) {
    const auto now = Clock::now();
    const std::uint64_t done = progress_();
    const auto seconds = [](Clock::duration time) {
      return std::chrono::duration<double>(time).count();
    };
    listener_(case_, {.end_s = seconds(now - begin),
                      .length_s = seconds(now - last),
                      .operations = done >= counted ? done - counted : done});
    counted = done;
    last = now;
    while (next <= now) next += every;
  }
}

}  // namespace rdmameter
