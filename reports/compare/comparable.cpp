// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/comparable.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <future>
#include <system_error>
#include <unordered_map>

#include "core/result/checked_json.h"
#include "core/result/result_file.h"
#include "core/result/row_json.h"
#include "reports/compare/fingerprint.h"
#include "reports/summary/facts.h"

namespace rdmameter {
namespace {

/// Divides a row's totals by its messages: what a program does for each repeats where times do not.
/// The program's counts have the warm-up, as a bandwidth's number of messages has. Of a latency
/// that an older release has measured, which has no `doorbells`, only `wrs` has it. Each loop has a
/// warm-up of its own: threads, sharers, and of several devices each.
WorkPerMessage work_per_message(const Row& row, const std::string& where) {
  WorkPerMessage work;
  if (row.work.is_null()) return work;
  const CheckedJson counted(row.work, where + ": work");
  const auto count_of = [&](const char* key) {
    const Json& count = fact_at(row.case_object, key);
    return count.is_number_unsigned() ? count.get<std::uint64_t>() : 1;
  };
  // Where both ends send the counts are of the initiator's own messages, each of which is a WR.
  const bool both = row.bandwidth && fact_at(row.case_object, "bidirectional") == true;
  const std::uint64_t messages = both && row.work.contains("wrs") ? counted.at("wrs").count()
                                 : row.bandwidth                  ? row.bandwidth->traffic_messages
                                                                  : row.iterations;
  const std::uint64_t loops =
      count_of("threads") * count_of("sharers") * std::max<std::uint64_t>(1, row.per_device.size());
  const std::uint64_t before = row.bandwidth ? 0 : count_at(row.case_object, "warmup") * loops;
  for (const auto& [key, value] : row.work.items()) {
    const bool warm =
        key == "wrs" || key == "doorbells" || (key == "cqes" && row.work.contains("doorbells"));
    const std::uint64_t per = warm ? messages + before : messages;
    if (per > 0)
      work.emplace(key, static_cast<double>(counted.at(key).count()) / static_cast<double>(per));
  }
  return work;
}

/// A bandwidth knows what was sent and received; of pings, those without a pong are lost.
void read_losses(const Row& row, Replicate& replicate) {
  if (row.bandwidth) {
    const BandwidthData& bandwidth = *row.bandwidth;
    replicate.sent = bandwidth.sent;
    replicate.troubled = {bandwidth_lost(bandwidth), bandwidth.duplicated, bandwidth.reordered};
  }
  if (row.load) {
    replicate.sent = row.load->due;
    replicate.troubled[3] = row.load->unsent;
    replicate.saturated = load_saturated(*row.load);
  }
  if (row.sweep) replicate.saturated = row.sweep->slo_rate_per_s.value_or(0) == 0;
  if (row.topology && !row.topology->failed_pairs.empty()) {
    const auto& [from, to, reason] = row.topology->failed_pairs.front();
    replicate.failure = fmt::format("from rank {} to {}: {}", from, to, reason);
  }
  if (row.lost) {
    replicate.sent = row.iterations;
    replicate.troubled[0] = row.lost;
  }
}

/// The number of its run in a merged result; else 0.
std::uint64_t run_number(const Row& row, const std::string& where) {
  return row.extra.contains("run") ? CheckedJson(row.extra, where).at("run").count() : 0;
}

/// With the numbers of a row.
/// @param replicate  knows of which run and repetition it is
Replicate replicate_of(const Row& row, Replicate replicate) {
  for (const MetricInfo& info : metrics())
    if (const auto value = info.value(row))
      replicate.at(info.metric) = *value;
    else if (row.bandwidth && info.path.starts_with("bandwidth."))
      replicate.at(info.metric) = 0;  // of an empty window
  return replicate;
}

/// Of the requests of one operation and size, whose responses are its latency.
Replicate replicate_of_part(const LoadPart& part, const Replicate& which) {
  Row of_part;
  of_part.latency = part.response;
  of_part.load = {.service = part.service, .lateness = part.lateness};
  Replicate replicate = replicate_of(of_part, which);
  replicate.at(Metric::offered) = part.offered_per_s;
  replicate.at(Metric::reached) = part.reached_per_s;
  for (const Metric of_all : {Metric::reached_share, Metric::backlog, Metric::unsent})
    replicate.at(of_all) = kNoValues.front();
  return replicate;
}

/// What one of several devices moved as a row of its own.
Replicate replicate_of_device(const DeviceData& device, const Replicate& which) {
  Row of_device;
  of_device.bandwidth = {
      .messages = device.messages, .bytes = device.bytes, .window_ns = device.window_ns};
  of_device.bound_gbps = {.initiator = device.bound_gbps, .responder = {}};
  of_device.line_gbps = device.line_gbps;
  return replicate_of(of_device, which);
}

/// Takes in rows one after the other.
class Collector {
 public:
  explicit Collector(Comparable& file) : file_(file) {}

