// SPDX-License-Identifier: Apache-2.0
#include "reports/text/parts/parts_table.h"

#include <fmt/core.h>

#include "reports/summary/unit.h"
#include "reports/text/case_text.h"
#include "reports/text/table.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

/// Where a part stands in `more`: what it is called, and its count.
struct Part {
  std::string name;
  Json::json_pointer where;
  const char* count;
};

std::vector<Part> parts_of(const Row& row) {
  std::vector<Part> parts;
  if (row.extra.contains("per_thread"))
    for (std::size_t i = 0; i < row.extra.at("per_thread").size(); ++i)
      parts.push_back({fmt::format("thread {}", i),
                       Json::json_pointer(fmt::format("/per_thread/{}", i)), "operations"});
  if (row.extra.contains("directions"))
    for (const char* way : {"forward", "backward"})
      parts.push_back({way, Json::json_pointer(fmt::format("/directions/{}", way)), "messages"});
  return parts;
}

/// A median over the repetitions as text; a dash where one has no such number.
std::string median_text(const CaseSummary& summary, int decimals,
                        const std::function<std::optional<double>(const Row&)>& number) {
  const auto found = spread(summary, number);
  return found ? fixed(found->median, decimals) : kUnknown;
}

std::optional<double> number_at(const Row& row, const Json::json_pointer& where, const char* key) {
  if (!row.extra.contains(where)) return std::nullopt;
  const Json& part = row.extra.at(where);
  const auto value = part.find(key);
  if (value == part.end() || !value->is_number()) return std::nullopt;
  return value->get<double>();
}

std::optional<double> rate(const Row& row, const Part& part) {
  const auto count = number_at(row, part.where, part.count);
  auto time = number_at(row, part.where, "elapsed_ns");
  if (!time) time = number_at(row, part.where, "window_ns");
  if (!count || !time || *time <= 0) return std::nullopt;
  return *count / *time * 1e3;  // per µs, so millions per s
}

}  // namespace

std::string parts_table(const Group& group, const TextStyle& style) {
  Table table;
  table.columns = {{"case"}, {"part"}, {"messages"}, {"", "Mmsg/s"}};
  table.key_columns = 2;
  for (const CaseSummary& summary : group.cases)
    for (const Part& part : parts_of(*summary.repetitions.front())) {
      const auto count = [&](const Row& row) { return number_at(row, part.where, part.count); };
      table.add_line({name_in_group(group, summary), part.name, median_text(summary, 0, count),
                      median_text(summary, 4, [&](const Row& row) { return rate(row, part); })});
    }
  return table.lines() == 0 ? "" : render(table, style);
}

}  // namespace rdmameter
