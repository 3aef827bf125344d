// SPDX-License-Identifier: Apache-2.0
// The price of loss: which samples waited for the transport's timers or retries, as far as their
// length and the drivers' counters tell.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/summary/summary.h"
#include "reports/text/text.h"

namespace rdmameter {

struct UncountedEnd {
  std::string_view end;  ///< "initiator" or "responder"
  std::string driver;    ///< "siw"; "the driver of siw0" where none is named
};

/// Of a counter, `retry` is after a timeout or a sequence NAK, and `unknown` tells of loss or
/// congestion, and of no one sample.
enum class StallCause : std::uint8_t { timeout, rnr, sequence_nak, unknown, retry };
inline constexpr std::size_t kStallCauses = 4;  ///< of a stall all but `retry`
static_assert(static_cast<std::size_t>(StallCause::retry) == kStallCauses);

/// A sample is stalled if it is longer than this many typical ones. Its stall is what it is longer.
inline constexpr double kStalledTimes = 3;

/// RetransmitStalls of one cause.
struct RetransmitStalls {
  std::uint64_t samples = 0;
  double median_ns = 0, max_ns = 0;  ///< 0: no samples
};

/// A counter that changed during the case and has to do with loss or congestion.
struct LossCounter {
  std::uint64_t events = 0;
  std::string_view meaning;
};

struct RetransmitReport {
  std::uint64_t samples = 0;
  /// Of the samples as they were taken (round trips): the median. Where that is as long as a timer
  /// whose events were counted, and so a stall itself: the smallest; where that is, too: 0.
  double typical_ns = 0;
  bool mostly_stalled = false;  ///< it is not the median
  Number timeout_ns;            ///< 4.096 us * 2^qp_timeout; nothing: none is set
  Number rnr_ns;                ///< that min_rnr_timer asks for
  bool counted = false;         ///< at least one end's driver has counters
  std::array<RetransmitStalls, kStallCauses> causes;          ///< by StallCause
  std::vector<std::pair<std::string, LossCounter>> counters;  ///< by "initiator requester_timeout"

  const RetransmitStalls& of(StallCause cause) const {
    return causes[static_cast<std::size_t>(cause)];
  }
};

/// Of all repetitions together. A stall is
/// - a timeout or an RNR NAK if it is as long as the timer, or up to four times it, unless it is
///   known that there was none: the ends that send requests counted none. Where such events were
///   counted, any length from the timer's on will do: IBTA lets a timeout last four times as long
///   (vol. 1, 9.7.6.1.3);
/// - a sequence NAK if it is shorter than both and such NAKs were counted;
/// - else of unknown cause, as is what could be two of them. Nor has a ping-pong, of which one
///   message is under way, more stalls of a cause than were counted: those farthest from the timer
///   are unknown.
/// Events of an end that sends no requests are listed, but are no cause.
/// @param uncounted  that none was counted there tells nothing
/// @return nothing where there are no latency samples
std::optional<RetransmitReport> stalls_of(const CaseSummary& summary,
                                          std::span<const UncountedEnd> uncounted = {});

/// The time that a receiver asks a sender to wait by an RNR NAK [ns] (IBTA vol. 1, table 45).
/// @param code  0 to 31
double rnr_timer_ns(std::uint64_t code);

// ---- The counters of Linux' drivers that have to do with loss and congestion, and what they mean.

/// Counters that mean the same.
struct LossCounterInfo {
  std::string_view meaning;               ///< as the end that counted it sees it
  std::array<std::string_view, 5> names;  ///< of drivers; empty: no further one
  StallCause event = StallCause::unknown;
};

/// @return  nullptr: not a counter of loss, or not known
const LossCounterInfo* find_loss_counter(std::string_view name);

// ---- The price of loss of one case: stalls by their cause, and what the drivers counted.

/// A text about all cases that have latencies, beneath their names: a line for each cause, what its
/// stalls were and what they should be, and the counters.
/// @param context  of the result
/// @return  "" where there are no latency samples
std::string loss_report(std::span<const Row> rows, const Json& context, const TextStyle& style);

}  // namespace rdmameter
