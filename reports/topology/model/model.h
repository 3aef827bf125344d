// SPDX-License-Identifier: Apache-2.0
// What measured topologies say about others that were not measured: costs, fitted to the rows of a
// result, and what they come to for any shape at any number of ranks.
// docs/topologies-reference.md has the formulas.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/result/row.h"
#include "reports/summary/facts.h"
#include "reports/topology/model/costs.h"
#include "reports/topology/model/pair_kinds.h"
#include "topologies/graphs/graph.h"

namespace rdmameter {

/// A graph with so many QPs for each of its edges.
struct ModelShape {
  std::string graph;
  std::uint64_t qps_per_edge = 1;

  bool operator==(const ModelShape&) const = default;
};
ModelShape shape_of(const Row& row);

double sum_of_amounts(const NamedCounts& amounts);
/// Of the rank with most; 0: not known.
std::uint64_t most_qps(const TopologyData& topology);
/// The size of a row's messages; 0: it has none.
std::uint64_t message_size_of(const Row& row);
/// "mesh", "ring qps_per_edge:4"
std::string shape_text(const ModelShape& shape);

/// The model from the rows of one set of axes. Shapes, ranks, sizes and traffics are of
/// all of them.
struct TopologyModel {
  Json setting;                    ///< the other axes
  std::vector<ModelShape> shapes;  ///< as measured, in the order of the cases
  std::set<std::uint64_t> ranks, sizes_bytes;
  bool yielding = false;             ///< in some row, ranks outnumbered cores
  bool judged_shared = false;        ///< such a row has a verdict: topo --judge-shared
  double max_qps = 0;                ///< of a rank
  std::optional<CostFit> latency;    ///< one way, between two ranks of a quiet network
  RankPlaces places;                 ///< of the pairs that `latency` was fitted to, of most ranks
  ByKind<bool> kinds{};              ///< are there such pairs among them?
  bool unknown_kinds = false;        ///< and others, of which it is not known
  std::uint64_t rows_not_split = 0;  ///< left out, since they do not tell the kinds of pairs apart
  /// The rows tell what connections take, and all as the closed form, connection_bytes(), does.
  /// Then so do predictions.
  bool knows_memory = false;
  bool relays = false;  ///< did messages go between all ranks, so that some are relayed?
  /// Traffics whose rate was measured, as exchange_name() calls them.
  std::set<std::string> exchanges;
};

using TopologyModels = std::span<const TopologyModel>;

/// " over rc"; empty: the rows do not tell the transport.
std::string over_text(const TopologyModel& model);

/// One model for each setting. A row whose traffic lacks an axis of another (pairs, seed) goes into
/// the first model that fits otherwise. Rows without a topology, or without a measurement, are
/// passed over.
/// @param context  of the result: which ranks are on one host
std::vector<TopologyModel> topology_models(std::span<const Row> rows, const Json& context = {});

/// The mean over all pairs of their median one-way times, or where a row does not have those of that
/// of as many hops: what predictions of the mean latency are to be held against. A mean of all
/// samples would be the tail's. Of traffic `pairs`.
Number mean_latency_ns(const Row& row);

/// Is it the schedule that a run has by default? Titles do not name it.
bool usual_schedule(const TopologyData& topology);

/// The name of an exchange: its traffic, and its schedule unless that is the usual one.
std::string exchange_name(const TopologyData& topology);

/// Which of topology_models() the row went into. @pre it is of a topology that was measured
std::size_t model_of(TopologyModels models, const Row& row);

/// How many ranks send at a time; all of them where it is not told.
double sending_ranks(const TopologyData& topology);

/// The time from one message of a rank that sends to its next, of a row whose rate was measured [ns].
Number message_interval_ns(const Row& row);

/// Of a collective: its bound / the median time, the bound being the least time where messages go
/// to neighbours: steps * alpha + what they send * beta. Else:
/// which part of its model a measured exchange reaches: (alpha + hops * bytes * beta) of the
/// latencies / message_interval_ns(), hops being how often a message is sent. All-to-all in p - 1
/// steps: (p-1)(alpha + m beta) over a mesh. Beyond 1: messages overlap.
/// @return nothing: the costs are not known, hosts mix, so that there is no one alpha, or it takes
///         more than is known here, as of an incast
Number model_share(const TopologyModel& model, const Row& row);

/// The predicted latency of one message.
struct PredictedLatency {
  Number mean_ns, farthest_ns;               ///< over all pairs; of the farthest
  std::optional<Interval> mean_interval_ns;  ///< CostFit::interval()
};

/// A shape at a number of ranks, by the model.
struct Prediction {
  ShapeFigures figures;
  std::uint64_t ranks = 0;
  std::uint64_t qps_per_rank = 0, qps_total = 0;  ///< of the rank with most; of all
  struct AtSize {
    std::uint64_t size_bytes = 0;
    PredictedLatency all;              ///< where the model has costs by kind, without intervals
    ByKind<PredictedLatency> of_kind;  ///< where `pairs` is known
    Number memory_bytes;               ///< of the rank with most
  };
  std::vector<AtSize> sizes;
  /// Where the model has costs by kind. Nothing: they take more than is known of the places.
  std::optional<PairsByKind> pairs;
  bool more_qps_than_measured =
      false;  ///< of a rank, by more than twice: the device's cache may be too small
};

/// @return nothing where the shape does not exist at so many ranks, or is not known to us
std::optional<Prediction> predict(const TopologyModel& model, const ModelShape& shape,
                                  std::uint64_t ranks);

/// The prediction without latencies, which may take a search of the graph.
std::optional<Prediction> predict_resources(const TopologyModel& model, const ModelShape& shape,
                                            std::uint64_t ranks);

}  // namespace rdmameter
