// SPDX-License-Identifier: Apache-2.0
// Which edges of a route lie within a host, and which between two: they do not cost the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/result/row.h"
#include "topologies/graphs/graph.h"

namespace rdmameter {

/// By rank; hosts are numbered from 0 as they first appear. Empty: not known.
using Hosts = std::vector<std::uint32_t>;

/// Of two ranks.
enum class HostKind : std::size_t { other_host, same_host };
inline constexpr std::size_t kHostKinds = 2;
inline constexpr std::array<HostKind, kHostKinds> kSameHostFirst{HostKind::same_host,
                                                                 HostKind::other_host};

/// Which way its messages went: "network", "same_device", "simulated"... Empty: not told.
std::string row_path(const Row& row);

/// As the context of a result has them.
Hosts hosts_of(const nlohmann::ordered_json& context);

/// Of the ranks of a row. Empty: not known. A simulated one has those of its network.
Hosts hosts_of(const Row& row, const Hosts& of_result);

/// Of ranks 0 to k - 1, k to 2 k - 1 and so on; the last host may have fewer. Nothing: not so.
std::optional<std::uint64_t> equal_ranks_per_host(const Hosts& hosts);

/// Where so many ranks would be: hosts with as many ranks as measured, one after the other or in
/// turn as measured. Empty: the measured ones are placed in neither way.
Hosts hosts_at(const Hosts& measured, std::uint64_t ranks);

/// Of a route, by kind: its edges, and which of them is the first one. Of the mean of there and
/// back, as times are half round trips: halves where these differ.
struct HostPath {
  std::array<double, kHostKinds> first{}, hops{};

  double all_hops() const { return hops[0] + hops[1]; }
  auto operator<=>(const HostPath&) const = default;
};

/// The routes of a graph.
class HostRoutes {
 public:
  /// @param hosts  of all ranks
  HostRoutes(const Graph& graph, Hosts hosts);

  HostPath path(Rank from, Rank to) const;
  HostKind kind(Rank a, Rank b) const;

 private:
  void add(Rank from, Rank to, HostPath& path) const;

  Hosts hosts_;
  std::vector<std::vector<Rank>> next_;  ///< by rank and destination
};

/// The graph of a row. Nothing: this program does not know it, or it cannot be.
std::optional<Graph> graph_of(const Row& row);

/// Those pairs of a graph that are of one kind.
struct PairsOfKind {
  std::optional<double> share;  ///< of all pairs; nothing: not known
  HostPath mean;                ///< over its pairs
  std::vector<HostPath> paths;  ///< each once
};
using PairsByKind = std::array<PairsOfKind, kHostKinds>;

/// Of a shape at so many ranks; of many ranks, the routes from a sample of them. A route back is
/// taken for the one there.
/// @param figures  with the name of the graph
/// @param hosts  empty: where the ranks are is not known
/// @return nothing: the hosts are needed and not known, or the graph is too large to search
std::optional<PairsByKind> pairs_by_kind(const ShapeFigures& figures, std::uint64_t ranks,
                                         const Hosts& hosts);

}  // namespace rdmameter
