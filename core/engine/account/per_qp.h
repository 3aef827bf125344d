// SPDX-License-Identifier: Apache-2.0
// What each QP of a case did, and what that says of all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/engine/loop/loop_state.h"
#include "core/result/row.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

struct QpFigures {
  std::uint32_t flow_label = 0;
  std::optional<std::uint16_t> udp_source_port;  ///< nothing: not known, or no RoCE v2
  std::optional<double> messages_per_s;          ///< of a bandwidth
  std::optional<double> mean_ns, p50_ns, p99_ns, max_ns;
};

/// Owns the samples of each QP that the loop of a latency or an open loop keeps.
class QpSampleSet {
 public:
  /// @param lanes  get to know theirs
  explicit QpSampleSet(std::span<Lane> lanes);
  QpSampleSet(QpSampleSet&&) = delete;

 private:
  std::unique_ptr<QpSamples[]> samples_;
  std::unique_ptr<std::uint32_t[]> buckets_;
};

/// The memory of a QpSampleSet of so many QPs.
std::uint64_t qp_samples_bytes(std::uint64_t qps);

/// Of a bandwidth: have its lanes so many CQEs in the window that their rates tell them apart?
bool counts_enough(std::span<const Lane> lanes);

/// Once the loop has ended. @param window_ns  of a bandwidth; 0: no rate
QpFigures qp_figures(const Lane& lane, std::uint32_t signal_every, std::uint64_t window_ns);

/// Of several QPs more than their labels and ports is told. A QP is slow where it takes a third
/// longer than the quicker quarter of all does, and is beyond four times their own spread (from
/// that quarter to the median); so up to half of them may be slow. What it takes is its p50 (its
/// mean, where there are too few samples), or the time from message to message.
/// @param figures  not empty
PerQpData per_qp_data(std::span<const QpFigures> figures);

}  // namespace rdmameter
