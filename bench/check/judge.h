// SPDX-License-Identifier: Apache-2.0
// What is wrong with a device, as far as its description and what was measured tell. Pure functions
// of plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/json_text.h"
#include "core/result/row.h"
#include "topologies/stragglers/straggler.h"

namespace rdmameter {

// ---- Limits of the judgement. docs/check.md has them, too.

inline constexpr double kLeastOfBound = 0.9;  ///< of the payload bound: large messages, one way
inline constexpr double kLeastOfWay = 0.9;    ///< of the other direction
/// Of the median of siblings, or in --expect's file: bandwidths, links, MTUs; latencies.
inline constexpr double kLeastOfOthers = 0.9, kMostOfLatency = kSlowFactor;
inline constexpr double kMostLost = 1e-6;  ///< events of loss for each packet sent

/// A device and its peer, and what is known of them.
struct CheckSubject {
  std::string name;  ///< of the device
  Json context;      ///< of a result: both ends' environments
  /// What `doctor` found here, and at the peer: "findings" of an examination. Null: not asked.
  Json findings, peer_findings;
  bool together = false;  ///< it is all the others at once, under its name
};

/// What was measured last of a test.
struct CheckReading {
  std::size_t subject;     ///< its index
  std::string_view label;  ///< "write both ways": the test, one case of each subject
  const Row* row;          ///< borrowed; with `bound_gbps` where a bound is known
};

enum class CheckReason : std::uint8_t {
  failed,     ///< a test has failed
  slot,       ///< carries less than the line
  link,       ///< slower than its siblings'
  mtu,        ///< smaller than its siblings'
  direction,  ///< one is slower than the other
  bound,      ///< not reached
  siblings,   ///< behind them
  expected,   ///< worse than an earlier check
};

struct CheckFinding {
  std::size_t subject;
  CheckReason reason;
  std::string_view test;  ///< label; empty: it is not of a measurement
  std::string text;       ///< "slot x4, 32.0 GT/s carries 126 Gb/s of the line's 200"

  /// Is it the same finding, whatever its figures?
  bool same_as(const CheckFinding& other) const {
    return subject == other.subject && reason == other.reason && test == other.test;
  }
};

/// What to do about it.
std::string_view remedy_of(CheckReason reason);

/// Each fault has one reason: what follows from it is not told.
/// @param expected  rows of an earlier check; empty: none
std::vector<CheckFinding> judge_check(std::span<const CheckSubject> subjects,
                                      std::span<const CheckReading> readings,
                                      std::span<const Row> expected);

/// Those of the second that the first has, too. Slot, link and MTU are read from the kernel, not
/// measured: one reading is enough.
std::vector<CheckFinding> confirmed(std::span<const CheckFinding> first,
                                    std::vector<CheckFinding> second);

/// "not judged: ..., because ...", without the first words.
std::vector<std::string> not_judged(std::span<const CheckSubject> subjects,
                                    std::span<const CheckReading> readings);

/// How many of the readings an earlier check has, too: the same test of the same devices.
std::size_t count_expected(std::span<const CheckReading> readings, std::span<const Row> expected);

/// That number; where it is 0, whose cases the earlier check has.
/// @param file  its name
std::string expected_text(std::span<const CheckReading> readings, std::span<const Row> expected,
                          const std::string& file);

/// What devices do together beside what each does alone: "write together: 380 Gb/s, ...". No
/// finding, since what they share (a slot, an uplink, memory) may be meant so. Empty: nothing was
/// measured together.
std::string together_text(std::span<const CheckSubject> subjects,
                          std::span<const CheckReading> readings);

/// Packets that were lost, as a share of those sent. They are of a port, not of a case, so they are
/// no finding.
std::vector<std::string> loss_warnings(std::span<const CheckSubject> subjects,
                                       std::span<const CheckReading> readings);

}  // namespace rdmameter
