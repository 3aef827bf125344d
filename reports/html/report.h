// SPDX-License-Identifier: Apache-2.0
// `rdmameter report`: results as one page that needs nothing else: no network, and for its tables
// no JavaScript either.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/result/result_file.h"
#include "reports/compare/comparison.h"

namespace rdmameter {

/// The page, in HTML.
/// @param files       one or more
/// @param comparison  of these files, to be told first; null: none
/// @param memory_budget_bytes  of a rank of a topology: what it rules out is told
std::string html_report(std::span<const ResultFile> files, const Comparison* comparison = nullptr,
                        std::optional<std::uint64_t> memory_budget_bytes = {});

}  // namespace rdmameter
