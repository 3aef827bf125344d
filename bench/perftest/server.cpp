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
#include "bench/perftest/inline_table.h"
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
  const auto listen_on = [&](const Address& bind) {
    ServerOptions there = options;
    there.bind = bind;
    return std::make_unique<Server>(std::move(there), clock, interrupt);
  };
  if (!plan.bind.empty()) return listen_on(parse_address(plan.bind, plan.port));
  try {
    return listen_on({"::", plan.port});
  } catch (const VerbsError&) {  // a kernel without IPv6
    return listen_on({"0.0.0.0", plan.port});
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

/// perftest's report at the server, on stdout.
class ServerReport {
 public:
  /// @param environment  of this end
  ServerReport(PerftestPlan plan, const nlohmann::ordered_json& environment)
      : plan_(std::move(plan)) {
    const TestCase test_case = perftest_cases(plan_).front().test_case;
    rows_ = rows_of(*plan_.tool, test_case);
    PerftestReport& report = plan_.report;
    report.server = true;
    report.transport = perftest_transport(environment);
    if (!plan_.inline_given)
      report.inline_bytes = perftest_inline_on(environment, report.inline_bytes,
                                               test_case.transport == Transport::ud);
    banner_ = perftest_banner(report, test_case, environment);
  }

  /// The client has come.
  void begin() {
    const std::lock_guard lock{mutex_};
    if (std::exchange(begun_, true)) return;
    print_text(banner_ + (rows_ == Rows::none ? perftest_footer(plan_.report)
                                              : perftest_header(plan_.report)));
    flush_print();
  }
  /// @throws MeasurementError  it is no row, or there are too many
  void add(const nlohmann::json& row) {
    const PerftestNumbers numbers = perftest_numbers_from_wire(row);
    const std::lock_guard lock{mutex_};  // called by the session's thread
    if (taken_ == kMaxServedRows)
      throw MeasurementError(fmt::format("it sent more than {} rows", kMaxServedRows));
    ++taken_;
    if (!perftest_fits(plan_.report, numbers) || rows_ == Rows::none) return;
    const std::string text = perftest_row(plan_.report, numbers);
    if (rows_ == Rows::last) {
      last_ = text;
      return;
    }
    print_text(text);
    flush_print();
  }
  void finish() {
    const std::lock_guard lock{mutex_};
    if (begun_) print_text(last_ + perftest_footer(plan_.report));
    flush_print();
  }
  bool any() const { return taken_ > 0; }

 private:
  enum class Rows { each, last, none };

  /// perftest's server knows what it took part in: of a bandwidth that it has no part in, the
  /// client tells it the result at the end; of a latency, nothing.
  static Rows rows_of(const PerftestTool& tool, const TestCase& test_case) {
    using Operation = PerftestTool::Operation;
    const Operation operation = tool.operation;
    if (tool.bandwidth)
      return operation == Operation::send || test_case.bidirectional ? Rows::each : Rows::last;
    return operation == Operation::send || operation == Operation::write ? Rows::each : Rows::none;
  }

  PerftestPlan plan_;
  Rows rows_ = Rows::each;
  std::string banner_;
  std::mutex mutex_;
  bool begun_ = false;
  std::string last_;  ///< row, where that alone is shown
  std::uint64_t taken_ = 0;
};

/// The lines about clients, of which a run that goes well shows none: with notes all of them;
/// without, those of failures. A case that failed may have been tried again with other settings, so
/// that its line waits for the end.
class FailureLog {
 public:
  /// @param log      borrowed, as is `report`, which is told of the client
  /// @param endless  the client goes on until it is interrupted
  FailureLog(ServerLog& log, ServerReport& report, bool endless)
      : log_(log), report_(report), endless_(endless) {}

  void line(std::string_view peer, std::string_view text, Speaker speaker) noexcept {
    if (text.starts_with("connected, ")) report_.begin();
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
  ServerReport& report_;
  const bool endless_;
  const bool notes_ = notes_wanted();
  std::mutex mutex_;
  std::string client_;  ///< whom the server serves; empty: nobody has come
  std::vector<std::pair<std::string, std::string>> waiting_;
};

}  // namespace

bool run_perftest_server(const PerftestPlan& plan, const Invocation& invocation) {
  const ClockChoice clock = choose_clock();
  ServerReport report(plan, require_own_device(plan, clock));
  allow_open_files(1);
  ServerLog log{STDERR_FILENO};
  FailureLog failures(log, report, plan.report.intervals);
  const std::string token = read_token("");
  forget_token_variable();
  const SandboxOptions sandbox = sandbox_of_environment();
  if (sandbox.mode == Sandboxing::on && notes_wanted())
    tell_missing_sandbox("RDMAMETER_SANDBOX=off");
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
                      .on_row = [&report](const nlohmann::json& row) { report.add(row); }},
                     clock, invocation.interrupt);
  tell_terms(*server);
  if (plan.report.output == PerftestReport::Output::full) print_text(kWaiting);
  flush_print();
  server->serve();
  report.finish();
  if (!report.any()) failures.nothing_measured();
  if (invocation.interrupt.requested()) throw Interrupted("interrupted");
  return server->served() > 0;
}

}  // namespace rdmameter
