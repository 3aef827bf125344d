// SPDX-License-Identifier: Apache-2.0
// Kinds of figures that some cases have beside latency and bandwidth. Each is described once;
// terminal, page and CSV are loops over figures().
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/stats/sample.h"
#include "reports/summary/line_rate.h"
#include "reports/summary/metric.h"
#include "reports/summary/summary.h"
#include "reports/text/table.h"

namespace rdmameter {

using FigureCases = std::vector<const CaseSummary*>;

/// The subject of a table's line.
struct FigureLine {
  const CaseSummary* summary;
  const FigureCases* cases;  ///< those of its result that it stands among, itself one of them
  std::size_t part = 0;      ///< of the case, where its kind has parts: an entry of its mix...
};
using FigureLines = std::vector<FigureLine>;

/// A column, without its cells, which are texts, or medians of numbers; of numbers none where no
/// line has any.
struct FigureColumn {
  Table::Column column;
  std::function<std::string(FigureLine)> text = {};  ///< kUnknown or empty: there is no such number
  bool unless_unknown = false;                       ///< no column where no line has such a text
  /// A number in place of `text`: shown as the median over the repetitions, with half their range.
  RowNumber number = {};
  Unit unit = {};            ///< of `number`
  int max_decimals = 0;      ///< 0: whole numbers
  bool unless_zero = false;  ///< no column where all are
  /// Why a cell may be kUnknown; empty: rows do not have it, as those of older releases.
  std::string_view missing = {};
};
FigureColumn text_column(Table::Column column, std::function<std::string(FigureLine)> text);
FigureColumn median_column(std::string_view head, const Unit& unit, int max_decimals,
                           RowNumber number, std::string_view missing = {});
/// Whole numbers, without a range; optional at a terminal.
FigureColumn count_column(const char* head, RowNumber number);
/// The sum of all repetitions; an empty cell where it is not counted.
FigureColumn sum_column(const char* head,
                        std::function<std::optional<std::uint64_t>(const Row&)> number,
                        bool unless_zero = false);
/// Of a kind with parts: the median of a part's number over the repetitions; nothing where one of
/// them does not have it.
/// @param list  the parts of a row: a member of Row, or a function
/// @param of    the number of one of them, or nothing: likewise
FigureColumn part_column(Table::Column column, int decimals, auto list, auto of,
                         std::string_view missing = {}) {
  FigureColumn made = text_column(std::move(column), [=](FigureLine line) {
    std::vector<double> values;
    for (const Row* row : line.summary->repetitions) {
      const auto& parts = std::invoke(list, *row);
      const Number value = line.part < parts.size() ? std::invoke(of, parts[line.part]) : Number();
      if (!value) return known_text(value, decimals);
      values.push_back(*value);
    }
    return known_text(known_median(values), decimals);
  });
  made.missing = missing;
  return made;
}

/// A column of both forms of CSV; of a kind with parts, of the tidy one alone, for each part.
struct FigureCsv {
  std::string head, pointer;  ///< into the row's JSON; in both, {} stands for the part's number
};
std::vector<FigureCsv> csv_of_keys(std::string_view prefix, std::string_view object,
                                   std::initializer_list<std::string_view> keys,
                                   std::string_view unit = "");
std::vector<FigureCsv> csv_of_metrics(std::string_view prefix, std::span<const MetricInfo> infos);

enum class FigurePlace { terminal, page };

struct Figures {
  std::string title = {};       ///< of the table at a terminal; empty: it goes on from above
  std::string page_title = {};  ///< empty: the title, with a capital
  bool on_page = true;          ///< else a page does not have them as a table
  /// Has every repetition of the case such figures?
  bool (*has)(const CaseSummary& summary);
  /// How many parts a row has. A case has a line for each part of its first row; null: one line.
  std::size_t (*parts)(const Row& row) = nullptr;
  bool by_axes = false;  ///< lines are named by the axes that vary, and have a legend; else by case
  std::string_view told_axis = {};  ///< that a column tells: names of cases go without it
  std::vector<FigureColumn> columns = {};
  /// In place of `columns`, where they are not the same for all lines and places.
  std::function<std::vector<FigureColumn>(const FigureLines&, FigurePlace)> columns_of = {};
  /// A remark about what the numbers do not show; null or empty: none.
  std::function<std::string(const FigureLines&)> remark = {};
  bool remark_on_page = true;
  /// The text beneath the table at a terminal; null: none. @param group  with those cases alone
  std::string (*beneath)(const Group& group, const TextStyle& style) = nullptr;
  std::vector<FigureCsv> csv = {};
  /// So many of them, from the first, are where scripts that read CSV by place know them, before the
  /// columns of collectives. What came later is behind all columns. Not looked at with parts.
  std::size_t csv_early = 0;
};

/// The kinds of figures that only some cases have, shown beneath bandwidth and latency,
/// in this order.
std::span<const Figures> figures();
/// @param link  of the result; without a rate: no share of it is shown
Figures bandwidth_figures(const LinkRate& link = {});
Figures latency_figures(std::string title);

/// Of percentiles: FigureColumn::missing.
inline constexpr std::string_view kTooFewSamples = "too few samples";
/// What kUnknown stands for in a table.
std::string dash_text(std::string_view reasons);

/// Is it so of any repetition?
bool any_row(const FigureLines& lines, const auto& test) {
  return std::ranges::any_of(lines, [&](const FigureLine& line) {
    return std::ranges::any_of(line.summary->repetitions,
                               [&](const Row* row) { return test(*row); });
  });
}

FigureCases cases_of(const Group& group);
/// The lines of all cases that have such figures. Borrows the cases.
FigureLines lines_of(const Figures& figures, const FigureCases& cases);
/// Of one of them; none: it has no such figures.
FigureLines lines_of(const Figures& figures, const CaseSummary& summary, const FigureCases& cases);

/// @param table  with a line for each of these, and key columns that say of what
/// @return  why some of the numbers are kUnknown: "–: too few samples."; empty: none is
std::string add_figures(Table& table, const Figures& figures, const FigureLines& lines,
                        FigurePlace place);

/// Columns of percentiles of the rows' latency, and of what is around them, in one unit.
/// @param lines  all repetitions of which have latencies
std::vector<FigureColumn> latency_columns(const FigureLines& lines,
                                          std::span<const Metric> metrics);

/// Under the tables of numbers, with a title. Empty: no case has such figures.
std::string figures_text(const Figures& figures, const Group& group, const TextStyle& style);

// ---- Traffic beside cases.

/// Of several cases and several backgrounds: the ratio of p99 to that of the case alone, of
/// bandwidths that of Gb/s. Empty: it would be a single line or column.
/// @param group  all cases of a result, of every kind
std::string background_matrix(const Group& group, const TextStyle& style);

// ---- Latency over load, as a sweep measured it.

/// A rate of a sweep, all its measurements together.
struct CurvePoint {
  std::uint64_t rate_per_s = 0;
  double reached_per_s = 0;  ///< median
  Number p50_ns, p99_ns;     ///< medians of those that kept up; nothing: none did
  bool saturated = false;    ///< half of them, or more
};

/// The rates at which percentiles were measured, ascending; of all repetitions.
std::vector<CurvePoint> curve_of(const CaseSummary& summary);

// ---- The stalls that made samples late.

/// The longest of all repetitions, at most so many, the longest first.
/// @param cases  all repetitions of which attribute their late samples
std::vector<BlameData::Stall> longest_stalls(const std::vector<const CaseSummary*>& cases,
                                             std::size_t most);

/// "12.000000345": as traces have it.
std::string monotonic_text(const BlameData::Stall& stall);

}  // namespace rdmameter
