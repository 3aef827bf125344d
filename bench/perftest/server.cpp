// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/options/server_terms.h"
#include "bench/options/token.h"
#include "bench/perftest/cases.h"
#include "bench/perftest/command_line.h"
#include "bench/perftest/end.h"
#include "bench/perftest/notes.h"
#include "bench/perftest/report.h"
#include "bench/perftest/tool.h"
#include "bench/running/result_context.h"
#include "core/base/error.h"
#include "core/base/error_text.h"
#include "core/instrument/clock.h"
#include "core/log/print.h"
#include "core/log/server_log.h"
#include "core/result/output_file.h"
#include "core/result/result_file.h"
#include "core/result/row_json.h"
#include "core/server/server.h"
#include "core/server/session_process.h"
#include "core/test_case/test_case.h"
#include "core/verbs/port_choice.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr std::string_view kWaiting =
    "\n************************************\n"
    "* Waiting for client to connect... *\n"
    "************************************\n";

/// In place of the result of a run without an end.
const std::string kClosed = " Client closed connection\n";

/// perftest's command line has no place for it.
constexpr const char* kSandboxVariable = "RDMAMETER_SANDBOX";
/// -a has 23. A client that sends more only fills stdout, the file and memory.
constexpr std::uint64_t kMaxServedRows = 64;
constexpr std::size_t kMaxKeptBytes = 16U << 20;

SandboxOptions sandbox_of_environment() {
  const char* const text = std::getenv(kSandboxVariable);
  const SandboxOptions sandbox{
      .mode = sandboxing_from_text(kSandboxVariable, text == nullptr ? "on" : text)};
  check_sandbox(sandbox);
  return sandbox;
}

struct CannotListen : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// @throws CannotListen
std::unique_ptr<Server> listen_for_one(ServerOptions options, const InterruptSource& interrupt) {
  try {
    return std::make_unique<Server>(std::move(options), interrupt);
  } catch (const std::exception& error) {
    throw CannotListen(error_text(error));
  }
}

void tell_terms(const Server& server) {
  if (server.token().empty())
    tell_note(fmt::format(
        "no token: who reaches port {} can use this machine's device and memory until the first "
        "client has come; to admit your own client alone, set {} at both ends",
        server.port(), kTokenVariable));
  else
    tell_note(
        fmt::format("port {} admits one client, with the same {}", server.port(), kTokenVariable));
  tell_note(
      "sizes, iterations and all but GPUs, -d, -i, -x, --pin_cores and -p are the "
      "client's to choose");
}

/// perftest's report at the server, on stdout.
class ServerReport {
 public:
  /// @param environment  of this end
  ServerReport(PerftestPlan plan, Json environment)
      : plan_(std::move(plan)),
        planned_(perftest_cases(plan_).front().test_case),
        rows_(rows_of(*plan_.tool, planned_)),
        environment_(std::move(environment)) {
    PerftestReport& report = plan_.report;
    report.server = true;
    report.transport = perftest_transport(environment_);
    if (!plan_.has("inline_size"))
      report.inline_bytes = perftest_inline_on(environment_, report.inline_bytes,
                                               planned_.transport == Transport::ud);
  }

