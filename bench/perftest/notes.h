// SPDX-License-Identifier: Apache-2.0
// What perftest mode says on stderr beyond failures. perftest says nothing there in a run that goes
// well, and scripts take any byte on stderr for a failure: notes are written only where the
// environment asks for them.
#pragma once

#include <optional>
#include <string_view>

#include "bench/perftest/report.h"

namespace rdmameter {

inline constexpr const char* kNotesVariable = "RDMAMETER_NOTES";

/// Is it set, and not 0?
bool notes_wanted();

/// "rdmameter: TEXT" on stderr, if notes are wanted.
/// @param text  of others, too: it is made printable
void tell_note(std::string_view text);

/// The note of messages that were lost, if any were.
void tell_lost(const PerftestNumbers& numbers);

// -w and -y: rates below which a perftest tool ends with 1.

/// The limits of -w and -y. Of several rows (-a) one that reaches a limit is enough,
/// as in perftest.
struct PerftestLimits {
  std::optional<double> bandwidth;                  ///< -w in the unit of the column
  std::optional<double> rate;                       ///< -y [Mmsg/s], which fails nothing without -w
  std::optional<double> best_bandwidth, best_rate;  ///< of any row

  void add(const PerftestReport& report, const PerftestNumbers& numbers);

  /// Is no limit missed that changes the status? Else stderr says which, first by the line by which
  /// scripts know it. -y alone is told in a note.
  bool met(const PerftestReport& report) const;
};

}  // namespace rdmameter
