// SPDX-License-Identifier: Apache-2.0
#include "bench/case_option.h"

#include <fmt/core.h>
#include <fnmatch.h>

#include <algorithm>

#include "bench/help_text.h"
#include "core/error.h"

namespace rdmameter {
namespace {

bool matches(const std::string& name, const std::string& pattern) {
  return name == pattern || fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

void check_pattern(const std::vector<ResultFile>& files, const std::string& pattern) {
  for (const ResultFile& file : files)
    for (const Row& row : file.rows)
      if (matches(row.name, pattern)) return;
  throw UsageError(
      fmt::format("--case '{}' matches no case; 'rdmameter show --csv {}' has their names.",
                  pattern, files.front().path));
}

}  // namespace

void add_case_option(CLI::App& app, std::vector<std::string>& patterns) {
  app.add_option("--case", patterns,
                 help_text("this case alone, by its name or a glob ('send_*size:64'); may be given "
                           "more than once"))
      ->type_name("NAME")
      ->allow_extra_args(false);
}

bool is_chosen(const std::string& name, const std::vector<std::string>& patterns) {
  return patterns.empty() ||
         std::any_of(patterns.begin(), patterns.end(),
                     [&name](const auto& pattern) { return matches(name, pattern); });
}

void keep_cases(std::vector<ResultFile>& files, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) check_pattern(files, pattern);
  for (ResultFile& file : files)
    std::erase_if(file.rows, [&](const Row& row) { return !is_chosen(row.name, patterns); });
}

std::vector<ResultFile> read_results(const std::vector<std::string>& paths,
                                     const std::vector<std::string>& patterns) {
  std::vector<ResultFile> files;
  for (const std::string& path : paths) files.push_back(read_result(path));
  keep_cases(files, patterns);
  return files;
}

}  // namespace rdmameter
