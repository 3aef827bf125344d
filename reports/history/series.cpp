// SPDX-License-Identifier: Apache-2.0
#include "reports/history/series.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/error.h"

namespace rdmameter {
namespace {

const Quantity* quantity_of(const std::string& key) {
  std::string known;
  for (const Quantity& quantity : quantities()) {
    if (quantity.key == key) return &quantity;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", quantity.key);
  }
  throw UsageError(fmt::format("--quantity does not take '{}'; it takes {}.", key, known));
}

/// The one that was asked for, or that to watch: bandwidth, else p50, else the first known.
const Quantity* chosen_quantity(const HistoryCase& one, const SeriesChoice& choice) {
  if (!choice.quantity.empty()) {
    const Quantity* quantity = quantity_of(choice.quantity);
    return one.numbers.contains(choice.quantity) ? quantity : nullptr;
  }
  for (const char* key : {"gbps", "p50_ns"})
    if (one.numbers.contains(key)) return quantity_of(key);
  for (const Quantity& quantity : quantities())
    if (one.numbers.contains(std::string(quantity.key))) return &quantity;
  return nullptr;
}

bool is_chosen(const std::string& name, const std::vector<std::string>& patterns) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(), [&](const auto& glob) {
           return glob == name || fnmatch(glob.c_str(), name.c_str(), 0) == 0;
         });
}

double middle_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

std::vector<HistorySeries> series_of(const History& history, const SeriesChoice& choice) {
  if (!choice.quantity.empty()) quantity_of(choice.quantity);  // throws before anything is read
  std::vector<HistorySeries> all;
  std::map<std::pair<std::string, const Quantity*>, std::size_t> at;
  const std::size_t first = history.entries.size() - std::min(history.entries.size(), choice.last);
  for (std::size_t i = first; i < history.entries.size(); ++i)
    for (const HistoryCase& one : history.entries[i].cases) {
      const Quantity* quantity =
          is_chosen(one.name, choice.cases) ? chosen_quantity(one, choice) : nullptr;
      if (quantity == nullptr) continue;
      const auto [where, is_new] = at.try_emplace({one.name, quantity}, all.size());
      if (is_new) all.push_back({one.name, quantity, {}});
      all[where->second].points.push_back(
          {&history.entries[i], one.numbers.at(std::string(quantity->key))});
    }
  if (all.empty() && !choice.cases.empty())
    throw UsageError(fmt::format("--case '{}': no case of that name in this history.",
                                 fmt::join(choice.cases, "', '")));
  return all;
}

std::vector<SeriesChange> changes_in(const HistorySeries& series) {
  std::vector<double> values, noises;
  for (const HistorySeries::Point& point : series.points) {
    values.push_back(point.number.median);
    noises.push_back(point.number.half_range);
  }
  std::vector<SeriesChange> changes;
  if (values.empty()) return changes;
  const double noise = middle_of(noises);
  const std::vector<ChangePoint> points = e_divisive(values);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto part = [&](std::size_t from, std::size_t to) {
      return middle_of({values.begin() + static_cast<std::ptrdiff_t>(from),
                        values.begin() + static_cast<std::ptrdiff_t>(to)});
    };
    const double before = part(i == 0 ? 0 : points[i - 1].at, points[i].at);
    const double after =
        part(points[i].at, i + 1 < points.size() ? points[i + 1].at : values.size());
    if (std::abs(after - before) > noise) changes.push_back({points[i], before, after});
  }
  return changes;
}

}  // namespace rdmameter
