// SPDX-License-Identifier: Apache-2.0
// How far the repetitions of `run --until` have settled cases.
#pragma once

#include <span>
#include <string>

#include "core/result/row.h"
#include "reports/text/text.h"

namespace rdmameter {

/// The text for the last row of a case: "until p50 ±1 %: reached after 43 repetitions (±0.9 %)".
/// Empty: it has nothing of the kind.
std::string until_text(const Row& row);

/// How many cases got as far as they were asked to, and a line for each that did not. Empty: none
/// was asked.
std::string until_report(std::span<const Row> rows, const TextStyle& style);

}  // namespace rdmameter
