// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/shape.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <numeric>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmameter {
namespace {

using Figures = std::optional<ShapeFigures>;

double real(std::uint64_t whole) {
  return static_cast<double>(whole);
}

/// A whole number and nothing else; 0: it is none.
std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

Figures mesh(std::uint64_t n) {
  return ShapeFigures{"mesh", n - 1, real(n - 1), 1, 1};
}

Figures udmesh(std::uint64_t n) {
  return ShapeFigures{"udmesh", n - 1, real(n - 1), 1, 1, true};
}

/// Neighbours up to k steps away on a circle.
Figures kring(std::string graph, std::uint64_t k, std::uint64_t n) {
  if (k == 0) return std::nullopt;
  k = std::min(k, n);
  const std::uint64_t degree = std::min(n - 1, 2 * k);
  double sum = 0;  // of the hops from one rank to all others
  for (std::uint64_t away = 1; away < n; ++away)
    sum += real((std::min(away, n - away) + k - 1) / k);
  return ShapeFigures{std::move(graph), degree, real(degree), sum / real(n - 1),
                      (n / 2 + k - 1) / k};
}

/// Rank 0 is the hub.
Figures star(std::uint64_t n) {
  return ShapeFigures{"star", n - 1, 2 * real(n - 1) / real(n), 2 - 2 / real(n), n > 2 ? 2U : 1U};
}

Figures hypercube(std::uint64_t n) {
  if (!std::has_single_bit(n)) return std::nullopt;
  const auto dimensions = static_cast<std::uint64_t>(std::countr_zero(n));
  return ShapeFigures{"hypercube", dimensions, real(dimensions),
                      real(n) / 2 * real(dimensions) / real(n - 1), dimensions};
}

/// A circle of each row and each column.
Figures torus(std::uint64_t a, std::uint64_t b) {
  const auto neighbours = [](std::uint64_t length) {
    return std::min<std::uint64_t>(length - 1, 2);
  };
  // From one place of a circle to all its places: the square's quarter, rounded down.
  const auto to_all = [](std::uint64_t length) { return length * length / 4; };
  const double sum = real(b * to_all(a) + a * to_all(b));
  const std::uint64_t degree = neighbours(a) + neighbours(b);
  return ShapeFigures{fmt::format("torus2d:{}x{}", a, b), degree, real(degree),
                      sum / real(a * b - 1), a / 2 + b / 2};
}

Figures torus2d(std::string_view sides, std::uint64_t n) {
  const std::size_t cross = sides.find('x');
  if (cross == sides.npos) return std::nullopt;
  const std::uint64_t a = number(sides.substr(0, cross)), b = number(sides.substr(cross + 1));
  if (a == 0 || b == 0 || a > kMostPredictedRanks || b > kMostPredictedRanks) return std::nullopt;
  if (a * b == n) return torus(a, b);
  std::uint64_t side = 1;  // the greatest divisor up to the square root
  for (std::uint64_t i = 1; i * i <= n; ++i)
    if (n % i == 0) side = i;
  return torus(side, n / side);
}

/// Unions of random circles through all ranks, and of a random pairing where d is odd: nearly all
/// regular graphs look like these (Robinson and Wormald 1994).
std::vector<std::vector<std::uint32_t>> random_graph(std::uint64_t d, std::uint64_t n) {
  std::mt19937 engine(static_cast<std::uint32_t>(d * 1'000'003 + n));
  std::vector<std::vector<std::uint32_t>> neighbours(n);
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  const auto shuffle = [&] {
    for (std::uint64_t i = n - 1; i > 0; --i)
      std::swap(order[i], order[(std::uint64_t{engine()} * (i + 1)) >> 32]);
  };
  const auto join = [&](std::uint32_t a, std::uint32_t b) {
    neighbours[a].push_back(b);
    neighbours[b].push_back(a);
  };
  for (std::uint64_t circle = 0; circle < d / 2; ++circle) {
    shuffle();
    for (std::uint64_t i = 0; i < n; ++i) join(order[i], order[(i + 1) % n]);
  }
  if (d % 2 == 1) {
    shuffle();
    for (std::uint64_t i = 0; i + 1 < n; i += 2) join(order[i], order[i + 1]);
  }
  return neighbours;
}

Figures random_regular(std::uint64_t d, std::uint64_t n) {
  constexpr std::uint64_t kMostDegree = 64, kSources = 4;
  if (d < 2 || d >= n || n * d % 2 == 1 || d > kMostDegree) return std::nullopt;
  if (d == n - 1) return ShapeFigures{fmt::format("random:{}", d), d, real(d), 1, 1};
  const auto neighbours = random_graph(d, n);
  double sum = 0;
  std::uint64_t reached = 0, most = 0;
  for (std::uint64_t source = 0; source < std::min(kSources, n); ++source) {
    std::vector<std::uint32_t> hops(n, ~0U), queue{static_cast<std::uint32_t>(source)};
    hops[source] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (const std::uint32_t next : neighbours[queue[i]])
        if (hops[next] == ~0U) {
          hops[next] = hops[queue[i]] + 1;
          most = std::max<std::uint64_t>(most, hops[next]);
          sum += hops[next];
          queue.push_back(next);
        }
    reached += queue.size() - 1;
  }
  return ShapeFigures{fmt::format("random:{}", d), d, real(d), sum / real(reached), most};
}

}  // namespace

Figures shape_figures(const std::string& graph, std::uint64_t ranks) {
  if (ranks < 2 || ranks > kMostPredictedRanks) return std::nullopt;
  const std::size_t colon = graph.find(':');
  const std::string_view kind = std::string_view(graph).substr(0, colon);
  const std::string_view argument =
      colon == graph.npos ? std::string_view() : std::string_view(graph).substr(colon + 1);
  if (kind == "kring") return kring(graph, number(argument), ranks);
  if (kind == "torus2d") return torus2d(argument, ranks);
  if (kind == "random") return random_regular(number(argument), ranks);
  if (colon != graph.npos) return std::nullopt;
  if (kind == "mesh") return mesh(ranks);
  if (kind == "udmesh") return udmesh(ranks);
  if (kind == "ring") return kring("ring", 1, ranks);
  if (kind == "star") return star(ranks);
  if (kind == "hypercube") return hypercube(ranks);
  return std::nullopt;
}

}  // namespace rdmameter
