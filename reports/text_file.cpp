// SPDX-License-Identifier: Apache-2.0
#include "reports/text_file.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/error.h"
#include "reports/result_file.h"

namespace rdmameter {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

[[noreturn]] void fail(const std::string& path, int error) {
  throw ResultFileError(fmt::format("{}: cannot be written: {}.", path, std::strerror(error)),
                        error);
}

/// @return 0 or the errno value. Closes the file: a network file system may tell of a full disk no
/// earlier.
int write_and_close(File file, std::string_view text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  const int error = written ? 0 : errno;
  const bool closed = std::fclose(file.release()) == 0;
  return error != 0 ? error : closed ? 0 : errno;
}

File open(const std::string& shown, const std::string& path) {
  File file(std::fopen(path.c_str(), "wb"), std::fclose);
  if (!file)
    throw UsageError(fmt::format("{}: cannot be written: {}.", shown, std::strerror(errno)));
  return file;
}

/// May another file be moved into its place?
bool replaceable(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

}  // namespace

void write_text_file(const std::string& path, std::string_view text) {
  if (path == "-") {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail("stdout", errno);
    return;
  }
  if (!replaceable(path)) {
    if (const int error = write_and_close(open(path, path), text); error != 0) fail(path, error);
    return;
  }
  const std::string beside = fmt::format("{}.{}.new", path, getpid());
  int error = write_and_close(open(path, beside), text);
  if (error == 0 && std::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  std::remove(beside.c_str());
  fail(path, error);
}

}  // namespace rdmameter
