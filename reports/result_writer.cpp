// SPDX-License-Identifier: Apache-2.0
// Writing a result file so that it is valid JSON after every row.
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "reports/result_file.h"
#include "reports/row_json.h"

namespace rdmameter {
namespace {

constexpr std::string_view kTrailer = "\n]}\n";

/// Past RLIMIT_FSIZE write() raises SIGXFSZ, whose default is death, before it returns EFBIG. While
/// this lives, the signal stays away from the calling thread, whoever handles it otherwise.
class WithoutFileSizeSignal {
 public:
  WithoutFileSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~WithoutFileSizeSignal() {
    if (sigismember(&before_, SIGXFSZ) == 1) return;
    const timespec at_once{};
    while (sigtimedwait(&signal_, nullptr, &at_once) == SIGXFSZ) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutFileSizeSignal(const WithoutFileSizeSignal&) = delete;
  WithoutFileSizeSignal& operator=(const WithoutFileSizeSignal&) = delete;

 private:
  sigset_t signal_, before_;
};

/// Writes all of `text`, at `offset` or (null) where the stream stands.
/// @return 0 or the errno value
int write_all(int file, std::string_view text, const std::uint64_t* offset) {
  const WithoutFileSizeSignal guard;
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = offset != nullptr ? pwrite(file, text.data() + done, text.size() - done,
                                                       static_cast<off_t>(*offset + done))
                                              : write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    done += static_cast<std::size_t>(written);
  }
  return 0;
}

/// One line. Text that is not UTF-8 (a device's name, an errno text) must not cost the row.
std::string to_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

ResultWriter::ResultWriter(std::string path, const nlohmann::ordered_json& context)
    : path_(std::move(path)) {
  if (path_ == "-") {
    file_ = STDOUT_FILENO;
  } else {
    // Emptied only when it is ours: two runs must not write into each other's result.
    file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0)
      throw UsageError(fmt::format("{}: cannot be written: {}.", path_, std::strerror(errno)));
    owned_ = true;
    struct stat status {};
    seekable_ = fstat(file_, &status) == 0 && S_ISREG(status.st_mode);
    if (seekable_ && flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(file_);
      throw UsageError(fmt::format("{}: another process is writing this result.", path_));
    }
  }
  const std::string head = "{\"context\": " + to_line(context) + ",\n\"benchmarks\": [";
  int error = seekable_ && ftruncate(file_, 0) != 0 ? errno : 0;
  const std::uint64_t begin = 0;
  if (error == 0)
    error = seekable_ ? write_all(file_, head + std::string(kTrailer), &begin)
                      : write_all(file_, head, nullptr);
  if (error != 0) {
    if (owned_) close(file_);
    file_ = -1;
    fail("writing the context", error);
  }
  trailer_at_ = head.size();
}

ResultWriter::~ResultWriter() {
  try {
    finish();
  } catch (const ResultFileError& error) {
    fmt::print(stderr, "rdmameter: {}\n", error.what());
  }
}

void ResultWriter::append(const Row& row) {
  if (file_ < 0) fail("appending a row", EBADF);
  std::string text = (rows_ == 0 ? "\n" : ",\n") + to_line(row_to_json(row));
  const std::uint64_t length = text.size();
  if (seekable_) {
    text += kTrailer;
    if (const int error = write_all(file_, text, &trailer_at_); error != 0) {
      // Both act on bytes that the file had already, so neither needs room.
      int undone = ftruncate(file_, static_cast<off_t>(trailer_at_ + kTrailer.size()));
      if (undone == 0) undone = write_all(file_, kTrailer, &trailer_at_);
      fail(undone == 0 ? "appending a row" : "appending a row, and taking it back,", error);
    }
  } else if (const int error = write_all(file_, text, nullptr); error != 0) {
    fail("appending a row", error);
  }
  trailer_at_ += length;
  ++rows_;
}

void ResultWriter::finish() {
  const int file = std::exchange(file_, -1);
  if (file < 0) return;
  int error = seekable_ ? 0 : write_all(file, kTrailer, nullptr);
  // A network file system may tell of a full disk no earlier than now.
  if (owned_ && close(file) != 0 && error == 0) error = errno;
  if (error != 0) fail("closing", error);
}

void ResultWriter::fail(const char* step, int error) const {
  throw ResultFileError(
      fmt::format("{}: {} failed: {}. {} row{} before it {} safe.", path_, step,
                  std::strerror(error), rows_, rows_ == 1 ? "" : "s", rows_ == 1 ? "is" : "are"),
      error);
}

}  // namespace rdmameter
