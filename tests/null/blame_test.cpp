// SPDX-License-Identifier: Apache-2.0
// The loops of `--blame` in virtual time: one end is stopped, or the path held, a thousand times
// for 5 ms, at known times, beside shorter pauses of all three; and whom the judge blames.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

#include "core/engine/blame/judge.h"
#include "core/instrument/histogram_data.h"
#include "virtual_ends.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kUs = 1000, kMs = 1'000'000, kInjections = 1000, kInjected_ns = 5 * kMs,
                        kLate_ns = kMs / 2;
/// Virtual time begins late: the program takes times for those since the machine's start.
constexpr std::uint64_t kBegin_ns = 1'000'000'000 * kMs;

enum class Away : std::size_t { initiator, responder, path, nobody };
constexpr std::array kNames{"initiator", "responder", "path", "nobody"};

/// 5 ms, and between two of them `least_ns` or up to 2 ms more.
Intervals injections(std::uint64_t least_ns) {
  std::mt19937_64 random(1);
  Intervals all;
  std::uint64_t at = kBegin_ns + 20 * kMs;
  for (std::uint64_t i = 0; i < kInjections; ++i, at += kInjected_ns) {
    at += least_ns + random() % (2 * kMs);
    all.push_back({at, at + kInjected_ns});
  }
  return all;
}

/// What a quiet machine does: some 60 us each 20 ms.
Intervals noise(std::uint64_t seed, std::uint64_t until) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> between(1.0 / (20 * kMs)), length(1.0 / (60 * kUs));
  Intervals all;
  for (std::uint64_t at = kBegin_ns; at < until; at = all.back().end) {
    at += static_cast<std::uint64_t>(between(random));
    all.push_back({at, at + static_cast<std::uint64_t>(length(random))});
  }
  return all;
}

/// In order of their beginnings.
Intervals merged(Intervals some, const Intervals& others) {
  some.insert(some.end(), others.begin(), others.end());
  std::ranges::sort(some, {}, &Interval::begin);
  return some;
}

/// A run of a case, and its late samples.
struct BlamedRun {
  BlameData blame;
  std::uint64_t overlap_one = 0;  ///< late samples that overlap exactly one injection

  /// Late ones by cause, in the order of Away; the last are undecided.
  std::array<std::uint64_t, 4> counts() const {
    return {blame.local.count, blame.peer.count, blame.path.count, blame.undecided.count};
  }
  std::string text() const {
    const auto [local, peer, path, undecided] = counts();
    return fmt::format(
        "{} late, of them {} during one injection: {} local, {} peer, {} path, {} undecided",
        blame.late, overlap_one, local, peer, path, undecided);
  }
};

std::uint64_t late_during_one(const PollWatch& watch, const BlameData& blame,
                              const Intervals& injected) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < watch.samples.count; ++i) {
    const LongSample& sample = watch.samples.entries[i];
    const auto first = std::ranges::upper_bound(injected, sample.begun, {}, &Interval::end);
    const auto overlap =
        std::ranges::count_if(first, std::min(first + 2, injected.end()), [&](const Interval& one) {
          return one.overlaps(sample.begun, sample.begun + sample.length);
        });
    count += sample.length >= blame.limit_ns && overlap == 1;
  }
  return count;
}