  /// @param where  for the text of errors
  void add(const Row& row, const std::string& where) {
    std::optional<std::size_t> side;  // 0 or 1; nothing: the file has no sides
    if (row.extra.contains("side"))
      side = CheckedJson(row.extra, where).at("side").text() == "b" ? 1 : 0;
    ComparableCase& test_case = case_of(row, side);
    if (row.status == Row::Status::error) {
      test_case.failures.push_back(
          {.run = run_number(row, where), .repetition = row.repetition, .message = row.message});
    } else if (row.status == Row::Status::skipped) {
      test_case.skips.push_back(row.message);
    } else if (row.interrupted) {
      ++test_case.interrupted;
    } else {
      const Replicate which{.run = run_number(row, where), .repetition = row.repetition};
      Replicate replicate = replicate_of(row, which);
      if (replicate.run >= file_.runs)
        CheckedJson(row.extra, where)
            .at("run")
            .fail(fmt::format("is {}, and the file has {} runs", replicate.run, file_.runs));
      replicate.work = work_per_message(row, where);
      read_losses(row, replicate);
      test_case.bandwidth = row.bandwidth.has_value();
      test_case.load = row.load.has_value();
      test_case.sweep = row.sweep.has_value();
      test_case.replicates.push_back(std::move(replicate));
      add_parts(row, side, which, test_case);
    }
  }

  /// Of `ab`: a part takes its place behind the cases, if both sides measured it.
  void add_parts_of_sides() {
    for (ComparableCase& one : parts_[0])
      if (const auto other = by_part_[1].find(part_key(one)); other != by_part_[1].end()) {
        file_.sides[0].push_back(std::move(one));
        file_.sides[1].push_back(std::move(parts_[1][other->second]));
      }
  }

 private:
  /// Of a part of one side.
  static std::string part_key(const ComparableCase& part) {
    return fmt::format("{} {}", part.whole, part.name.substr(part.name.rfind("/part:")));
  }

  /// Rows come after the context.
  const Defaults& defaults() {
    if (!defaults_) defaults_.emplace(file_.context);
    return *defaults_;
  }

  /// A part of a mix, and one of several devices, is judged as a case of its own.
  /// @param whole  stands elsewhere once a part is added
  void add_parts(const Row& row, std::optional<std::size_t> side, const Replicate& which,
                 const ComparableCase& whole) {
    const std::string name = whole.name;
    const auto index = static_cast<std::size_t>(&whole - file_.sides[side.value_or(0)].data());
    const auto add = [&](const std::string& part, Replicate replicate, const char* definition) {
      const bool load = *definition != '\0';  // of its latencies; else it is a bandwidth
      ComparableCase one{.name = fmt::format("{}/part:{}", name, part),
                         .axes = row.case_object,
                         .part = true,
                         .whole = index,
                         .bandwidth = !load,
                         .load = load,
                         .definition = definition};
      one.axes["part"] = part;
      one.axes.erase("test");
      known_part(std::move(one), side).replicates.push_back(std::move(replicate));
    };
    if (row.load)
      for (const LoadPart& part : row.load->mix)
        add(fmt::format("{}:{}", part.operation, part.size_bytes),  // "read:4096"
            replicate_of_part(part, which), "response [ns]");
    for (const DeviceData& device : row.per_device)
      add("device:" + device.device, replicate_of_device(device, which), "");
  }

