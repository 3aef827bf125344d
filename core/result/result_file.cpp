// SPDX-License-Identifier: Apache-2.0
// Reading a result file of any origin: its content is not trusted.
#include "core/result/result_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/error_text.h"
#include "core/base/input_file.h"
#include "core/log/print.h"
#include "core/result/checked_json.h"
#include "core/result/json_text.h"
#include "core/result/row_json.h"
#include "core/result/row_parser.h"

namespace rdmameter {
namespace {

/// A row is 5 KB, one full histogram 0.4 MB. Text that is kept whole has at most so much of them,
/// and so has what stands in memory of a file, which is read in parts.
constexpr std::size_t kMaxText = 512U << 20;
constexpr std::size_t kMaxBytes = 64ULL << 30;

[[noreturn]] void refuse_length(const std::string& path) {
  throw UsageError("{}: has more than {} MiB that must be read at once.", path, kMaxText >> 20);
}

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
    throw UsageError("{}: is empty. {}.", path, kWhatItIs);
  const auto shallow = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > static_cast<int>(kMaxJsonDepth))
      throw UsageError("{}: nests deeper than {} levels.", path, kMaxJsonDepth);
    return depth < 2;  // nothing is kept of what is deeper
  };
  try {
    [[maybe_unused]] const Json kept = Json::parse(text, shallow);
  } catch (const Json::parse_error& error) {
    if (error.byte > text.size())
      throw UsageError(
          "{}: is cut off in the middle, at {}. Copy the whole file, or measure again.", path,
          place(text, error.byte));
    throw UsageError("{}: is not JSON, at {}. {}.", path, place(text, error.byte), kWhatItIs);
  } catch (const Json::exception& error) {  // a number too large for a double
    throw UsageError("{}: is not JSON that can be read: {}.", path, error_text(error));
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
  PartsReader(const std::string& path, const ResultParts& parts, Reading reading)
      : path_(path),
        parts_(parts),
        reading_(reading),
        rows_(reading == Reading::metrics ? JsonKeys(kBulk) : JsonKeys()) {}

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
    keep(value);
    Json& json = seen_[key] = Json::parse(value.begin(), value.end());
    if (key == "context") {
      check_context(path_, json);
      known_ = true;
      parts_.context(json);
    }
    return true;
  }

  /// Without a context the rows wait: its schema says what they are.
  bool read_row(std::string_view row) {
    if (row.empty()) return false;
    if (known_) {
      take_row(row);
    } else {
      keep(row);
      waiting_.emplace_back(row);
    }
    return true;
  }

  void keep(std::string_view text) {
    kept_ += text.size();
    if (kept_ > kMaxText) refuse_length(path_);
  }

  void take_row(std::string_view text) {
    const Json& row = rows_.parse(text);
    std::string where = fmt::format("{}: row {}", path_, ++count_);
    if (row.is_object() && row.contains("name") && row.at("name").is_string())
      where += fmt::format(" ({})", row.at("name").get_ref<const std::string&>());
    parts_.row(row_from_json(row, where, reading_), where);
  }

  [[noreturn]] void fail(const char* what) const { throw UsageError("{}: {}.", path_, what); }

  const std::string& path_;
  const ResultParts& parts_;
  const Reading reading_;
  RowParser rows_;
  Json seen_ = Json::object();        ///< but for the rows
  std::vector<std::string> waiting_;  ///< rows before the context
  std::size_t kept_ = 0;              ///< bytes of both
  bool known_ = false;                ///< the context
  std::uint64_t count_ = 0;
};

constexpr std::size_t kTextWindow = 1 << 20;  ///< of a file's text, at the least

/// What is left of the text, and more behind it: twice as much at each attempt, so that a long value
/// is not looked through again and again.
std::string_view lengthened(std::string& text, std::string_view rest, InputParts& file,
                            const std::string& path) {
  text.erase(0, text.size() - rest.size());
  if (text.size() > kMaxText) refuse_length(path);
  const std::size_t aim = std::max(kTextWindow, 2 * text.size());
  while (text.size() < aim && file.append_to(text, aim - text.size())) {
  }
  return text;
}

