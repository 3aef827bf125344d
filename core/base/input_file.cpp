// SPDX-License-Identifier: Apache-2.0
#include "core/base/input_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "core/base/error.h"
#include "core/base/thread.h"

namespace rdmameter {
namespace {

constexpr std::size_t kPartBytes = 1 << 16;

class Input {
 public:
  Input(const std::string& path, const InputRules& rules)
      : path_(path),
        rules_(rules),
        // Without O_NONBLOCK, opening a FIFO waits for its writer.
        file_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)) {
    if (file_ < 0 || fstat(file_, &status_) != 0) fail_errno();
    if (regular()) signals_.reset();  // nothing waits
  }
  ~Input() {
    if (file_ >= 0) close(file_);
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  void check_secret() const {
    if (!rules_.secret) return;
    if (!S_ISREG(status_.st_mode) && !S_ISFIFO(status_.st_mode)) return;
    if (status_.st_uid != geteuid() && status_.st_uid != 0)
      refuse(fmt::format("belongs to user {}, who can change it; make it yours: chown {} {}",
                         status_.st_uid, geteuid(), path_));
    const mode_t of_others = S_IRWXG | S_IRWXO;
    if ((status_.st_mode & (is_credential() ? of_others & ~S_IRGRP : of_others)) != 0)
      refuse(fmt::format("other users can reach it (its mode is {:04o}): chmod 600 {}",
                         status_.st_mode & 07777, path_));
  }

  bool regular() const { return S_ISREG(status_.st_mode); }

  std::string read_as_ruled() {
    return rules_.last_lines > 0 && regular() ? read_end() : read_all();
  }

  void check_size() const {
    if (regular() && !rules_.beginning &&
        static_cast<std::size_t>(status_.st_size) > rules_.max_bytes)
      refuse_size();
  }

  /// @return  how many bytes more; 0 at the end
  std::size_t append_some(std::string& text, std::size_t bytes) {
    const std::size_t before = text.size();
    text.resize(before + bytes);
    const std::size_t got = read_some(text.data() + before, bytes);
    text.resize(before + got);
    bytes_ += got;
    if (bytes_ > rules_.max_bytes && !rules_.beginning) refuse_size();
    return got;
  }

 private:
  /// systemd may give a service's user its credentials, which are root's, by an access control
  /// list; the list's mask stands where the group's rights do.
  bool is_credential() const {
    const char* const folder = std::getenv("CREDENTIALS_DIRECTORY");
    return folder != nullptr && *folder == '/' && status_.st_uid == 0 &&
           std::filesystem::path(path_).parent_path() == folder;
  }

  std::string read_all() {
    check_size();
    std::string text;
    while (append_some(text, kPartBytes) > 0 && bytes_ <= rules_.max_bytes) {
    }
    text.resize(std::min(text.size(), rules_.max_bytes));
    return text;
  }

  /// Four times as much at each attempt, until the lines are in it.
  std::string read_end() const {
    const auto size = static_cast<std::size_t>(status_.st_size);
    const std::size_t max = std::min(size, rules_.max_bytes);
    for (std::size_t bytes = std::min(kPartBytes, max);; bytes = std::min(4 * bytes, max)) {
      const std::string text = read_at(size - bytes, bytes);
      const std::size_t begin = begin_of_lines(text);
      if (begin != text.npos) return text.substr(begin);
      if (bytes == size) return text;
      if (bytes == max) refuse_size();
    }
  }

  std::string read_at(std::size_t from, std::size_t bytes) const {
    std::string text(bytes, '\0');
    std::size_t done = 0;
    while (done < bytes) {
      const ssize_t got =
          pread(file_, text.data() + done, bytes - done, static_cast<off_t>(from + done));
      if (got < 0) fail_errno();
      if (got == 0) break;  // the file was truncated meanwhile
      done += static_cast<std::size_t>(got);
    }
    text.resize(done);
    return text;
  }

  /// Where the last lines begin; npos: somewhere before this part of the file.
  std::size_t begin_of_lines(std::string_view text) const {
    std::size_t at = text.ends_with('\n') ? text.size() - 1 : text.size();
    for (std::size_t lines = 0; lines < rules_.last_lines; ++lines) {
      at = at == 0 ? text.npos : text.rfind('\n', at - 1);
      if (at == text.npos) return text.npos;
    }
    return at + 1;
  }

  /// @return  how many bytes; 0 at the end
  std::size_t read_some(char* to, std::size_t bytes) {
    bool opened = bytes_ > 0 || !awaits_writer(), expired = false;
    for (;;) {
      const ssize_t got = read(file_, to, bytes);
      if (got > 0 || (got == 0 && opened)) return static_cast<std::size_t>(got);
      if (got < 0 && errno == EAGAIN && signals_)  // a writer is there, and may be measuring
        wait(std::chrono::nanoseconds(-1));
      else if (got < 0)
        fail_errno();
      else if (expired)
        refuse(fmt::format("cannot be read: no writer opened this FIFO within {} s",
                           std::chrono::duration<double>(rules_.for_writer).count()));
      else
        (wait(rules_.for_writer) ? opened : expired) = true;
    }
  }

  /// @param time  most of it; negative: any @return  false: the time is over @throws Interrupted
  bool wait(std::chrono::nanoseconds time) const {
    pollfd waited{file_, POLLIN, 0};
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
    const timespec max{.tv_sec = seconds.count(), .tv_nsec = (time - seconds).count()};
    const int ready = ppoll(&waited, 1, time.count() < 0 ? nullptr : &max, &signals_->before());
    if (ready < 0) throw Interrupted("interrupted");  // EINTR: the rest cannot be
    return ready > 0;
  }

  /// Its end may only mean that no writer has begun yet. A pipe without a name (a shell's process
  /// substitution) has had its writer.
  bool awaits_writer() const {
    struct statfs system {};
    return S_ISFIFO(status_.st_mode) && fstatfs(file_, &system) == 0 &&
           system.f_type != PIPEFS_MAGIC;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw UsageError("{}: {}", rules_.name.empty() ? path_ : rules_.name, why);
  }
  [[noreturn]] void refuse_size() const {
    refuse(fmt::format("is larger than {} MiB.", rules_.max_bytes >> 20));
  }
  [[noreturn]] void fail_errno() const {
    refuse(fmt::format("cannot be read: {}.", std::strerror(errno)));
  }

  const std::string path_;
  const InputRules rules_;
  /// Before the file is opened: those that end the program come in wait() alone, so that none is
  /// missed between a look and the wait after it.
  std::optional<BlockedSignals> signals_{signal_set({SIGINT, SIGTERM, SIGHUP})};
  const int file_;
  struct stat status_ {};
  std::size_t bytes_ = 0;  ///< read so far
};

}  // namespace

std::string read_input(const std::string& path, const InputRules& rules) {
  Input input(path, rules);
  input.check_secret();
  return input.read_as_ruled();
}

InputParts open_input(const std::string& path, const InputRules& rules) {
  const auto input = std::make_shared<Input>(path, rules);
  input->check_secret();
  input->check_size();
  return {.regular = input->regular(), .append_to = [input](std::string& text, std::size_t bytes) {
            return input->append_some(text, bytes) > 0;
          }};
}

}  // namespace rdmameter
