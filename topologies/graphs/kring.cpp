// SPDX-License-Identifier: Apache-2.0
// A ring with chords: every rank with the K next ones on either side. Of one the ring itself,
// 0-1-2-...-0; of two ranks both neighbours are the other one, and the two edges are one.
#include <fmt/format.h>

#include <algorithm>

#include "topologies/graphs/graph.h"

namespace rdmameter {
namespace {

Graph make_kring(Rank k, Rank ranks) {
  Graph graph(ranks);
  for (Rank rank = 0; rank < ranks; ++rank)
    for (Rank distance = 1; distance <= k; ++distance) graph.add(rank, (rank + distance) % ranks);
  return graph;
}

std::optional<ShapeFigures> kring_figures(std::uint64_t k, std::uint64_t n) {
  if (k == 0) return std::nullopt;
  k = std::min(k, n);
  double sum = 0;  // of the hops from one rank to all others
  for (std::uint64_t away = 1; away < n; ++away)
    sum += real((std::min(away, n - away) + k - 1) / k);
  return regular_figures(std::min(n - 1, 2 * k), sum / real(n - 1), (n / 2 + k - 1) / k);
}

}  // namespace

extern constexpr Shape kRing{
    .name = "ring",
    .description = "a QP to each of two neighbours",
    .make = [](const ShapeArguments&, Rank ranks) { return make_kring(1, ranks); },
    .figures = [](const ShapeArguments&, std::uint64_t n) { return kring_figures(1, n); },
    .hops = [](const ShapeArguments&, Rank from, Rank to, Rank ranks) -> std::uint32_t {
      return around(from, to, ranks);
    }};

extern constexpr Shape kKring{
    .name = "kring",
    .arguments = ":K",
    .description = "a QP to each of the K next ranks on either side",
    .why_not = [](const ShapeArguments& arguments, Rank ranks) -> std::string {
      const std::uint64_t k = arguments.numbers[0];
      if (k >= 1 && 2 * k <= ranks) return {};
      return fmt::format("kring:{} of {} ranks: K is from 1 to {}, half of the ranks", k, ranks,
                         ranks / 2);
    },
    .make = [](const ShapeArguments& arguments,
               Rank ranks) { return make_kring(static_cast<Rank>(arguments.numbers[0]), ranks); },
    .figures = [](const ShapeArguments& arguments,
                  std::uint64_t n) { return kring_figures(arguments.numbers[0], n); },
    .hops =
        [](const ShapeArguments& arguments, Rank from, Rank to, Rank ranks) {
          const auto k = static_cast<std::uint32_t>(arguments.numbers[0]);
          return (around(from, to, ranks) + k - 1) / k;
        }};

}  // namespace rdmameter
