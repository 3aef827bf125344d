// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/result/row_json.h"
#include "reports/stats/sample.h"

namespace rdmameter {
namespace {

/// Every key of any case, in order of appearance, but size_bytes first.
std::vector<std::string> all_keys(const Group& group) {
  std::vector<std::string> keys;
  for (const CaseSummary& summary : group.cases)
    for (const auto& [key, value] : summary.case_object.items()) add_once(keys, key);
  std::stable_partition(keys.begin(), keys.end(),
                        [](const auto& key) { return key == "size_bytes"; });
  return keys;
}

void sort_keys(Group& group) {
  for (const std::string& key : all_keys(group)) {
    const Json first = fact_at(group.cases.front().case_object, key);
    const bool same = std::ranges::all_of(group.cases, [&](const auto& summary) {
      return fact_at(summary.case_object, key) == first;
    });
    if (!same)
      group.varying.push_back(key);
    else if (key != "transport")
      group.constant[key] = first;
  }
  std::ranges::stable_sort(group.cases, [&](const auto& a, const auto& b) {
    for (const std::string& key : group.varying) {
      const Json left = fact_at(a.case_object, key), right = fact_at(b.case_object, key);
      if (left != right) return left < right;
    }
    return false;
  });
}

/// A repetition that was cut short says less than the others: it counts only where there
/// is no other.
void keep_whole(CaseSummary& summary) {
  if (!std::ranges::all_of(summary.repetitions, &Row::interrupted))
    std::erase_if(summary.repetitions, std::mem_fn(&Row::interrupted));
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
    const Json& value = fact_at(summary.case_object, key);
    if (value.is_null()) continue;
    if (!common.is_null() && common != value) return std::nullopt;
    common = value;
  }
  return common;
}

}  // namespace

Group join(std::span<const Group* const> groups) {
  Group joined{.test = groups.front()->test, .transport = groups.front()->transport};
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

std::vector<Group> group_rows(std::span<const Row> rows) {
  std::vector<Group> groups;
  std::map<std::pair<std::string, std::string>, std::size_t> group_at;
  std::map<std::pair<std::size_t, std::string>, std::size_t> case_at;
  for (const Row& row : rows) {
    if (row.status != Row::Status::ok) continue;
    const auto [where, is_new] =
        group_at.try_emplace({test_of(row), transport_of(row)}, groups.size());
    if (is_new) groups.push_back({.test = test_of(row), .transport = transport_of(row)});
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

std::optional<Spread> spread(const CaseSummary& summary, const RowNumber& number) {
  std::vector<double> values;
  for (const Row* row : summary.repetitions) {
    const auto value = number(*row);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  const auto [min, max] = std::ranges::minmax(values);
  return Spread{median(std::move(values)), min, max};
}

Number median_of(const CaseSummary& summary, const RowNumber& number) {
  const auto found = spread(summary, number);
  return found ? std::optional(found->median) : std::nullopt;
}

HistogramData merged_latency(const CaseSummary& summary) {
  HistogramData merged;
  for (const Row* row : summary.repetitions)
    if (row->latency) merge(merged, row->latency->histogram);
  return merged;
}

std::string latency_kind(const LatencyData& latency) {
  if (latency.half_round_trip) return "half round trip";
  if (latency.definition == LatencyData::Definition::round_trip) return "round trip";
  return std::string(name_in(kDefinitionNames, latency.definition));
}

const CaseNumber* CaseNumbers::find(std::string_view key) const {
  const auto found =
      std::ranges::find(values, key, [](const CaseNumber& value) { return value.metric->key; });
  return found == values.end() ? nullptr : &*found;
}

std::vector<CaseNumbers> case_numbers(std::span<const Row> rows) {
  std::vector<CaseNumbers> cases;
  std::map<std::string, int> taken;
  for (Group& group : group_rows(rows))
    for (CaseSummary& summary : group.cases) {
      CaseNumbers result{summary.first().name, std::move(summary), {}};
      if (const std::string side = text_at(result.summary.case_object, "side"); !side.empty())
        result.name += " " + side;
      if (const int times = ++taken[result.name]; times > 1)
        result.name += fmt::format(" ({})", times);
      for (const MetricInfo& metric : exported_metrics())
        if (const auto found = spread(result.summary, metric.value))
          result.values.push_back({*found, &metric});
      cases.push_back(std::move(result));
    }
  return cases;
}

bool tail_may_be_missing(const Row& row) {
  return row.latency && fact_at(row.extra, "data_in_order") == false &&
         count_at(row.case_object, "mtu_bytes") > 0 &&
         count_at(row.case_object, "size_bytes") > count_at(row.case_object, "mtu_bytes");
}

}  // namespace rdmameter
