// SPDX-License-Identifier: Apache-2.0
// What measured topologies tell of those that were not measured: costs, fitted to the rows of a
// result, and what they come to for any shape at any number of ranks. docs/topologies.md has the
// formulas.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reports/row.h"
#include "reports/topology/costs.h"
#include "reports/topology/shape.h"

namespace rdmameter {

/// A number that grows with QPs, ranks, hops or bytes, each at its own price: set-up time, memory.
class Growth {
 public:
  /// @param observations  not empty
  explicit Growth(std::vector<Observation> observations);
  /// With the interval in which 95 % of new measurements lie, if the model holds.
  Estimate predict(const std::vector<double>& terms) const;
  /// The value by all observations; by those without a group, nothing where too few are left.
  double value(const std::vector<double>& terms) const;
  std::size_t groups() const { return without_.size(); }
  std::optional<double> value_without(std::size_t group, const std::vector<double>& terms) const;

 private:
  LeastSquares all_;
  std::vector<std::optional<LeastSquares>> without_;
  double spread_ = 0;
};

/// An exchange, that is a traffic whose rate was measured, in its order.
struct Exchange {
  std::string name;  ///< "alltoall", "alltoall rounds"
  CostFit time;      ///< from one message of a rank to its next [ns]

  /// How often a message is sent on its way to a destination, on average over such a graph;
  /// nothing: that takes more than is known here, or relays were never measured.
  std::optional<double> hops(const ShapeFigures& figures) const;
  bool predictable() const;  ///< are its hops known for any graph?
};

/// What the rows of one set of axes tell. Shapes, ranks, sizes and traffics are of all of them.
struct TopologyModel {
  nlohmann::ordered_json setting;          ///< the other axes
  std::vector<std::string> graphs;         ///< as measured, in order of appearance
  std::vector<std::uint64_t> ranks;        ///< ascending
  std::vector<std::uint64_t> sizes_bytes;  ///< ascending
  std::uint64_t qps_per_edge = 1;
  bool yielding = false;           ///< in some row, ranks outnumbered cores
  std::optional<CostFit> latency;  ///< one way, between two ranks of a quiet network
  std::vector<Exchange> exchanges;
  std::optional<Growth> setup, memory, barrier;
};

/// One model for each setting. Rows without a topology, or without a measurement, are passed over.
std::vector<TopologyModel> topology_models(std::span<const Row> rows);

/// The mean over all pairs of the median one-way time of as many hops: what predictions of the mean
/// latency are to be held against. A mean of all samples would be the tail's. Of traffic `pairs`.
std::optional<double> mean_latency_ns(const Row& row);

/// What an exchange is called: its traffic, and its schedule where that is not the plain one.
std::string exchange_name(const TopologyData& topology);

/// Which of topology_models() the row went into. @pre it is of a topology that was measured
std::size_t model_of(std::span<const TopologyModel> models, const Row& row);

/// The time from one message of a rank to its next, of a row whose rate was measured [ns].
std::optional<double> message_interval_ns(const Row& row);

/// Which part of its model a measured exchange reaches: (alpha + hops * bytes * beta) of the
/// latencies / message_interval_ns(), hops being how often a message is sent. All-to-all in p - 1
/// steps: (p-1)(alpha + m beta) over a mesh. Beyond 1: messages overlap. Nothing where that takes
/// more than is known here, as of an incast.
std::optional<double> model_share(const TopologyModel& model, const Row& row);

/// A shape at a number of ranks, by the model.
struct Prediction {
  ShapeFigures figures;
  std::uint64_t ranks = 0;
  std::uint64_t qps_per_rank = 0, qps_total = 0;  ///< of the rank with most; of all
  std::optional<Estimate> setup_ns, barrier_ns;
  struct AtSize {
    std::uint64_t size_bytes = 0;
    std::optional<Estimate> mean_ns, farthest_ns;  ///< latency over all pairs; of the farthest
    std::optional<Estimate> memory_bytes;          ///< of the rank with most
    std::vector<std::pair<std::string, Estimate>> rank_gbps;  ///< by exchange
  };
  std::vector<AtSize> sizes;
  bool more_qps_than_measured = false;  ///< of a rank, by far: a knee there would not be known
};

/// @return nothing where the shape does not exist at so many ranks, or is not known to us
std::optional<Prediction> predict(const TopologyModel& model, const std::string& graph,
                                  std::uint64_t ranks);

/// QPs that a rank holds in such a graph.
std::uint64_t qps_of(const TopologyModel& model, const ShapeFigures& figures);

/// The terms of Growth.
std::vector<double> setup_terms(double qps, double ranks);
std::vector<double> memory_terms(double qps, double hops_max, double size_bytes);
std::vector<double> barrier_terms(double ranks);

}  // namespace rdmameter
