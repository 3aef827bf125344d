// SPDX-License-Identifier: Apache-2.0
#include "reports/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "reports/compare/fingerprint.h"
#include "reports/summary/defaults.h"
#include "reports/summary/facts.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kOurs = "rdmameter";

/// The contexts of a file's runs: its own, unless it is a merged one.
std::vector<Json> runs_of(const ResultFile& file) {
  const Json& ours = file.context.at(kOurs);
  if (!ours.contains("runs")) return {file.context};
  const Json& runs = ours.at("runs");
  if (!runs.is_array() || runs.empty())
    throw UsageError(file.path + ": context: rdmameter: runs is no list of runs.");
  return runs.get<std::vector<Json>>();
}

/// A run's own id; of older results the whole context, of which date, load and floor are its own.
std::string identity_of(const Json& run) {
  const Json& id = fact_at(run, "/rdmameter/run_id");
  return id.is_string() ? id.get<std::string>() : run.dump();
}

bool all_measured(const std::vector<Row>& rows) {
  return std::ranges::none_of(rows,
                              [](const Row& row) { return row.status == Row::Status::error; });
}

class Merging {
 public:
  Merging(std::string command, bool allow_environment_change)
      : command_(std::move(command)), allow_environment_change_(allow_environment_change) {}

  void add(ResultFile file) {
    if (file.context.at(kOurs).contains("ab"))
      throw UsageError(fmt::format(
          "{}: holds both sides of a comparison ('rdmameter ab'), not runs to be merged",
          file.path));
    if (merged_.context.is_null()) merged_.context = file.context;
    check_environment(file);
    check_defaults(file);
    const std::uint64_t first = runs_.size();
    for (Json& run : runs_of(file)) add_run(std::move(run), file.path);
    for (Row& row : file.rows) add_row(std::move(row), first, file.path);
    add_noise(file.context.at(kOurs));
  }

  ResultFile take() {
    Json& ours = merged_.context[kOurs];
    ours["command"] = command_;
    Json contexts = Json::array();
    for (auto& [run, path] : runs_) contexts.push_back(std::move(run));
    ours["runs"] = std::move(contexts);
    if (!noise_.empty()) ours["noise"] = noise_;
    if (stated_) ours["defaults"] = defaults_->stated();
    if (!mixed_.empty()) ours["environment_changes"] = mixed_;
    return std::move(merged_);
  }

 private:
  void check_environment(const ResultFile& file) {
    const auto changes = environment_changes(merged_.context, file.context,
                                             all_measured(merged_.rows) && all_measured(file.rows));
    if (allow_environment_change_)
      for (const auto& list : {merged_changes(file.context), changes})
        mixed_.insert(list.begin(), list.end());
    if (changes.empty() || allow_environment_change_) return;
    throw UsageError(
        fmt::format("{}: was measured in another environment than the first file (BASE here):\n  "
                    "{}\n--allow-environment-change merges them anyway.",
                    file.path, fmt::join(changes, "\n  ")));
  }

  /// A merged result states one list of them.
  void check_defaults(const ResultFile& file) {
    const Defaults here(file.context);
    if (!defaults_) defaults_ = here;
    if (const auto differences = defaults_->differences(here); !differences.empty())
      throw UsageError(
          fmt::format("{}: was measured under other defaults than the first file: {}. 'rdmameter "
                      "compare' takes "
                      "both as they are.",
                      file.path, fmt::join(differences, ", ")));
    defaults_->complete(here);
    stated_ = stated_ || file.context.at(kOurs).contains("defaults");
  }

  void add_run(Json run, const std::string& path) {
    for (const auto& [known, from] : runs_)
      if (identity_of(known) == identity_of(run))
        throw UsageError(fmt::format(
            "{} and {} hold the same run: counted twice it would make chance look certain", from,
            path));
    runs_.emplace_back(std::move(run), path);
  }

  void add_row(Row row, std::uint64_t first_run, const std::string& path) {
    std::uint64_t run = 0;
    if (const auto found = row.extra.find("run"); found != row.extra.end()) {
      if (!found->is_number_unsigned() || first_run + found->get<std::uint64_t>() >= runs_.size())
        throw UsageError(fmt::format("{}: {}: run names none of the file's runs.", path, row.name));
      run = found->get<std::uint64_t>();
    }
    row.extra["run"] = first_run + run;
    const std::string key = defaults_->identity(test_of(row), row.case_object);
    row.family_index = families_.try_emplace(key, families_.size()).first->second;
    merged_.rows.push_back(std::move(row));
  }

  void add_noise(const Json& ours) {
    if (const Json& noise = fact_at(ours, "noise"); noise.is_object()) noise_.update(noise);
  }

  std::string command_;
  bool allow_environment_change_;
  std::optional<Defaults> defaults_;  ///< of all files
  bool stated_ = false;               ///< by one of them
  ResultFile merged_;
  std::vector<std::pair<Json, std::string>> runs_;  ///< contexts, and the files they are from
  std::map<std::string, std::uint64_t> families_;
  Json noise_ = Json::object();
  std::set<std::string> mixed_;  ///< how the environments of the runs differ
};

}  // namespace

ResultFile merge_results(const std::vector<std::string>& paths, const std::string& command,
                         bool allow_environment_change) {
  Merging merging(command, allow_environment_change);
  for (const std::string& path : paths) merging.add(read_result(path));
  return merging.take();
}

}  // namespace rdmameter
