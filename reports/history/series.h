// SPDX-License-Identifier: Apache-2.0
// A history by case: one number over time.
#pragma once

#include <string>
#include <vector>

#include "reports/history/e_divisive.h"
#include "reports/history/history_file.h"
#include "reports/quantity.h"

namespace rdmameter {

/// Borrows the history's entries.
struct HistorySeries {
  struct Point {
    const HistoryEntry* entry;
    HistoryNumber number;
  };
  std::string name;          ///< of the case
  const Quantity* quantity;  ///< whose numbers these are
  std::vector<Point> points;
};

struct SeriesChoice {
  std::vector<std::string> cases;  ///< globs; empty: all
  std::string quantity;            ///< key; empty: each case's number to watch
  std::size_t last = 300;          ///< as many of the newest entries
};

/// One series for each case that has such numbers, in the order of their first appearance.
/// @throws UsageError  there is no such quantity, or no such case
std::vector<HistorySeries> series_of(const History& history, const SeriesChoice& choice);

/// A change that is more than the noise recorded with the points.
struct SeriesChange {
  ChangePoint point;
  double before = 0, after = 0;  ///< medians of the parts before and after, in the quantity's unit
};

/// Change points, but for those that half the repetitions' range at the points would explain.
std::vector<SeriesChange> changes_in(const HistorySeries& series);

}  // namespace rdmameter
