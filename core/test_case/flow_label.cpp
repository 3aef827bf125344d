// SPDX-License-Identifier: Apache-2.0
#include "core/test_case/flow_label.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/parse_value.h"

namespace rdmameter {
namespace {

constexpr std::uint32_t kPortBits = 14;
constexpr std::uint32_t kPortMask = (1U << kPortBits) - 1;
constexpr std::uint16_t kLeastPort = 0xc000;

/// An odd number near 2^14 divided by the golden ratio: its multiples lie far apart, and the first
/// 16383 differ.
constexpr std::uint64_t kStride = 10125;

}  // namespace

std::optional<std::vector<std::uint32_t>> parse_flow_labels(std::string_view text) {
  std::vector<std::uint32_t> labels;
  const bool list = text.starts_with(kLabelsPerQp);
  if (list) text.remove_prefix(kLabelsPerQp.size());
  for (const std::string_view each : split(text, list ? ",+" : "")) {
    const auto label = parse_count(each);
    if (!label || *label > kMaxFlowLabel || labels.size() == kMaxFlowLabels) return std::nullopt;
    labels.push_back(static_cast<std::uint32_t>(*label));
  }
  return labels;
}

std::string flow_labels_text(const std::vector<std::uint32_t>& labels) {
  if (labels.size() == 1) return std::to_string(labels.front());
  return fmt::format("{}{}", kLabelsPerQp, fmt::join(labels, "+"));
}

FlowLabels::FlowLabels(std::string_view text) : spread_(text == kSpreadLabels) {
  if (!spread_ && !text.empty()) labels_ = parse_flow_labels(text).value_or(labels_);
  if (labels_.empty()) labels_ = {0};
}

/// A label of 0 would leave the port to the QPNs, so where the multiple is one of 2^14, a higher
/// bit is set.
std::uint32_t FlowLabels::of(std::uint64_t qp) const {
  if (!spread_) return labels_[qp % labels_.size()];
  const auto label = static_cast<std::uint32_t>((qp + 1) * kStride & kPortMask);
  return label != 0 ? label : 1U << kPortBits;
}

std::uint16_t udp_source_port(std::uint32_t flow_label, std::uint32_t qpn,
                              std::uint32_t remote_qpn) {
  if (flow_label == 0) {
    std::uint64_t mixed = std::uint64_t{qpn} * remote_qpn;
    mixed ^= mixed >> 20;
    mixed ^= mixed >> 40;
    flow_label = static_cast<std::uint32_t>(mixed & kMaxFlowLabel);
  }
  return static_cast<std::uint16_t>(((flow_label & kPortMask) ^ (flow_label >> kPortBits)) |
                                    kLeastPort);
}

}  // namespace rdmameter
