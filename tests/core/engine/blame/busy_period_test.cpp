// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "core/engine/blame/judge.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kMs = 1'000'000, kLate = kMs, kStopNs = 60 * kMs, kRequests = 120;

/// Requests that fall due each half millisecond from `from_ns`, and are all seen right after one
/// stop of 60 ms that began then.
void add_stop(WatchData& own, std::uint64_t from_ns) {
  const std::uint64_t first = own.samples.size();
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    const std::uint64_t begun_ns = from_ns + i * kMs / 2;
    own.samples.push_back({.message = first + i,
                           .length_ns = from_ns + kStopNs + i * 100 - begun_ns,
                           .begun_ns = begun_ns});
  }
}

WatchData initiator() {
  WatchData own;
  own.gap_limit_ns = kMs / 10;
  return own;
}

WatchData::Gap stop_of_initiator(std::uint64_t from_ns) {
  return {.message = 0, .length_ns = kStopNs, .found = true, .begun_ns = from_ns};
}

WatchData::Gap stop_of_responder(std::uint64_t message) {
  return {.message = message, .length_ns = kStopNs, .found = true};
}

/// Half a millisecond of the last request's length is not late.
constexpr std::size_t kLateOfStop = kRequests - 2;

TEST(BusyPeriod, RequestsThatFellDueDuringAStopOfTheInitiatorInheritIt) {
  WatchData own = initiator();
  add_stop(own, 500 * kMs);
  std::vector<WatchData::Gap> stalls;
  const std::vector<AwayTimes> late =
      times_away(own, kLate, {stop_of_initiator(500 * kMs)}, {}, stalls);
  ASSERT_GE(late.size(), kLateOfStop);
  for (const AwayTimes& each : late) {
    EXPECT_EQ(each.local_ns, kStopNs) << each.sample.message;
    EXPECT_EQ(each.peer_ns, 0U);
  }
  EXPECT_EQ(stalls.size(), 1U);  // named once, though many samples were late by it
}

TEST(BusyPeriod, RequestsBehindTheOneThatWaitedForTheResponderInheritItsStop) {
  WatchData own = initiator();
  add_stop(own, 500 * kMs);
  std::vector<WatchData::Gap> stalls;
  const std::vector<AwayTimes> late = times_away(own, kLate, {}, {stop_of_responder(0)}, stalls);
  ASSERT_GE(late.size(), kLateOfStop);
  for (const AwayTimes& each : late) {
    EXPECT_EQ(each.peer_ns, kStopNs) << each.sample.message;
    EXPECT_EQ(each.local_ns, 0U);
  }
  EXPECT_TRUE(stalls.empty());
}

TEST(BusyPeriod, OfAnswersThatCameTogetherAllInheritTheStopWhicheverIsNotedFirst) {
  WatchData own = initiator();
  add_stop(own, 500 * kMs);
  for (WatchData::Sample& sample : own.samples)  // the initiator found them with one poll
    sample.length_ns = 500 * kMs + kStopNs + kMs - sample.begun_ns;
  std::ranges::reverse(own.samples);
  std::vector<WatchData::Gap> stalls;
  for (const AwayTimes& each : times_away(own, kLate, {}, {stop_of_responder(0)}, stalls))
    EXPECT_EQ(each.peer_ns, kStopNs) << each.sample.message;
}

TEST(BusyPeriod, ABatchAnsweredAfterAStopInheritsItThoughItsLastRequestIsNotLate) {
  WatchData own = initiator();
  for (std::uint64_t i = 0; i < 3; ++i)  // the fourth was in time
    own.samples.push_back(
        {.message = i, .length_ns = kStopNs - i * kMs, .begun_ns = (500 + i) * kMs});
  std::vector<WatchData::Gap> stalls;
  const auto late =
      times_away(own, kLate, {},
                 {{.message = 4, .length_ns = kStopNs, .found = false, .first = true}}, stalls);
  ASSERT_EQ(late.size(), 3U);
  for (const AwayTimes& each : late) EXPECT_EQ(each.peer_ns, kStopNs) << each.sample.message;
}

TEST(BusyPeriod, TheNextPeriodInheritsNothing) {
  WatchData own = initiator();
  add_stop(own, 500 * kMs);
  add_stop(own, 700 * kMs);  // the path's
  std::vector<WatchData::Gap> stalls;
  std::uint64_t path = 0;
  for (const AwayTimes& each : times_away(own, kLate, {stop_of_initiator(500 * kMs)}, {}, stalls)) {
    const bool second = each.sample.message >= kRequests;
    EXPECT_EQ(each.local_ns, second ? 0 : kStopNs) << each.sample.message;
    if (second) ++path;
  }
  EXPECT_GE(path, kLateOfStop);
}

TEST(BusyPeriod, BothEndsAwayAreBothTold) {
  WatchData own = initiator();
  add_stop(own, 500 * kMs);
  std::vector<WatchData::Gap> stalls;
  const std::vector<AwayTimes> late =
      times_away(own, kLate, {stop_of_initiator(500 * kMs)}, {stop_of_responder(0)}, stalls);
  ASSERT_GE(late.size(), kLateOfStop);
  for (const AwayTimes& each : late) {
    EXPECT_EQ(each.local_ns, kStopNs);
    EXPECT_EQ(each.peer_ns, kStopNs);
  }
}

}  // namespace
}  // namespace rdmameter
