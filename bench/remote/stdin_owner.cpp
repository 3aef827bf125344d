// SPDX-License-Identifier: Apache-2.0
#include "bench/remote/stdin_owner.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "core/log/print.h"
#include "core/wire/auth.h"

namespace rdmameter {
namespace {

/// A server looks this often whether it has a client. Far below kAloneTimeout, and rare enough not
/// to be seen in a measurement.
constexpr std::chrono::seconds kAloneLook{10};

/// @return  false: stdin has ended
bool read_stdin(std::string& text, std::size_t max_bytes) {
  std::array<char, 4096> bytes{};
  const ssize_t got = read(STDIN_FILENO, bytes.data(), std::min(bytes.size(), max_bytes));
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  text.append(bytes.data(), static_cast<std::size_t>(got));
  return got > 0;
}

}  // namespace

std::string token_from_stdin(const InterruptSource& interrupt) {
  const Deadline deadline = Deadline::in(kTokenTimeout);
  std::string line;
  do {
    const Waited waited = wait_for(STDIN_FILENO, POLLIN, deadline, interrupt);
    if (waited == Waited::interrupted) throw Interrupted("interrupted before the token came");
    if (waited == Waited::deadline)
      throw UsageError("--token-stdin: no token came within {} s", kTokenTimeout.count());
    // Byte by byte: what comes behind the line is not the token's.
    if (!read_stdin(line, 1)) throw UsageError("--token-stdin: stdin has ended before the token");
  } while (!line.ends_with('\n') && line.size() <= kTokenMaxChars);
  if (line.ends_with('\n')) line.pop_back();
  if (const std::string why = why_bad_token(line); !why.empty())
    throw UsageError("--token-stdin: " + why);
  return line;
}

std::string ssh_server_address() {
  const char* const variable = std::getenv("SSH_CONNECTION");
  const std::vector<std::string_view> fields = split(variable != nullptr ? variable : "", " ");
  if (fields.size() != 4 || fields[2].empty())
    throw UsageError(
        "--token-stdin is for a server that ssh starts, and SSH_CONNECTION does not say at which "
        "address: give it with --bind");
  return std::string(fields[2]);
}

void end_with_stdin(Server& server, const InterruptSource& interrupt, const EventFd& done) {
  Deadline alone = Deadline::in(kAloneTimeout);
  for (;;) {
    const Waited waited =
        wait_for(STDIN_FILENO, POLLIN, Deadline::in(kAloneLook), interrupt, &done);
    if (waited == Waited::woken || waited == Waited::interrupted) return;
    std::string ignored;
    if (waited == Waited::ready && !read_stdin(ignored, 4096)) break;
    if (server.clients() > 0) alone = Deadline::in(kAloneTimeout);
    if (alone.passed()) {
      tell("rdmameter: no client for {} s: the server ends\n", kAloneTimeout.count());
      break;
    }
  }
  server.stop();
}

}  // namespace rdmameter
