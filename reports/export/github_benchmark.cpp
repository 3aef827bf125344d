// SPDX-License-Identifier: Apache-2.0
// github-action-benchmark's custom JSON: [{"name", "unit", "value", "range", "extra"}, ...], of
// which one file holds only what is better when smaller, or only what is better when bigger.
// https://github.com/benchmark-action/github-action-benchmark (README, "tool")
#include <fmt/core.h>

#include "core/result/json_text.h"
#include "reports/export/format.h"
#include "reports/summary/summary.h"

namespace rdmameter {

std::string to_github(const ResultFile& file, bool smaller_is_better) {
  Json list = Json::array();
  for (const CaseNumbers& values : case_numbers(file.rows))
    for (const CaseNumber& value : values.values) {
      if (value.metric->higher_is_better == smaller_is_better) continue;
      Json entry = {{"name", fmt::format("{} {}", values.name, value.metric->name)},
                    {"unit", value.metric->unit},
                    {"value", value.median}};
      const std::size_t repetitions = values.summary.repetitions.size();
      if (repetitions > 1) {
        // Its charts find "± " and a number of two characters or more. fmt 9 ends whole numbers
        // of four digits with ".0", fmt 10 with ".", as C does.
        std::string half = fmt::format("{:#.4g}", value.half_range());
        if (half.back() == '.') half += '0';
        entry["range"] = "± " + half;
        entry["extra"] = fmt::format("median of {} repetitions", repetitions);
      }
      list.push_back(std::move(entry));
    }
  return json_text(list, 1) + "\n";
}

}  // namespace rdmameter
