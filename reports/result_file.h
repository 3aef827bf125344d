// SPDX-License-Identifier: Apache-2.0
// A result file: {"context": {...}, "benchmarks": [row, ...]}, as Google Benchmark writes it. It is
// valid JSON after every row, so that a run that dies keeps what it had measured.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "reports/row.h"

namespace rdmameter {

/// "A key's meaning never changes under one schema name."
inline constexpr std::string_view kResultSchema = "rdmameter.result.v1";

/// A result could not be written (full disk, limit of the file's size). Exit status 99.
struct ResultFileError : std::runtime_error {
  ResultFileError(const std::string& text, int error_number)
      : std::runtime_error(text), error_number(error_number) {}
  int error_number;  ///< errno value
};

/// What `context` is made of. What is not known, or not there, stays null.
struct ContextParts {
  nlohmann::ordered_json
      google_benchmark;          ///< date, host_name, num_cpus...: keys of `context` itself
  std::string command;           ///< without secrets
  nlohmann::ordered_json floor;  ///< the instrument's own cost
  nlohmann::ordered_json initiator, responder;  ///< environments
  nlohmann::ordered_json more;                  ///< further keys of context.rdmameter
};
nlohmann::ordered_json make_context(const ContextParts& parts);

/// Writes a result, row by row; appending costs the row's own length.
/// A regular file is whole after every append. What cannot be rewritten ("-": stdout, a pipe) is
/// whole once finish() or the destructor has run.
class ResultWriter {
 public:
  /// Empties the file, or creates it, and writes the context.
  /// @throws UsageError       it cannot be opened, or another process is writing it
  /// @throws ResultFileError  it cannot be written
  ResultWriter(std::string path, const nlohmann::ordered_json& context);
  ~ResultWriter();
  ResultWriter(const ResultWriter&) = delete;
  ResultWriter& operator=(const ResultWriter&) = delete;

  /// @throws ResultFileError  not written; a regular file is as it was before
  void append(const Row& row);

  /// Ends and closes the file. Further calls do nothing.
  /// @throws ResultFileError  the last bytes did not arrive
  void finish();

  std::uint64_t rows() const noexcept { return rows_; }  ///< rows that are safe

 private:
  [[noreturn]] void fail(const char* step, int error) const;

  std::string path_;
  int file_ = -1;
  bool owned_ = false;            ///< close it in the end
  bool seekable_ = false;         ///< a regular file: the trailer is rewritten at each append
  std::uint64_t trailer_at_ = 0;  ///< where the next row goes [B]
  std::uint64_t rows_ = 0;
};

/// A result file, read.
struct ResultFile {
  std::string path;
  nlohmann::ordered_json context;
  std::vector<Row> rows;
};

/// @throws UsageError  naming the file and, where known, line or row: it cannot be read, is no
/// JSON, is
///                     cut off, has another schema, lacks a key, or has a value out of range
ResultFile read_result(const std::string& path);

}  // namespace rdmameter
