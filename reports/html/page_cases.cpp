// SPDX-License-Identifier: Apache-2.0
#include "reports/html/page_cases.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/base/parse_value.h"
#include "reports/html/html_table.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

/// "base" of "results/base.json".
std::string stem(const std::string& path) {
  const std::filesystem::path file(path);
  return (file.extension() == ".json" ? file.stem() : file.filename()).string();
}

/// The files' names where they differ, else their paths, and numbers where even those are alike.
std::vector<std::string> labels_of(std::span<const ResultFile> files) {
  std::set<std::string> stems;
  for (const ResultFile& file : files) stems.insert(stem(file.path));
  std::map<std::string, int> taken;
  std::vector<std::string> labels;
  for (const ResultFile& file : files) {
    std::string label = stems.size() == files.size() ? stem(file.path) : file.path;
    if (const int times = ++taken[label]; times > 1) label += fmt::format(" ({})", times);
    labels.push_back(std::move(label));
  }
  return labels;
}

/// Long names break after their slashes.
std::string breakable(const std::string& name) {
  const std::string text = markup_text(name);
  return fmt::format("{}", fmt::join(split(text, "/"), "/<wbr>"));
}

}  // namespace

const CaseNumbers& PageCase::first() const {
  return **std::ranges::find_if(of_file, [](const auto& one) { return one.has_value(); });
}

PageCases page_cases(std::span<const ResultFile> files, std::size_t max) {
  PageCases page{.files = files, .labels = labels_of(files), .cases = {}};
  std::map<std::string, std::size_t> at;
  std::map<std::pair<std::string, std::string>, std::size_t> group_order;
  for (std::size_t i = 0; i < files.size(); ++i)
    for (CaseNumbers& numbers : case_numbers(files[i].rows)) {
      const auto [where, is_new] = at.try_emplace(numbers.name, page.cases.size());
      if (is_new) {
        const Row& row = numbers.summary.first();
        page.cases.push_back(
            {printable(numbers.name), printable(test_of(row)), printable(transport_of(row)), {}});
        page.cases.back().of_file.resize(files.size());
        group_order.try_emplace({page.cases.back().test, page.cases.back().transport},
                                group_order.size());
      }
      page.cases[where->second].of_file[i] = std::move(numbers);
    }
  std::ranges::stable_sort(page.cases, {}, [&](const PageCase& one) {
    return group_order.at({one.test, one.transport});
  });
  if (page.cases.size() > max) {
    page.left_out = page.cases.size() - max;
    page.cases.resize(max);
  }
  page.common = common_parts(mapped(page.cases, &PageCase::name));
  for (PageCase& one : page.cases) one.label = shorten_name(one.name, page.common);
  return page;
}

std::string latency_kind(const CaseNumbers& numbers) {
  for (const Row* row : numbers.summary.repetitions)
    if (row->latency && row->latency->histogram.count > 0) return latency_kind(*row->latency);
  return "";
}

std::string case_link(const PageCase& one) {
  const bool drawn = std::ranges::any_of(
      one.of_file, [](const auto& numbers) { return numbers && !latency_kind(*numbers).empty(); });
  if (!drawn) return breakable(one.label);
  return fmt::format("<a class=case href=\"#case={}\">{}</a>", fragment_text(one.name),
                     breakable(one.label));
}

}  // namespace rdmameter
