// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/summary.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/result/row_json.h"
#include "reports/stats/sample.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

/// The n-th part of a name (from 0), split at '/'.
std::string name_part(const std::string& name, int n) {
  std::size_t begin = 0;
  for (; n > 0; --n) {
    begin = name.find('/', begin);
    if (begin == name.npos) return "";
    ++begin;
  }
  return name.substr(begin, name.find('/', begin) - begin);
}

std::string text_or(const Json& object, const char* key, std::string otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

/// null where the key has no meaning for the case
Json value_of(const CaseSummary& summary, const std::string& key) {
  const auto found = summary.case_object.find(key);
  return found == summary.case_object.end() ? Json() : *found;
}

/// Every key of any case, in order of appearance, but size_bytes first.
std::vector<std::string> all_keys(const Group& group) {
  std::vector<std::string> keys;
  for (const CaseSummary& summary : group.cases)
    for (const auto& [key, value] : summary.case_object.items())
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  std::stable_partition(keys.begin(), keys.end(),
                        [](const auto& key) { return key == "size_bytes"; });
  return keys;
}

void sort_keys(Group& group) {
  for (const std::string& key : all_keys(group)) {
    const Json first = value_of(group.cases.front(), key);
    const bool same = std::all_of(group.cases.begin(), group.cases.end(), [&](const auto& summary) {
      return value_of(summary, key) == first;
    });
    if (!same)
      group.varying.push_back(key);
    else if (key != "transport")
      group.constant[key] = first;
  }
  std::stable_sort(group.cases.begin(), group.cases.end(), [&](const auto& a, const auto& b) {
    for (const std::string& key : group.varying) {
      const Json left = value_of(a, key), right = value_of(b, key);
      if (left != right) return left < right;
    }
    return false;
  });
}

/// A repetition that was cut short says less than the others: it counts only where there is no
/// other.
void keep_whole(CaseSummary& summary) {
  const auto cut_short = [](const Row* row) { return row->interrupted; };
  if (!std::ranges::all_of(summary.repetitions, cut_short))
    std::erase_if(summary.repetitions, cut_short);
}

/// The case without the test's name, and in a file of `ab` the side, which may be all that two rows
/// differ in.
Json told_case(const Row& row) {
  Json object = row.case_object;
  object.erase("test");
  if (const auto side = row.extra.find("side"); side != row.extra.end()) object["side"] = *side;
  return object;
}

/// Nothing: cases differ in it. null: it has a meaning for none.
std::optional<Json> value_in_all(const Group& group, const std::string& key) {
  Json common;
  for (const CaseSummary& summary : group.cases) {
    Json value = value_of(summary, key);
    if (value.is_null()) continue;
    if (!common.is_null() && common != value) return std::nullopt;
    common = std::move(value);
  }
  return common;
}

}  // namespace

Group join(std::span<const Group* const> groups) {
  Group joined;
  joined.test = groups.front()->test;
  joined.transport = groups.front()->transport;
  for (const Group* group : groups) {
    if (group->test != joined.test) joined.test.clear();
    if (group->transport != joined.transport) joined.transport.clear();
    for (const CaseSummary& summary : group->cases) {
      Json object{{"test", group->test}, {"transport", group->transport}};
      object.update(summary.case_object);
      joined.cases.push_back({std::move(object), summary.repetitions});
    }
  }
  std::vector<std::string> keys = all_keys(joined);
  std::stable_partition(keys.begin(), keys.end(),
                        [](const auto& key) { return key == "test" || key == "transport"; });
  for (const std::string& key : keys) {
    const auto common = value_in_all(joined, key);
    if (!common)
      joined.varying.push_back(key);
    else if (key != "test" && key != "transport" && !common->is_null())
      joined.constant[key] = *common;
  }
  return joined;
}

std::string test_of(const Row& row) {
  return text_or(row.case_object, "test", name_part(row.name, 0));
}

std::string transport_of(const Row& row) {
  const std::string part = name_part(row.name, 1);
  const bool key = part.find(':') != part.npos;  // a control path test's name has no transport
  return text_or(row.case_object, "transport", key ? "" : part);
}

std::vector<Group> group_rows(std::span<const Row> rows) {
  std::vector<Group> groups;
  std::map<std::pair<std::string, std::string>, std::size_t> group_at;
  std::map<std::pair<std::size_t, std::string>, std::size_t> case_at;
  for (const Row& row : rows) {
    if (row.status != Row::Status::ok) continue;
    const auto [where, is_new] =
        group_at.try_emplace({test_of(row), transport_of(row)}, groups.size());
    if (is_new) {
      groups.emplace_back();
      groups.back().test = test_of(row);
      groups.back().transport = transport_of(row);
    }
    std::vector<CaseSummary>& cases = groups[where->second].cases;
    const Json case_object = told_case(row);
    const auto [at, is_new_case] =
        case_at.try_emplace({where->second, case_object.dump()}, cases.size());
    if (is_new_case) cases.push_back({case_object, {}});
    cases[at->second].repetitions.push_back(&row);
  }
  for (Group& group : groups) {
    for (CaseSummary& summary : group.cases) keep_whole(summary);
    sort_keys(group);
  }
  return groups;
}

std::optional<Spread> spread(const CaseSummary& summary,
                             const std::function<std::optional<double>(const Row&)>& number) {
  std::vector<double> values;
  for (const Row* row : summary.repetitions) {
    const auto value = number(*row);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  const auto [min, max] = std::ranges::minmax(values);
  return Spread{median(values), (max - min) / 2};
}

std::optional<double> median_of(const CaseSummary& summary,
                                const std::function<std::optional<double>(const Row&)>& number) {
  const auto found = spread(summary, number);
  return found ? std::optional(found->median) : std::nullopt;
}

HistogramData merged_latency(const CaseSummary& summary) {
  HistogramData merged;
  for (const Row* row : summary.repetitions)
    if (row->latency) merge(merged, row->latency->histogram);
  return merged;
}

double latency_divisor(const Row& row) {
  return row.latency && row.latency->half_round_trip ? 2 : 1;
}

std::string latency_kind(const LatencyData& latency) {
  if (latency.half_round_trip) return "half round trip";
  if (latency.definition == LatencyData::Definition::round_trip) return "round trip";
  return definition_name(latency.definition);
}

}  // namespace rdmameter
