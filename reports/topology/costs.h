// SPDX-License-Identifier: Apache-2.0
// What a message costs by hops, bytes and QPs: the model of docs/topologies.md, fitted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "reports/stats/least_squares.h"

namespace rdmameter {

/// time = alpha + knee_cost * max(0, 1 - knee_qps / qps) + (hops - 1) * per_hop
///        + hops * bytes * beta
/// (store and forward: each hop carries all bytes anew).
struct Costs {
  double alpha_ns = 0, per_hop_ns = 0, beta_ns_per_byte = 0;
  double knee_cost_ns = 0;  ///< 0: no knee
  double knee_qps = 0;      ///< QPs of a rank whose state its device holds

  double time_ns(double hops, double bytes, double qps) const;
};

/// A time that was measured.
struct CostPoint {
  double hops = 1, bytes = 0, qps = 1;
  double time_ns = 0;     ///< above 0
  std::size_t block = 0;  ///< the case, numbered from 0: its points share their luck
};

/// Costs, and how sure they are.
class CostFit {
 public:
  /// @param points  not empty
  explicit CostFit(std::span<const CostPoint> points);

  const Costs& costs() const { return costs_; }
  bool knows_per_hop() const { return knows_per_hop_; }  ///< false: only one number of hops
  bool knows_beta() const { return knows_beta_; }        ///< false: only one size
  bool has_knee() const { return costs_.knee_cost_ns > 0; }
  double most_qps() const { return most_qps_; }  ///< of a rank, that were measured
  double spread() const { return spread_; }  ///< of a point about the model, relative, one sigma
  std::size_t points() const { return points_; }
  std::size_t blocks() const { return blocks_; }

  /// A number of the costs with its 95 % interval.
  Estimate of(const std::function<double(const Costs&)>& number) const;

  /// A time with the interval in which 95 % of new measurements of it lie, if the model holds.
  Estimate predict(const std::function<double(const Costs&)>& time) const;

  /// The costs with each group of cases left out; nothing where too little is left of them.
  std::span<const std::optional<Costs>> without() const { return without_; }

 private:
  Costs costs_;
  bool knows_per_hop_ = false, knows_beta_ = false;
  double spread_ = 0, most_qps_ = 0;
  std::size_t points_ = 0, blocks_ = 0;
  std::vector<std::optional<Costs>> without_;
};

}  // namespace rdmameter
