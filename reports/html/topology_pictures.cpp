// SPDX-License-Identifier: Apache-2.0
#include "reports/html/topology_pictures.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/summary/metric.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr std::size_t kShadeClasses = 8;  ///< classes s0 to s7 of page.css
constexpr std::size_t kMaxCells = 64;     ///< of a row
constexpr std::size_t kMaxListed = 24;    ///< ranks whose cells have a text each
constexpr std::size_t kMaxNumbered = 9;   ///< ranks whose cells have room for a number
constexpr std::size_t kDarkShade = 5;     ///< from here on a number is light

/// Geometric steps; times that differ by less than a tenth are of one shade.
struct Shades {
  double min_ns, max_ns;
  std::size_t of(double ns) const {
    constexpr double kOneShade = 1.1, kMaxRatio = 1e6;
    const double min = std::max(min_ns, max_ns / kMaxRatio);
    if (!(max_ns / min > kOneShade)) return 1;
    const double along = std::log(ns / min) / std::log(max_ns / min);
    return static_cast<std::size_t>(std::clamp(along, 0.0, 0.999) * kShadeClasses);
  }
};

/// A path of squares for each shade: a tenth of the text of as many elements.
std::string shaded_paths(const std::vector<PairTime>& cells, const Shades& shades) {
  std::array<std::string, kShadeClasses> paths;
  for (const PairTime& cell : cells)
    paths[shades.of(cell.ns)] += fmt::format("M{} {}h1v1h-1z", cell.to, cell.from);
  std::string svg;
  for (std::size_t shade = 0; shade < kShadeClasses; ++shade)
    if (!paths[shade].empty())
      svg += fmt::format("<path class=s{} d=\"{}\"/>", shade, paths[shade]);
  return svg;
}

std::string told_cells(const std::vector<PairTime>& cells, const Shades& shades,
                       const PairNumbers& numbers) {
  std::string svg;
  for (const PairTime& cell : cells)
    svg += fmt::format(
        "<rect class=s{} x={} y={} width=1 height=1><title>{} → {}: {}</title></rect>",
        shades.of(cell.ns), cell.to, cell.from, cell.from, cell.to, numbers.text(cell.ns));
  return svg;
}

/// In a common unit, which scale_html() tells.
std::string numbered_cells(const std::vector<PairTime>& cells, const Shades& shades,
                           const Unit& unit, const PairNumbers& numbers) {
  const auto scaled =
      mapped(cells, [&](const PairTime& cell) { return numbers.value(cell.ns, unit); });
  const int decimals = std::min(decimals_for(scaled), 2);
  std::string svg;
  for (std::size_t i = 0; i < cells.size(); ++i)
    svg += fmt::format(
        "<text x={} y={} class=\"n{}\">{}</text>", static_cast<double>(cells[i].to) + 0.5,
        static_cast<double>(cells[i].from) + 0.5,
        shades.of(cells[i].ns) >= kDarkShade ? " light" : "", fixed(scaled[i], decimals));
  return svg;
}

std::string crossed_cells(const RankCells& failed, std::size_t together) {
  std::string crosses;
  for (const auto& [from, to] : failed)
    crosses += fmt::format("M{} {}l.6 .6m0-.6l-.6 .6", static_cast<double>(to / together) + 0.2,
                           static_cast<double>(from / together) + 0.2);
  return crosses.empty()
             ? ""
             : fmt::format("<path class=frame d=\"{}\"><title>failed</title></path>", crosses);
}

std::string scale_html(const Shades& shades, const PairNumbers& numbers) {
  std::string html = "<p class=scale>" + markup_text(numbers.text(shades.min_ns));
  if (shades.of(shades.max_ns) != shades.of(shades.min_ns)) {
    html += " <svg width=96 height=12 viewBox=\"0 0 8 1\" preserveAspectRatio=none>";
    for (std::size_t shade = 0; shade < kShadeClasses; ++shade)
      html += fmt::format("<rect class=s{0} x={0} width=1 height=1 />", shade);
    html += "</svg> " + markup_text(numbers.text(shades.max_ns));
  } else {
    html += " throughout";
  }
  return html + "</p>\n";
}

