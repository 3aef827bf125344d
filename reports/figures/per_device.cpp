// SPDX-License-Identifier: Apache-2.0
// Of a case over several devices a line for each: its rate, and what share of its bound that is.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "core/result/row_json.h"
#include "reports/figures/figures.h"
#include "reports/summary/facts.h"

namespace rdmameter {
namespace {

constexpr double kSlowPercent = 90;  ///< devices below it are named

double device_gbps(const DeviceData& device) {
  return bandwidth_gbps(device);
}

double device_kmsg_per_s(const DeviceData& device) {
  return 1e3 * bandwidth_mmsg_per_s(device);
}

/// Empty: none has moved anything.
std::vector<double> percents_of_fastest(const Row& row) {
  if (row.per_device.empty()) return {};
  const double most = device_gbps(*std::ranges::max_element(row.per_device, {}, device_gbps));
  std::vector<double> percents;
  for (const DeviceData& device : row.per_device)
    if (most > 0) percents.push_back(100 * device_gbps(device) / most);
  return percents;
}

const DeviceData& device_of(const FigureLine& line) {
  return line.summary->first().per_device[line.part];
}

/// Neither near the fastest one nor near its own bound. Not of an open loop, whose rates are those
/// that were asked for.
bool is_slow(const FigureLine& line) {
  std::vector<double> percents;
  for (const Row* row : line.summary->repetitions)
    if (const auto of_row = percents_of_fastest(*row); line.part < of_row.size() && !row->load)
      percents.push_back(
          std::max(of_row[line.part], bound_percent(row->per_device[line.part]).value_or(0)));
  return known_median(percents).value_or(kSlowPercent) < kSlowPercent;
}

std::string device_remark(const FigureLines& lines) {
  std::vector<std::string> slow, remarks;
  for (const FigureLine& line : lines)
    if (is_slow(line)) add_once(slow, printable(device_of(line).device));
  if (!slow.empty())
    remarks.push_back(fmt::format("Less than {} % of the fastest one's rate: {}.", kSlowPercent,
                                  fmt::join(slow, ", ")));
  if (std::ranges::any_of(
          lines, [](const FigureLine& line) { return slot_percent(device_of(line)).has_value(); }))
    remarks.emplace_back("Of its slot: what all devices in the same PCIe slot had together.");
  return fmt::format("{}", fmt::join(remarks, " "));
}

FigureColumn device_column(const char* head, std::string DeviceData::*name) {
  return text_column({.head = head, .is_text = true},
                     [name](FigureLine line) { return printable(device_of(line).*name); });
}

}  // namespace

Figures per_device_figures() {
  constexpr auto kDevices = &Row::per_device;
  FigureColumn bound = part_column({"of its bound", "%"}, 1, kDevices, bound_percent);
  FigureColumn slot = part_column({"of its slot", "%"}, 1, kDevices, slot_percent);
  bound.unless_unknown = slot.unless_unknown = true;
  return {.title = "devices, one by one",
          .has = all_have<kDevices>,
          .parts = [](const Row& row) { return row.per_device.size(); },
          .columns = {device_column("device", &DeviceData::device),
                      device_column("peer's", &DeviceData::peer_device),
                      part_column({"payload", "Gb/s"}, 3, kDevices, device_gbps),
                      part_column({"rate", "k/s"}, 2, kDevices, device_kmsg_per_s),
                      part_column({"of the fastest", "%"}, 1, percents_of_fastest, std::identity()),
                      std::move(bound), std::move(slot)},
          .remark = device_remark,
          .csv = csv_of_keys("per_device_{}_", "/per_device/{}",
                             {"device", "peer_device", "gbps", "mmsg_per_s", "bound_gbps",
                              "bound_percent", "slot_bound_gbps", "slot_percent"})};
}

}  // namespace rdmameter
