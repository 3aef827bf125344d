// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "bench/options/server_terms.h"
#include "bench/options/token.h"
#include "bench/perftest/notes.h"
#include "bench/perftest/own_device.h"
#include "bench/perftest/own_words.h"
#include "core/base/error.h"
#include "core/instrument/clock.h"
#include "core/log/print.h"
#include "core/log/server_log.h"
#include "core/log/tell.h"
#include "core/server/open_files.h"
#include "core/server/server.h"
#include "reports/text/terminal_lines.h"

namespace rdmameter {
namespace {

constexpr std::string_view kWaiting =
    "\n************************************\n"
    "* Waiting for client to connect... *\n"
    "************************************\n";

/// perftest's command line has no place for it.
constexpr const char* kSandboxVariable = "RDMAMETER_SANDBOX";
/// -a has 23. A client that sends more only fills stdout.
constexpr std::uint64_t kMaxServedRows = 64;

SandboxOptions sandbox_of_environment() {
  const char* const text = std::getenv(kSandboxVariable);
  const SandboxOptions sandbox{
      .mode = sandboxing_from_text(kSandboxVariable, text == nullptr ? "on" : text)};
  check_sandbox(sandbox);
  return sandbox;
}

/// As perftest: every address of this machine, of both kinds where it has IPv6.
std::unique_ptr<Server> listen_for_one(const PerftestPlan& plan, ServerOptions options,
                                       const ClockChoice& clock, const InterruptSource& interrupt) {
  const auto listen_on = [&](const std::string& host) {
    ServerOptions there = options;
    there.bind = {host, plan.port};
    return std::make_unique<Server>(std::move(there), clock, interrupt);
  };
  if (!plan.bind.empty()) return listen_on(plan.bind);
  try {
    return listen_on("::");
  } catch (const VerbsError&) {  // a kernel without IPv6
    return listen_on("0.0.0.0");
  }
}

void tell_terms(const Server& server) {
  if (server.token().empty())
    tell_note(fmt::format(
        "no token: who reaches port {} can use this machine's device and memory until the first "
        "client has gone; to admit your own client alone, set {} at both ends",
        server.port(), kTokenVariable));
  else
    tell_note(
        fmt::format("port {} admits one client, with the same {}", server.port(), kTokenVariable));
  tell_note("sizes, iterations and all but -d, -i, -x, --pin_cores, -p are the client's to choose");
}

/// The rows that the client sends, on stdout.
class ServedRows {
 public:
  /// @param report  borrowed
  explicit ServedRows(const PerftestReport& report) : report_(report) {}

  /// @throws MeasurementError  it is no row, or there are too many
  void add(const nlohmann::json& row) {
    const PerftestNumbers numbers = perftest_numbers_from_wire(row);
    const std::lock_guard lock{mutex_};  // called by the session's thread
    if (shown_ == kMaxServedRows)
      throw MeasurementError(fmt::format("it sent more than {} rows", kMaxServedRows));
    if (!perftest_fits(report_, numbers)) return;
    if (shown_++ == 0) print_text(perftest_header(report_));
    print_text(perftest_row(report_, numbers));
    flush_print();
  }
  void finish() {
    if (shown_ > 0) print_text(perftest_footer(report_));
  }
  bool any() const { return shown_ > 0; }

 private:
  const PerftestReport& report_;
  std::mutex mutex_;
  std::uint64_t shown_ = 0;
};

/// The lines about clients, of which a run that goes well shows none: with notes all of them;
/// without, those of failures. A case that failed may have been tried again with other settings, so
/// that its line waits for the end.
class FailureLog {
 public:
  /// @param log      borrowed
  /// @param endless  the client goes on until it is interrupted
  FailureLog(ServerLog& log, bool endless) : log_(log), endless_(endless) {}

  void line(std::string_view peer, std::string_view text, Speaker speaker) noexcept {
    if (notes_) return log_.line(peer, text, speaker);
    try {
      const std::lock_guard lock{mutex_};  // called by every connection's thread
      // What lines begin with: core/session/responder.cpp, core/server/server.cpp.
      const std::string said = in_words_of_perftest(text);
      if (text.starts_with("connected, ")) {
        client_ = peer;
      } else if (text.starts_with("failed: ")) {
        if (waiting_.size() < kMaxWaitingLines) waiting_.emplace_back(peer, said);
      } else if (text.starts_with("dropped: ") && (peer == client_ ? endless_ : hung_up(text))) {
        // The end that was meant; or a look whether the port is open, as scripts wait for a server.
      } else if (speaker == Speaker::server || text.starts_with("dropped: ") ||
                 text.starts_with("its session")) {
        tell_waiting();
        log_.line(peer, said, speaker);
      }
    } catch (const std::bad_alloc&) {  // the line is lost
    }
  }
  /// The client has gone, and nothing was measured.
  void nothing_measured() {
    const std::lock_guard lock{mutex_};
    tell_waiting();
  }

 private:
  static constexpr std::size_t kMaxWaitingLines = 8;  ///< the others say the same
  static bool hung_up(std::string_view text) {
    return text.find("has closed the connection") != text.npos ||
           text.find("Connection reset by peer") != text.npos;
  }
  void tell_waiting() {
    for (const auto& [peer, text] : waiting_) log_.line(peer, text);
    waiting_.clear();
  }

  ServerLog& log_;
  const bool endless_;
  const bool notes_ = notes_wanted();
  std::mutex mutex_;
  std::string client_;  ///< whom the server serves; empty: nobody has come
  std::vector<std::pair<std::string, std::string>> waiting_;
};

}  // namespace

bool run_perftest_server(const PerftestPlan& plan, const Invocation& invocation) {
  require_own_device(plan);
  allow_open_files(1);
  ServerLog log{STDERR_FILENO};
  FailureLog failures(log, plan.report.intervals);
  ServedRows rows(plan.report);
  const ClockChoice clock = choose_clock();
  const std::string token = read_token("");
  forget_token_variable();
  const SandboxOptions sandbox = sandbox_of_environment();
  if (sandbox.mode == Sandboxing::on && notes_wanted())
    tell_missing_landlock("RDMAMETER_SANDBOX=off");
  const auto server =
      listen_for_one(plan,
                     {.token = token,
                      .max_clients = 1,
                      .limits = {default_max_memory_bytes(), default_max_threads()},
                      .own_processes = true,
                      .sandbox = sandbox,
                      .log = [&failures](std::string_view peer, std::string_view text,
                                         Speaker speaker) { failures.line(peer, text, speaker); },
                      .own = plan.own,
                      .one_client = true,
                      .on_row = [&rows](const nlohmann::json& row) { rows.add(row); }},
                     clock, invocation.interrupt);
  tell_terms(*server);
  if (plan.report.output == PerftestReport::Output::full) print_text(kWaiting);
  flush_print();
  server->serve();
  rows.finish();
  if (!rows.any()) failures.nothing_measured();
  if (invocation.interrupt.requested()) throw Interrupted("interrupted");
  return server->served() > 0;
}

}  // namespace rdmameter
