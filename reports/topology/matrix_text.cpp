// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/matrix_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/base/printable.h"
#include "reports/summary/metric.h"
#include "topologies/graphs/routes.h"

namespace rdmameter {
namespace {

constexpr std::array kShades = {"░", "▒", "▓", "█"};
constexpr std::size_t kMargin = 8;
constexpr const char* kFailed = "x";

/// Geometric steps from the least to the largest time, none narrower than a tenth: shades that
/// tell noise from noise would deceive.
struct Shading {
  double min_ns, ratio;
  std::size_t steps;
  std::size_t step(double ns) const {
    const double along = std::log(ns / min_ns) / std::log(ratio);
    return std::min(static_cast<std::size_t>(std::max(along, 0.0)), steps - 1);
  }
};

Shading shading_of(double min_ns, double max_ns) {
  constexpr double kMinRatio = 1.1;
  const double whole = max_ns / min_ns;
  const auto steps = std::clamp<std::size_t>(
      static_cast<std::size_t>(std::log(whole) / std::log(kMinRatio)), 1, kShades.size());
  return {min_ns, std::max(std::pow(whole, 1.0 / real(steps)), kMinRatio), steps};
}

/// As few digits as tell a hundredth apart.
std::string cell_text(double value) {
  return value < 99.95 ? fmt::format("{:#.3g}", value) : fixed(value, 0);
}

/// What a cell without a time shows.
const char* empty_cell(const RankCells& failed, std::size_t row, std::size_t column) {
  return failed.contains({row, column}) ? kFailed : " ";
}

std::string from_and_shades(const Matrix& cells, const RankCells& failed, const Shading& scale,
                            std::size_t ranks, std::size_t together, std::size_t cell_width) {
  std::string text = fmt::format("{}to rank 0{}\n", pad_left("from", kMargin - 1) + " ",
                                 ranks > 1 ? fmt::format(" ... {}", ranks - 1) : "");
  for (std::size_t row = 0; row < cells.size(); ++row) {
    std::string line = pad_left(fmt::format("{} ", row * together), kMargin);
    for (std::size_t column = 0; column < cells.size(); ++column) {
      const auto& cell = cells[row][column];
      for (std::size_t i = 0; i < cell_width; ++i)
        line += cell ? kShades[scale.step(*cell)] : empty_cell(failed, row, column);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

/// With the number in each cell, behind its shade. Empty: it does not fit.
std::string from_and_numbers(const Matrix& cells, const RankCells& failed, const Shading& scale,
                             std::size_t room, const PairNumbers& numbers) {
  const Unit unit = numbers.unit(scale.min_ns);
  std::size_t widest = fmt::formatted_size("{}", cells.size() - 1);
  for (const PairTime& cell : times_of(cells))
    widest = std::max(widest, cell_text(numbers.value(cell.ns, unit)).size());
  constexpr std::size_t kShadeAndGaps = 3;  // in ASCII a shade beside a digit would be a point
  const std::size_t width = widest + kShadeAndGaps;
  if (cells.size() * width > room) return "";
  std::string text = pad_left("from to", kMargin);
  for (std::size_t column = 0; column < cells.size(); ++column)
    text += pad_left(fmt::format("{}", column), width);
  text += "\n";
  for (std::size_t row = 0; row < cells.size(); ++row) {
    std::string line = pad_left(fmt::format("{} ", row), kMargin);
    for (std::size_t column = 0; column < cells.size(); ++column) {
      const auto& cell = cells[row][column];
      line += cell ? fmt::format(" {} {}", kShades[scale.step(*cell)],
                                 pad_left(cell_text(numbers.value(*cell, unit)), widest))
                   : pad_left(empty_cell(failed, row, column), width);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

/// What each shade means: in as many lines as it takes to fit.
std::string legend(const Shading& scale, std::size_t width, const PairNumbers& numbers) {
  constexpr std::size_t kGap = 3;
  const Unit unit = numbers.unit(scale.min_ns);
  std::string text, line(kMargin, ' ');
  for (std::size_t step = 0; step < scale.steps; ++step) {
    const std::string shade =
        fmt::format("{0}{0} {1} {2}", kShades[step], numbers.bandwidths() ? "up to" : "from",
                    cell_text(numbers.value(scale.min_ns * std::pow(scale.ratio, step), unit)));
    if (step > 0 && text_width(line) + text_width(shade) + kGap + text_width(unit.name) > width) {
      text += line.substr(0, line.size() - kGap) + "\n";
      line.assign(kMargin, ' ');
    }
    line += shade + std::string(kGap, ' ');
  }
  return fmt::format("{}{}{}\n", text, line, unit.name);
}

constexpr std::size_t kTold = 8;

struct Failure {
  std::set<bool> upwards;  ///< from the lower rank to the higher one, or back
  std::set<const Row*> rows;
  std::string reason;  ///< the first
};

/// By the lower and the higher rank.
std::map<std::pair<std::uint64_t, std::uint64_t>, Failure> failures_of(const TopologyCase& one) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, Failure> failures;
  for (const Row* row : one.summary.repetitions)
    for (const auto& [from, to, reason] : row->topology->failed_pairs) {
      Failure& failure = failures[std::minmax(from, to)];
      failure.upwards.insert(from < to);
      failure.rows.insert(row);
      if (failure.reason.empty()) failure.reason = reason.substr(0, reason.find(". "));
    }
  return failures;
}

}  // namespace

Matrix blocks_of(const Matrix& matrix_ns, std::size_t together) {
  const std::size_t size = (matrix_ns.size() + together - 1) / together;
  Matrix matrix(size, std::vector<Number>(size));
  for (std::size_t row = 0; row < matrix_ns.size(); ++row)
    for (std::size_t column = 0; column < matrix_ns.size(); ++column)
      if (const auto& cell = matrix_ns[row][column]; cell && *cell > 0) {
        auto& block = matrix[row / together][column / together];
        block = std::max(block.value_or(0), *cell);
      }
  return matrix;
}

std::string draw_matrix(const Matrix& matrix_ns, const TextStyle& style, const RankCells& failed,
                        const PairNumbers& numbers) {
  const std::size_t room = std::max<std::size_t>(style.width, 40) - kMargin - 1;
  const std::size_t ranks = matrix_ns.size();
  const std::size_t cell_width = 2 * ranks <= room ? 2 : 1;
  const std::size_t together = (ranks * cell_width + room - 1) / room;
  if (ranks == 0) return "";
  const Matrix cells = blocks_of(matrix_ns, together);
  const auto times_ns = mapped(times_of(cells), &PairTime::ns);
  if (times_ns.empty()) return "";
  const auto [min_ns, max_ns] = std::ranges::minmax(times_ns);
  constexpr double kMaxRatio = 1e6;  // times of one network do not differ more
  const Shading scale = shading_of(std::max(min_ns, max_ns / kMaxRatio), max_ns);
  RankCells crossed;
  for (const auto& [from, to] : failed) crossed.emplace(from / together, to / together);
  std::string text = together > 1 ? "" : from_and_numbers(cells, crossed, scale, room, numbers);
  if (text.empty()) text = from_and_shades(cells, crossed, scale, ranks, together, cell_width);
  if (together > 1) text += fmt::format("{}{} ranks a cell\n", std::string(kMargin, ' '), together);
  if (!failed.empty()) text += fmt::format("{}{} failed\n", std::string(kMargin, ' '), kFailed);
  return text + legend(scale, style.width, numbers);
}

std::string matrix_kinds_text(const TopologyCase& one, const Matrix& matrix_ns) {
  const RankPlaces& places = one.places;
  if (places.size() != matrix_ns.size()) return "";
  ByKind<std::vector<double>> by_kind;
  for (const auto& [from, to, ns] : times_of(matrix_ns))
    if (from != to) by_kind[kind_of(places[from], places[to])].push_back(ns);
  const PairNumbers numbers = pair_numbers(one);
  std::vector<std::string> medians;
  for (const auto& [kind, name] : kPairKindNames)
    if (!by_kind[kind].empty())
      medians.push_back(fmt::format("{} {}", name, numbers.text(median(std::move(by_kind[kind])))));
  if (medians.size() < 2) return "";
  return fmt::format("median by kind of pair: {}", fmt::join(medians, ", "));
}

RankCells failed_cells(const TopologyCase& one) {
  RankCells cells;
  for (const Row* row : one.summary.repetitions)
    for (const auto& [from, to, reason] : row->topology->failed_pairs) cells.emplace(from, to);
  return cells;
}

std::vector<std::string> failed_pairs_text(const TopologyCase& one, const Json& context) {
  const auto failures = failures_of(one);
  const std::size_t repetitions = one.summary.repetitions.size();
  std::vector<std::string> sentences;
  for (const auto& [ranks, failure] : failures) {
    if (sentences.size() == kTold) {
      sentences.push_back(fmt::format("{} more pairs failed", failures.size() - kTold));
      break;
    }
    const bool one_way = failure.upwards.size() == 1, down = !failure.upwards.contains(true);
    const std::string often = repetitions == 1 ? ""
                                               : fmt::format(" in {} of {} repetitions",
                                                             failure.rows.size(), repetitions);
    sentences.push_back(fmt::format(
        "{} {} {} {} failed{}: {}", one_way ? "from" : "between",
        rank_text(context, down ? ranks.second : ranks.first), one_way ? "to" : "and",
        rank_text(context, down ? ranks.first : ranks.second), often, printable(failure.reason)));
  }
  return sentences;
}

}  // namespace rdmameter