  /// Of several cases (-a) the first one is told of.
  void connected(const ConnectedCase& case_told) {
    const std::lock_guard lock{mutex_};  // called by the session's thread, as add()
    if (!begun_) begin(perftest_connection(case_told, true));
  }
  /// @throws UsageError        it is no row
  /// @throws MeasurementError  there are too many
  void add(const Json& told) {
    Row row = row_from_json(told, "the client's row");
    PerftestNumbers numbers = perftest_numbers(row, true);
    const std::lock_guard lock{mutex_};
    if (!begun_) begin({.test_case = planned_});
    if (taken_ == kMaxServedRows)
      throw MeasurementError("it sent more than {} rows", kMaxServedRows);
    ++taken_;
    if (!perftest_fits(plan_.report, numbers) || rows_ == Rows::none) return;
    // perftest's server knows the CPU's use, and looks at limits, where it takes part.
    if (plan_.report.cpu_util && rows_ == Rows::each) numbers.cpu_percent = cpu_.percent();
    results_ = perftest_results_json(plan_.report, perftest_last(plan_.report, numbers));
    const std::string text = samples_of(row) + perftest_row(plan_.report, numbers);
    if (!plan_.json.empty()) keep(std::move(row), told.dump().size());
    if (rows_ == Rows::last) {
      last_ = text;
      return;
    }
    plan_.limits.add(plan_.report, numbers);
    print_now(text);
    tell_lost(numbers);
  }
  /// The client has gone, and has told what it measured. @param command_line  for the file
  /// @return  is no limit of this end's own missed? Else stderr says which
  bool finish(const std::string& command_line) {
    const std::lock_guard lock{mutex_};
    const bool endless = plan_.report.intervals && rows_ == Rows::last;
    print_now((endless ? kClosed : last_) + perftest_footer(plan_.report));
    if (!plan_.json.empty() && !results_.empty()) write_json(command_line);
    return plan_.limits.met(plan_.report);
  }
  bool any() const { return taken_ > 0; }

 private:
  enum class Rows { each, last, none };

  /// perftest's server knows what it took part in: of a bandwidth that it has no part in, the
  /// client tells it the result at the end; of a latency, nothing.
  static Rows rows_of(const PerftestTool& tool, const TestCase& test_case) {
    if (tool.bandwidth)
      return test_case.takes_receive() || test_case.bidirectional ? Rows::each : Rows::last;
    using enum PerftestTool::Operation;
    return tool.operation == send || tool.operation == write ? Rows::each : Rows::none;
  }

  void begin(const PerftestConnection& connection) {
    begun_ = true;
    cpu_.begin();
    const PerftestReport& report = plan_.report;
    test_info_ = perftest_test_info(report, connection.test_case, environment_);
    print_now(perftest_banner(report, connection.test_case, environment_) +
              perftest_gpu(connection, true) + perftest_addresses(report, connection) +
              (rows_ == Rows::none ? "" : perftest_header(report)));
  }

  /// -H: as many as this end's -n are shown, whatever the client says.
  std::string samples_of(const Row& row) const {
    if (!plan_.report.samples || row.latency->histogram.count > planned_.iterations) return "";
    return perftest_samples(*row.latency) + perftest_header(plan_.report);
  }

  void keep(Row row, std::size_t bytes) {
    kept_bytes_ += bytes;
    if (kept_bytes_ > kMaxKeptBytes)
      throw MeasurementError("its rows are longer than {} bytes", kMaxKeptBytes);
    kept_.push_back(std::move(row));
  }

  /// perftest's keys, in a result of ours with the client's rows.
  void write_json(const std::string& command_line) const {
    ContextParts parts = own_context(command_line);
    parts.responder = environment_;
    ResultWriter writer(plan_.json, make_context(parts));
    for (const Row& row : kept_) writer.append(row);
    writer.finish(fmt::format("{},\n{}", test_info_, results_));
  }

  PerftestPlan plan_;
  const TestCase planned_;  ///< by the options of this end
  const Rows rows_;
  const Json environment_;
  std::mutex mutex_;
  bool begun_ = false;
  std::string last_;                 ///< row, where that alone is shown
  std::string test_info_, results_;  ///< of the last row, as perftest's file has them
  std::vector<Row> kept_;            ///< for the file
  std::size_t kept_bytes_ = 0;
  std::uint64_t taken_ = 0;
  CpuUse cpu_;
};

/// The lines about clients, of which a run that goes well shows none: with notes all of them;
/// without, those of failures. A case that failed may have been tried again with other settings, so
/// that its line waits for the end.
class FailureLog {
 public:
  /// @param log  borrowed
  explicit FailureLog(ServerLog& log) : log_(log) {}