/// Within 0 to 100, with a margin.
void fit_in(std::vector<Place>& places) {
  constexpr double kMargin = 8;
  const auto [left, right] = std::ranges::minmax(mapped(places, &Place::x));
  const auto [low, high] = std::ranges::minmax(mapped(places, &Place::y));
  const auto fitted = [](double value, double min, double max) {
    return max > min ? kMargin + (100 - 2 * kMargin) * (value - min) / (max - min) : 50.0;
  };
  for (Place& place : places) place = {fitted(place.x, left, right), fitted(place.y, low, high)};
}

/// As the graph's own row has it, or on a circle: a graph that is not known here, or not at
/// so many ranks.
std::vector<Place> places_of(const TopologyData& topology) {
  const auto ranks = static_cast<Rank>(topology.ranks);
  const auto chosen = find_shape(topology.graph);
  const bool known = chosen && chosen->why_not(ranks).empty();
  std::vector<Place> places;
  for (Rank rank = 0; rank < ranks; ++rank)
    places.push_back(known ? chosen->shape->place(chosen->arguments, rank, ranks)
                           : on_circle({}, rank, ranks));
  fit_in(places);
  return places;
}

}  // namespace

std::string matrix_svg(const Matrix& matrix_ns, const std::optional<Straggler>& straggler,
                       const RankCells& failed, const PairNumbers& numbers) {
  const std::size_t ranks = matrix_ns.size();
  const std::size_t together = (ranks + kMaxCells - 1) / kMaxCells;
  if (ranks == 0) return "";
  const std::vector<PairTime> cells = times_of(blocks_of(matrix_ns, together));
  if (cells.empty()) return "";
  const auto [least, most] = std::ranges::minmax(cells, {}, &PairTime::ns);
  const Shades shades{least.ns, most.ns};
  const std::size_t size = (ranks + together - 1) / together;
  std::string svg = fmt::format(
      "<svg class=matrix role=img aria-label=\"{} between {} ranks\" viewBox=\"-2 -2 {} {}\">",
      numbers.bandwidths() ? "bandwidths" : "one-way times", ranks, size + 2, size + 2);
  svg += ranks <= kMaxListed ? told_cells(cells, shades, numbers) : shaded_paths(cells, shades);
  svg += crossed_cells(failed, together);
  const bool numbered = ranks <= kMaxNumbered;
  const Unit unit = numbers.unit(shades.min_ns);
  if (numbered) svg += numbered_cells(cells, shades, unit, numbers);
  if (straggler && !straggler->to) {
    const std::size_t at = *straggler->rank / together;
    svg += fmt::format("<path class=frame d=\"M0 {0}h{1}v1h-{1}zM{0} 0v{1}h1v-{1}z\"/>", at, size);
  }
  const auto frame_cell = [&svg, together](std::uint32_t from, std::uint32_t to) {
    svg += fmt::format("<path class=frame d=\"M{} {}h1v1h-1z\"/>", to / together, from / together);
  };
  if (straggler && straggler->to) {
    frame_cell(*straggler->rank, *straggler->to);
    if (straggler->verdict == Straggler::Verdict::path)
      frame_cell(*straggler->to, *straggler->rank);
  }
  const std::size_t step = std::max<std::size_t>(1, (size + 15) / 16);
  for (std::size_t at = 0; at < size; at += step)
    svg += fmt::format("<text x=-0.3 y={0} class=from>{1}</text><text x={0} y=-0.4>{1}</text>",
                       static_cast<double>(at) + 0.5, at * together);
  return svg + "</svg>\n" + scale_html(shades, numbers) +
         (numbered ? fmt::format("<p class=hint>Numbers are in {}.</p>\n", unit.name) : "") +
         (together > 1
              ? fmt::format("<p class=hint>A cell is {} ranks, as slow as the slowest.</p>\n",
                            together)
              : "") +
         (failed.empty() ? "" : "<p class=hint>A cross: the pair failed.</p>\n");
}

std::string graph_svg(const TopologyData& topology, const std::optional<Straggler>& straggler) {
  constexpr std::uint64_t kMaxDrawn = 128;
  constexpr std::size_t kMaxLines = 1500;
  if (topology.edges.empty() || topology.ranks > kMaxDrawn || topology.edges.size() > kMaxLines)
    return "";
  const std::vector<Place> places = places_of(topology);
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
