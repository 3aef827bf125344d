// SPDX-License-Identifier: Apache-2.0
#include "core/result/text_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/base/error.h"
#include "core/result/output_file.h"
#include "core/result/result_file.h"

namespace rdmameter {
namespace {

void check_written(const std::string& path, int error) {
  if (error == 0) return;
  if (error == EINTR) throw Interrupted("interrupted");
  if (error == EPIPE && is_stdout(path)) return;  // its reader has seen enough (`| head`)
  throw ResultFileError(fmt::format("{}: cannot be written: {}.", path, std::strerror(error)),
                        error);
}

int write_and_close(int file, std::string_view text) {
  const int error = write_all(file, text);
  const bool closed = close(file) == 0;
  return error != 0 || closed ? error : errno;
}

}  // namespace

void write_text_file(const std::string& path, std::string_view text) {
  const OutputPlace place = look_at_output(path);
  if (place.stream) return check_written(path, write_and_close(open_output_stream(path), text));
  NewFile file(path, place.mode);
  int error = write_all(file.fd(), text);
  if (const int closing = file.close(); error == 0) error = closing;
  check_written(path, error != 0 ? error : file.put(true));
}

void append_to_file(const std::string& path, std::string_view text) {
  const OutputPlace place = look_at_output(path, Writing::appended);
  if (place.stream) return check_written(path, write_and_close(open_output_stream(path), text));
  constexpr mode_t kMode = 0666;  // less the umask
  const int file =
      open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kMode);
  check_written(path, file < 0 ? errno : write_and_close(file, text));
}

}  // namespace rdmameter
