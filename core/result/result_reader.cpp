// SPDX-License-Identifier: Apache-2.0
// Reading a result file of any origin: its content is not trusted.

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/base/error_text.h"
#include "core/base/input_file.h"
#include "core/result/checked_json.h"
#include "core/result/json_parts.h"
#include "core/result/result_file.h"
#include "core/result/row_json.h"
#include "core/result/row_parser.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

/// A row is 5 KB, one full histogram 0.4 MB.
constexpr std::size_t kMaxBytes = 512U << 20;

constexpr const char* kNoResult =
    "the file is not a result of rdmameter, as 'rdmameter run -o FILE' writes it";
constexpr const char* kWhatItIs = "A result is what 'rdmameter run -o FILE' writes";

/// "line 3, column 14" of the byte (from 1) that the parser stopped at.
std::string place(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = before.size() - (newline == before.npos ? 0 : newline + 1) + 1;
  return fmt::format("line {}, column {}", line, column);
}

/// @throws UsageError  the text is no JSON, naming line and column, or nests too deep
void check_json(const std::string& path, const std::string& text) {
  if (text.find_first_not_of(" \t\r\n") == text.npos)
    throw UsageError(fmt::format("{}: is empty. {}.", path, kWhatItIs));
  const auto shallow = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > static_cast<int>(kMaxJsonDepth))
      throw UsageError(fmt::format("{}: nests deeper than {} levels.", path, kMaxJsonDepth));
    return depth < 2;  // nothing is kept of what is deeper
  };
  try {
    [[maybe_unused]] const Json kept = Json::parse(text, shallow);
  } catch (const Json::parse_error& error) {
    if (error.byte > text.size())
      throw UsageError(
          fmt::format("{}: is cut off in the middle, at {}. Copy the whole file, or measure again.",
                      path, place(text, error.byte)));
    throw UsageError(
        fmt::format("{}: is not JSON, at {}. {}.", path, place(text, error.byte), kWhatItIs));
  } catch (const Json::exception& error) {  // a number too large for a double
    throw UsageError(fmt::format("{}: is not JSON that can be read: {}.", path, error_text(error)));
  }
}

void check_context(const std::string& path, const Json& object) {
  const CheckedJson context(object, path + ": context");
  const auto ours = context.find("rdmameter");
  if (!ours) context.fail(fmt::format("has no \"rdmameter\": {}", kNoResult));
  const CheckedJson schema = ours->at("schema");
  if (schema.text() != kResultSchema)
    schema.fail(
        fmt::format("is \"{}\", and this version reads \"{}\": read it with the version that "
                    "wrote it, or measure again",
                    schema.text(), kResultSchema));
  ours->at("version").text();
  ours->at("command").text();
  for (const char* key : {"floor", "initiator", "responder"}) ours->at(key);
  if (const auto defaults = ours->find("defaults"))
    for (const char* kind : {"latency", "bandwidth", "load", "ranks"}) defaults->at(kind).object();
}

/// Reads part by part: a tree of all rows takes ten times the text's room.
class PartsReader {
 public:
  PartsReader(const std::string& path, const ResultParts& parts, bool whole)
      : path_(path),
        parts_(parts),
        whole_(whole),
        rows_(whole ? std::span<const std::string_view>() : std::span(kBulk)) {}

  /// @throws  UsageError or Json::exception; if the text is no JSON, check_json() says what
  void read(JsonParts text) {
    const bool whole = text.each('{', '}', [&] {
      const std::string quoted(text.value());
      if (!quoted.starts_with('"') || !text.take(':')) return false;
      return read_member(Json::parse(quoted).get<std::string>(), text);
    });
    if (!whole || !text.at_end()) fail("is not an object");
    const CheckedJson object(seen_, path_);
    for (const char* key : {"context", "benchmarks"})
      if (!object.find(key)) object.lacks(key, fmt::format(": {}", kNoResult));
    for (const std::string& row : waiting_) take_row(row);
  }

 private:
  bool read_member(const std::string& key, JsonParts& text) {
    if (key == "benchmarks") {
      seen_[key] = nullptr;
      if (!text.each('[', ']', [&] { return read_row(text.value()); }))
        fail("benchmarks is not an array");
      return true;
    }
    const std::string_view value = text.value();
    if (value.empty()) return false;
    Json& json = seen_[key] = Json::parse(value.begin(), value.end());
    if (key == "context") take_context(json);
    return true;
  }

  void take_context(Json& context) {
    check_context(path_, context);
    known_ = true;
    parts_.context(context);
  }

  /// Without a context the rows wait: its schema says what they are.
  bool read_row(std::string_view row) {
    if (row.empty()) return false;
    if (known_)
      take_row(row);
    else
      waiting_.emplace_back(row);
    return true;
  }

  void take_row(std::string_view text) {
    const Json& row = rows_.parse(text);
    std::string where = fmt::format("{}: row {}", path_, ++count_);
    if (row.is_object() && row.contains("name") && row.at("name").is_string())
      where += fmt::format(" ({})", row.at("name").get_ref<const std::string&>());
    parts_.row(whole_ ? row_from_json(row, where) : row_without_bulk(row, where), where);
  }

  [[noreturn]] void fail(const char* what) const {
    throw UsageError(fmt::format("{}: {}.", path_, what));
  }

  const std::string& path_;
  const ResultParts& parts_;
  const bool whole_;  ///< rows with what is large
  RowParser rows_;
  Json seen_ = Json::object();        ///< but for the rows
  std::vector<std::string> waiting_;  ///< rows before the context
  bool known_ = false;
  std::uint64_t count_ = 0;
};

/// The text of a file, of which no more stands in memory than what is read at the moment.
class FileText {
 public:
  explicit FileText(const std::string& path) : file_(open_input(path, {.max_bytes = kMaxBytes})) {
    if (file_.regular) return;
    while (file_.append_to(text_, kWindow)) {  // it cannot be read again to say what is wrong
    }
    file_.append_to = nullptr;
  }

  JsonParts parts() {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    std::string_view text = lengthened(text_);
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    return JsonParts(text, [this](std::string_view rest) { return lengthened(rest); });
  }

  /// All of it.
  std::string whole(const std::string& path) {
    return file_.regular ? read_input(path, {.max_bytes = kMaxBytes}) : text_;
  }

 private:
  static constexpr std::size_t kWindow = 1 << 20;

  /// Twice as much at each attempt, so that a long value is not looked through again and again.
  std::string_view lengthened(std::string_view rest) {
    if (!file_.regular) return rest;
    text_.erase(0, text_.size() - rest.size());
    const std::size_t aim = std::max(kWindow, 2 * text_.size());
    while (text_.size() < aim && file_.append_to(text_, aim - text_.size())) {
    }
    return text_;
  }

  InputParts file_;  ///< read to its end already where it is not regular
  std::string text_;
};

}  // namespace

void read_rows(const std::string& path, const ResultParts& parts, Rows rows) {
  FileText text(path);
  try {
    PartsReader(path, parts, rows == Rows::whole).read(text.parts());
  } catch (const UsageError&) {
    check_json(path, text.whole(path));
    throw;
  } catch (const Json::exception& error) {
    check_json(path, text.whole(path));
    throw UsageError(fmt::format("{}: is not JSON that can be read: {}.", path, error_text(error)));
  }
}

ResultFile read_result(const std::string& path, Rows rows) {
  ResultFile file{.path = path, .context = {}, .rows = {}};
  read_rows(path,
            {[&file](Json& context) { file.context = std::move(context); },
             [&file](Row row, const std::string&) { file.rows.push_back(std::move(row)); }},
            rows);
  return file;
}

}  // namespace rdmameter
