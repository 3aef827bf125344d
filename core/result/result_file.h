// SPDX-License-Identifier: Apache-2.0
// A result file: {"context": {...}, "benchmarks": [row, ...]}, as Google Benchmark writes it. It is
// valid JSON after every row, so that a run that dies keeps what it had measured.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/checked_json.h"
#include "core/result/output_file.h"
#include "core/result/row.h"

namespace rdmameter {

/// "A key's meaning never changes under one schema name."
inline constexpr std::string_view kResultSchema = "rdmameter.result.v1";

/// The parts of `context`. A part that is not known, or does not exist, stays null.
struct ContextParts {
  Json google_benchmark;      ///< date, host_name, num_cpus...: keys of `context` itself
  std::string command;        ///< without secrets
  Json overhead;              ///< the instrument's, in the key `floor`
  Json initiator, responder;  ///< environments
  Json extra;                 ///< further keys of context.rdmameter
};
Json make_context(const ContextParts& parts);

/// When a new result takes the place of a file that is there already; until then that one is as it
/// was, and whatever ends the program leaves one of the two, valid.
enum class Replacing { with_first_row, when_finished };

/// Writes a result, row by row; appending costs the row's own length.
/// A file is whole after every append; where none was there, one without rows stands there from
/// the beginning (but for Replacing::when_finished). What cannot be rewritten ("-": stdout, a pipe)
/// is whole once finish() or the destructor has run.
class ResultWriter {
 public:
  /// @throws UsageError       nothing can be written there (core/result/output_file.h), or another
  ///                          process is writing it
  /// @throws ResultFileError  it cannot be written
  ResultWriter(std::string path, const Json& context,
               Replacing replacing = Replacing::with_first_row);
  /// Finishes, but for Replacing::when_finished: what was not finished never stood there.
  ~ResultWriter();
  ResultWriter(const ResultWriter&) = delete;
  ResultWriter& operator=(const ResultWriter&) = delete;

  /// @throws ResultFileError  not written; a file is as it was before
  /// @throws Interrupted      it is stdout, whose reader has gone
  void append(const Row& row);
  /// For who has to show a row that no file takes before the run ends.
  /// @return  the ResultFileError; null: it is written
  std::exception_ptr try_to_append(const Row& row);

  /// Ends and closes the file. Further calls do nothing.
  /// @param keys  for other tools' readers: the text of further keys and their values, as it is;
  ///              empty: none
  /// @throws ResultFileError  the last bytes did not arrive
  void finish(std::string_view keys = {});

  std::uint64_t rows() const noexcept { return rows_; }  ///< rows that are safe

 private:
  void begin();
  void take_place();
  void replace_trailer(const std::string& text, const char* step);
  [[noreturn]] void fail_to_begin(int error);
  [[noreturn]] void fail(const char* step, int error) const;

  std::string path_, head_;
  std::uint64_t trailer_at_;  ///< where the next row goes [B]
  Replacing replacing_;
  OutputPlace place_;
  std::optional<NewFile> file_;  ///< the trailer is rewritten at each append
  int stream_ = -1;              ///< used instead of file_
  int older_ = -1;               ///< the file to be replaced, locked meanwhile
  bool placed_ = false;          ///< file_ stands at path_
  bool finished_ = false;
  std::uint64_t rows_ = 0;
};

/// A result file, read.
struct ResultFile {
  std::string path;
  Json context;
  std::vector<Row> rows;
};

/// What becomes of a file's parts, in this order.
struct ResultParts {
  std::function<void(Json& context)> context;  ///< checked: ours, of our schema
  /// @param where  "FILE: row 3 (NAME)", for the text of errors
  std::function<void(Row row, const std::string& where)> row;
};

/// Reads row by row: neither the file's tree nor all of its rows ever stand in memory.
/// @param reading  file or metrics, which is several times as fast
/// @throws UsageError  naming the file and, where known, line or row: it cannot be read, is empty,
///                     cut off, no JSON, no result, of another schema, lacks a key, or has a value
///                     out of range
void read_rows(const std::string& path, const ResultParts& parts, Reading reading = Reading::file);
/// read_rows() of a file that is read more than once: of what gives its bytes only once (stdin, a
/// pipe) the text is kept.
using RowsReader = std::function<void(const ResultParts& parts, Reading reading)>;
RowsReader rows_reader(const std::string& path);
/// All of it. @throws as read_rows()
ResultFile read_result(const std::string& path, Reading reading = Reading::file);

}  // namespace rdmameter
