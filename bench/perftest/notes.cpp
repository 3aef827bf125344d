// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "core/base/printable.h"
#include "core/log/print.h"
#include "reports/text/text.h"

namespace rdmameter {

bool notes_wanted() {
  const char* const text = std::getenv(kNotesVariable);
  return text != nullptr && *text != '\0' && std::string_view(text) != "0";
}

void tell_note(std::string_view text) {
  if (notes_wanted()) tell_lines("rdmameter: {}\n", printable(text));
}

void tell_lost(const PerftestNumbers& numbers) {
  if (numbers.lost.value_or(0) > 0) tell_note(fmt::format("{} messages were lost", *numbers.lost));
}

void PerftestLimits::add(const PerftestReport& report, const PerftestNumbers& numbers) {
  if (!numbers.traffic) return;
  const PerftestBandwidth reached = perftest_bandwidth(report, numbers);
  best_bandwidth = std::max(best_bandwidth.value_or(0), reached.average);
  best_rate = std::max(best_rate.value_or(0), reached.message_rate);
}

bool PerftestLimits::met(const PerftestReport& report) const {
  if (best_bandwidth && bandwidth && *best_bandwidth < *bandwidth) {
    tell_text("Error: BW result is below bw limit\n");
    tell_lines("rdmameter: the bandwidth of {:.2f} is below -w, --limit_bw {:.2f} {}\n",
               *best_bandwidth, *bandwidth, report.gbits ? "Gb/sec" : "MiB/sec");
    return false;
  }
  if (!best_rate || !rate || *best_rate >= *rate) return true;
  const std::string slow = fmt::format(
      "the message rate of {:.6f} is below -y, --limit_msgrate {:.6f} Mpps", *best_rate, *rate);
  if (!bandwidth) {
    tell_note(slow + ", which changes no status without -w");
    return true;
  }
  tell_text("Error: Msg rate  is below msg_rate limit\n");
  tell_lines("rdmameter: {}\n", slow);
  return false;
}

}  // namespace rdmameter
