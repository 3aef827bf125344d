// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <mutex>

#include "bench/options/server_terms.h"
#include "bench/options/token.h"
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
    tell_lines(
        "rdmameter: no token: who reaches port {} can use this machine's device and memory until "
        "the first client has gone; to admit your own client alone, set {} at both ends\n",
        server.port(), kTokenVariable);
  else
    tell_lines("rdmameter: port {} admits one client, with the same {}\n", server.port(),
               kTokenVariable);
  tell_lines(
      "rdmameter: sizes, iterations and all but -d, -i, -x, --pin_cores, -p are the client's to "
      "choose\n");
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

 private:
  const PerftestReport& report_;
  std::mutex mutex_;
  std::uint64_t shown_ = 0;
};

}  // namespace

bool run_perftest_server(const PerftestPlan& plan, const Invocation& invocation) {
  allow_open_files(1);
  ServerLog log{STDERR_FILENO};
  ServedRows rows(plan.report);
  const ClockChoice clock = choose_clock();
  const std::string token = read_token("");
  forget_token_variable();
  const SandboxOptions sandbox = sandbox_of_environment();
  if (sandbox.mode == Sandboxing::on) tell_missing_landlock("RDMAMETER_SANDBOX=off");
  const auto server =
      listen_for_one(plan,
                     {.token = token,
                      .max_clients = 1,
                      .limits = {default_max_memory_bytes(), default_max_threads()},
                      .own_processes = true,
                      .sandbox = sandbox,
                      .log = [&log](std::string_view peer, std::string_view text,
                                    Speaker speaker) { log.line(peer, text, speaker); },
                      .own = plan.own,
                      .one_client = true,
                      .on_row = [&rows](const nlohmann::json& row) { rows.add(row); }},
                     clock, invocation.interrupt);
  tell_terms(*server);
  if (plan.report.output == PerftestReport::Output::full) print_text(kWaiting);
  flush_print();
  server->serve();
  rows.finish();
  if (invocation.interrupt.requested()) throw Interrupted("interrupted");
  return server->served() > 0;
}

}  // namespace rdmameter
