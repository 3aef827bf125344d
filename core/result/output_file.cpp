// SPDX-License-Identifier: Apache-2.0
#include "core/result/output_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/base/error.h"
#include "core/base/thread.h"
#include "core/log/print.h"
#include "core/result/result_file.h"

namespace rdmameter {
namespace {

/// Past RLIMIT_FSIZE write() raises SIGXFSZ, whose default is death, before it returns EFBIG. While
/// this lives, the signal is blocked in the calling thread, whatever its handler.
class WithoutFileSizeSignal {
 public:
  ~WithoutFileSizeSignal() {
    if (sigismember(&blocked_.before(), SIGXFSZ) == 1) return;
    const timespec at_once{};
    while (sigtimedwait(&signal_, nullptr, &at_once) == SIGXFSZ) {
    }
  }

 private:
  const sigset_t signal_ = signal_set({SIGXFSZ});  // before what blocks it
  const BlockedSignals blocked_{signal_};
};

[[noreturn]] void refuse_output(const std::string& path, const std::string& why) {
  throw UsageError("{}: cannot be written: {}.", path, why);
}

[[noreturn]] void refuse_output_errno(const std::string& path) {
  refuse_output(path, std::strerror(errno));
}

/// Which of this process's descriptors the path means. To open it anew would start a file behind it
/// again from its beginning.
std::optional<int> own_descriptor(std::string_view path) {
  if (path == "-" || path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string_view digits = path.substr(folder.size());
    int number = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc() && end == digits.data() + digits.size()) return number;
  }
  return std::nullopt;
}

std::string folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

std::string random_name() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number)
    number = static_cast<std::uint64_t>(getpid());
  return fmt::format(".rdmameter-{:016x}.new", number);
}

void check_written(const std::string& path, int error) {
  if (error == 0) return;
  if (error == EINTR) throw Interrupted("interrupted");
  if (error == EPIPE && is_stdout(path)) return;  // its reader has seen enough (`| head`)
  throw ResultFileError("{}: cannot be written: {}.", path, std::strerror(error));
}

int write_and_close(int file, std::string_view text) {
  const int error = write_all(file, text);
  const bool closed = close(file) == 0;
  return error != 0 || closed ? error : errno;
}

}  // namespace

bool is_stdout(std::string_view path) {
  return own_descriptor(path) == STDOUT_FILENO;
}

OutputPlace look_at_output(const std::string& path, Writing writing) {
  if (own_descriptor(path)) return {.stream = true, .mode = {}};
  struct stat link {};
  struct stat status {};
  const bool there = lstat(path.c_str(), &link) == 0;
  if (!there && errno != ENOENT) refuse_output_errno(path);
  const bool leads_somewhere = there && stat(path.c_str(), &status) == 0;
  const mode_t type = leads_somewhere ? status.st_mode & S_IFMT : 0;
  const bool stream = type == S_IFCHR || type == S_IFIFO || type == S_IFSOCK;
  if (there && S_ISLNK(link.st_mode) && !stream)
    refuse_output(path, "it is a symbolic link; name the file that it leads to");
  if (type == S_IFDIR) refuse_output(path, std::strerror(EISDIR));
  if (type == S_IFBLK) refuse_output(path, "it is a block device");
  if (there && access(path.c_str(), W_OK) != 0) refuse_output_errno(path);
  if (stream) return {.stream = true, .mode = {}};
  // A new file is made there, and takes the older one's place when it is whole.
  const std::string folder = folder_of(path);
  if (!(there && writing == Writing::appended) && access(folder.c_str(), W_OK | X_OK) != 0)
    refuse_output(path, fmt::format("its folder {}: {}", folder, std::strerror(errno)));
  if (!there) return {};
  return {.stream = false, .mode = status.st_mode & 0777};
}

namespace {

/// No O_CREAT, no O_TRUNC: nothing may come of it where a file has taken the stream's place.
/// Without O_NONBLOCK, opening a FIFO would wait for its reader for ever.
/// @return  a descriptor that waits, or -1 and errno  @throws Interrupted
int open_stream(const std::string& path) {
  constexpr int kHow = O_WRONLY | O_CLOEXEC | O_NOCTTY;
  constexpr std::chrono::milliseconds kBetween{50};
  constexpr std::chrono::seconds kForReader{30};  // as an input waits for its writer
  const auto begun = std::chrono::steady_clock::now();
  for (;;) {
    const int file = open(path.c_str(), kHow | O_NONBLOCK);
    if (file >= 0) {
      fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
      return file;
    }
    struct stat status {};
    if (errno != ENXIO || stat(path.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) return -1;
    if (std::chrono::steady_clock::now() - begun > kForReader)
      refuse_output(path,
                    fmt::format("no reader opened this FIFO within {} s", kForReader.count()));
    if (wait_or_end(kBetween)) throw Interrupted("interrupted");
  }
}

}  // namespace

void check_writable(const std::string& output, const char* option) {
  if (output.empty()) return;
  try {
    look_at_output(output);
  } catch (const UsageError& error) {
    throw UsageError("{} {}", option, error.what());
  }
}

int open_output_stream(const std::string& path) {
  const std::optional<int> own = own_descriptor(path);
  if (own == STDOUT_FILENO) flush_print();
  const int file = own ? fcntl(*own, F_DUPFD_CLOEXEC, 0) : open_stream(path);
  if (file < 0) refuse_output_errno(path);
  struct stat status {};
  if (!own && (fstat(file, &status) != 0 || S_ISREG(status.st_mode))) {
    close(file);
    refuse_output(path, "it has just become another file");
  }
  return file;
}

int write_all(int file, std::string_view text, const std::uint64_t* offset) {
  const WithoutFileSizeSignal guard;
  if (offset == nullptr) return write_patiently(file, text);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written =
        pwrite(file, text.data() + done, text.size() - done, static_cast<off_t>(*offset + done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    done += static_cast<std::size_t>(written);
  }
  return 0;
}

NewFile::NewFile(std::string path, std::optional<mode_t> mode)
    : path_(std::move(path)), made_(folder_of(path_) + "/" + random_name()) {
  file_ = open(made_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file_ < 0) refuse_output_errno(path_);
  // A file system without permissions refuses this, and has none to keep.
  if (mode && fchmod(file_, *mode) != 0 && errno != EPERM) {
    const int error = errno;
    ::close(file_);
    std::remove(made_.c_str());
    refuse_output(path_, std::strerror(error));
  }
}

NewFile::~NewFile() {
  if (file_ >= 0) ::close(file_);
  if (!made_.empty()) std::remove(made_.c_str());
}

int NewFile::put(bool replace) {
  int moved = replace
                  ? std::rename(made_.c_str(), path_.c_str())
                  : renameat2(AT_FDCWD, made_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE);
  // A file system without that flag has no better than to look.
  if (moved != 0 && !replace && (errno == EINVAL || errno == ENOSYS))
    moved = access(path_.c_str(), F_OK) == 0 ? (errno = EEXIST, -1)
                                             : std::rename(made_.c_str(), path_.c_str());
  if (moved != 0) return errno;
  made_.clear();
  return 0;
}

int NewFile::close() noexcept {
  const int file = std::exchange(file_, -1);
  return file < 0 || ::close(file) == 0 ? 0 : errno;
}

std::string NewFile::keep() {
  return std::exchange(made_, {});
}

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
