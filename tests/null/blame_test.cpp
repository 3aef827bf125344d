// SPDX-License-Identifier: Apache-2.0
// A ping-pong in virtual time by the wait of watched loops: pauses of either end and delays of the
// path, at known times, and whether the judge gives the late samples to them.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "core/engine/blame/judge.h"
#include "core/engine/loop/ping_pong.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kPause_ns = 5'000'000, kPath_ns = 4'000, kPost_ns = 300, kStep_ns = 100;

struct Pause {
  std::uint64_t begin = 0, end = 0;
  bool overlaps(std::uint64_t from, std::uint64_t to) const { return begin < to && from < end; }
};

/// One end's thread: its time goes on by what it does, and jumps over its pauses.
class VirtualThread {
 public:
  explicit VirtualThread(std::vector<Pause> pauses) : pauses_(std::move(pauses)) {}
  void spend(std::uint64_t ns) {
    now_ += ns;
    while (next_ < pauses_.size() && now_ >= pauses_[next_].begin)
      now_ = std::max(now_, pauses_[next_++].end);
  }
  std::uint64_t now() const { return now_; }

 private:
  std::vector<Pause> pauses_;
  std::size_t next_ = 0;
  std::uint64_t now_ = 0;
};

struct VirtualThreadClock {
  VirtualThread* thread;
  std::uint64_t now() const noexcept {
    thread->spend(kStep_ns / 2);
    const std::uint64_t now = thread->now();
    thread->spend(kStep_ns / 2);
    return now;
  }
};

struct VirtualThreadPolicy {
  using Clock = VirtualThreadClock;
  using Waiter = SpinWait;
};

/// An end with what it notes.
struct VirtualEnd {
  VirtualThread thread;
  std::vector<PollGap> gaps = std::vector<PollGap>(kMaxPollGaps);
  PollWatch watch;
  std::uint64_t last = 0;

  explicit VirtualEnd(std::vector<Pause> pauses) : thread(std::move(pauses)) {
    watch.gaps = {.entries = gaps.data(), .capacity = gaps.size(), .limit = 1000};
  }
  /// Polls until what arrives at a time has been found.
  void await(std::uint64_t message, std::uint64_t arrives) {
    const StopFlag never;
    std::uint64_t empties = 0;
    watched_wait<VirtualThreadPolicy>(watch, VirtualThreadClock{&thread}, message,
                                      static_cast<ibv_cq*>(nullptr), never, empties, last, [&] {
                                        thread.spend(kStep_ns);
                                        const bool there = thread.now() >= arrives;
                                        thread.spend(kStep_ns);
                                        return int{there};
                                      });
  }
  WatchData data() const {
    WatchData data{.gap_limit_ns = watch.gaps.limit};
    for (std::size_t i = 0; i < watch.gaps.count; ++i)
      data.gaps.push_back({.message = gaps[i].message,
                           .length_ns = gaps[i].length,
                           .found = gaps[i].found,
                           .first = gaps[i].first});
    return data;
  }
};

enum class Cause : std::size_t { local, peer, path };

/// A ping-pong of which one end, or the path, is away a thousand times.
class Simulation {
 public:
  explicit Simulation(Cause cause) : random_(static_cast<unsigned>(cause) + 1) {
    for (std::uint64_t i = 0; i < 1000; ++i) {
      const std::uint64_t begin = i * 8'000'000 + random_() % 2'000'000;
      injected_.push_back({begin, begin + kPause_ns});
    }
    if (cause == Cause::local) initiator_ = VirtualEnd{injected_};
    if (cause == Cause::peer) responder_ = VirtualEnd{injected_};
    if (cause == Cause::path) held_ = injected_;
  }

  BlameData run() {
    VirtualThread& mine = initiator_.thread;
    WatchData own;
    for (std::uint64_t message = 0; mine.now() < injected_.back().end; ++message) {
      const std::uint64_t sent = initiator_.last = mine.now();
      mine.spend(kPost_ns);
      responder_.await(message, arrival(mine.now()));
      responder_.thread.spend(kPost_ns);
      initiator_.await(message, arrival(responder_.thread.now()));
      const std::uint64_t length = initiator_.last - sent;
      samples_->record(length);
      own.samples.push_back({message, length});
      if (length >= kPause_ns / 10) overlapping_ += overlaps_one(sent, initiator_.last) ? 1 : 0;
      mine.spend(kPost_ns);
    }
    own.gaps = initiator_.data().gaps;
    own.gap_limit_ns = initiator_.watch.gaps.limit;
    const WatchData peer = responder_.data();
    return judge_late_samples(
        {.samples = snapshot(*samples_), .late_ns = kPause_ns / 10, .own = own, .peer = &peer});
  }

  std::uint64_t overlapping() const { return overlapping_; }

 private:
  /// When what is posted now arrives: a held path lets nothing through.
  std::uint64_t arrival(std::uint64_t posted) {
    const std::uint64_t usual = posted + kPath_ns + random_() % (kPath_ns / 2);
    for (; next_held_ < held_.size() && held_[next_held_].end <= posted; ++next_held_) {
    }
    if (next_held_ == held_.size() || !held_[next_held_].overlaps(posted, usual)) return usual;
    return held_[next_held_].end;
  }

  bool overlaps_one(std::uint64_t from, std::uint64_t to) const {
    return std::ranges::count_if(injected_,
                                 [&](const Pause& one) { return one.overlaps(from, to); }) == 1;
  }

  std::mt19937 random_;
  std::vector<Pause> injected_, held_;
  std::size_t next_held_ = 0;
  VirtualEnd initiator_{{}}, responder_{{}};
  std::unique_ptr<Histogram> samples_ = std::make_unique<Histogram>();
  std::uint64_t overlapping_ = 0;
};

class BlameInVirtualTime : public testing::TestWithParam<Cause> {};

TEST_P(BlameInVirtualTime, FindsWhoWasAway) {
  Simulation simulation(GetParam());
  const BlameData data = simulation.run();
  const std::uint64_t counts[] = {data.local.count, data.peer.count, data.path.count};
  const std::uint64_t right = counts[static_cast<std::size_t>(GetParam())];
  // One that begins outside of all samples makes none late.
  EXPECT_GE(simulation.overlapping(), 900U);
  EXPECT_EQ(data.late, simulation.overlapping());
  EXPECT_GE(right * 100, data.late * 95);
  EXPECT_LE((data.late - data.undecided.count - right) * 100, data.late);
  std::printf("of %u late samples %u local, %u peer, %u path, %u undecided\n",
              static_cast<unsigned>(data.late), static_cast<unsigned>(data.local.count),
              static_cast<unsigned>(data.peer.count), static_cast<unsigned>(data.path.count),
              static_cast<unsigned>(data.undecided.count));
}

INSTANTIATE_TEST_SUITE_P(Of, BlameInVirtualTime,
                         testing::Values(Cause::local, Cause::peer, Cause::path),
                         [](const auto& info) {
                           return std::string(info.param == Cause::local  ? "Initiator"
                                              : info.param == Cause::peer ? "Responder"
                                                                          : "Path");
                         });

}  // namespace
}  // namespace rdmameter
