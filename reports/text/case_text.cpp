// SPDX-License-Identifier: Apache-2.0
#include "reports/text/case_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/result/row_json.h"
#include "reports/summary/facts.h"
#include "reports/summary/metric.h"

namespace rdmameter {
namespace {

std::string fact_text(const std::string& key, const Json& value) {
  const auto [name, unit] = split_key(key);
  if (unit == "ns" && value.is_number()) return name + " " + time_text(value.get<double>());
  const std::string text = name + " " + value_text(value);
  return unit.empty() || !value.is_number() ? text : text + " " + unit;
}

/// Does a column of the axis tell it of each case?
bool has_column(const Group& group, std::string_view fact) {
  return fact == "inlined" &&
         std::ranges::find(group.varying, "inline_bytes") != group.varying.end();
}

std::vector<const Row*> rows_of(const Group& group) {
  std::vector<const Row*> rows;
  for (const CaseSummary& summary : group.cases)
    rows.insert(rows.end(), summary.repetitions.begin(), summary.repetitions.end());
  return rows;
}

/// "write_lat" if its rows all have the value, and no others; else "3 of 7 rows".
std::string whose(const std::vector<const Row*>& rows, const std::string& key, const Json& value) {
  const auto has = [&](const Row* row) { return fact_at(row->extra, key) == value; };
  std::vector<std::string> tests;
  for (const Row* row : rows)
    if (has(row)) add_once(tests, test_of(*row));
  const auto among_tests = [&tests](const Row* row) {
    return std::ranges::find(tests, test_of(*row)) != tests.end();
  };
  const auto count = std::ranges::count_if(rows, has);
  if (std::ranges::count_if(rows, among_tests) == count)
    return printable(fmt::format("{}", fmt::join(tests, ", ")));
  return fmt::format("{} of {} rows", count, rows.size());
}

/// Scalars beside the measurement that all rows share; of some also which rows have them.
std::vector<std::string> shared_facts(const Group& group) {
  const std::vector<const Row*> rows = rows_of(group);
  std::vector<std::string> facts;
  std::set<std::string> seen;
  if (const auto rate = rows.empty() ? std::nullopt : rows.front()->line_gbps;
      rate && std::ranges::all_of(rows, [&](const Row* one) { return one->line_gbps == rate; }))
    facts.push_back(fact_text("line_gbps", *rate));
  for (const Row* row : rows)
    for (const auto& [key, value] : row->extra.items()) {
      // Told of those rows that have it, too: of a GPU others may have another.
      const bool of_some = value.is_boolean() || key.find("gpu_") != key.npos;
      if (!value.is_primitive() || value.is_null() || value == false ||
          !seen.insert(of_some ? key + value.dump() : key).second)
        continue;
      const bool of_all = std::ranges::all_of(rows, [&key = key, &value = value](const Row* one) {
        return fact_at(one->extra, key) == value;
      });
      const std::string fact = value.is_boolean() ? split_key(key).name : fact_text(key, value);
      if (of_all)
        facts.push_back(fact);
      else if (of_some && !has_column(group, key))
        facts.push_back(fmt::format("{} in {}", fact, whose(rows, key, value)));
    }
  return facts;
}

/// Has a row a value that is not the default?
bool chosen(const Group& group, const Defaults& defaults, const std::string& key,
            const Json& value) {
  return std::ranges::any_of(group.cases, [&](const CaseSummary& summary) {
    return summary.case_object.contains(key) && !defaults.has(summary.first(), key, value);
  });
}

}  // namespace

bool shown_with_environment(std::string_view key) {
  constexpr std::string_view kPeer = "peer_";
  if (key.starts_with(kPeer)) key.remove_prefix(kPeer.size());
  return key == "device" || key == "port_num" || key == "gid_index";
}

NameAndUnit split_key(const std::string& key) {
  if (key == "rate") return {"rate", "1/s"};
  for (const auto& [suffix, unit] : {std::pair{"_bytes", "B"}, std::pair{"_ns", "ns"}})
    if (key.ends_with(suffix)) return {with_spaces(printable(key.substr(0, key.rfind('_')))), unit};
  return {with_spaces(printable(key)), ""};
}

std::string case_text(const Json& case_object, const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys)
    if (const Json& value = fact_at(case_object, key); !value.is_null())
      add_item(text, fact_text(key, value));
  return text;
}

std::string kind_of(const Group& group) {
  const bool any_rate = std::ranges::any_of(
      rows_of(group), [](const Row* row) { return row->bandwidth.has_value(); });
  return any_rate ? "bandwidth" : latency_title(group);
}

std::string Common::text(const Common& known) const {
  std::string text;
  for (const auto list : {&Common::settings, &Common::facts})
    for (const std::string& one : this->*list)
      if (std::ranges::none_of(known.*list, [&one](const std::string& before) {
            return before == one ||
                   before.starts_with(one + " in ");  // "data in order in write_lat"
          }))
        add_item(text, one);
  return text;
}

Common common_of(const Group& group, const Defaults* defaults) {
  Common common{.settings = {}, .facts = shared_facts(group)};
  for (const auto& [key, value] : group.constant.items()) {
    if (value.is_null() || value == "auto") continue;  // not specified, and not known
    if (defaults == nullptr ||
        (!shown_with_environment(key) && chosen(group, *defaults, key, value)))
      common.settings.push_back(fact_text(key, value));
  }
  return common;
}

std::string group_heading(const Group& group, const std::string& facts, const TextStyle& style) {
  std::string title = printable(group.test);
  if (!group.transport.empty())
    add_item(title, "over " + upper_case(printable(group.transport)), " ");
  const std::string kind = kind_of(group);
  if (title.empty() || (kind != "bandwidth" && !kind.empty())) add_item(title, kind, ": ");
  return bold(title, style) + "\n" + (facts.empty() ? "" : wrap("  ", facts, style.width));
}

std::string latency_title(const Group& group) {
  constexpr auto kTitles = names_to<LatencyData::Definition::lateness>(
      "round trip", "completion latency", "time of a call", "time of an exchange",
      "time of a collective", "response, from due time", "service", "lateness");
  for (const Row* row : rows_of(group))
    if (row->latency)
      return std::string(row->latency->half_round_trip
                             ? "half round trip"
                             : name_in(kTitles, row->latency->definition));
  return "";
}

std::string name_among(std::vector<std::string> varying, const CaseSummary& summary,
                       std::string_view told) {
  std::erase_if(varying, [told](const std::string& key) {
    return key == "test" || key == "transport" || key == told;
  });
  const Row& row = summary.first();
  const std::string axes = case_text(summary.case_object, varying);
  return printable(test_of(row)) + " " + printable(transport_of(row)) +
         (axes.empty() ? "" : ", " + axes);
}

}  // namespace rdmameter
