// SPDX-License-Identifier: Apache-2.0
// Reading a result file that anybody may have written.
#include <fmt/core.h>

#include "reports/checked_json.h"
#include "reports/result_file.h"
#include "reports/result_text.h"
#include "reports/row_json.h"

namespace rdmameter {

using Json = nlohmann::ordered_json;

ResultFile read_result(const std::string& path) {
  const Json json = parse_result_text(path, read_result_text(path));
  const CheckedJson whole(json, path + ":");
  ResultFile file{.path = path, .context = whole.at("context").object(), .rows = {}};
  check_result_context(path, file.context);
  const CheckedJson rows = whole.at("benchmarks");
  const std::size_t count = rows.array_size();
  file.rows.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Json& row = json["benchmarks"][i];
    std::string where = fmt::format("{}: row {}", path, i + 1);
    if (row.is_object() && row.contains("name") && row["name"].is_string())
      where += fmt::format(" ({})", row["name"].get_ref<const std::string&>());
    file.rows.push_back(row_from_json(row, where));
  }
  return file;
}

}  // namespace rdmameter