  ComparableCase& known_part(ComparableCase one, std::optional<std::size_t> side) {
    std::vector<ComparableCase>& cases = side ? parts_[*side] : file_.sides[0];
    const auto [at, is_new] =
        side ? by_part_[*side].try_emplace(part_key(one), cases.size())
             : by_identity_.try_emplace(identity_of(one, defaults()), cases.size());
    if (is_new) cases.push_back(std::move(one));
    return cases[at->second];
  }

  /// In `ab` both sides' cases stand in one order, whatever differs between the sides.
  ComparableCase& case_of(const Row& row, std::optional<std::size_t> side) {
    const std::string test = row.name.substr(0, row.name.find('/'));
    std::vector<ComparableCase>& cases = file_.sides[side.value_or(0)];
    std::size_t& index =
        side ? by_family_[*side].try_emplace({test, row.family_index}, cases.size()).first->second
             : by_axes_[test].try_emplace(row.case_object, cases.size()).first->second;
    if (index == cases.size()) {
      ComparableCase made{.name = row.name, .axes = row.case_object};
      made.axes.erase("test");
      if (!side)
        index = by_identity_.try_emplace(identity_of(made, defaults()), cases.size()).first->second;
      if (index == cases.size()) cases.push_back(std::move(made));
    }
    ComparableCase& found = cases[index];
    if (row.latency) {
      found.half = row.latency->half_round_trip;
      found.definition = fmt::format("{} [ns]", name_in(kDefinitionNames, row.latency->definition));
    }
    return found;
  }

  Comparable& file_;
  std::optional<Defaults> defaults_;
  std::unordered_map<std::string, std::unordered_map<Json, std::size_t>> by_axes_;  ///< of tests
  std::unordered_map<std::string, std::size_t> by_identity_;
  std::array<std::map<std::pair<std::string, std::uint64_t>, std::size_t>, 2> by_family_;
  std::array<std::vector<ComparableCase>, 2> parts_;                     ///< of each side of `ab`
  std::array<std::unordered_map<std::string, std::size_t>, 2> by_part_;  ///< their indexes there
};

/// A repetition that failed does not know the effective values that the others found: it belongs to
/// the case of its name.
void join_failures(std::vector<ComparableCase>& cases) {
  std::unordered_map<std::string, ComparableCase*> measured;
  for (ComparableCase& test_case : cases)
    if (!test_case.replicates.empty()) measured.emplace(test_case.name, &test_case);
  const auto joins = [&](const ComparableCase& test_case) {
    return test_case.replicates.empty() && measured.contains(test_case.name);
  };
  for (const ComparableCase& test_case : cases)
    if (joins(test_case)) {
      std::vector<FailedRepetition>& failures = measured.at(test_case.name)->failures;
      failures.insert(failures.end(), test_case.failures.begin(), test_case.failures.end());
    }
  std::erase_if(cases, joins);  // from here on no pointer into the list holds
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

Number value_of(const Replicate& replicate, Metric metric) {
  const double value = replicate.value[static_cast<std::size_t>(metric)];
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

Comparable read_comparable(const std::string& path) {
  Comparable file{.path = path};
  Collector collector(file);
  read_rows(path,
            {[&file](Json& context) { read_context(file, context); },
             [&collector](const Row& row, const std::string& where) { collector.add(row, where); }},
            Reading::metrics);
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
