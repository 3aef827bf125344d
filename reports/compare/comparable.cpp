// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/comparable.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "reports/checked_json.h"
#include "reports/compare/skim.h"
#include "reports/result_text.h"
#include "reports/row_json.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kBulk[] = {"histogram", "half_round_trip", "device_counters",
                                      "resources"};

/// Divides a row's totals by its messages: what a program does for each repeats where times do not.
/// Of a latency test only `wrs` counts the warm-up, too; a bandwidth test counts all of its
/// traffic, since it posts until the window has closed.
std::map<std::string, double, std::less<>> work_per_message(const CheckedJson& row) {
  std::map<std::string, double, std::less<>> work;
  const auto counted = row.find("work");
  if (!counted) return work;
  const auto bandwidth = row.find("bandwidth");
  const auto warmup = row.at("case").find("warmup");
  const std::uint64_t messages =
      bandwidth ? bandwidth->at("traffic_messages").count() : row.at("iterations").count();
  const std::uint64_t before = !bandwidth && warmup ? warmup->count() : 0;
  for (const auto& [key, value] : counted->object().items()) {
    const std::uint64_t per = key == "wrs" ? messages + before : messages;
    if (per > 0)
      work.emplace(key, static_cast<double>(counted->at(key).count()) / static_cast<double>(per));
  }
  return work;
}

Replicate read_replicate(const CheckedJson& row) {
  Replicate replicate;
  if (const auto run = row.find("run")) replicate.run = run->count();
  replicate.work = work_per_message(row);
  for (const MetricInfo& info : metrics()) {
    const auto group = info.group.empty() ? std::optional(row) : row.find(info.group);
    const auto number = group ? group->find(info.key) : std::nullopt;
    if (number && !number->null())
      replicate.value[static_cast<std::size_t>(info.metric)] = number->not_negative();
  }
  return replicate;
}

/// Takes in rows one after the other.
class Collector {
 public:
  explicit Collector(Comparable& file) : file_(file) {}

  void add(const Json& json) {
    const CheckedJson row(json, place(json));
    ComparableCase& one_case = case_of(row);
    if (row.find("error_occurred")) {
      one_case.errors.push_back(row.at("error_message").text());
    } else if (row.find("skipped")) {
      one_case.skips.push_back(row.at("skip_message").text());
    } else {
      Replicate replicate = read_replicate(row);
      if (replicate.run >= file_.runs)
        row.at("run").fail(
            fmt::format("is {}, and the file has {} runs", replicate.run, file_.runs));
      one_case.bandwidth = row.find("bandwidth").has_value();
      one_case.replicates.push_back(std::move(replicate));
    }
  }

 private:
  std::string place(const Json& json) {
    ++rows_;
    const auto name = json.is_object() ? json.find("name") : json.end();
    if (!json.is_object() || name == json.end() || !name->is_string())
      return fmt::format("{}: row {}", file_.path, rows_);
    return fmt::format("{}: row {} ({})", file_.path, rows_, name->get_ref<const std::string&>());
  }

  /// In `ab` both sides' cases stand in one order, whatever differs between the sides.
  ComparableCase& case_of(const CheckedJson& row) {
    const auto side = row.find("side");
    const std::size_t which = side && side->text() == "b" ? 1 : 0;
    const std::string& name = row.at("run_name").text();
    const std::string test = name.substr(0, name.find('/'));
    const std::string key =
        side ? fmt::format("{} {} {}", which, test, row.at("family_index").count())
             : test + row.at("case").object().dump();
    const auto [at, is_new] = index_.try_emplace(key, file_.sides[which].size());
    if (is_new) {
      const nlohmann::json sorted = row.at("case").object();
      file_.sides[which].push_back({.name = name, .identity = test + " " + sorted.dump()});
    }
    ComparableCase& found = file_.sides[which][at->second];
    if (const auto latency = row.find("latency"))
      found.half = latency->find("half_round_trip").has_value();
    return found;
  }

  Comparable& file_;
  std::unordered_map<std::string, std::size_t> index_;
  std::uint64_t rows_ = 0;
};

/// A repetition that failed does not know the effective values that the others found: it belongs to
/// the case of its name.
void join_failures(std::vector<ComparableCase>& cases) {
  std::unordered_map<std::string, ComparableCase*> measured;
  for (ComparableCase& one_case : cases)
    if (!one_case.replicates.empty()) measured.emplace(one_case.name, &one_case);
  std::erase_if(cases, [&](const ComparableCase& one_case) {
    const auto found = measured.find(one_case.name);
    if (!one_case.replicates.empty() || found == measured.end()) return false;
    std::vector<std::string>& errors = found->second->errors;
    errors.insert(errors.end(), one_case.errors.begin(), one_case.errors.end());
    return true;
  });
}

void read_context(Comparable& file, const Json& context) {
  check_result_context(file.path, context);
  file.context = context;
  const CheckedJson ours(context["rdmameter"], file.path + ": context: rdmameter");
  if (const auto runs = ours.find("runs"))
    file.runs = std::max<std::uint64_t>(1, runs->array_size());
  if (const auto noise = ours.find("noise"))
    for (const auto& [name, ignored] : noise->object().items()) {
      const CheckedJson one = noise->at(name);
      file.noise[name] = {.between_runs = one.at("between_runs").not_negative(),
                          .beyond = one.at("beyond").not_negative()};
    }
  if (const auto gates = ours.find("gates"))
    for (std::size_t i = 0; i < gates->array_size(); ++i) file.gates.push_back(gates->at(i).text());
}

}  // namespace

std::optional<std::vector<double>> ComparableCase::values(Metric metric) const {
  std::vector<double> made;
  for (const Replicate& replicate : replicates) {
    const auto& value = replicate.value[static_cast<std::size_t>(metric)];
    if (!value) return std::nullopt;
    made.push_back(half && is_time(metric) ? *value / 2 : *value);
  }
  if (made.empty()) return std::nullopt;
  return made;
}

Comparable read_comparable(const std::string& path) {
  Comparable file{.path = path, .context = {}};
  Collector collector(file);
  std::string top;  // the key of the outermost object that is being read
  // Rows are dropped as they end, so that no tree of the whole file ever stands.
  const auto see = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth == 1 && event == Json::parse_event_t::key) top = value.get<std::string>();
    if (depth == 1 && event == Json::parse_event_t::object_end && top == "context")
      read_context(file, value);
    const bool in_rows = depth == 2 && top == "benchmarks";
    if (!in_rows || event == Json::parse_event_t::object_start ||
        event == Json::parse_event_t::array_start)
      return true;
    if (file.context.is_null()) return true;  // the context follows its rows: later
    collector.add(value);
    return false;
  };
  const std::string text = read_result_text(path);
  const std::string skimmed = skim(text, kBulk);
  Json json;
  try {
    json = parse_result_text(path, skimmed, see);
  } catch (const std::exception&) {
    parse_result_text(path, text);  // throws at the file's own line and column
    throw;
  }
  const CheckedJson whole(json, path + ":");
  whole.at("context");
  const CheckedJson rows = whole.at("benchmarks");
  for (std::size_t i = 0; i < rows.array_size(); ++i) collector.add(json["benchmarks"][i]);
  for (auto& side : file.sides) join_failures(side);
  return file;
}

}  // namespace rdmameter
