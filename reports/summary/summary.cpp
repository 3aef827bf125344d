// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/summary.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/result/row_json.h"
#include "core/test_case/test_case.h"
#include "reports/stats/sample.h"
#include "topologies/axes/rank_axes.h"

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

using Defaults = std::map<std::string, Json, std::less<>>;

/// What `case` says of each axis that nobody gave, where both cases say the same.
Defaults defaults_of(std::span<const Axis> axes, const TestCase& one, const TestCase& other) {
  Defaults defaults;
  for (const Axis& axis : axes)
    if (Json value = axis_json(one, axis); value == axis_json(other, axis))
      defaults.emplace(axis.key, std::move(value));
  return defaults;
}

/// Queues of calls, exchanges and collectives are those of bandwidths.
bool has_defaults_of_bandwidth(const Row& row) {
  if (row.bandwidth) return true;
  return row.latency && (row.latency->definition == LatencyData::Definition::call ||
                         row.latency->definition == LatencyData::Definition::exchange ||
                         row.latency->definition == LatencyData::Definition::collective);
}

/// What the axis comes to nearly everywhere counts, too, where its default is "auto". Of relaxed
/// ordering that is what it came to when it was off by default: stored results stay as quiet as
/// they were, and new ones tell that it is on.
bool is_default_of(const Defaults& defaults, const std::string& key, const Json& value) {
  static const Defaults kUsual{{"pkey", "0xffff"},
                               {"recv_post_list", 16},
                               {"relaxed_ordering", false},
                               {"thread_domain", "off"}};
  if (const auto usual = kUsual.find(key); usual != kUsual.end()) return usual->second == value;
  const auto found = defaults.find(key);
  return found != defaults.end() && found->second == value;
}

const Defaults& defaults_among_ranks() {
  static const Defaults kRanks =
      defaults_of(topology_axes(), default_topology_case(), default_topology_case());
  return kRanks;
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

bool is_default(const Row& row, const std::string& key, const Json& value) {
  if (row.topology) return is_default_among_ranks(key, value);
  static const auto kOne = [](Pattern pattern) {
    const TestCase test_case = default_case(Opcode::send, pattern);
    return defaults_of(axes(), test_case, test_case);
  };
  static const Defaults kLatency = kOne(Pattern::ping_pong);
  static const Defaults kBandwidth = kOne(Pattern::bandwidth);
  static const Defaults kLoad = kOne(Pattern::open_loop);
  const Defaults& defaults = row.load                         ? kLoad
                             : has_defaults_of_bandwidth(row) ? kBandwidth
                                                              : kLatency;
  return is_default_of(defaults, key, value);
}

bool is_default_among_ranks(const std::string& key, const Json& value) {
  return is_default_of(defaults_among_ranks(), key, value);
}

std::string case_identity(const std::string& test, const Json& case_object) {
  static const Defaults kTwoEnds =
      defaults_of(axes(), default_case(Opcode::send, Pattern::ping_pong),
                  default_case(Opcode::send, Pattern::bandwidth));
  const Defaults& defaults = case_object.contains("graph") ? defaults_among_ranks() : kTwoEnds;
  nlohmann::json named = nlohmann::json::object();  // sorted: the order of keys says nothing
  for (const auto& [key, value] : case_object.items()) {
    if (key == "test") continue;  // older versions do not say it here, nor do topologies
    // What older versions had, and do not say.
    if (key == "thread_domain" && value == "off") continue;
    if (key == "relaxed_ordering" && value == false) continue;
    if (const auto found = defaults.find(key); found == defaults.end() || found->second != value)
      named[key] = value;
  }
  return test + " " + named.dump();
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
