// SPDX-License-Identifier: Apache-2.0
// How long calls of the set-up take, each apart from what is done between them.
#pragma once

#include <chrono>
#include <cstdint>

namespace rdmameter {

class Stopwatch {
 public:
  /// Calls it and counts its time. @return  what it returns
  template <class Call>
  auto time(Call&& call) {
    const Running running(total_);
    return call();
  }
  std::uint64_t total_ns() const {
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(total_).count());
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Counts until it is destroyed, by an exception too.
  class Running {
   public:
    explicit Running(Clock::duration& total) : total_(total) {}
    Running(Running&&) = delete;
    ~Running() { total_ += Clock::now() - begin_; }

   private:
    Clock::duration& total_;
    const Clock::time_point begin_ = Clock::now();
  };

  Clock::duration total_{};
};

}  // namespace rdmameter
