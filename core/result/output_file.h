// SPDX-License-Identifier: Apache-2.0
// Writing a file that a user named: never through a link that an attacker may have planted, and
// never so that an older file is lost before the new one is whole.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace rdmameter {

/// A result could not be written (full disk, limit of the file's size). Exit status 99.
struct ResultFileError : TextError {
  using TextError::TextError;
};

/// The kind of file at an output's path.
struct OutputPlace {
  bool stream = false;         ///< a pipe, a terminal, /dev/null...: written as it goes
  std::optional<mode_t> mode;  ///< permissions of the file that is there; nothing: there is none
};

/// How an older file becomes the newer one.
enum class Writing { replaced, appended };

/// "-", /dev/stdout, /dev/fd/1...
bool is_stdout(std::string_view path);

/// Creates and changes nothing.
/// @throws UsageError  nothing can be written there: a folder, no permission, or a symbolic link to
///                     what could be overwritten
OutputPlace look_at_output(const std::string& path, Writing writing = Writing::replaced);

/// Checks the output path that an option was given; empty: the option was not given.
/// @throws UsageError  which names the option, too
void check_writable(const std::string& output, const char* option = "-o");

/// Opens a stream. "-", /dev/stdout, /dev/stderr and /dev/fd/N are what this process has open
/// already. A FIFO has 30 s to get a reader.
/// @return  a descriptor of the caller's  @throws UsageError  @throws Interrupted  meanwhile
int open_output_stream(const std::string& path);

/// Writes all of `text`, at `offset` or (null) where the stream stands.
/// @return 0 or the errno value; EINTR: the program must end, and the stream is not read
int write_all(int file, std::string_view text, const std::uint64_t* offset = nullptr);

/// A file in the making, in its final folder, under an unpredictable name. Unless it was put in its
/// place, it is removed with the object.
class NewFile {
 public:
  /// @param mode  of the file that it replaces; nothing: what the umask leaves
  /// @throws UsageError  it cannot be made
  NewFile(std::string path, std::optional<mode_t> mode);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  int fd() const noexcept { return file_; }

  /// Moves it to its path. @param replace  what stands there; else that is EEXIST
  /// @return 0 or the errno value
  int put(bool replace);

  /// Closes it. A network file system may tell of a full disk no earlier. @return 0 or errno value
  int close() noexcept;

  /// Leaves it under its first name. @return that name
  std::string keep();

 private:
  std::string path_, made_;  ///< made_: empty once it has another owner
  int file_ = -1;
};

// ---- A report into a file, whole or not at all.

/// Writes the text to a file beside `path` and moves that there, so that a reader (Prometheus'
/// collector, a browser) never sees half of it. A pipe, a device or /dev/stdout is written
/// directly; "-" is stdout.
/// @throws UsageError       nothing can be written there
/// @throws ResultFileError  it cannot be written; what was there before is as it was
void write_text_file(const std::string& path, std::string_view text);

/// Adds the text at the end of a file, which is made where there is none. As for write_text_file(),
/// but a reader may see a part.
void append_to_file(const std::string& path, std::string_view text);

}  // namespace rdmameter
