// SPDX-License-Identifier: Apache-2.0
// Lists of CPUs, as the kernel, taskset(1) and --core write them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmameter {

/// CPU numbers of "0-3,8", in the order of the text; of anything else, none.
/// @param separator  between two ranges: the kernel's, or '+' in --core, where a comma makes cases
std::vector<unsigned> cpu_list(std::string_view text, char separator = ',');

/// "0-3,8" of CPU numbers that ascend; empty of none.
std::string cpu_list_text(std::span<const unsigned> cpus);

}  // namespace rdmameter
