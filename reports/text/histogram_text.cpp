// SPDX-License-Identifier: Apache-2.0
#include "reports/text/histogram_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "reports/summary/metric.h"
#include "reports/text/table.h"

namespace rdmameter {
namespace {

constexpr std::size_t kHeight = 6;      ///< lines of bars
constexpr std::size_t kLabelWidth = 9;  ///< columns beside them
constexpr std::size_t kEighths = 8;
constexpr const char* kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

/// Where a time stands.
struct TimeAxis {
  double low_ns, high_ns;  ///< left and right edge, 0 < low < high
  std::size_t columns;
  double position(double ns) const {  ///< 0 to columns
    const double along = std::log(ns / low_ns) / std::log(high_ns / low_ns);
    return std::clamp(along, 0.0, 1.0) * static_cast<double>(columns);
  }
  std::size_t column(double ns) const {
    return std::min(static_cast<std::size_t>(position(ns)), columns - 1);
  }
};

/// From least to largest sample that has a bucket, and 5 % at the least: buckets are up to
/// 0.1 % wide.
TimeAxis axis_of(const HistogramData& data, std::size_t columns) {
  const auto past = static_cast<double>(histogram_lowest(data.buckets.back().first + 1));
  double low = std::max(static_cast<double>(data.min_ns), 0.5);
  double high = data.overflow > 0 ? past : std::min(static_cast<double>(data.max_ns) + 1, past);
  constexpr double kMinRatio = 1.05;
  if (high / low < kMinRatio) {
    const double widen = std::sqrt(kMinRatio / (high / low));
    low /= widen;
    high *= widen;
  }
  return {low, high, columns};
}

/// Samples by column; a bucket wider than a column is spread over those that it covers.
std::vector<double> samples_by_column(const HistogramData& data, const TimeAxis& axis) {
  std::vector<double> samples(axis.columns);
  for (const auto& [index, n] : data.buckets) {
    const auto lowest = static_cast<double>(histogram_lowest(index));
    const double begin = axis.position(std::max(lowest, axis.low_ns));
    const double end = axis.position(static_cast<double>(histogram_lowest(index + 1)));
    const auto first = std::min(static_cast<std::size_t>(begin), axis.columns - 1);
    for (std::size_t i = first; i < axis.columns && (i == first || static_cast<double>(i) < end);
         ++i) {
      const double overlap =
          std::min(end, static_cast<double>(i + 1)) - std::max(begin, static_cast<double>(i));
      samples[i] += static_cast<double>(n) * (end > begin ? overlap / (end - begin) : 1);
    }
  }
  return samples;
}

std::string bars(const std::vector<double>& samples) {
  const double peak = std::ranges::max(samples);
  std::string text;
  for (std::size_t line = kHeight; line-- > 0;) {
    const std::string label = line == kHeight - 1 ? fmt::format("{:.0f} ", peak) : "";
    std::string row = pad_left(label, kLabelWidth) + (label.empty() ? "│" : "┤");
    for (const double n : samples) {
      const auto full = static_cast<std::size_t>(std::lround(n / peak * (kHeight * kEighths)));
      const std::size_t level = n > 0 ? std::max<std::size_t>(full, 1) : 0;
      const std::size_t below = line * kEighths;
      row += kBlocks[level > below ? std::min(level - below, kEighths) : 0];
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

/// 1, 2, 5, 10, ... in the unit, or where those are too few, round steps.
std::vector<double> tick_values(double low, double high) {
  std::vector<double> ticks;
  for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10)
    for (const double digit : {1, 2, 5})
      if (digit * decade >= low && digit * decade <= high) ticks.push_back(digit * decade);
  if (ticks.size() >= 3) return ticks;
  ticks.clear();
  const double raw = (high - low) / 6;
  const double decade = std::pow(10, std::floor(std::log10(raw)));
  const double step = decade * (raw / decade <= 2 ? 2 : raw / decade <= 5 ? 5 : 10);
  for (double tick = std::ceil(low / step); tick * step <= high; ++tick)
    ticks.push_back(tick * step);
  return ticks;
}

/// The axis with its ticks, and their values in the line below.
/// @param scale  of the unit, of half round trips twice that [ns]
std::string time_axis(const TimeAxis& axis, std::string_view unit, double scale) {
  std::vector<const char*> line(axis.columns, "─");
  std::string labels = pad_left(fmt::format("{} ", unit), kLabelWidth) + " ";
  for (const double tick : tick_values(axis.low_ns / scale, axis.high_ns / scale)) {
    const std::size_t column = axis.column(tick * scale);
    line[column] = "┬";
    const std::string label = fmt::format("{:.6g}", tick);
    const std::size_t at = kLabelWidth + 1 + column - std::min(label.size() / 2, column);
    const std::size_t used = text_width(labels);
    if (used > kLabelWidth + 1 && at <= used) continue;
    if (at + label.size() > kLabelWidth + 1 + axis.columns) continue;
    labels = pad_right(labels, at) + label;
  }
  std::string text = pad_left("0 ", kLabelWidth) + "└";
  for (const char* part : line) text += part;
  return text + "\n" + labels + "\n";
}

/// "▲ p50 4.21" below its place, each in the first line that has room for it.
std::string marks(const HistogramData& data, const TimeAxis& axis, double scale, int decimals) {
  std::vector<std::string> lines;
  for (const auto& [name, percent] :
       {std::pair{"p50", 50.0}, std::pair{"p99", 99.0}, std::pair{"p99.9", 99.9}}) {
    const auto ns = reported_percentile(data, percent);
    if (!ns) continue;
    const std::string text = fmt::format("{} {}", name, fixed(*ns / scale, decimals));
    std::size_t at = kLabelWidth + 1 + axis.column(*ns);
    const bool to_the_left = at + text.size() + 2 > kLabelWidth + 1 + axis.columns;
    const std::string label = to_the_left ? text + " ▲" : "▲ " + text;
    if (to_the_left) at -= std::min(at, text.size() + 1);
    auto line =
        std::ranges::find_if(lines, [at](const auto& used) { return text_width(used) + 2 <= at; });
    if (line == lines.end()) line = lines.emplace(lines.end());
    *line = pad_right(*line, at) + label;
  }
  std::string result;
  for (const std::string& line : lines) result += line + "\n";
  return result;
}

constexpr double kPercents[] = {25,   50,    75,    90,     95,     99,      99.5,
                                99.9, 99.95, 99.99, 99.995, 99.999, 99.9995, 99.9999};

/// As many as rank higher.
std::uint64_t samples_beyond(std::uint64_t count, double percent) {
  const double beyond = (100 - percent) / 100 * static_cast<double>(count);
  return static_cast<std::uint64_t>(beyond * (1 + 1e-9));
}

}  // namespace

std::string draw_histogram(const HistogramData& data, double divisor, const TextStyle& style) {
  if (data.count == 0) return "  no samples\n";
  const LatencySummary summary = summarize(data, divisor);
  const Unit unit = time_unit(summary.p50.value_or(summary.mean));
  const int decimals = decimals_for(std::vector{summary.min / unit.size}, max_decimals(unit));
  std::string text;
  if (!data.buckets.empty()) {
    const TimeAxis axis = axis_of(data, std::max<std::size_t>(style.width, 40) - kLabelWidth - 1);
    const double scale = divisor * unit.size;
    text += bars(samples_by_column(data, axis)) + time_axis(axis, unit.name, scale) +
            marks(data, axis, scale, decimals);
  }
  text += fmt::format("  {}, min {}, mean {}, max {} {}\n", count_text(data.count, "sample"),
                      fixed(summary.min / unit.size, decimals),
                      fixed(summary.mean / unit.size, decimals),
                      fixed(summary.max / unit.size, decimals), unit.name);
  if (data.overflow > 0)
    text += fmt::format("  {} of them beyond the histogram's 2^41 ns\n", data.overflow);
  return text;
}

std::string percentile_table(const CaseSummary& summary, const TextStyle& style) {
  const HistogramData merged = merged_latency(summary);
  const double divisor = latency_divisor(summary.first());
  const double largest = static_cast<double>(merged.max_ns) / divisor;
  const double typical = reported_percentile(merged, kPercents[0], divisor).value_or(largest);
  const Unit unit = time_unit(typical);
  const int decimals = decimals_for(std::vector{typical / unit.size}, max_decimals(unit));
  const auto shown = [&](const Number& ns) { return known_text(ns, decimals, unit.size); };
  const std::string unit_name(unit.name);
  Table table{.columns = {{"percentile"},
                          {"1/(1-p)"},
                          {"time", unit_name},
                          {"smallest", unit_name},
                          {"largest", unit_name},
                          {"samples beyond"}},
              .key_columns = 1};
  for (const double percent : kPercents) {
    const auto value = reported_percentile(merged, percent, divisor);
    if (!value) break;
    const auto own = spread(summary, [&](const Row& row) {
      return row.latency ? reported_percentile(row.latency->histogram, percent, divisor)
                         : std::nullopt;
    });
    table.add_line({fmt::format("p{}", percent), fmt::format("{:.4g}", 100 / (100 - percent)),
                    shown(value), own ? shown(own->min) : kUnknown,
                    own ? shown(own->max) : kUnknown,
                    fmt::format("{}", samples_beyond(merged.count, percent))});
  }
  table.add_line({"max", "", shown(largest), kUnknown, kUnknown, "0"});
  const bool repeated = summary.repetitions.size() > 1;
  if (!repeated) table.columns.erase(table.columns.begin() + 3, table.columns.begin() + 5);
  return render(table, style) +
         note_text(repeated ? "Smallest and largest: of the repetitions' own percentiles." : "",
                   style);
}

}  // namespace rdmameter
