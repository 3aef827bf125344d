// SPDX-License-Identifier: Apache-2.0
// What a page is about: several results, and in each of them the same cases.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result/result_file.h"
#include "reports/summary/summary.h"

namespace rdmameter {

/// One case in every result that has it.
struct PageCase {
  std::string name, test, transport;
  std::vector<std::optional<CaseNumbers>> of_file;  ///< as many as there are files
  std::string label = {};  ///< the name without what all names on the page have

  const CaseNumbers& first() const;  ///< of the first file that has the case
};

/// Borrows the files' rows.
struct PageCases {
  std::span<const ResultFile> files;
  std::vector<std::string> labels;       ///< a short name for each file, no two alike
  std::vector<PageCase> cases;           ///< those of one test and transport together
  std::size_t left_out = 0;              ///< cases beyond what a page can hold
  std::vector<std::string> common = {};  ///< "iterations:2000": what all names have
  std::optional<std::uint64_t> memory_budget_bytes = {};  ///< of a rank of a topology
};

/// Cases of one name are one case: names tell the axes that were given.
/// @param max  cases that the page holds
PageCases page_cases(std::span<const ResultFile> files, std::size_t max);

/// Calls use(case, index of the result, its numbers) for each result that has a case.
void each_case(std::span<const PageCase> cases, const auto& use) {
  for (const PageCase& one : cases)
    for (std::size_t i = 0; i < one.of_file.size(); ++i)
      if (one.of_file[i]) use(one, i, *one.of_file[i]);
}

/// "half round trip", "round trip", "completion", "call", "exchange", "response"; empty: the case
/// has no latency.
std::string latency_kind(const CaseNumbers& numbers);

// ---- A case's label, as a link that draws it.

/// A link to the fragment that page.js reads; mere text where the case has no latency to draw.
std::string case_link(const PageCase& one);

}  // namespace rdmameter
