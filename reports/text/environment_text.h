// SPDX-License-Identifier: Apache-2.0
// What a result was measured with, in a few lines.
#pragma once

#include <string>

#include "core/result/result_file.h"
#include "reports/text/text.h"

namespace rdmameter {

/// File, version, date, command; what both ends have alike, and what differs; the instrument's
/// floor.
std::string describe_context(const ResultFile& file, const TextStyle& style);

/// "name 7" of every scalar in an object, the way to it before it: {"a": {"b_ns": 7}} is "a b_ns
/// 7". Null, empty text and arrays stay out.
std::vector<std::pair<std::string, std::string>> flatten(const nlohmann::ordered_json& object);

}  // namespace rdmameter
