// SPDX-License-Identifier: Apache-2.0
// Reading a result file that anybody may have written.
#include <fmt/core.h>

#include "core/error.h"
#include "reports/checked_json.h"
#include "reports/result_file.h"
#include "reports/result_text.h"
#include "reports/row_json.h"

namespace rdmameter {

using Json = nlohmann::ordered_json;

namespace {

void add_row(ResultFile& file, const Json& row) {
  std::string where = fmt::format("{}: row {}", file.path, file.rows.size() + 1);
  if (row.is_object() && row.contains("name") && row["name"].is_string())
    where += fmt::format(" ({})", row["name"].get_ref<const std::string&>());
  file.rows.push_back(row_from_json(row, where));
}

bool is_ours(const std::string& path, const Json& context) {
  try {
    check_result_context(path, context);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

}  // namespace

/// Each row is taken out of the tree as soon as it is read: a tree of all of them takes ten times
/// the text's room, and nlohmann's parser, when it has somebody to ask, looks through all elements
/// of an array after each.
ResultFile read_result(const std::string& path) {
  ResultFile file{.path = path, .context = {}, .rows = {}};
  std::string top;  // the key of the file's object that is being read
  bool known = false;
  const auto see = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth == 1 && event == Json::parse_event_t::key) top = value.get<std::string>();
    if (depth == 1 && event == Json::parse_event_t::object_end && top == "context") {
      file.context = value;
      known = is_ours(path, value);
    }
    const bool begins =
        event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    // Without a context the rows wait: its schema says what they are.
    if (depth != 2 || top != "benchmarks" || begins || file.context.is_null()) return true;
    if (known) add_row(file, value);  // else the context's fault is told, unless it is no JSON
    return false;
  };
  const Json json = parse_result_text(path, read_result_text(path), see);
  const CheckedJson whole(json, path + ":");
  check_result_context(path, whole.at("context").object());
  file.context = whole.at("context").object();
  const CheckedJson rows = whole.at("benchmarks");
  for (std::size_t i = 0; i < rows.array_size(); ++i) add_row(file, json["benchmarks"][i]);
  return file;
}

}  // namespace rdmameter
