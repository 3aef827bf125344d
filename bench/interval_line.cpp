// SPDX-License-Identifier: Apache-2.0
#include "bench/interval_line.h"

#include <fmt/format.h>

#include <cstdio>

namespace rdmameter {

std::string interval_line(const Case& one_case, const ProgressInterval& interval) {
  const auto operations = static_cast<double>(interval.operations);
  const std::string text = fmt::format("{:.1f} s  ", interval.end_s);
  if (interval.operations == 0) return text + "nothing";
  const double per_s = operations / interval.length_s;
  if (one_case.shape() == Pattern::bandwidth)
    return text + fmt::format("{:.4g} Mmsg/s  {:.4g} Gb/s", per_s * 1e-6,
                              per_s * static_cast<double>(one_case.size_bytes) * 8e-9);
  return text + fmt::format("{} operations, one in {:.4g} us", interval.operations, 1e6 / per_s);
}

void print_interval(const Case& one_case, const ProgressInterval& interval) {
  const std::string line = interval_line(one_case, interval) + "\n";
  std::fputs(line.c_str(), stderr);
}

}  // namespace rdmameter
