// SPDX-License-Identifier: Apache-2.0
#include "bench/remote/remote_server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "bench/child/child.h"
#include "bench/remote/ready_line.h"
#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/wire/auth.h"

namespace rdmameter {
namespace {

using namespace std::chrono_literals;

/// Connecting, proving keys, starting the program: a name server or a slow machine may take long.
constexpr auto kReadyTimeout = 90s;
/// What a login shell may print before the server's line, in all.
constexpr std::size_t kMaxNoiseBytes = 1 << 20;
/// The server has ended its sessions by then, and ssh has heard of it.
constexpr auto kEndGrace = 15s;
constexpr auto kStartGrace = 3s;  ///< what did not come up has nothing to end in good order
constexpr auto kSshGrace = 2s;

/// Exit statuses of a shell, and of ssh itself.
constexpr int kNotExecutable = 126, kNotFound = 127, kOfSsh = 255;

}  // namespace

RemoteServer::RemoteServer(const RemoteStart& start, const InterruptSource& interrupt)
    : start_(start), token_(make_token()), stderr_(new_pipe(O_NONBLOCK)) {
  auto [its_stdin, to_stdin] = new_pipe();
  auto [from_stdout, its_stdout] = new_pipe();
  child_ = start_child(start_.words, {},
                       {.in = its_stdin.get(),
                        .out = its_stdout.get(),
                        .err = stderr_.writable(),
                        .no_terminal = true});
  stdin_ = std::move(to_stdin);
  stdout_ = std::move(from_stdout);
  stderr_.close_writable();
  its_stdin.reset();
  its_stdout.reset();
  try {
    process_ = Descriptor{static_cast<int>(syscall(SYS_pidfd_open, child_, 0))};
    if (!process_) throw MeasurementError("pidfd_open: {}", std::strerror(errno));
    fcntl(stdout_.get(), F_SETFL, O_NONBLOCK);
    await_ready(interrupt);
  } catch (...) {  // there is no destructor to come
    end(kStartGrace);
    throw;
  }
}

RemoteServer::~RemoteServer() {
  end(kEndGrace);
}

/// Sends the token, and reads stdout until the server has said where it listens.
void RemoteServer::await_ready(const InterruptSource& interrupt) {
  const std::string line = token_ + "\n";  // far less than a pipe holds
  [[maybe_unused]] const ssize_t sent = write(stdin_.get(), line.data(), line.size());
  const Deadline deadline = Deadline::in(kReadyTimeout);
  while (address_.port == 0) {
    const Waited waited = wait_for(stdout_.get(), POLLIN, deadline, interrupt);
    if (waited == Waited::interrupted)
      throw Interrupted("interrupted while the server was being started");
    stderr_.take();
    if (waited == Waited::deadline)
      throw MeasurementError("{}: no server has come up there within {} s{}", start_.host,
                             kReadyTimeout / 1s, last_line());
    if (!read_lines()) throw_not_started(end(kStartGrace));
  }
}

/// Takes what there is of stdout. @return  false: it has ended
bool RemoteServer::read_lines() {
  std::array<char, 4096> part{};
  const ssize_t got = read(stdout_.get(), part.data(), part.size());
  if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) return false;
  if (got > 0) unread_.append(part.data(), static_cast<std::size_t>(got));
  for (std::size_t end; (end = unread_.find('\n')) != unread_.npos; unread_.erase(0, end + 1)) {
    const auto ready = ReadyLine::parse(std::string_view(unread_).substr(0, end));
    if (!ready) continue;
    require_our_protocol(*ready, start_.host);
    require_address_of(*ready, start_.host, addresses_of(start_.host));
    address_ = ready->address;
  }
  if (unread_.size() > kMaxNoiseBytes)
    throw MeasurementError("{}: no server speaks there", start_.host);
  return true;
}

bool RemoteServer::ended_within(Deadline deadline) {
  for (;;) {
    std::array<pollfd, 1> waited{pollfd{process_.get(), POLLIN, 0}};
    // Looks now and then whether stderr has no room: ssh would wait for it.
    if (poll(waited.data(), 1, std::min(deadline.remaining_ms(), 200)) > 0) return true;
    stderr_.take();
    if (deadline.passed()) return false;
  }
}

/// Closes the server's stdin, and takes ssh's end. @return  as ExitResult::status
int RemoteServer::end(std::chrono::seconds grace) noexcept {
  if (child_ == 0) return 0;
  stdin_.reset();
  stdout_.reset();
  if (!process_ || !ended_within(Deadline::in(grace))) {
    kill(-child_, SIGTERM);
    if (!process_ || !ended_within(Deadline::in(kSshGrace))) kill(-child_, SIGKILL);
  }
  stderr_.take();
  return end_of_child(std::exchange(child_, 0));
}

void RemoteServer::throw_not_started(int status) {
  const std::string& host = start_.host;
  if (status == kNotFound)
    throw MeasurementError("{} is not {} {}; --remote-program PATH names it", start_.program,
                           start_.program.find('/') == std::string::npos ? "in PATH of" : "on",
                           host);
  if (status == kNotExecutable)
    throw MeasurementError("{} cannot be executed on {}{}; --remote-program PATH names another",
                           start_.program, host, last_line());
  if (status == kOfSsh)
    throw MeasurementError("ssh does not get to {}, where it must not need to ask for anything{}",
                           host, last_line());
  throw MeasurementError("{}: no server has started there (status {}){}", host, status,
                         last_line());
}

/// The last thing that was said on stderr, here or there; empty: nothing.
std::string RemoteServer::last_line() {
  const std::vector<std::string> lines = stderr_.lines();
  if (lines.empty()) return {};
  std::string_view last = lines.back();
  if (last.ends_with('\r')) last.remove_suffix(1);  // as ssh ends its lines
  return ": " + excerpt(last);
}

}  // namespace rdmameter
