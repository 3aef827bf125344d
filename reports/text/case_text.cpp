// SPDX-License-Identifier: Apache-2.0
#include "reports/text/case_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "reports/summary/unit.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

std::string fact_text(const std::string& key, const Json& value) {
  const auto [name, unit] = split_key(key);
  if (unit == "ns" && value.is_number()) return name + " " + time_text(value.get<double>());
  const std::string text = name + " " + value_text(value);
  return unit.empty() || !value.is_number() ? text : text + " " + unit;
}

/// Scalars of `more` that all rows share; of flags that some rows have, how many do.
std::string shared_facts(const Group& group) {
  std::vector<const Row*> rows;
  for (const CaseSummary& summary : group.cases)
    rows.insert(rows.end(), summary.repetitions.begin(), summary.repetitions.end());
  std::string text;
  const auto with = [&rows](const std::string& key, const Json& value) {
    return static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [&](const Row* row) {
      const auto found = row->extra.find(key);
      return found != row->extra.end() && *found == value;
    }));
  };
  Json seen = Json::object();
  for (const Row* row : rows) {
    if (!row->extra.is_object()) continue;
    for (const auto& [key, value] : row->extra.items()) {
      if (!value.is_primitive() || value.is_null() || seen.contains(key)) continue;
      if (value.is_boolean() && !value.get<bool>()) continue;
      seen[key] = true;
      const std::size_t count = with(key, value);
      if (count == rows.size())
        text += ", " + (value.is_boolean() ? printable(key) : fact_text(key, value));
      else if (value.is_boolean())
        text += fmt::format(", {} in {} of {} rows", printable(key), count, rows.size());
    }
  }
  return text;
}

bool any_bandwidth(const Group& group) {
  return std::any_of(group.cases.begin(), group.cases.end(), [](const CaseSummary& summary) {
    return std::any_of(summary.repetitions.begin(), summary.repetitions.end(),
                       [](const Row* row) { return row->bandwidth.has_value(); });
  });
}

}  // namespace

NameAndUnit split_key(const std::string& key) {
  NameAndUnit name_and_unit{printable(key), ""};
  for (const auto& [suffix, unit] : {std::pair{"_bytes", "B"}, std::pair{"_ns", "ns"}})
    if (key.ends_with(suffix)) name_and_unit = {printable(key.substr(0, key.rfind('_'))), unit};
  std::replace(name_and_unit.name.begin(), name_and_unit.name.end(), '_', ' ');
  return name_and_unit;
}

std::string value_text(const Json& value) {
  if (value.is_null()) return "";
  return printable(value.is_string() ? value.get_ref<const std::string&>() : value.dump());
}

std::string case_text(const Json& case_object, const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) {
    const auto found = case_object.find(key);
    if (found != case_object.end() && !found->is_null())
      text += (text.empty() ? "" : ", ") + fact_text(key, *found);
  }
  return text;
}

std::string group_heading(const Group& group, const TextStyle& style) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : group.constant.items())
    if (value != "auto") keys.push_back(key);  // what nobody chose, and nothing is known of
  std::string title = printable(group.test);
  if (!group.transport.empty()) title += " over " + upper_case(printable(group.transport));
  if (const std::string latency = latency_title(group); !latency.empty() && !any_bandwidth(group))
    title += ": " + latency;
  std::string facts = case_text(group.constant, keys) + shared_facts(group);
  if (facts.starts_with(", ")) facts.erase(0, 2);
  return bold(title, style) + "\n" + (facts.empty() ? "" : wrap("  ", facts, style.width));
}

std::string latency_title(const Group& group) {
  for (const CaseSummary& summary : group.cases)
    for (const Row* row : summary.repetitions)
      if (row->latency) {
        if (row->latency->half_round_trip) return "half round trip";
        switch (row->latency->definition) {
          case LatencyData::Definition::round_trip:
            return "round trip";
          case LatencyData::Definition::completion:
            return "completion latency";
          case LatencyData::Definition::call:
            return "time of a call";
          case LatencyData::Definition::exchange:
            return "time of an exchange";
        }
      }
  return "";
}

}  // namespace rdmameter
