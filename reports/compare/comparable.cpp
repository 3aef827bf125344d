// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/comparable.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <system_error>
#include <unordered_map>

#include "core/result/checked_json.h"
#include "core/result/result_reader.h"
#include "reports/compare/fingerprint.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kBulk[] = {"histogram", "half_round_trip", "device_counters",
                                      "resources", "points"};

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

/// A bandwidth knows what was sent and received; of pings, those without a pong are lost.
void read_losses(const CheckedJson& row, Replicate& replicate) {
  const auto bandwidth = row.find("bandwidth");
  const auto count = [](const std::optional<CheckedJson>& group, const char* key) {
    const auto found = group ? group->find(key) : std::nullopt;
    return found && !found->null() ? std::optional(found->count()) : std::nullopt;
  };
  const auto lost = count(row, "lost");
  replicate.troubled = {lost ? lost : count(bandwidth, "lost"), count(bandwidth, "duplicated"),
                        count(bandwidth, "reordered")};
  replicate.sent = count(bandwidth, "sent");
  if (const auto load = row.find("load")) {
    replicate.troubled[3] = count(load, "unsent");
    replicate.sent = count(load, "due");
    const auto saturated = load->find("saturated");
    replicate.saturated = saturated && saturated->flag();
  }
  if (const auto sweep = row.find("sweep")) {
    const auto rate = sweep->find("slo_rate_per_s");
    replicate.saturated = !rate || rate->not_negative() == 0;
  }
  if (lost) replicate.sent = row.at("iterations").count();
}