  void line(const ClientLine& line) noexcept {
    if (line.event == ClientEvent::gone) gone_ = true;
    if (notes_) return log_.line(line.peer, line.text, speaker_of(line.event));
    try {
      const std::lock_guard lock{mutex_};  // called by every connection's thread
      switch (line.event) {
        case ClientEvent::note:
        case ClientEvent::gone:
          break;
        case ClientEvent::connected:
          client_ = line.peer;
          break;
        case ClientEvent::case_failed:
          if (waiting_.size() < kMaxWaitingLines)
            waiting_.emplace_back(line.peer, in_words_of_perftest(line.text));
          break;
        case ClientEvent::hung_up:
          // One that is no client looks whether the port is open, as scripts wait for a server.
          if (line.peer == client_) tell(line);
          break;
        case ClientEvent::dropped:
        case ClientEvent::child_stderr:
        case ClientEvent::session_end:
          tell(line);
      }
    } catch (const std::bad_alloc&) {  // the line is lost
    }
  }
  /// Has the client said bye?
  bool gone() const { return gone_; }
  /// The client has gone, and nothing was measured.
  void nothing_measured() {
    const std::lock_guard lock{mutex_};
    tell_waiting();
  }

 private:
  static constexpr std::size_t kMaxWaitingLines = 8;  ///< the others say the same
  void tell(const ClientLine& line) {
    tell_waiting();
    log_.line(line.peer, in_words_of_perftest(line.text), speaker_of(line.event));
  }
  void tell_waiting() {
    for (const auto& [peer, text] : waiting_) log_.line(peer, text);
    waiting_.clear();
  }

  ServerLog& log_;
  std::atomic<bool> gone_ = false;
  const bool notes_ = notes_wanted();
  std::mutex mutex_;
  std::string client_;  ///< the client that is served; empty: none has come
  std::vector<std::pair<std::string, std::string>> waiting_;
};

/// @return has one client come, measured, and said so?
bool serve_one(const PerftestPlan& plan, InterruptSource& interrupt, const ClockChoice& clock,
               ServerReport& report) {
  allow_open_files(1);
  ServerLog log{STDERR_FILENO};
  FailureLog failures(log);
  const std::string token = read_token("");
  forget_token_variable();
  const SandboxOptions sandbox = sandbox_of_environment();
  if (sandbox.mode == Sandboxing::on && notes_wanted())
    tell_missing_sandbox("RDMAMETER_SANDBOX=off");
  // Where no address is given, as perftest on every one of this machine.
  const Address bind =
      plan.address.empty() ? Address{"", plan.port} : parse_address(plan.address, plan.port);
  const auto server = listen_for_one(
      {.bind = bind,
       .token = token,
       .max_clients = 1,
       .limits = {default_max_memory_bytes(), default_max_threads()},
       .serve = in_own_process(
           {.clock = clock, .sandbox = sandbox, .own = plan.own, .gpus = !plan.own.memory.empty()}),
       .log = [&failures](const ClientLine& line) { failures.line(line); },
       .one_client = true,
       .on_row = [&report](const Json& row) { report.add(row); },
       .on_connected = [&report](const ConnectedCase& told) { report.connected(told); }},
      interrupt);
  tell_terms(*server);
  if (plan.report.output == PerftestReport::Output::full) print_text(kWaiting);
  flush_print();
  server->serve();
  if (!report.any()) failures.nothing_measured();
  return report.any() && failures.gone();
}

}  // namespace

bool run_perftest_server(PerftestPlan plan, const std::string& command_line,
                         InterruptSource& interrupt) {
  check_writable(plan.json, "--out_json_file");
  bind_to_source(plan);
  static_cast<EndSettings&>(plan.own) = LoneChoice{tell_note}.settled(
      plan.own, possible_perftest_cases(plan).front().test_case.transport);
  const ClockChoice clock = choose_clock();
  const Json environment = require_own_device(plan, clock);
  require_link(plan, environment);
  ServerReport report(plan, environment);
  try {
    if (!serve_one(plan, interrupt, clock, report)) return false;
  } catch (const CannotListen&) {  // here, as a server's log stamps all lines
    tell("Couldn't listen to port {}\n", plan.port);
    tell_text(kPerftestNoConnection);
    throw;
  }
  return report.finish(command_line);
}

}  // namespace rdmameter
