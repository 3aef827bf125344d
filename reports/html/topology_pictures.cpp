// SPDX-License-Identifier: Apache-2.0
#include "reports/html/topology_pictures.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <numbers>

#include "reports/text.h"
#include "reports/topology/model_text.h"

namespace rdmameter {
namespace {

constexpr std::size_t kShades = 8;      ///< classes s0 to s7 of page.css
constexpr std::size_t kMostCells = 64;  ///< of a row
constexpr std::size_t kMostTold = 24;   ///< ranks whose cells have a text each

/// Geometric steps; times that differ by less than a tenth are of one shade.
struct Shades {
  double least_ns = INFINITY, most_ns = 0;
  void hold(double ns) {
    least_ns = std::min(least_ns, ns);
    most_ns = std::max(most_ns, ns);
  }
  std::size_t of(double ns) const {
    constexpr double kOneShade = 1.1, kMostRatio = 1e6;
    const double least = std::max(least_ns, most_ns / kMostRatio);
    if (!(most_ns / least > kOneShade)) return 1;
    const double along = std::log(ns / least) / std::log(most_ns / least);
    return static_cast<std::size_t>(std::clamp(along, 0.0, 0.999) * kShades);
  }
};

struct Cell {
  std::size_t row, column;
  double ns;
};

/// The slowest of each block of ranks.
std::vector<Cell> cells_of(const Matrix& matrix_ns, std::size_t together) {
  const std::size_t size = (matrix_ns.size() + together - 1) / together;
  std::vector<double> slowest(size * size);
  for (std::size_t row = 0; row < matrix_ns.size(); ++row)
    for (std::size_t column = 0; column < matrix_ns.size(); ++column)
      if (const auto& cell = matrix_ns[row][column]) {
        double& block = slowest[row / together * size + column / together];
        block = std::max(block, *cell);
      }
  std::vector<Cell> cells;
  for (std::size_t i = 0; i < slowest.size(); ++i)
    if (slowest[i] > 0) cells.push_back({i / size, i % size, slowest[i]});
  return cells;
}

/// A path of squares for each shade: a tenth of the text of as many elements.
std::string shaded_paths(const std::vector<Cell>& cells, const Shades& shades) {
  std::array<std::string, kShades> paths;
  for (const Cell& cell : cells)
    paths[shades.of(cell.ns)] += fmt::format("M{} {}h1v1h-1z", cell.column, cell.row);
  std::string svg;
  for (std::size_t shade = 0; shade < kShades; ++shade)
    if (!paths[shade].empty())
      svg += fmt::format("<path class=s{} d=\"{}\"/>", shade, paths[shade]);
  return svg;
}

std::string told_cells(const std::vector<Cell>& cells, const Shades& shades) {
  std::string svg;
  for (const Cell& cell : cells)
    svg += fmt::format(
        "<rect class=s{} x={} y={} width=1 height=1><title>{} → {}: {}</title></rect>",
        shades.of(cell.ns), cell.column, cell.row, cell.row, cell.column, time_value(cell.ns));
  return svg;
}

std::string scale_html(const Shades& shades) {
  std::string html = "<p class=scale>" + markup_text(time_value(shades.least_ns));
  if (shades.of(shades.most_ns) != shades.of(shades.least_ns)) {
    html += " <svg width=96 height=12 viewBox=\"0 0 8 1\" preserveAspectRatio=none>";
    for (std::size_t shade = 0; shade < kShades; ++shade)
      html += fmt::format("<rect class=s{0} x={0} width=1 height=1 />", shade);
    html += "</svg> " + markup_text(time_value(shades.most_ns));
  } else {
    html += " throughout";
  }
  return html + "</p>\n";
}

struct Point {
  double x, y;
};

/// Columns of a torus' grid; 0: it is none.
std::size_t grid_columns(const TopologyData& topology) {
  if (!topology.graph.starts_with("torus2d:")) return 0;
  const auto figures = shape_figures(topology.graph, topology.ranks);
  if (!figures || figures->graph != topology.graph) return 0;
  const std::size_t cross = topology.graph.find('x');
  return std::strtoul(topology.graph.c_str() + cross + 1, nullptr, 10);
}

/// Each dimension of a hypercube goes its own way, so that no edge lies on another.
Point on_cube(std::size_t rank) {
  constexpr Point kWays[] = {{1, 0},        {0, 1},       {0.45, 0.32}, {-0.35, 0.55},
                             {0.21, -0.27}, {0.13, 0.17}, {-0.09, 0.07}};
  Point place{0, 0};
  for (std::size_t bit = 0; bit < std::size(kWays); ++bit)
    if ((rank >> bit & 1U) != 0) {
      place.x += kWays[bit].x;
      place.y += kWays[bit].y;
    }
  return place;
}

/// A little shear, so that the edges around a torus do not lie on those within.
Point on_grid(std::size_t rank, std::size_t columns) {
  const auto x = static_cast<double>(rank % columns), y = static_cast<double>(rank / columns);
  return {x + 0.12 * y * y, y + 0.12 * x * x};
}

Point on_circle(std::size_t rank, std::size_t ranks) {
  const double turn = 2 * std::numbers::pi * static_cast<double>(rank) / static_cast<double>(ranks);
  return {std::sin(turn), -std::cos(turn)};
}

/// Within 0 to 100, with a margin.
void fit_in(std::vector<Point>& places) {
  constexpr double kMargin = 8;
  Point low = places.front(), high = low;
  for (const Point& place : places) {
    low = {std::min(low.x, place.x), std::min(low.y, place.y)};
    high = {std::max(high.x, place.x), std::max(high.y, place.y)};
  }
  const auto fitted = [](double value, double least, double most) {
    return most > least ? kMargin + (100 - 2 * kMargin) * (value - least) / (most - least) : 50.0;
  };
  for (Point& place : places)
    place = {fitted(place.x, low.x, high.x), fitted(place.y, low.y, high.y)};
}

/// Where each rank stands.
std::vector<Point> places_of(const TopologyData& topology) {
  const auto n = static_cast<std::size_t>(topology.ranks);
  const std::size_t columns = grid_columns(topology);
  const bool star = topology.graph == "star";
  std::vector<Point> places;
  for (std::size_t rank = 0; rank < n; ++rank) {
    if (columns > 0)
      places.push_back(on_grid(rank, columns));
    else if (topology.graph == "hypercube")
      places.push_back(on_cube(rank));
    else if (star && rank == 0)
      places.push_back({0, 0});
    else
      places.push_back(on_circle(rank, star ? n - 1 : n));
  }
  fit_in(places);
  return places;
}

}  // namespace

std::string matrix_svg(const Matrix& matrix_ns, const std::optional<Straggler>& straggler) {
  const std::size_t ranks = matrix_ns.size();
  const std::size_t together = (ranks + kMostCells - 1) / kMostCells;
  if (ranks == 0) return "";
  const std::vector<Cell> cells = cells_of(matrix_ns, together);
  if (cells.empty()) return "";
  Shades shades;
  for (const Cell& cell : cells) shades.hold(cell.ns);
  const std::size_t size = (ranks + together - 1) / together;
  std::string svg = fmt::format(
      "<svg class=matrix role=img aria-label=\"one-way times between {} ranks\" viewBox=\"-2 -2 {} "
      "{}\">",
      ranks, size + 2, size + 2);
  svg += ranks <= kMostTold ? told_cells(cells, shades) : shaded_paths(cells, shades);
  if (straggler && !straggler->to) {
    const std::size_t at = straggler->rank / together;
    svg += fmt::format("<path class=frame d=\"M0 {0}h{1}v1h-{1}zM{0} 0v{1}h1v-{1}z\"/>", at, size);
  }
  const std::size_t step = std::max<std::size_t>(1, (size + 15) / 16);
  for (std::size_t at = 0; at < size; at += step)
    svg += fmt::format("<text x=-0.3 y={0} class=from>{1}</text><text x={0} y=-0.4>{1}</text>",
                       static_cast<double>(at) + 0.5, at * together);
  return svg + "</svg>\n" + scale_html(shades) +
         (together > 1
              ? fmt::format("<p class=hint>A cell is {} ranks, as slow as the slowest.</p>\n",
                            together)
              : "");
}

std::string graph_svg(const TopologyData& topology, const std::optional<Straggler>& straggler) {
  constexpr std::uint64_t kMostDrawn = 128;
  constexpr std::size_t kMostLines = 1500;
  if (topology.edges.empty() || topology.ranks > kMostDrawn || topology.edges.size() > kMostLines)
    return "";
  const std::vector<Point> places = places_of(topology);
  std::string lines;
  for (const auto& [a, b] : topology.edges)
    lines += fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", places[a].x, places[a].y, places[b].x,
                         places[b].y);
  const double radius = topology.ranks <= 32 ? 4 : topology.ranks <= 64 ? 2.4 : 1.5;
  std::string svg = fmt::format(
      "<svg class=graph role=img aria-label=\"{} ranks and {} edges\" viewBox=\"0 0 100 100\">"
      "<path d=\"{}\"/>",
      topology.ranks, topology.edges.size(), lines);
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const bool slow = straggler && !straggler->to && straggler->rank == rank;
    svg += fmt::format("<circle cx={:.1f} cy={:.1f} r={}{}><title>rank {}</title></circle>",
                       places[rank].x, places[rank].y, radius, slow ? " class=slow" : "", rank);
    if (topology.ranks <= 32)
      svg += fmt::format("<text x={:.1f} y={:.1f}>{}</text>", places[rank].x, places[rank].y, rank);
  }
  return svg + "</svg>\n";
}

}  // namespace rdmameter
