// SPDX-License-Identifier: Apache-2.0
#include "bench/options/case_option.h"

#include <fmt/core.h>
#include <fnmatch.h>

#include <algorithm>

#include "bench/options/add_option.h"
#include "core/base/error.h"
#include "core/result/result_file.h"
#include "core/result/row_json.h"
#include "reports/text/terminal_lines.h"

namespace rdmameter {
namespace {

bool matches(const std::string& name, const std::string& pattern) {
  return name == pattern || fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace

void add_case_option(CLI::App& app, std::vector<std::string>& patterns) {
  add_option(app, "--case", patterns, "NAME",
             "only the case of this name, or the cases that match this glob "
             "('send_*size:64'); may be given more than once")
      ->allow_extra_args(false);
}

bool is_chosen(const std::string& name, const std::vector<std::string>& patterns) {
  return patterns.empty() ||
         std::any_of(patterns.begin(), patterns.end(),
                     [&name](const auto& pattern) { return matches(name, pattern); });
}

std::vector<ResultFile> read_results(const std::vector<std::string>& paths,
                                     const std::vector<std::string>& patterns, Counters counters) {
  std::vector<bool> matched(patterns.size(), false);
  const auto chosen = [&](const std::string& name) {
    bool any = patterns.empty();
    for (std::size_t i = 0; i < patterns.size(); ++i)
      if (matches(name, patterns[i])) any = matched[i] = true;
    return any;
  };
  std::vector<ResultFile> files;
  for (const std::string& path : paths) {
    ResultFile& file = files.emplace_back(ResultFile{.path = path, .context = {}, .rows = {}});
    read_result_parts(path,
                      {[&](nlohmann::ordered_json& context) { file.context = std::move(context); },
                       [&](const nlohmann::ordered_json& json, const std::string& where) {
                         Row row = row_from_json(json, where);
                         if (counters == Counters::leave_out)
                           row.device_counters = row.work = row.resources = nullptr;
                         if (chosen(row.name)) file.rows.push_back(std::move(row));
                       }});
  }
  for (std::size_t i = 0; i < patterns.size(); ++i)
    if (!matched[i])
      throw UsageError(
          fmt::format("--case '{}' matches no case; 'rdmameter show --csv {}' has their names.",
                      patterns[i], paths.front()));
  return files;
}

void tell_unmeasured(const std::vector<ResultFile>& files) {
  for (const ResultFile& file : files) {
    if (std::ranges::any_of(file.rows,
                            [](const Row& row) { return row.status == Row::Status::ok; }))
      continue;
    tell_lines("rdmameter: {}: {}\n", file.path,
               file.rows.empty() ? "there are no rows, so it has no numbers"
                                 : "no case was measured, so it has no numbers");
  }
}

}  // namespace rdmameter
