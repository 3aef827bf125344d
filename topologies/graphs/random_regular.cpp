// SPDX-License-Identifier: Apache-2.0
// D neighbours at every rank, drawn: Steger and Wormald, "Generating random regular graphs quickly"
// (1999): pair free ends at random, never two of one rank or of an edge that is there; begin anew
// where none is left to pair.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "core/base/error.h"
#include "topologies/graphs/graph.h"
#include "topologies/graphs/routes.h"

namespace rdmameter {
namespace {

/// Of a graph that exists, one try in a few succeeds; this is for ever.
constexpr int kTries = 1000;

/// In [0, count). std::uniform_int_distribution draws otherwise in every standard library.
std::size_t below(std::mt19937_64& random, std::size_t count) {
  __extension__ using uint128 = unsigned __int128;
  return static_cast<std::size_t>((static_cast<uint128>(random()) * count) >> 64);
}

bool try_to_pair(Graph& graph, std::vector<Rank> ends, std::mt19937_64& random) {
  std::size_t failures = 0;
  while (!ends.empty()) {
    const std::size_t i = below(random, ends.size()), j = below(random, ends.size());
    if (ends[i] == ends[j] || graph.has_edge(ends[i], ends[j])) {
      if (++failures > 100 * ends.size()) return false;
      continue;
    }
    failures = 0;
    graph.add(ends[i], ends[j]);
    for (const std::size_t each : {std::max(i, j), std::min(i, j)}) {
      ends[each] = ends.back();
      ends.pop_back();
    }
  }
  return true;
}

/// Every edge that the other has not.
Graph complement(const Graph& graph) {
  Graph result(graph.ranks());
  for (Rank a = 0; a < graph.ranks(); ++a)
    for (Rank b = a + 1; b < graph.ranks(); ++b)
      if (!graph.has_edge(a, b)) result.add(a, b);
  return result;
}

std::string why_no_random_regular(const ShapeArguments& arguments, Rank ranks) {
  const std::uint64_t degree = arguments.numbers[0];
  if (degree == 0 || degree >= ranks)
    return fmt::format("random:{} of {} ranks: D is from 1 to {}, the number of other ranks",
                       degree, ranks, ranks - 1);
  if (degree % 2 != 0 && ranks % 2 != 0)
    return fmt::format(
        "random:{} of {} ranks: an edge has two ends, so one of the two numbers is even", degree,
        ranks);
  return {};
}

Graph make_random_regular(const ShapeArguments& arguments, Rank ranks) {
  // Of a dense graph it is easier to draw the edges that are missing.
  const std::uint64_t degree = arguments.numbers[0], others = ranks - 1;
  const bool dense = 2 * degree > others;
  std::mt19937_64 random(arguments.seed);
  std::vector<Rank> ends;
  for (Rank rank = 0; rank < ranks; ++rank)
    ends.insert(ends.end(), dense ? others - degree : degree, rank);
  for (int tries = 0; tries < kTries; ++tries) {
    Graph graph(ranks);
    if (try_to_pair(graph, ends, random)) return dense ? complement(graph) : graph;
  }
  throw Unsupported("random:{} of {} ranks could not be drawn: use another --seed", degree, ranks);
}

/// Unions of random circles through all ranks, and of a random pairing where d is odd: nearly all
/// regular graphs look like these (Robinson and Wormald 1994).
Graph circles_through_all(std::uint64_t d, Rank n) {
  std::mt19937 engine(static_cast<std::uint32_t>(d * 1'000'003 + n));
  Graph graph(n);
  std::vector<Rank> order(n);
  std::iota(order.begin(), order.end(), 0U);
  const auto shuffle = [&] {
    for (Rank i = n - 1; i > 0; --i)
      std::swap(order[i], order[(std::uint64_t{engine()} * (i + 1)) >> 32]);
  };
  for (std::uint64_t circle = 0; circle < d / 2; ++circle) {
    shuffle();
    for (Rank i = 0; i < n; ++i) graph.add(order[i], order[(i + 1) % n]);
  }
  if (d % 2 == 1) {
    shuffle();
    for (Rank i = 0; i + 1 < n; i += 2) graph.add(order[i], order[i + 1]);
  }
  return graph;
}

/// The mean over several sources in one seeded random graph.
std::optional<ShapeFigures> random_figures(const ShapeArguments& arguments, std::uint64_t n) {
  constexpr std::uint64_t kMaxDegree = 64;
  // Fewer where each search takes long.
  constexpr Rank kSources = 64, kFewSources = 4, kManyRanks = 65536;
  const std::uint64_t d = arguments.numbers[0];
  if (d < 2 || d >= n || n * d % 2 == 1 || d > kMaxDegree) return std::nullopt;
  if (d == n - 1) return regular_figures(d, 1, 1);
  const Graph graph = circles_through_all(d, static_cast<Rank>(n));
  std::uint64_t sum = 0, max = 0;
  const Rank sources = std::min(n > kManyRanks ? kFewSources : kSources, graph.ranks());
  for (Rank source = 0; source < sources; ++source)
    for (const std::uint64_t hops : tree_from(graph, source).hops) {
      sum += hops;
      max = std::max(max, hops);
    }
  return regular_figures(d, real(sum) / real(sources * (n - 1)), max);
}

}  // namespace

extern constexpr Shape kRandomRegular{
    .name = "random",
    .arguments = ":D",
    .description = "D QPs at every rank, to ranks that are drawn (--seed)",
    .why_not = why_no_random_regular,
    .make = make_random_regular,
    .figures = random_figures,
    .drawn = true};

}  // namespace rdmameter
