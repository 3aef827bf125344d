// SPDX-License-Identifier: Apache-2.0
// Flow labels of a case's QPs, and the UDP source port that a label leads to on RoCE v2. Switches
// choose among equal paths by that port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmameter {

inline constexpr std::uint32_t kMaxFlowLabel = (1U << 20) - 1;
inline constexpr std::string_view kSpreadLabels = "spread";
inline constexpr std::string_view kLabelsPerQp = "per-qp:";
/// The most labels that a list may have.
inline constexpr std::size_t kMaxFlowLabels = 1024;

/// The labels of a --flow-label: of a number one label, of per-qp:A,B,... all of them (a '+'
/// separates them as well, as in the names of cases, where a comma would end a value).
/// @return nothing where it is neither; `spread` is not
std::optional<std::vector<std::uint32_t>> parse_flow_labels(std::string_view text);

/// The labels as names and results have them: "7", "per-qp:1+2". @param labels  not empty
std::string flow_labels_text(const std::vector<std::uint32_t>& labels);

/// The labels of a case: one for each of its QPs where it is spread or a list, which is read
/// in a circle.
class FlowLabels {
 public:
  /// @param text  as a case has it: empty (0), a number, `spread`, "per-qp:1+2"
  explicit FlowLabels(std::string_view text);

  /// @param qp  its number among those of all threads of one direction
  std::uint32_t of(std::uint64_t qp) const;
  /// Has each QP its own?
  bool per_qp() const { return spread_ || labels_.size() > 1; }

 private:
  bool spread_ = false;
  std::vector<std::uint32_t> labels_;
};

/// The UDP source port of a connected QP's packets (RC, UC), as Linux has its drivers choose it:
/// rdma_get_udp_sport() of include/rdma/ib_verbs.h (rdma_calc_flow_label() where the label is 0,
/// then rdma_flow_label_to_udp_sport()).
std::uint16_t udp_source_port(std::uint32_t flow_label, std::uint32_t qpn,
                              std::uint32_t remote_qpn);

}  // namespace rdmameter
