// SPDX-License-Identifier: Apache-2.0
// Reading the text of a file that anybody may have written.
#include "reports/result_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "core/error.h"
#include "reports/checked_json.h"
#include "reports/result_file.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

/// The parsed tree takes some ten times the text's room. A row is 5 KB, one full histogram 0.4 MB.
constexpr std::size_t kMostBytes = 512U << 20;
constexpr int kMostDepth = 64;  ///< ours nest six deep

[[noreturn]] void refuse_size(const std::string& path) {
  throw UsageError(fmt::format("{}: is larger than {} MiB.", path, kMostBytes >> 20));
}

/// "line 3, column 14" of the byte (from 1) that the parser stopped at.
std::string place(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = before.size() - (newline == before.npos ? 0 : newline + 1) + 1;
  return fmt::format("line {}, column {}", line, column);
}

}  // namespace

std::string read_result_text(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (!file) throw UsageError(fmt::format("{}: cannot be read: {}.", path, std::strerror(errno)));
  std::error_code no_size;  // of a pipe
  const auto size = std::filesystem::file_size(path, no_size);
  std::string text, part(1 << 16, '\0');
  if (!no_size && size <= kMostBytes) text.reserve(size);
  if (!no_size && size > kMostBytes) refuse_size(path);
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), file.get())) {
    text.append(part, 0, got);
    if (text.size() > kMostBytes) refuse_size(path);
  }
  if (std::ferror(file.get()))
    throw UsageError(fmt::format("{}: cannot be read: {}.", path, std::strerror(errno)));
  return text;
}

Json parse_result_text(const std::string& path, const std::string& text,
                       const Json::parser_callback_t& see) {
  if (text.find_first_not_of(" \t\r\n") == text.npos)
    throw UsageError(fmt::format("{}: is empty.", path));
  const auto shallow = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > kMostDepth)
      throw UsageError(fmt::format("{}: nests deeper than {} levels.", path, kMostDepth));
    return see == nullptr || see(depth, event, value);
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

void check_result_context(const std::string& path, const Json& object) {
  const CheckedJson context(object, path + ": context");
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

}  // namespace rdmameter
