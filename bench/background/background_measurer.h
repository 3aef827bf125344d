// SPDX-License-Identifier: Apache-2.0
// Measures cases while other traffic goes on beside them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/engine/account/interval_thread.h"
#include "core/engine/measurer.h"
#include "core/result/row.h"
#include "core/wire/wait.h"

namespace rdmameter {

/// Makes what measures the background: a session of its own with the same responder, and a device
/// of its own, so that it shares with the case what two processes would share.
/// @throws as make_measurer()
using MakeBackground = std::function<std::unique_ptr<Measurer>(
    const TestCase& background, const IntervalListener& listener, InterruptSource& interrupt)>;

// Traffic on a thread and a session of its own, which goes on until it is ended.

class BackgroundTraffic {
 public:
  using Clock = std::chrono::steady_clock;

  /// Begins the traffic. @param background  goes on until interrupted, with short intervals; copied
  BackgroundTraffic(const TestCase& background, const MakeBackground& make);
  BackgroundTraffic(BackgroundTraffic&&) = delete;  // its thread holds its address
  /// Ends it, and waits for that.
  ~BackgroundTraffic();

  /// Waits until it has run for kSteady without a pause as long as that.
  /// @throws MeasurementError, Unsupported  why it does not run
  /// @throws Interrupted                    the user ends
  void await_steady(const InterruptSource& user);

  /// The traffic's figures for this time, in steps of its intervals, the first and the last in
  /// proportion. Waits for the interval in which the time ends.
  /// @throws MeasurementError  the traffic has ended meanwhile
  BackgroundData between(Clock::time_point begin, Clock::time_point end);

 private:
  /// Operations up to a point in time.
  struct Sample {
    Clock::time_point at;
    std::uint64_t operations;
  };

  void run(const MakeBackground& make) noexcept;
  void hear(const ProgressInterval& interval);
  bool steady() const;
  double operations_until(Clock::time_point when) const;
  [[noreturn]] void throw_why_it_ended() const;

  const TestCase case_;
  InterruptSource end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Sample> samples_;  ///< guarded by mutex_, as what follows
  std::optional<double> alone_per_s_;
  std::exception_ptr failure_;
  bool ended_ = false;
  std::thread thread_;  ///< last: it uses all of the above
};

/// Where a case has a background (Measurer::set_background()), it is measured only once that has
/// run for a while; the outcome says what the background did in the window of the case. The traffic
/// goes on, between repetitions too, until a case has another background or none.
/// @param cases      measures the cases
/// @param loops      the most that a background has at one end
/// @param interrupt  borrowed: the user's
std::unique_ptr<Measurer> make_background_measurer(std::unique_ptr<Measurer> cases,
                                                   MakeBackground make, std::uint64_t loops,
                                                   const InterruptSource& interrupt);

}  // namespace rdmameter
