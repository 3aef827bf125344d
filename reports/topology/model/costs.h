// SPDX-License-Identifier: Apache-2.0
// A fit to the rows of several numbers of ranks, and how well it predicts the largest of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reports/stats/least_squares.h"
#include "reports/stats/ranks.h"
#include "reports/topology/model/pair_kinds.h"

namespace rdmameter {

/// A measured value above 0, and what each coefficient is multiplied with to give it.
struct FitPoint {
  std::string graph;
  std::uint64_t ranks = 0;
  Observation observation;
  std::size_t row = 0;   ///< of the model's rows: what disturbs one of its points may disturb all
  std::size_t kind = 0;  ///< of the pairs: each kind has an error of its own
};

/// The cost of a message by hops and bytes: the model of docs/topologies-reference.md. time = alpha
/// + (hops - 1) * per_hop + hops * bytes * beta (store and forward: each hop carries
/// all bytes anew).
struct Costs {
  double alpha_ns = 0, per_hop_ns = 0, beta_ns_per_byte = 0;
};

/// Costs of one kind of edges, or of paths: of an empty message between neighbours, of one that a
/// rank passes on, of a byte on each hop. Nothing: the measured rows do not tell it.
struct KnownCosts {
  Number alpha_ns, per_hop_ns, beta_ns_per_byte;
};

/// Fits times to hops and bytes: with one cost of each sort for all edges, or with one for each
/// kind of edge.
class CostFit {
 public:
  /// @param points  not empty, all with as many terms
  explicit CostFit(std::span<const FitPoint> points);

  /// The terms of a time that was measured over so many hops, where all edges count as of one kind.
  /// The constant comes first, so that what cannot be told from it is counted to it.
  static std::vector<double> terms(double hops, double bytes);
  /// Where each kind of hosts has its costs: first hops, further ones, bytes, of other_host
  /// and of same_host.
  static std::vector<double> terms(const RouteKinds& route, double bytes);

  double value(std::span<const double> terms) const { return squares_.value(terms); }
  /// Do the points tell such a value? They may where they do not tell each coefficient of it.
  bool contains(std::span<const double> terms) const { return identifiable_.contains(terms); }
  double spread() const { return spread_; }  ///< of a point about the fit, relative, one sigma

  /// Where 95 of 100 rows that are measured later have such a value: Student's t of the relative
  /// errors, with as many degrees of freedom as rows beyond coefficients; the points of a row count
  /// as one. It is no narrower than error_at_max_ranks() of the graph.
  /// @return nothing: no more rows than coefficients, a value of 0, or ends more than ten
  ///         times as large and small as the value, which would tell nothing
  std::optional<Interval> interval(std::span<const double> terms, const std::string& graph,
                                   std::size_t kind = 0) const;

  /// The error of leaving out the largest number of ranks: a fit to the points of fewer ranks
  /// predicts that graph's values of that kind there, and this is the largest relative error of
  /// them. Values with the same terms are repetitions; their median counts.
  /// @return nothing: they were not measured there, or fewer ranks do not tell all of them
  Number error_at_max_ranks(const std::string& graph, std::size_t kind = 0) const;

  bool by_kind() const { return by_kind_; }
  /// @pre not by_kind()
  Costs costs() const;
  bool knows_per_hop() const { return squares_.known[1]; }  ///< false: only one number of hops
  bool knows_beta() const { return squares_.known[2]; }     ///< false: only one size

  /// The costs of edges of a kind. Nothing: the points do not identify it. Where one size leaves
  /// beta open, the others are those of that size. @pre by_kind()
  KnownCosts costs_of(PairKind kind) const;

 private:
  void leave_out_max_ranks(std::span<const FitPoint> points);
  double leverage(std::span<const double> terms) const;

  LeastSquares squares_;
  IdentifiableTerms identifiable_;
  double spread_;
  std::size_t points_, rows_;
  /// By graph and kind; nothing: not told by fewer ranks.
  std::map<std::pair<std::string, std::size_t>, Number> errors_;
  bool by_kind_;
  double bytes_;  ///< of the first point
};

}  // namespace rdmameter
