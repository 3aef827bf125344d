// SPDX-License-Identifier: Apache-2.0
#include "bench/background/background_measurer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/error_text.h"
#include "core/base/thread.h"
#include "core/engine/placement/placement.h"
#include "reports/summary/facts.h"

namespace rdmameter {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;

/// It has filled queues and found its pace by then.
constexpr milliseconds kSteady{300};
/// Both ends make their objects, connect and begin, or have given up by themselves.
constexpr seconds kBegins{60};
/// How long an orderly end takes before it is an end all the same.
constexpr seconds kEnds{5};
constexpr milliseconds kLook{50};  ///< how often a wait looks for the user's interrupt

using Clock = std::chrono::steady_clock;

double in_seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

/// Traffic on a thread and a session of its own, which goes on until it is ended.
class BackgroundTraffic {
 public:
  /// Begins the traffic. @param background  goes on until interrupted, with short intervals; copied
  BackgroundTraffic(const TestCase& background, const MakeBackground& make)
      : case_(background), thread_(start_thread([this, make] { run(make); })) {}
  BackgroundTraffic(BackgroundTraffic&&) = delete;  // its thread holds its address
  /// Ends it, and waits for that.
  ~BackgroundTraffic() {
    end_.raise();
    {
      std::unique_lock lock{mutex_};
      if (!changed_.wait_for(lock, kEnds, [this] { return ended_; })) end_.raise();
    }
    thread_.join();
  }

  /// Waits until it has run for kSteady without a pause as long as that.
  /// @throws MeasurementError, Unsupported  why it does not run
  /// @throws Interrupted                    the user ends
  void await_steady(const InterruptSource& user) {
    const Deadline deadline = Deadline::in(kBegins);
    std::unique_lock lock{mutex_};
    while (!changed_.wait_for(lock, kLook, [this] { return ended_ || steady(); })) {
      if (user.requested()) throw Interrupted("interrupted");
      if (deadline.passed())
        throw MeasurementError("the background, {}, has not begun within {} s", case_.test,
                               kBegins.count());
    }
    if (ended_) throw_why_it_ended();
    if (alone_per_s_) return;
    const Sample& last = samples_.back();
    const auto from = last.at - kSteady;
    alone_per_s_ = (static_cast<double>(last.operations) - operations_until(from)) /
                   in_seconds(last.at - from);
  }

  /// The traffic's figures for this time, in steps of its intervals, the first and the last in
  /// proportion. Waits for the interval in which the time ends.
  /// @throws MeasurementError  the traffic has ended meanwhile
  BackgroundData between(Clock::time_point begin, Clock::time_point end) {
    std::unique_lock lock{mutex_};
    const auto known = [&] { return ended_ || samples_.back().at >= end; };
    if (!changed_.wait_for(lock, kEnds, known))
      throw MeasurementError("the background, {}, no longer tells what it does", case_.test);
    if (ended_) throw_why_it_ended();
    const double operations = std::round(operations_until(end) - operations_until(begin));
    const auto last = std::ranges::lower_bound(samples_, end, {}, &Sample::at);
    samples_.erase(samples_.begin(), std::prev(last));
    return {.operations = static_cast<std::uint64_t>(operations),
            .window_ns = static_cast<std::uint64_t>(
                std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count()),
            .bytes = static_cast<std::uint64_t>(operations * mean_message(case_)),
            .alone_per_s = alone_per_s_};
  }

 private:
  /// Operations up to a point in time.
  struct Sample {
    Clock::time_point at;
    std::uint64_t operations;
  };

  void run(const MakeBackground& make) noexcept {
    try {
      const IntervalListener listener{
          .hear = [this](const TestCase&, const ProgressInterval& each) { hear(each); }};
      make(case_, listener, end_)->measure(case_);
    } catch (...) {
      failure_ = std::current_exception();
    }
    const std::scoped_lock lock{mutex_};
    ended_ = true;
    changed_.notify_all();
  }

  void hear(const ProgressInterval& interval) {
    const std::scoped_lock lock{mutex_};
    const bool first = samples_.empty();  // may be a part of an interval
    if (first && interval.operations == 0) return;
    samples_.push_back(
        {Clock::now(), first ? 0 : samples_.back().operations + interval.operations});
    changed_.notify_all();
  }

  /// Of the last kSteady, is all known, and did something go on in it?
  bool steady() const {
    if (samples_.size() < 2 || samples_.back().at - samples_.front().at < kSteady) return false;
    const auto from = samples_.back().at - kSteady;
    return static_cast<double>(samples_.back().operations) > operations_until(from);
  }

