// SPDX-License-Identifier: Apache-2.0
#include "core/wire/token_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/result/output_file.h"
#include "core/wire/auth.h"

namespace rdmameter {
namespace {

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

/// Why this folder's files are not this user's alone; empty: they are. Another user may have made
/// it, or a link in its place.
std::string why_not_own(const std::string& folder) {
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0) return std::strerror(errno);
  if (!S_ISDIR(status.st_mode)) return "it is no folder";
  if (status.st_uid != geteuid()) return fmt::format("it belongs to user {}", status.st_uid);
  if ((status.st_mode & kOthers) != 0) return "other users can reach it";
  return {};
}

std::string why_unusable(const std::string& folder) {
  if (mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) return std::strerror(errno);
  return why_not_own(folder);
}

std::string file_in(const std::string& folder, std::uint16_t port) {
  return fmt::format("{}/{}.token", folder, port);
}

/// A reader sees the whole token or none.
void write_token(const std::string& path, std::string_view token) {
  NewFile file{path, S_IRUSR | S_IWUSR};
  int error = write_all(file.fd(), fmt::format("{}\n", token));
  if (error == 0) error = file.close();
  if (error == 0) error = file.put(true);
  if (error != 0) throw UsageError("{}: cannot be written: {}.", path, std::strerror(error));
}

}  // namespace

TokenFolders TokenFolders::of_this_user() {
  std::vector<std::string> paths;
  // It stays another user's after su or sudo -E: that one could put another folder in
  // our one's place.
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime == '/' && why_not_own(runtime).empty())
    paths.push_back(std::string(runtime) + "/rdmameter");
  paths.push_back(fmt::format("/tmp/rdmameter-{}", geteuid()));
  return TokenFolders{std::move(paths)};
}

std::string TokenFolders::leave(std::uint16_t port, std::string_view token) const {
  remove(port);
  std::string refusals;
  for (const std::string& folder : paths_) {
    if (const std::string why = why_unusable(folder); !why.empty()) {
      refusals += fmt::format("{}: {}; ", folder, why);
      continue;
    }
    const std::string path = file_in(folder, port);
    write_token(path, token);
    return path;
  }
  throw UsageError(
      "no folder for this server's token: {}make XDG_RUNTIME_DIR name a folder that only you can "
      "reach, or choose the token yourself with --token-file, or let every user of this machine in "
      "with --no-auth",
      refusals);
}

void TokenFolders::remove(std::uint16_t port) const noexcept {
  for (const std::string& folder : paths_) {
    if (why_not_own(folder).empty()) unlink(file_in(folder, port).c_str());
  }
}

std::optional<TokenFolders::Found> TokenFolders::find(std::uint16_t port) const {
  std::string newest;
  std::pair<std::time_t, long> when;
  for (const std::string& folder : paths_) {
    const std::string path = file_in(folder, port);
    struct stat status {};
    if (!why_not_own(folder).empty() || lstat(path.c_str(), &status) != 0) continue;
    const decltype(when) changed{status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
    if (!newest.empty() && changed <= when) continue;
    newest = path;
    when = changed;
  }
  if (newest.empty()) return std::nullopt;
  const std::string text =
      read_input(newest, {.max_bytes = kTokenMaxChars + 1, .beginning = true, .secret = true});
  const std::string token = text.substr(0, text.find('\n'));
  if (const std::string why = why_bad_token(token); !why.empty())
    throw UsageError("{}: {}. Remove the file, and start the server again.", newest, why);
  return Found{token, newest};
}

std::string TokenFolders::text() const {
  return fmt::format("{}", fmt::join(paths_, " or "));
}

}  // namespace rdmameter
