// SPDX-License-Identifier: Apache-2.0
#include "bench/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace rdmameter {
namespace {

/// Our environment with more variables, which replace those of the same name.
std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> made;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string entry(*each);
    const std::string name = entry.substr(0, entry.find('='));
    bool replaced = false;
    for (const auto& [known, value] : variables) replaced |= known == name;
    if (!replaced) made.push_back(entry);
  }
  for (const auto& [name, value] : variables) made.push_back(name + "=" + value);
  return made;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> made;
  for (std::string& text : texts) made.push_back(text.data());
  made.push_back(nullptr);
  return made;
}

/// @return  its stdout's reading end
int start(const std::vector<std::string>& words,
          const std::vector<std::pair<std::string, std::string>>& variables, pid_t& child) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw MeasurementError(fmt::format("pipe: {}", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<std::string> arguments = words, environment = environment_with(variables);
  const int error = posix_spawn(&child, words.front().c_str(), &actions, nullptr,
                                pointers(arguments).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error == 0) return ends[0];
  close(ends[0]);
  throw MeasurementError(
      fmt::format("{} cannot be started: {}", words.front(), std::strerror(error)));
}

}  // namespace

ChildEnd run_child(const std::vector<std::string>& words,
                   const std::vector<std::pair<std::string, std::string>>& variables,
                   const InterruptSource& interrupt, std::chrono::milliseconds last_words) {
  pid_t child = 0;
  const int output = start(words, variables, child);
  ChildEnd end;
  bool told = false;
  std::array<char, 4096> part{};
  for (;;) {
    std::array<pollfd, 2> waited{pollfd{output, POLLIN, 0}, pollfd{interrupt.fd(), POLLIN, 0}};
    if (poll(waited.data(), told ? 1 : 2, told ? static_cast<int>(last_words.count()) : -1) == 0) {
      kill(child, SIGKILL);  // it does not listen; what it started may hold its stdout
      break;
    }
    if (!told && interrupt.requested()) {
      kill(child, SIGINT);  // a terminal sends it to both, a `kill` to us alone
      told = true;
    }
    if (waited[0].revents == 0) continue;
    const ssize_t got = read(output, part.data(), part.size());
    if (got == 0 || (got < 0 && errno != EINTR)) break;
    if (got > 0) end.output.append(part.data(), static_cast<std::size_t>(got));
  }
  close(output);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (interrupt.requested()) throw Interrupted("interrupted");
  return end;
}

}  // namespace rdmameter
