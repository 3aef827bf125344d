// SPDX-License-Identifier: Apache-2.0
// Reading a result file that anybody may have written.
#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/error.h"
#include "reports/checked_json.h"
#include "reports/result_file.h"
#include "reports/row_json.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

/// The parsed tree takes some ten times the text's room. A row is 5 KB, one full histogram 0.4 MB.
constexpr std::size_t kMostBytes = 512U << 20;
constexpr int kMostDepth = 64;  ///< ours nest six deep

std::string read_text(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (!file) throw UsageError(fmt::format("{}: cannot be read: {}.", path, std::strerror(errno)));
  std::string text, part(1 << 16, '\0');
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), file.get())) {
    text.append(part, 0, got);
    if (text.size() > kMostBytes)
      throw UsageError(fmt::format("{}: is larger than {} MiB.", path, kMostBytes >> 20));
  }
  if (std::ferror(file.get()))
    throw UsageError(fmt::format("{}: cannot be read: {}.", path, std::strerror(errno)));
  return text;
}

/// "line 3, column 14" of the byte (from 1) that the parser stopped at.
std::string place(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = before.size() - (newline == before.npos ? 0 : newline + 1) + 1;
  return fmt::format("line {}, column {}", line, column);
}

Json parse(const std::string& path, const std::string& text) {
  if (text.find_first_not_of(" \t\r\n") == text.npos)
    throw UsageError(fmt::format("{}: is empty.", path));
  const auto shallow = [&path](int depth, Json::parse_event_t, Json&) {
    if (depth > kMostDepth)
      throw UsageError(fmt::format("{}: nests deeper than {} levels.", path, kMostDepth));
    return true;
  };
  try {
    return Json::parse(text, shallow);
  } catch (const Json::parse_error& error) {
    if (error.byte > text.size())
      throw UsageError(
          fmt::format("{}: is cut off in the middle, at {}.", path, place(text, error.byte)));
    throw UsageError(fmt::format("{}: is not JSON, at {}.", path, place(text, error.byte)));
  } catch (const Json::exception& error) {  // a number too large for a double
    throw UsageError(fmt::format("{}: is not JSON that can be read: {}.", path, error.what()));
  }
}

void check_schema(const CheckedJson& context) {
  const auto ours = context.find("rdmameter");
  if (!ours) context.fail("has no \"rdmameter\": the file is not a result of rdmameter");
  const CheckedJson schema = ours->at("schema");
  if (schema.text() != kResultSchema)
    schema.fail(
        fmt::format("is \"{}\", and this version reads \"{}\"", schema.text(), kResultSchema));
  ours->at("version").text();
  ours->at("command").text();
  for (const char* key : {"floor", "initiator", "responder"}) ours->at(key);
}

}  // namespace

ResultFile read_result(const std::string& path) {
  const Json json = parse(path, read_text(path));
  const CheckedJson whole(json, path + ":");
  ResultFile file{.path = path, .context = whole.at("context").object(), .rows = {}};
  check_schema(whole.at("context"));
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
