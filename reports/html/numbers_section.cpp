// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "reports/html/case_link.h"
#include "reports/html/escape.h"
#include "reports/html/html_table.h"
#include "reports/html/sections.h"
#include "reports/text.h"
#include "reports/unit.h"

namespace rdmameter {
namespace {

using Number = std::optional<double>;
using PageCaseSpan = std::span<const PageCase>;

struct NumberColumn {
  std::string name, unit;
  double scale;  ///< of the shown unit, in the quantity's own
  int decimals;
  std::function<Number(const CaseNumbers&)> value, half_range;
};

Number value_of(const CaseNumbers& numbers, std::string_view key) {
  const CaseNumber* value = numbers.find(key);
  return value == nullptr ? Number() : value->median;
}

/// Nothing where there is one repetition, and so no range.
Number half_range_of(const CaseNumbers& numbers, std::string_view key) {
  const CaseNumber* value = numbers.find(key);
  if (value == nullptr || numbers.summary.repetitions.size() < 2) return std::nullopt;
  return (value->greatest - value->least) / 2;
}

template <class Visit>
void each(PageCaseSpan cases, const Visit& visit) {
  for (const PageCase& one : cases)
    for (const auto& numbers : one.of_file)
      if (numbers) visit(*numbers);
}

/// The unit of a table's times, by its quickest case.
Unit table_time_unit(PageCaseSpan cases) {
  double least = INFINITY;
  each(cases, [&](const CaseNumbers& numbers) {
    for (const char* key : {"p50_ns", "mean_ns"})
      if (const Number value = value_of(numbers, key)) {
        least = std::min(least, *value);
        break;
      }
  });
  return time_unit(std::isinf(least) ? 1000 : least);
}

/// A column of a quantity; nothing where no case has it.
std::optional<NumberColumn> quantity_column(PageCaseSpan cases, const Quantity& quantity,
                                            const Unit& unit) {
  std::vector<double> shown;
  each(cases, [&](const CaseNumbers& numbers) {
    if (const Number value = value_of(numbers, quantity.key)) shown.push_back(*value / unit.size);
  });
  if (shown.empty()) return std::nullopt;
  const std::string_view key = quantity.key;
  return NumberColumn{std::string(quantity.name),
                      std::string(unit.name),
                      unit.size,
                      decimals_for(shown, quantity.unit == "ns" ? most_decimals(unit) : 4),
                      [key](const CaseNumbers& numbers) { return value_of(numbers, key); },
                      [key](const CaseNumbers& numbers) { return half_range_of(numbers, key); }};
}

/// Least or largest sample of all repetitions.
NumberColumn extreme_column(const char* name, const Unit& unit,
                            std::uint64_t HistogramData::*part) {
  const auto value = [part](const CaseNumbers& numbers) -> Number {
    const HistogramData data = merged_latency(numbers.summary);
    if (data.count == 0) return std::nullopt;
    return static_cast<double>(data.*part) / latency_divisor(*numbers.summary.repetitions.front());
  };
  return {name,      std::string(unit.name),
          unit.size, std::min(2, most_decimals(unit)),
          value,     [](const CaseNumbers&) { return Number(); }};
}

std::string table_of(const PageCases& page, PageCaseSpan cases, const std::string& caption,
                     const std::vector<NumberColumn>& columns) {
  const bool several = page.files.size() > 1;
  HtmlTable table(caption);
  table.head("case");
  if (several) table.head("result");
  for (const NumberColumn& column : columns) table.head(column.name, column.unit, "number");
  table.head("repetitions", "", "number");
  for (const PageCase& one : cases)
    for (std::size_t i = 0; i < one.of_file.size(); ++i) {
      if (!one.of_file[i] || !columns.front().value(*one.of_file[i])) continue;
      const CaseNumbers& numbers = *one.of_file[i];
      table.line();
      table.markup(case_link(one));
      if (several) table.cell(page.labels[i]);
      for (const NumberColumn& column : columns) {
        const auto text = [&column](const Number& value) {
          return value ? fixed(*value / column.scale, column.decimals) : std::string("–");
        };
        const Number half_range = column.half_range(numbers);
        table.number(text(column.value(numbers)), half_range ? "± " + text(half_range) : "");
      }
      table.number(fmt::format("{}", numbers.summary.repetitions.size()));
    }
  return table.empty() ? "" : table.html();
}

std::string latency_table(const PageCases& page, PageCaseSpan cases) {
  const Unit unit = table_time_unit(cases);
  std::vector<NumberColumn> columns;
  for (const Quantity& quantity : quantities())
    if (quantity.unit == "ns")
      if (auto column = quantity_column(cases, quantity, unit)) columns.push_back(*column);
  if (columns.empty()) return "";
  // The mean is there however few samples: it tells which cases have a latency at all.
  std::rotate(columns.begin(), columns.end() - 1, columns.end());
  columns.push_back(extreme_column("min", unit, &HistogramData::min_ns));
  columns.push_back(extreme_column("max", unit, &HistogramData::max_ns));
  std::string kind;
  each(cases, [&kind](const CaseNumbers& numbers) {
    if (kind.empty()) kind = latency_kind(numbers);
  });
  return table_of(page, cases, "Latency: " + kind, columns);
}

std::string rate_table(const PageCases& page, PageCaseSpan cases) {
  std::vector<NumberColumn> columns;
  for (const Quantity& quantity : quantities())
    if (quantity.unit != "ns")
      if (auto column = quantity_column(cases, quantity, Unit{quantity.unit, 1}))
        columns.push_back(*column);
  return columns.empty() ? "" : table_of(page, cases, "Bandwidth", columns);
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

}  // namespace

Section numbers_section(const PageCases& page) {
  std::string html;
  for (auto begin = page.cases.begin(); begin != page.cases.end();) {
    const auto end = std::find_if(begin, page.cases.end(), [begin](const PageCase& one) {
      return one.test != begin->test || one.transport != begin->transport;
    });
    const PageCaseSpan cases(begin, end);
    html += fmt::format("<section class=group><h3>{} over {}</h3>\n", markup_text(begin->test),
                        markup_text(upper(begin->transport)));
    html += rate_table(page, cases) + latency_table(page, cases) + "</section>\n";
    begin = end;
  }
  if (!html.empty())
    html =
        "<p class=note>Medians over the repetitions, with half their range (±); min and max are "
        "of all samples. –: too few samples.</p>\n" +
        html;
  return {"numbers", "Numbers", html};
}

}  // namespace rdmameter