/// "load.service" is an object within another.
std::optional<CheckedJson> group_in(const CheckedJson& row, std::string_view path) {
  std::optional<CheckedJson> group = row;
  while (group && !path.empty()) {
    const std::size_t end = std::min(path.find('.'), path.size());
    group = group->find(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return group;
}

/// The same of a part of a mix: its responses are its latency.
std::optional<CheckedJson> group_in_part(const CheckedJson& part, std::string_view path) {
  constexpr std::string_view kOfLoad = "load.";
  if (path == "latency") return part.find("response");
  if (path == "load") return part;
  return path.starts_with(kOfLoad) ? part.find(path.substr(kOfLoad.size())) : std::nullopt;
}

/// Which repetition of which run it is.
Replicate numbered_replicate(const CheckedJson& row) {
  Replicate replicate;
  if (const auto run = row.find("run")) replicate.run = run->count();
  replicate.repetition = row.at("repetition_index").count();
  return replicate;
}

/// @param group_of  the object that a group of metrics stands in, by its path
template <class GroupOf>
void read_values(Replicate& replicate, GroupOf group_of) {
  std::string_view read;  // the group
  std::optional<CheckedJson> group = group_of(read);
  for (const MetricInfo& info : metrics()) {
    if (info.group != read) group = group_of(info.group);
    read = info.group;
    const auto number = group ? group->find(info.field) : std::nullopt;
    if (number && !number->null())
      replicate.value[static_cast<std::size_t>(info.metric)] = number->not_negative();
  }
}

Replicate read_replicate(const CheckedJson& row) {
  Replicate replicate = numbered_replicate(row);
  replicate.work = work_per_message(row);
  read_losses(row, replicate);
  read_values(replicate, [&](std::string_view path) { return group_in(row, path); });
  return replicate;
}

/// "read:4096"
std::string part_label(const CheckedJson& part) {
  return fmt::format("{}:{}", part.at("operation").text(), part.at("size_bytes").count());
}

/// Takes in rows one after the other.
class Collector {
 public:
  explicit Collector(Comparable& file) : file_(file) {}

  void add(const CheckedJson& row) {
    row.at("name").text();  // a row without one is none, as it is for `show`
    ComparableCase& test_case = case_of(row);
    if (row.find("error_occurred")) {
      const auto run = row.find("run");
      test_case.failures.push_back({.run = run ? run->count() : 0,
                                    .repetition = row.at("repetition_index").count(),
                                    .message = row.at("error_message").text()});
    } else if (row.find("skipped")) {
      test_case.skips.push_back(row.at("skip_message").text());
    } else if (const auto cut = row.find("interrupted"); cut && cut->flag()) {
      ++test_case.interrupted;
    } else {
      Replicate replicate = read_replicate(row);
      if (replicate.run >= file_.runs)
        row.at("run").fail(
            fmt::format("is {}, and the file has {} runs", replicate.run, file_.runs));
      test_case.bandwidth = row.find("bandwidth").has_value();
      test_case.load = row.find("load").has_value();
      test_case.sweep = row.find("sweep").has_value();
      test_case.replicates.push_back(std::move(replicate));
      const std::string name = test_case.name;
      const auto side = row.find("side");
      const bool second = side && side->text() == "b";
      add_parts(
          row, name,
          side ? std::optional(SidesCase{second, index_of(test_case, second)}) : std::nullopt);
    }
  }

  /// Of `ab`: a part takes its place behind the cases, if both sides measured it.
  void add_parts_of_sides() {
    for (const auto& key : order_of_parts_) {
      const auto other = parts_[1].find(key);
      if (other == parts_[1].end()) continue;
      file_.sides[0].push_back(std::move(parts_[0].at(key)));
      file_.sides[1].push_back(std::move(other->second));
    }
  }

 private:
  /// Which case of which side.
  struct SidesCase {
    bool second;
    std::size_t index;
  };
  using PartKey = std::pair<std::size_t, std::string>;  ///< the case's index, the part's label

  /// Rows come after the context.
  const Defaults& defaults() {
    if (!defaults_) defaults_.emplace(file_.context);
    return *defaults_;
  }
  std::size_t index_of(const ComparableCase& test_case, bool second) const {
    return static_cast<std::size_t>(&test_case - file_.sides[second ? 1 : 0].data());
  }

  /// Each part of a mix is judged as a case of its own.
  void add_parts(const CheckedJson& row, const std::string& name,
                 const std::optional<SidesCase>& of_side) {
    const auto load = row.find("load");
    const auto mix = load ? load->find("mix") : std::nullopt;
    for (std::size_t i = 0; mix && i < mix->array_size(); ++i) {
      const CheckedJson part = mix->at(i);
      Replicate replicate = numbered_replicate(row);
      read_values(replicate, [&](std::string_view path) { return group_in_part(part, path); });
      ComparableCase& one =
          of_side ? case_of_part(row, name, part, *of_side) : case_of_part(row, name, part);
      one.replicates.push_back(std::move(replicate));
    }
  }

  ComparableCase new_part(const CheckedJson& row, const std::string& name,
                          const CheckedJson& part) {
    Json axes = row.at("case").object();
    axes["part"] = part_label(part);
    axes.erase("test");
    return {.name = fmt::format("{}/part:{}", name, part_label(part)),
            .axes = std::move(axes),
            .part = true,
            .load = true,
            .definition = "response [ns]"};
  }

  ComparableCase& case_of_part(const CheckedJson& row, const std::string& name,
                               const CheckedJson& part) {
    ComparableCase made = new_part(row, name, part);
    std::vector<ComparableCase>& cases = file_.sides[0];
    const auto [at, is_new] = by_identity_.try_emplace(identity_of(made, defaults()), cases.size());
    if (is_new) cases.push_back(std::move(made));
    return cases[at->second];
  }

  ComparableCase& case_of_part(const CheckedJson& row, const std::string& name,
                               const CheckedJson& part, const SidesCase& of_side) {
    const PartKey key{of_side.index, part_label(part)};
    const auto [at, is_new] = parts_[of_side.second ? 1 : 0].try_emplace(key);
    if (is_new) {
      at->second = new_part(row, name, part);
      at->second.whole = of_side.index;
      if (!of_side.second) order_of_parts_.push_back(key);
    }
    return at->second;
  }

  /// In `ab` both sides' cases stand in one order, whatever differs between the sides.
  ComparableCase& case_of(const CheckedJson& row) {
    const auto side = row.find("side");
    const std::size_t which = side && side->text() == "b" ? 1 : 0;
    const std::string name = row.at("run_name").text();
    const std::string test = name.substr(0, name.find('/'));
    const std::string key =
        side ? fmt::format("{} {} {}", which, test, row.at("family_index").count())
             : test + row.at("case").object().dump();
    std::vector<ComparableCase>& cases = file_.sides[which];
    const auto [at, is_new] = index_.try_emplace(key, cases.size());
    if (is_new) {
      ComparableCase made{.name = name, .axes = row.at("case").object()};
      made.axes.erase("test");
      if (!side)
        at->second =
            by_identity_.try_emplace(identity_of(made, defaults()), cases.size()).first->second;
      if (at->second == cases.size()) cases.push_back(std::move(made));
    }
    ComparableCase& found = cases[at->second];
    if (const auto latency = row.find("latency")) {
      found.half = latency->find("half_round_trip").has_value();
      const auto text = [&](const char* key) {
        const auto value = latency->find(key);
        return value && !value->null() ? value->text() : std::string();
      };
      found.definition = text("definition") + " [" + text("unit") + "]";
    }
    return found;
  }

  Comparable& file_;
  std::optional<Defaults> defaults_;
  std::unordered_map<std::string, std::size_t> index_, by_identity_;
  std::array<std::map<PartKey, ComparableCase>, 2> parts_;  ///< of each side of `ab`
  std::vector<PartKey> order_of_parts_;                     ///< of the first side's
};

/// A repetition that failed does not know the effective values that the others found: it belongs to
/// the case of its name.
void join_failures(std::vector<ComparableCase>& cases) {
  std::unordered_map<std::string, ComparableCase*> measured;
  for (ComparableCase& test_case : cases)
    if (!test_case.replicates.empty()) measured.emplace(test_case.name, &test_case);
  std::erase_if(cases, [&](const ComparableCase& test_case) {
    const auto found = measured.find(test_case.name);
    if (!test_case.replicates.empty() || found == measured.end()) return false;
    std::vector<FailedRepetition>& failures = found->second->failures;
    failures.insert(failures.end(), test_case.failures.begin(), test_case.failures.end());
    return true;
  });
}

void read_context(Comparable& file, Json& context) {
  file.context = std::move(context);
  const CheckedJson ours(file.context.at("rdmameter"), file.path + ": context: rdmameter");
  if (const auto runs = ours.find("runs"))
    file.runs = std::max<std::uint64_t>(1, runs->array_size());
  file.batches = batches_of(file.context);
  if (const auto ab = ours.find("ab"))
    if (const auto looks = ab->find("looks"))
      file.looks = std::max<std::size_t>(1, looks->array_size());
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

std::string identity_of(const ComparableCase& test_case, const Defaults& defaults,
                        const Defaults* own) {
  return defaults.identity(test_case.name.substr(0, test_case.name.find('/')), test_case.axes, own);
}

std::optional<double> ComparableCase::value(const Replicate& replicate, Metric metric) const {
  const auto& known = replicate.value[static_cast<std::size_t>(metric)];
  if (!known) return std::nullopt;
  return half && is_time(metric) ? *known / 2 : *known;
}

std::optional<std::vector<double>> ComparableCase::values(Metric metric) const {
  std::vector<double> list;
  for (const Replicate& replicate : replicates) {
    const auto one = value(replicate, metric);
    if (!one) return std::nullopt;
    list.push_back(*one);
  }
  if (list.empty()) return std::nullopt;
  return list;
}

Comparable read_comparable(const std::string& path) {
  Comparable file{.path = path, .context = {}};
  Collector collector(file);
  read_result_parts(path,
                    {[&file](Json& context) { read_context(file, context); },
                     [&collector](const Json& row, const std::string& where) {
                       collector.add(CheckedJson(row, where));
                     }},
                    kBulk);
  collector.add_parts_of_sides();
  for (auto& side : file.sides) join_failures(side);
  return file;
}

/// Files alone, since a signal that ends the wait for a FIFO's writer ends it in one thread.
std::pair<Comparable, Comparable> read_comparables(const std::string& base,
                                                   const std::string& other) {
  std::error_code ignored;
  const bool files = std::filesystem::is_regular_file(base, ignored) &&
                     std::filesystem::is_regular_file(other, ignored);
  // Of both policies the library takes the second where there can be no more threads.
  const auto policy = files ? std::launch::async | std::launch::deferred : std::launch::deferred;
  auto second = std::async(policy, [&other] { return read_comparable(other); });
  Comparable first = read_comparable(base);
  return {std::move(first), second.get()};
}

}  // namespace rdmameter
