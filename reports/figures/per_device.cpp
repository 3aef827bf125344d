// SPDX-License-Identifier: Apache-2.0
// Of a case over several devices a line for each: its rate, and what share of its bound that is.
#include <fmt/format.h>

#include <algorithm>

#include "core/result/row_json.h"
#include "reports/figures/figures.h"
#include "reports/stats/sample.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

double device_gbps(const DeviceData& device) {
  return bandwidth_gbps(device.bytes, device.window_ns);
}

/// The median over those repetitions that have the number.
FigureColumn device_number(const char* head, const char* unit, int decimals,
                           std::optional<double> (*of)(const Row&, const DeviceData&)) {
  return text_column({.head = head, .unit = unit}, [=](FigureLine line) -> std::string {
    std::vector<double> values;
    for (const Row* row : line.summary->repetitions)
      if (line.part < row->per_device.size())
        if (const std::optional<double> value = of(*row, row->per_device[line.part]))
          values.push_back(*value);
    return values.empty() ? kUnknown : fmt::format("{:.{}f}", median(std::move(values)), decimals);
  });
}

std::optional<double> of_fastest(const Row& row, const DeviceData& device) {
  const double most = device_gbps(*std::ranges::max_element(row.per_device, {}, device_gbps));
  return most > 0 ? std::optional(100 * device_gbps(device) / most) : std::nullopt;
}

bool has_devices(const CaseSummary& summary) {
  return !summary.repetitions.empty() &&
         std::ranges::all_of(summary.repetitions,
                             [](const Row* row) { return !row->per_device.empty(); });
}

std::string slot_remark(const FigureLines& lines) {
  const bool any = std::ranges::any_of(lines, [](const FigureLine& line) {
    return slot_percent(line.summary->repetitions.front()->per_device[line.part]).has_value();
  });
  return any ? "Of its slot: what all devices in the same PCIe slot had together." : "";
}

FigureColumn device_column(const char* head, std::string DeviceData::*name) {
  return text_column({.head = head, .is_text = true}, [name](FigureLine line) {
    return printable(line.summary->repetitions.front()->per_device[line.part].*name);
  });
}

}  // namespace

Figures per_device_figures() {
  FigureColumn bound =
      device_number("of its bound", "%", 1,
                    [](const Row&, const DeviceData& device) { return bound_percent(device); });
  FigureColumn slot =
      device_number("of its slot", "%", 1,
                    [](const Row&, const DeviceData& device) { return slot_percent(device); });
  bound.unless_unknown = slot.unless_unknown = true;
  return {
      .title = "devices, one by one",
      .has = has_devices,
      .parts = [](const Row& row) { return row.per_device.size(); },
      .columns = always(
          {device_column("device", &DeviceData::device),
           device_column("peer's", &DeviceData::peer_device),
           device_number("payload", "Gb/s", 3,
                         [](const Row&, const DeviceData& device) {
                           return std::optional(device_gbps(device));
                         }),
           device_number("rate", "k/s", 2,
                         [](const Row&, const DeviceData& device) {
                           return std::optional(
                               1e3 * bandwidth_mmsg_per_s(device.messages, device.window_ns));
                         }),
           device_number("of the fastest", "%", 1, of_fastest), std::move(bound), std::move(slot)}),
      .remark = slot_remark,
      .csv = csv_of_keys("per_device_{}_", "/per_device/{}",
                         {"device", "peer_device", "gbps", "mmsg_per_s", "bound_gbps",
                          "bound_percent", "slot_bound_gbps", "slot_percent"})};
}

}  // namespace rdmameter
