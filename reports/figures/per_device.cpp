// SPDX-License-Identifier: Apache-2.0
// Of a case over several devices a line for each: its rate, and what share of its bound that is.
#include <algorithm>
#include <functional>

#include "core/result/row_json.h"
#include "reports/figures/figures.h"

namespace rdmameter {
namespace {

double device_gbps(const DeviceData& device) {
  return bandwidth_gbps(device.bytes, device.window_ns);
}

double device_kmsg_per_s(const DeviceData& device) {
  return 1e3 * bandwidth_mmsg_per_s(device.messages, device.window_ns);
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

std::string slot_remark(const FigureLines& lines) {
  const bool any = std::ranges::any_of(lines, [](const FigureLine& line) {
    return slot_percent(line.summary->first().per_device[line.part]).has_value();
  });
  return any ? "Of its slot: what all devices in the same PCIe slot had together." : "";
}

FigureColumn device_column(const char* head, std::string DeviceData::*name) {
  return text_column({.head = head, .is_text = true}, [name](FigureLine line) {
    return printable(line.summary->first().per_device[line.part].*name);
  });
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
          .columns =
              always({device_column("device", &DeviceData::device),
                      device_column("peer's", &DeviceData::peer_device),
                      part_column({"payload", "Gb/s"}, 3, kDevices, device_gbps),
                      part_column({"rate", "k/s"}, 2, kDevices, device_kmsg_per_s),
                      part_column({"of the fastest", "%"}, 1, percents_of_fastest, std::identity()),
                      std::move(bound), std::move(slot)}),
          .remark = slot_remark,
          .csv = csv_of_keys("per_device_{}_", "/per_device/{}",
                             {"device", "peer_device", "gbps", "mmsg_per_s", "bound_gbps",
                              "bound_percent", "slot_bound_gbps", "slot_percent"})};
}

}  // namespace rdmameter