/// No more of a file stands in memory than what is read at the moment.
/// @param kept  the whole text of what gives its bytes only once, from the first time on
void read_text(const std::string& path, std::optional<std::string>& kept, const ResultParts& parts,
               Reading reading) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  InputParts file;
  std::string window;
  if (!kept) file = open_input(path, {.max_bytes = kMaxBytes});
  if (!kept && !file.regular) {
    kept.emplace();
    while (file.append_to(*kept, kTextWindow))
      if (kept->size() > kMaxText) refuse_length(path);
  }
  const auto more = [&](std::string_view rest) {
    return kept ? rest : lengthened(window, rest, file, path);
  };
  const auto say_what_is_wrong = [&] {
    std::error_code error;
    if (kept)
      check_json(path, *kept);
    else if (std::filesystem::file_size(path, error) <= kMaxText)
      check_json(path, read_input(path, {.max_bytes = kMaxText}));
  };
  try {
    std::string_view text = more(kept ? *kept : window);
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    PartsReader(path, parts, reading).read(JsonParts(text, more));
  } catch (const UsageError&) {
    say_what_is_wrong();
    throw;
  } catch (const Json::exception& error) {
    say_what_is_wrong();
    throw UsageError("{}: is not JSON that can be read: {}.", path, error_text(error));
  }
}

}  // namespace

RowsReader rows_reader(const std::string& path) {
  return [path, kept = std::optional<std::string>()](const ResultParts& parts,
                                                     Reading reading) mutable {
    read_text(path, kept, parts, reading);
  };
}

void read_rows(const std::string& path, const ResultParts& parts, Reading reading) {
  rows_reader(path)(parts, reading);
}

ResultFile read_result(const std::string& path, Reading reading) {
  ResultFile file{.path = path, .context = {}, .rows = {}};
  read_rows(path,
            {[&file](Json& context) { file.context = std::move(context); },
             [&file](Row row, const std::string&) { file.rows.push_back(std::move(row)); }},
            reading);
  return file;
}

// The context of a result: what it was measured with.

Json make_context(const ContextParts& parts) {
  Json ours = {{"schema", kResultSchema},      {"version", RDMAMETER_VERSION},
               {"command", parts.command},     {"floor", parts.overhead},
               {"initiator", parts.initiator}, {"responder", parts.responder}};
  // insert() leaves what is there: `schema` cannot be shadowed.
  if (parts.extra.is_object()) ours.insert(parts.extra.begin(), parts.extra.end());
  Json context = Json::object();
  if (parts.google_benchmark.is_object()) context.update(parts.google_benchmark);
  context["rdmameter"] = std::move(ours);
  return context;
}

// Writing a result file so that it is valid JSON after every row.

namespace {

constexpr std::string_view kTrailer = "\n]}\n";

/// Does the path lead to this open file?
bool stands_at(int file, const std::string& path) {
  struct stat open {
  }, named{};
  return fstat(file, &open) == 0 && lstat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

[[noreturn]] void refuse_second(const std::string& path) {
  throw UsageError("{}: another process is writing this result.", path);
}

/// The file that is there, locked against other runs; -1: there is none.
int lock_older(const std::string& path) {
  for (;;) {
    const int file = open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) return -1;
    if (file < 0) throw UsageError("{}: cannot be written: {}.", path, std::strerror(errno));
    const bool taken = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!taken && stands_at(file, path)) return file;
    close(file);
    if (taken) refuse_second(path);
  }  // another run has replaced it meanwhile
}

}  // namespace

ResultWriter::ResultWriter(std::string path, const Json& context, Replacing replacing)
    : path_(std::move(path)),
      head_("{\"context\": " + json_text(context) + ",\n\"benchmarks\": ["),
      trailer_at_(head_.size()),
      replacing_(replacing),
      place_(look_at_output(path_)) {
  if (place_.stream) {
    stream_ = open_output_stream(path_);
    if (const int error = write_all(stream_, head_); error != 0) fail_to_begin(error);
    return;
  }
  older_ = lock_older(path_);
  if (older_ < 0 && replacing_ == Replacing::with_first_row) {
    begin();
    take_place();
  }
}

