// SPDX-License-Identifier: Apache-2.0
// Writing a result file so that it is valid JSON after every row.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/log/tell.h"
#include "core/result/result_file.h"
#include "core/result/row_json.h"

namespace rdmameter {
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
  throw UsageError(fmt::format("{}: another process is writing this result.", path));
}

/// The file that is there, locked against other runs; -1: there is none.
int lock_older(const std::string& path) {
  for (;;) {
    const int file = open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) return -1;
    if (file < 0)
      throw UsageError(fmt::format("{}: cannot be written: {}.", path, std::strerror(errno)));
    const bool taken = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!taken && stands_at(file, path)) return file;
    close(file);
    if (taken) refuse_second(path);
  }  // another run has replaced it meanwhile
}

}  // namespace

ResultWriter::ResultWriter(std::string path, const nlohmann::ordered_json& context,
                           Replacing replacing)
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
    throw ResultFileError(fmt::format("{}: cannot be replaced: {}. The rows are in {}.", path_,
                                      std::strerror(error), file_->keep()),
                          error);
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
  throw ResultFileError(
      fmt::format("{}: {} failed: {}. {} row{} before it {} safe.", path_, step,
                  std::strerror(error), rows_, rows_ == 1 ? "" : "s", rows_ == 1 ? "is" : "are"),
      error);
}

}  // namespace rdmameter