/// @param acknowledged_ns  see VirtualEnd, of the responder
BlamedRun run_blamed(TestCase test_case, Away away, const Intervals& injected = injections(kMs),
                     std::uint64_t acknowledged_ns = 0) {
  test_case.blame = true;
  test_case.late_ns = kLate_ns;
  test_case.iterations = 0;
  test_case.duration_ns = injected.back().end - kBegin_ns;
  std::array<Intervals, 3> pauses;
  for (std::size_t i = 0; i < 3; ++i) {
    pauses[i] = noise(i, injected.back().end);
    if (static_cast<Away>(i) == away) pauses[i] = merged(std::move(pauses[i]), injected);
  }
  VirtualEnd initiator(test_case, Role::initiator, kBegin_ns, pauses[0], pauses[2]);
  std::optional<VirtualEnd> responder;
  if (test_case.answered())
    responder.emplace(test_case, Role::responder, kBegin_ns, pauses[1], pauses[2]);
  if (responder) responder->acknowledged_ns = acknowledged_ns;
  run_ends(initiator, responder ? &*responder : nullptr);
  EXPECT_EQ(initiator.result().why, LoopResult::Why::done);
  const WatchData own = initiator.watched();
  WatchData peer;
  if (responder) peer = responder->watched();
  BlamedRun run;
  run.blame = judge_late_samples({.samples = snapshot(*initiator.side().latency),
                                  .late_ns = kLate_ns,
                                  .warmup = test_case.warmup,
                                  .own = own,
                                  .peer = responder ? &peer : nullptr,
                                  .open_loop = test_case.open_loop()});
  run.overlap_one = late_during_one(initiator.side().work.watch()->watch(), run.blame, injected);
  return run;
}

const std::map<std::string, TestCase>& blamed_cases() {
  static const std::map<std::string, TestCase> cases = [] {
    std::map<std::string, TestCase> all{
        {"send_lat", null_case(Opcode::send, Pattern::ping_pong)},
        {"write_lat", null_case(Opcode::rdma_write, Pattern::ping_pong)},
        {"read_lat", null_case(Opcode::rdma_read, Pattern::completion_latency)},
        {"send_load", null_case(Opcode::send, Pattern::open_loop)},
        {"write_load", null_case(Opcode::rdma_write, Pattern::open_loop)}};
    for (auto& [name, test_case] : all) test_case.rate = 5000;
    return all;
  }();
  return cases;
}

class BlameInVirtualTime : public testing::TestWithParam<std::string> {};

TEST_P(BlameInVirtualTime, FindsWhoWasAway) {
  const TestCase& test_case = blamed_cases().at(GetParam());
  const BlamedRun control = run_blamed(test_case, Away::nobody);
  fmt::print("nobody: {}\n", control.text());
  EXPECT_LE(control.blame.late, kInjections / 100);
  for (const Away away : {Away::initiator, Away::responder, Away::path}) {
    if (away == Away::responder && !test_case.answered()) continue;
    const BlamedRun run = run_blamed(test_case, away);
    const std::string text =
        fmt::format("{}: {}\n", kNames[static_cast<std::size_t>(away)], run.text());
    SCOPED_TRACE(text);
    fmt::print("{}", text);
    const std::uint64_t late = run.overlap_one,
                        right = run.counts()[static_cast<std::size_t>(away)];
    // Between two samples of a closed loop a stop of the initiator makes none late.
    EXPECT_GE(late, kInjections * 95 / 100);
    EXPECT_LE(run.blame.late - late, control.blame.late);
    EXPECT_GE(right * 100, run.blame.late * 95);
    EXPECT_LE((run.blame.late - run.blame.undecided.count - right) * 100, late);
    EXPECT_EQ(run.blame.not_kept, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, BlameInVirtualTime,
                         testing::Values("send_lat", "write_lat", "read_lat", "send_load",
                                         "write_load"),
                         [](const auto& info) { return info.param; });

TEST(Blame, OfAResponderThatIsAwayWhileItWaitsForRoom) {
  // The second request of each pair comes before there is room for another answer.
  TestCase test_case = blamed_cases().at("send_load");
  test_case.rate = 2000;
  test_case.arrivals = static_cast<ArrivalPattern>(2);  // bursts of 2
  test_case.queues.depth = 1;
  constexpr std::uint64_t kAcknowledged_ns = kMs / 5;
  const Intervals injected = injections(10 * kMs);
  const BlamedRun control = run_blamed(test_case, Away::nobody, injected, kAcknowledged_ns),
                  run = run_blamed(test_case, Away::responder, injected, kAcknowledged_ns);
  SCOPED_TRACE(run.text());
  EXPECT_LE(control.blame.late, kInjections / 100) << control.text();
  EXPECT_GE(run.blame.late, 5 * kInjections);
  EXPECT_GE(run.blame.peer.count * 100, run.blame.late * 99);
}

}  // namespace
}  // namespace rdmameter