  /// @pre  there are samples
  double operations_until(Clock::time_point when) const {
    const auto after = std::ranges::lower_bound(samples_, when, {}, &Sample::at);
    if (after == samples_.begin()) return static_cast<double>(after->operations);
    const Sample& before = *std::prev(after);
    if (after == samples_.end()) return static_cast<double>(before.operations);
    const double share = in_seconds(when - before.at) / in_seconds(after->at - before.at);
    return static_cast<double>(before.operations) +
           share * static_cast<double>(after->operations - before.operations);
  }

  [[noreturn]] void throw_why_it_ended() const {
    const std::string what = fmt::format("the background, {}, ", case_.test);
    try {
      if (failure_) std::rethrow_exception(failure_);
    } catch (const Unsupported& error) {
      throw Unsupported(what + "cannot be: " + error.what());
    } catch (const std::exception& error) {
      throw MeasurementError(what + "failed: " + error_text(error));
    }
    throw MeasurementError(what + "ended by itself");
  }

  const TestCase case_;
  InterruptSource end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr failure_;   ///< read once it has ended
  std::vector<Sample> samples_;  ///< guarded by mutex_, as what follows
  std::optional<double> alone_per_s_;
  bool ended_ = false;
  std::thread thread_;  ///< last: it uses all of the above
};

class BackgroundMeasurer final : public MeasurerOver {
 public:
  BackgroundMeasurer(std::unique_ptr<Measurer> cases, MakeBackground make, std::uint64_t loops,
                     const InterruptSource& interrupt)
      : MeasurerOver(*cases),
        cases_(std::move(cases)),
        make_(std::move(make)),
        loops_(loops),
        interrupt_(interrupt) {}

  void set_background(const TestCase* background) override { wanted_ = background; }

  Outcome measure(const TestCase& asked) override {
    const TestCase test_case = with_wait(asked);
    if (wanted_ != current_) traffic_.reset();
    current_ = wanted_;
    if (current_ == nullptr) return cases_->measure(test_case);
    try {
      return beside(test_case);
    } catch (...) {
      traffic_.reset();  // the next case has one that is known to run
      throw;
    }
  }

 private:
  TestCase with_wait(TestCase test_case) const;
  Outcome beside(const TestCase& test_case);

  const std::unique_ptr<Measurer> cases_;
  const MakeBackground make_;
  const std::uint64_t loops_;
  const InterruptSource& interrupt_;
  const TestCase *wanted_ = nullptr, *current_ = nullptr;
  std::unique_ptr<BackgroundTraffic> traffic_;
};

/// A loop that spins would keep another one of the same measurement from going on, where there are
/// more of them, at both ends if those are one machine, than CPUs. So also without a background: a
/// case waits the same way beside it and alone.
TestCase BackgroundMeasurer::with_wait(TestCase test_case) const {
  const auto mine = initiator_environment(), theirs = responder_environment();
  const Json& boot = fact_at(mine, "/boot_id");  // null: not readable
  const bool one_machine = boot.is_string() && boot == fact_at(theirs, "/boot_id");
  const std::uint64_t loops = test_case.loops(Role::responder) + loops_;
  if (test_case.wait == Wait::automatic && loops * (one_machine ? 2 : 1) > allowed_cpus())
    test_case.wait = Wait::yield;
  return test_case;
}

Outcome BackgroundMeasurer::beside(const TestCase& test_case) {
  if (!traffic_) traffic_ = std::make_unique<BackgroundTraffic>(with_wait(*current_), make_);
  traffic_->await_steady(interrupt_);
  const auto began = Clock::now();
  Outcome outcome = cases_->measure(test_case);
  const auto ended = outcome.window_end == Clock::time_point() ? Clock::now() : outcome.window_end;
  const auto window = std::chrono::nanoseconds(outcome.elapsed_ns);
  outcome.background = traffic_->between(std::max(began, ended - window), ended);
  outcome.extra.erase("shared_responder");  // as was asked for
  return outcome;
}

}  // namespace

std::unique_ptr<Measurer> make_background_measurer(std::unique_ptr<Measurer> cases,
                                                   MakeBackground make, std::uint64_t loops,
                                                   const InterruptSource& interrupt) {
  return std::make_unique<BackgroundMeasurer>(std::move(cases), std::move(make), loops, interrupt);
}

}  // namespace rdmameter
