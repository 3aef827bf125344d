// SPDX-License-Identifier: Apache-2.0
#include "reports/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/result/output_file.h"
#include "reports/compare/fingerprint.h"
#include "reports/summary/defaults.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr const char* kOurs = "rdmameter";

/// A run's own id; of older results the whole context, of which date, load and overhead are its own.
std::string identity_of(const Json& run) {
  const Json& id = fact_at(run, "/rdmameter/run_id");
  return id.is_string() ? id.get<std::string>() : run.dump();
}

/// The number of the row's run among those of its file.
std::uint64_t run_of(const Row& row, std::size_t runs, const std::string& path) {
  const auto found = row.extra.find("run");
  if (found == row.extra.end()) return 0;
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() >= runs)
    throw UsageError("{}: {}: run names none of the file's runs.", path, row.name);
  return found->get<std::uint64_t>();
}

/// One of the files, as it was when it was looked at.
struct Part {
  std::string path;
  RowsReader read;
  Json context = {};
  std::size_t runs = 0, first_run = 0;  ///< how many, and from where on among those of all files
  std::uint64_t rows = 0;
  bool all_measured = true;
};

Part look_at(const std::string& path, Reading looked) {
  Part part{.path = path, .read = rows_reader(path)};
  part.read({[&](Json& context) {
               const Json& ours = context.at(kOurs);
               if (ours.contains("ab"))
                 throw UsageError(
                     "{}: holds both sides of a comparison ('rdmameter ab'), not runs to be merged",
                     path);
               if (ours.contains("runs") && list_at(ours, "runs").empty())
                 throw UsageError("{}: context: rdmameter: runs is no list of runs.", path);
               part.runs = run_contexts(context).size();
               part.context = std::move(context);
             },
             [&](const Row& row, const std::string&) {
               run_of(row, part.runs, path);
               part.all_measured = part.all_measured && row.status != Row::Status::error;
               ++part.rows;
             }},
            looked);
  return part;
}

class Merging {
 public:
  explicit Merging(bool allow_environment_change)
      : allow_environment_change_(allow_environment_change) {}

  void add(Part part) {
    check_environment(part);
    check_defaults(part);
    check_runs(part);
    if (const Json& noise = fact_at(part.context.at(kOurs), "noise"); noise.is_object())
      noise_.update(noise);
    part.first_run = files_of_runs_.size() - part.runs;
    parts_.push_back(std::move(part));
  }

  Json context(const std::string& command) const {
    Json context = parts_.front().context;
    Json& ours = context[kOurs];
    ours["command"] = command;
    ours["runs"] = Json::array();
    for (const Part& part : parts_)
      for (Json& run : run_contexts(part.context)) ours["runs"].push_back(std::move(run));
    if (!noise_.empty()) ours["noise"] = noise_;
    if (stated_) ours["defaults"] = defaults_->stated();
    if (!mixed_.empty()) ours["environment_changes"] = mixed_;
    return context;
  }

  void each_row(const std::function<void(const Row&)>& take) const {
    std::map<std::string, std::uint64_t> families;
    for (const Part& part : parts_) {
      std::uint64_t rows = 0;
      part.read({[&](const Json& context) {
                   if (context != part.context) refuse_changed(part.path);
                 },
                 [&](Row row, const std::string&) {
                   if (rows++ >= part.rows) return;  // rows may come to a run that goes on
                   row.extra["run"] = part.first_run + run_of(row, part.runs, part.path);
                   const std::string key = defaults_->identity(test_of(row), row.case_object);
                   row.family_index = families.try_emplace(key, families.size()).first->second;
                   take(row);
                 }},
                Reading::file);
      if (rows < part.rows) refuse_changed(part.path);
    }
  }

 private:
  [[noreturn]] static void refuse_changed(const std::string& path) {
    throw UsageError("{}: has changed while it was merged. Merge again when it is whole.", path);
  }

  void check_environment(const Part& part) {
    const bool all_measured = part.all_measured && std::ranges::all_of(parts_, &Part::all_measured);
    const Json& first = parts_.empty() ? part.context : parts_.front().context;
    const auto changes = environment_changes(first, part.context, all_measured);
    if (allow_environment_change_)
      for (const auto& list : {merged_changes(part.context), changes})
        mixed_.insert(list.begin(), list.end());
    if (changes.empty() || allow_environment_change_) return;
    throw UsageError(
        "{}: was measured in another environment than the first file (BASE here):\n  "
        "{}\n--allow-environment-change merges them anyway.",
        part.path, fmt::join(changes, "\n  "));
  }

  /// A merged result states one list of them.
  void check_defaults(const Part& part) {
    const Defaults here(part.context);
    if (!defaults_) defaults_ = here;
    if (const auto differences = defaults_->differences(here); !differences.empty())
      throw UsageError(
          "{}: was measured under other defaults than the first file: {}. 'rdmameter "
          "compare' takes both as they are.",
          part.path, fmt::join(differences, ", "));
    defaults_->complete(here);
    stated_ = stated_ || part.context.at(kOurs).contains("defaults");
  }

  void check_runs(const Part& part) {
    for (const Json& run : run_contexts(part.context)) {
      const auto [known, is_new] = files_of_runs_.emplace(identity_of(run), part.path);
      if (!is_new)
        throw UsageError(
            "{} and {} hold the same run: counted twice it would make chance look certain",
            known->second, part.path);
    }
  }

  bool allow_environment_change_;
  std::optional<Defaults> defaults_;  ///< of all files
  bool stated_ = false;               ///< by one of them
  std::vector<Part> parts_;
  std::map<std::string, std::string> files_of_runs_;  ///< by the identity of the run
  Json noise_ = Json::object();
  std::set<std::string> mixed_;  ///< how the environments of the runs differ
};

}  // namespace

MergedResult merge_results(const std::vector<std::string>& paths, const std::string& command,
                           bool allow_environment_change, Reading looked) {
  const auto merging = std::make_shared<Merging>(allow_environment_change);
  for (const std::string& path : paths) merging->add(look_at(path, looked));
  return {.context = merging->context(command),
          .each_row = [merging](const auto& take) { merging->each_row(take); }};
}

std::string write_merged(const MergeRequest& request) {
  check_writable(request.output);
  // What goes into a stream cannot be taken back: errors must show before it is begun.
  const Reading looked = look_at_output(request.output).stream ? Reading::file : Reading::metrics;
  const MergedResult merged =
      merge_results(request.files, request.command, request.allow_environment_change, looked);
  ResultWriter writer(request.output, merged.context, Replacing::when_finished);
  merged.each_row([&writer](const Row& row) { writer.append(row); });
  writer.finish();
  return fmt::format("{}, {}", count_text(merged.context.at(kOurs).at("runs").size(), "run"),
                     count_text(writer.rows(), "row"));
}

}  // namespace rdmameter