ResultWriter::~ResultWriter() {
  try {
    if (replacing_ == Replacing::with_first_row || place_.stream) finish();
  } catch (const Interrupted&) {  // the reader has gone, as it wanted
  } catch (const ResultFileError& error) {
    tell("rdmameter: {}\n", error.what());
  }
  if (stream_ >= 0) close(stream_);
  if (older_ >= 0) close(older_);
}

/// A result without rows, beside the older one.
void ResultWriter::begin() {
  file_.emplace(path_, place_.mode);
  flock(file_->fd(), LOCK_EX | LOCK_NB);
  const std::uint64_t begin = 0;
  if (const int error = write_all(file_->fd(), head_ + std::string(kTrailer), &begin); error != 0)
    fail_to_begin(error);
}

void ResultWriter::fail_to_begin(int error) {
  file_.reset();
  if (stream_ >= 0) close(std::exchange(stream_, -1));
  finished_ = true;
  fail("writing the context", error);
}

void ResultWriter::take_place() {
  placed_ = true;
  const int error = file_->put(older_ >= 0);
  if (error == EEXIST) refuse_second(path_);
  if (error != 0)
    throw ResultFileError("{}: cannot be replaced: {}. The rows are in {}.", path_,
                          std::strerror(error), file_->keep());
  if (older_ >= 0) close(std::exchange(older_, -1));
}

/// What does not arrive whole is taken back.
void ResultWriter::replace_trailer(const std::string& text, const char* step) {
  const int error = write_all(file_->fd(), text, &trailer_at_);
  if (error == 0) return;
  // Both act on bytes that the file had already, so neither needs room.
  int undone = ftruncate(file_->fd(), static_cast<off_t>(trailer_at_ + kTrailer.size()));
  if (undone == 0) undone = write_all(file_->fd(), kTrailer, &trailer_at_);
  fail(undone == 0 ? step : fmt::format("{}, and taking it back,", step).c_str(), error);
}

std::exception_ptr ResultWriter::try_to_append(const Row& row) {
  try {
    append(row);
  } catch (const ResultFileError&) {
    return std::current_exception();
  }
  return nullptr;
}

void ResultWriter::append(const Row& row) {
  if (finished_) fail("appending a row", EBADF);
  if (!place_.stream && !file_) begin();
  const std::string text = (rows_ == 0 ? "\n" : ",\n") + json_text(row_to_json(row));
  if (file_) {
    replace_trailer(text + std::string(kTrailer), "appending a row");
  } else if (const int error = write_all(stream_, text); error != 0) {
    finished_ = true;  // the trailer would fail, too
    fail("appending a row", error);
  }
  trailer_at_ += text.size();
  ++rows_;
  if (file_ && !placed_ && replacing_ == Replacing::with_first_row) take_place();
}

void ResultWriter::finish(std::string_view keys) {
  if (std::exchange(finished_, true)) return;
  const std::string trailer =
      keys.empty() ? std::string(kTrailer) : fmt::format("\n],\n{}}}\n", keys);
  if (file_ && !keys.empty()) replace_trailer(trailer, "closing");
  int error = 0;
  if (place_.stream) {
    error = write_all(stream_, trailer);
    // A network file system may tell of a full disk no earlier than now.
    if (close(std::exchange(stream_, -1)) != 0 && error == 0) error = errno;
  } else if (replacing_ == Replacing::when_finished) {
    if (!file_) begin();
    error = file_->close();
    if (error == 0) take_place();
  } else if (file_) {
    error = file_->close();
  }
  if (error != 0) fail("closing", error);
}

void ResultWriter::fail(const char* step, int error) const {
  if (error == EINTR) throw Interrupted("interrupted");
  if (error == EPIPE && is_stdout(path_)) throw Interrupted("the reader of stdout has gone");
  throw ResultFileError("{}: {} failed: {}. {} row{} before it {} safe.", path_, step,
                        std::strerror(error), rows_, rows_ == 1 ? "" : "s",
                        rows_ == 1 ? "is" : "are");
}

}  // namespace rdmameter
