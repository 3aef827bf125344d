// SPDX-License-Identifier: Apache-2.0
// A history by case: one number over time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "reports/history/history_file.h"
#include "reports/stats/mean_shift.h"
#include "reports/summary/summary.h"
#include "reports/text/text.h"

namespace rdmameter {

/// Borrows the history's entries.
struct HistorySeries {
  struct Point {
    const HistoryEntry* entry;
    HistoryNumber number;
  };
  std::string name;          ///< of the case
  std::string machine;       ///< machine_of() its entries
  const MetricInfo* metric;  ///< whose numbers these are
  std::vector<Point> points;
};

struct SeriesChoice {
  std::vector<std::string> cases;  ///< globs; empty: all
  std::string quantity;            ///< key; empty: each case's number to watch
  bool every_metric = false;       ///< all numbers that a case has, where no quantity is named
  std::size_t last = 300;          ///< as many of the newest entries
};

/// @param key  of a metric, as in a history; empty: none
/// @throws UsageError  there is no such quantity
void check_quantity(const std::string& key);

/// A series for each case, number and machine, in the order of their first
/// appearance: numbers of different hardware make no history.
/// @throws UsageError  there is no such quantity, or no such case
std::vector<HistorySeries> series_of(const History& history, const SeriesChoice& choice);

enum class ChangeState {
  fresh,         ///< not acknowledged
  acknowledged,  ///< a user has marked it as known
  resolved,      ///< the newest part of the series is as it was before the change, or better still
};

/// A change of level that is more than the noise of the points and what a season may do.
struct SeriesChange {
  std::size_t at = 0;            ///< index of the first point after it
  double deviations = 0;         ///< standard errors
  double before = 0, after = 0;  ///< medians of the parts before and after, in the metric's unit
  ChangeState state = ChangeState::fresh;
  std::string note = {};  ///< from the acknowledgement
};

/// An acknowledgement holds for the change of its case and metric that is nearest to it, up to
/// MeanShiftOptions::min_part results away: further results may move a change by a few.
/// @param series    points of 0, of which there is no ratio, are left out
/// @param together  how many series are looked at: they share the chance of a false alarm
std::vector<SeriesChange> changes_in(const HistorySeries& series,
                                     std::span<const Acknowledgement> acknowledged = {},
                                     std::size_t together = 1);

// ---- `rdmameter history show` and `history check`: what a terminal sees.

/// A line drawn for each series, with its first and latest number; changes are marked beneath.
std::string show_history(const std::vector<HistorySeries>& all, const TextStyle& style);

/// The changes alone: which case, when, from what to what, and what else changed then. What is
/// resolved or acknowledged is counted and marked.
/// @param since  changes before that time are left out; empty: none is
std::string check_history(const std::vector<HistorySeries>& all, const TextStyle& style,
                          std::span<const Acknowledgement> acknowledged = {},
                          const std::string& since = "");

}  // namespace rdmameter
