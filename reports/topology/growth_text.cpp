// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/growth_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

namespace rdmameter {
namespace {

constexpr std::size_t kPlotHeight = 9, kMaxColumns = 64, kLabelWidth = 9;

/// An axis over so many characters: logarithmic, or from 0 on.
struct PlotAxis {
  double low = INFINITY, high = 0;
  std::size_t places;
  bool from_zero = false;

  void hold(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  std::size_t place(double value) const {
    const double along = from_zero ? value / high : std::log(value / low) / std::log(high / low);
    if (!(along > 0)) return 0;  // nor where there is no width
    return static_cast<std::size_t>(
        std::lround(std::min(along, 1.0) * static_cast<double>(places - 1)));
  }
  double value(std::size_t place) const {
    if (from_zero) return high * static_cast<double>(place) / static_cast<double>(places - 1);
    return low * std::pow(high / low, static_cast<double>(place) / static_cast<double>(places - 1));
  }
};

/// For each line a letter of its name that no other has; else any other.
std::vector<char> letters_of(const std::vector<GrowthLine>& lines) {
  std::set<char> taken;
  std::vector<char> letters;
  for (const GrowthLine& line : lines) {
    const std::string wanted = line.name + "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char letter = '?';
    for (const char c : wanted) {
      const char upper = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      if (upper < 'A' || upper > 'Z' || taken.contains(upper)) continue;
      letter = upper;
      break;
    }
    taken.insert(letter);
    letters.push_back(letter);
  }
  return letters;
}

void put(std::vector<std::string>& plot, const PlotAxis& x, const PlotAxis& y,
         const std::pair<double, double>& point, char letter) {
  char& place = plot[y.place(point.second)][x.place(point.first)];
  if (place == ' ') place = letter;
}

std::string number_text(double value) {
  if (value >= 1e6) return fmt::format("{:.1e}", value);
  return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

/// The numbers of ranks, or of what they are called, below their places, where there is room.
std::string rank_labels(const std::set<double>& ranks, const PlotAxis& x, const std::string& name) {
  std::string line;
  for (const double n : ranks) {
    const std::string label = fmt::format("{:.0f}", n);
    const std::size_t centre = kLabelWidth + 1 + x.place(n);
    const std::size_t at = centre - std::min(label.size() / 2, centre);
    if (!line.empty() && at <= line.size()) continue;
    line = pad_right(line, at) + label;
  }
  return line + "  " + name + "\n";
}

/// Under the plot, as many entries on a line as it has room for.
std::string legend_lines(const std::vector<std::string>& entries, std::size_t width) {
  constexpr std::string_view kGap = "   ";
  const std::string indent(kLabelWidth + 1, ' ');
  std::string text, line;
  for (const std::string& entry : entries) {
    if (!line.empty() && text_width(line) + kGap.size() + text_width(entry) > width)
      text += std::exchange(line, "") + "\n";
    line.append(line.empty() ? indent : kGap).append(entry);
  }
  return text + line + "\n";
}

}  // namespace

std::string draw_growth(const std::vector<GrowthLine>& lines, const Unit& unit,
                        const TextStyle& style, const GrowthAxes& axes) {
  const std::size_t width =
      std::min(std::max<std::size_t>(style.width, 40) - kLabelWidth - 10, kMaxColumns);
  PlotAxis x{.places = width}, y{.places = kPlotHeight, .from_zero = axes.y_from_zero};
  std::set<double> ranks;
  bool any_predicted = false;
  for (const GrowthLine& line : lines)
    for (const auto* points : {&line.measured, &line.predicted})
      for (const auto& [n, value] : *points) {
        x.hold(n);
        y.hold(value);
        ranks.insert(n);
        any_predicted = any_predicted || points == &line.predicted;
      }
  if (ranks.size() < 2) return "";
  const std::vector<char> letters = letters_of(lines);
  std::vector<std::string> plot(kPlotHeight, std::string(width, ' '));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const char small = static_cast<char>(std::tolower(static_cast<unsigned char>(letters[i])));
    for (const auto& point : lines[i].measured) put(plot, x, y, point, letters[i]);
    for (const auto& point : lines[i].predicted) put(plot, x, y, point, small);
  }
  std::string text;
  for (std::size_t row = kPlotHeight; row-- > 0;) {
    const bool labelled = row % 4 == 0;
    const std::string label = labelled ? number_text(y.value(row) / unit.size) + " " : "";
    std::string line = pad_left(label, kLabelWidth) + (labelled ? "┤" : "│") + plot[row];
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  text += pad_left(std::string(unit.name) + " ", kLabelWidth) + "└";
  for (std::size_t i = 0; i < width; ++i) text += "─";
  std::vector<std::string> legend;
  for (std::size_t i = 0; i < lines.size(); ++i)
    legend.push_back(fmt::format("{} {}", letters[i], printable(lines[i].name)));
  if (any_predicted) legend.emplace_back("small letters: predicted");
  return text + "\n" + rank_labels(ranks, x, axes.x_name) + legend_lines(legend, style.width);
}

}  // namespace rdmameter
