// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <optional>

#include "bench/options/token.h"
#include "bench/perftest/cases.h"
#include "bench/perftest/command_line.h"
#include "bench/perftest/end.h"
#include "bench/perftest/notes.h"
#include "bench/perftest/report.h"
#include "bench/perftest/tool.h"
#include "bench/running/benchmark_flags.h"
#include "bench/running/measurers.h"
#include "bench/running/result_context.h"
#include "bench/running/runner.h"
#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/log/print.h"
#include "core/result/output_file.h"
#include "core/result/result_file.h"
#include "core/result/row_json.h"
#include "reports/summary/facts.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

class OptionalSettingsMeasurer final : public MeasurerOver {
 public:
  OptionalSettingsMeasurer(Measurer& inner, OptionalSettings settings)
      : MeasurerOver(inner), may_give_up_(settings) {}

  /// As before, else with less inline, then without ibv_wr_*, then so in both.
  Outcome measure(const TestCase& asked) override {
    const OptionalSettings before = given_up_;
    std::optional<std::string> why;
    constexpr OptionalSettings kAttempts[] = {{}, {true, false}, {false, true}, {true, true}};
    for (const OptionalSettings& attempt : kAttempts) {
      const OptionalSettings less{
          before.inline_bytes || (attempt.inline_bytes && may_give_up_.inline_bytes),
          before.extended_api || (attempt.extended_api && may_give_up_.extended_api)};
      if (why && less == before) continue;
      try {
        Outcome outcome = inner_.measure(without(asked, less));
        given_up_ = less;
        if (less != before) tell_note(fmt::format("measured {}: {}", name_of(less, before), *why));
        return outcome;
      } catch (const Unsupported& error) {
        if (!why) why = error.what();  // the first reason is the one to be told
      }
    }
    throw Unsupported(*why);
  }

 private:
  static TestCase without(TestCase test_case, OptionalSettings given_up) {
    if (given_up.inline_bytes && test_case.queues.inline_bytes != 0)
      test_case.queues.inline_bytes = kDeviceMax;
    if (given_up.extended_api) test_case.queues.api = Interface::classic;
    return test_case;
  }

  static std::string name_of(const OptionalSettings& less, const OptionalSettings& before) {
    std::string name;
    if (less.inline_bytes && !before.inline_bytes)
      name = "with as much inline data as the device takes";
    if (less.extended_api && !before.extended_api) add_item(name, "by ibv_post_send");
    return name;
  }

  const OptionalSettings may_give_up_;
  OptionalSettings given_up_;
};

/// Prints rows as they come, and keeps the result file.
class PerftestOutput final : public RunListener {
 public:
  /// @param plan, measurer  borrowed
  PerftestOutput(PerftestPlan& plan, Measurer& measurer, const Json& context)
      : plan_(plan), environment_(measurer.initiator_environment()), measurer_(measurer) {
    if (!plan_.json.empty()) writer_.emplace(plan_.json, context);
  }

  /// What comes before the first row. Of several cases (-a) the first one is told of.
  void begin_table(const PerftestConnection& connection) {
    if (std::exchange(begun_, true)) return;
    const PerftestReport& report = plan_.report;
    test_info_ = perftest_test_info(report, connection.test_case, environment_);
    print_now(perftest_banner(report, connection.test_case, environment_) +
              perftest_gpu(connection, false) + perftest_addresses(report, connection) +
              perftest_header(report));
  }
  void begin(const std::string&, std::uint64_t, std::uint64_t) override { cpu_.begin(); }
  void row(const Row& row) override {
    // What no file has is shown at least.
    const std::exception_ptr lost = writer_ ? writer_->try_to_append(row) : nullptr;
    tell(row);
    if (lost) std::rethrow_exception(lost);
  }
  /// @param stopped  by the user, as a run without an end is meant to be
  void finish(bool stopped) {
    if (writer_)
      writer_->finish(results_.empty() ? "" : fmt::format("{},\n{}", test_info_, results_));
    if (!begun_) return;
    if (stopped && plan_.report.output == PerftestReport::Output::full)
      print_now("\n User stopped traffic\n");
    print_now(perftest_footer(plan_.report));
    fine_ = plan_.limits.met(plan_.report) && fine_;
  }
  /// Was everything measured, and nothing below a limit?
  bool fine() const { return fine_ && measured_ > 0; }

 private:
  void tell(const Row& row) {
    if (row.status == Row::Status::skipped && plan_.has("all") && measured_ > 0) {
      tell_note(fmt::format("{} bytes: {}", row.case_object.value("size_bytes", std::uint64_t{0}),
                            in_words_of_perftest(row.message)));
      return;
    }
    if (row.status != Row::Status::ok) return fail(row.message);
    ++measured_;
    PerftestNumbers numbers = perftest_numbers(row);
    if (plan_.report.samples && row.latency)
      print_now(perftest_samples(*row.latency) + perftest_header(plan_.report));
    if (plan_.report.cpu_util) numbers.cpu_percent = cpu_.percent();
    if (!plan_.report.intervals) print_now(perftest_row(plan_.report, numbers));
    results_ = perftest_results_json(plan_.report, perftest_last(plan_.report, numbers));
    measurer_.tell_responder(row_to_json(row));
    tell_lost(numbers);
    plan_.limits.add(plan_.report, numbers);
  }

  void fail(const std::string& why) {
    fine_ = false;
    tell_lines("rdmameter: {}\n", printable_lines(in_words_of_perftest(why)));
  }

  PerftestPlan& plan_;
  const Json environment_;
  Measurer& measurer_;
  bool begun_ = false;
  std::optional<ResultWriter> writer_;
  std::string test_info_, results_;  ///< of the last row, as perftest's file has them
  CpuUse cpu_;
  std::uint64_t measured_ = 0;
  bool fine_ = true;
};

/// @param on_connected  borrowed; may be chosen later
RunTarget target_of(const PerftestPlan& plan, InterruptSource& interrupt,
                    const ConnectedListener& on_connected) {
  RunTarget target{.kind = RunTarget::Kind::host};
  target.session.server = parse_address(plan.host, plan.port);
  target.session.token = read_token("");
  // What waits for this client is no `rdmameter serve`, which wants a token.
  target.session.server.remedy = "start the same command there first, without a host";
  target.session.server.awaited = false;  // perftest's client tries once
  target.session.server.source = plan.address;
  target.session.on_connected = std::cref(on_connected);
  target.session.on_choice = tell_note;
  if (plan.own.device == kPerftestNullDevice) target = {.kind = RunTarget::Kind::null_device};
  if (plan.report.table == PerftestReport::Table::bandwidth)
    target.session.on_interval = {
        // A row of --run_infinitely, from the thread that watches the measurement.
        .hear = [&plan, &interrupt](const TestCase& test_case, const ProgressInterval& interval) {
          const auto time_ns = static_cast<std::uint64_t>(std::llround(interval.length_s * 1e9));
          // As perftest, both directions of all but sends: they are alike.
          const bool both = test_case.bidirectional && test_case.one_sided();
          const std::uint64_t messages = interval.operations * (both ? 2 : 1);
          const PerftestNumbers numbers{.size_bytes = test_case.size_bytes,
                                        .iterations = interval.operations,
                                        .traffic = PerftestTraffic{messages, time_ns}};
          // What goes on until interrupted ends with its reader.
          if (!print_now(perftest_row(plan.report, numbers))) interrupt.raise();
        }};
  return target;
}

/// Where no server answers, perftest's own lines come first: scripts know the failure by them.
std::unique_ptr<Measurer> connect_and_open(const PerftestPlan& plan,
                                           std::span<const PlannedCase> cases,
                                           const ClockChoice& clock, InterruptSource& interrupt,
                                           const ConnectedListener& on_connected) {
  const RunTarget target = target_of(plan, interrupt, on_connected);
  try {
    return make_measurer(target, cases, clock, interrupt);
  } catch (const NoDevice&) {
    tell_no_device(plan);
    throw;
  } catch (const UnknownHost& error) {
    tell("{} for ai_family: 2 service: {} port: {}\n", error.reason,
         printable(target.session.server.host), target.session.server.port);
    tell_text("Problem in resolving basic address and port\n");
    tell_text(kPerftestNoConnection);
    throw;
  } catch (const NotConnected&) {
    tell("Couldn't connect to {}:{}\n", printable(target.session.server.host),
         target.session.server.port);
    tell_text(kPerftestNoConnection);
    throw;
  }
}

/// The smaller active MTU of both ends; nothing: one is not known.
std::optional<std::uint64_t> agreed_mtu(const Measurer& measurer) {
  std::optional<std::uint64_t> least;
  for (const auto& environment :
       {measurer.initiator_environment(), measurer.responder_environment()}) {
    const std::uint64_t mtu = count_at(environment, "/device/active_mtu_bytes");
    // What a port can have; a peer may say anything.
    constexpr std::uint64_t kLeast = 256, kMost = 4096;
    if (mtu < kLeast || mtu > kMost) return std::nullopt;
    least = std::min(least.value_or(mtu), mtu);
  }
  return least;
}

/// A server with a GPU of its own measures in that, and has said so.
void fit_memory(std::vector<PlannedCase>& cases, const Json& responder) {
  const auto found = responder.is_object() ? responder.find("memory") : responder.end();
  if (found == responder.end()) return;
  const std::string memory = CheckedJson(*found, "memory", Reading::message).text_within(1, 64);
  for (PlannedCase& planned : cases) set_axis(planned.test_case, *find_axis("peer-memory"), memory);
}

/// As many bytes as perftest would inline at both ends; and no message above that, though a QP may
/// have more room than was asked for. The plan's report is told how many
void fit_inline(PerftestPlan& plan, std::vector<PlannedCase>& cases, const Measurer& measurer) {
  std::uint64_t& bytes = plan.report.inline_bytes;
  if (!plan.has("inline_size")) {
    const TestCase& first = cases.front().test_case;
    const bool datagrams = first.transport == Transport::ud;
    for (const auto& environment :
         {measurer.initiator_environment(), measurer.responder_environment()})
      bytes = std::min(bytes, perftest_inline_on(environment, bytes, datagrams));
    // The CPU copies inline data, and does not reach a GPU from which the server answers.
    if (is_gpu(first.responder.memory) &&
        (first.pattern == Pattern::ping_pong || first.bidirectional))
      bytes = 0;
  }
  for (PlannedCase& planned : cases) {
    planned.test_case.queues.inline_bytes = planned.test_case.size_bytes <= bytes ? bytes : 0;
    planned.why_skipped = why_impossible(planned.test_case);
  }
}

}  // namespace

std::unique_ptr<Measurer> with_optional_settings(Measurer& inner, OptionalSettings settings) {
  return std::make_unique<OptionalSettingsMeasurer>(inner, settings);
}

bool run_perftest_client(PerftestPlan plan, const std::string& command_line,
                         InterruptSource& interrupt) {
  check_writable(plan.json, "--out_json_file");
  bind_to_source(plan);
  std::vector<PlannedCase> cases = possible_perftest_cases(plan);
  const ClockChoice clock = choose_clock();
  for (const std::string& note : plan.notes) tell_note(note);
  ConnectedListener on_connected;
  const auto inner = connect_and_open(plan, cases, clock, interrupt, on_connected);
  require_link(plan, inner->initiator_environment());
  if (plan.has("rate_limit") &&
      fact_at(inner->initiator_environment(), "/device/link_layer") == "InfiniBand")
    throw UsageError(
        "--rate_limit: on InfiniBand perftest has the device limit the rate, which rdmameter does "
        "not: leave it out");
  fit_datagrams(plan, cases, agreed_mtu(*inner));
  fit_memory(cases, inner->responder_environment());
  fit_inline(plan, cases, *inner);
  require_possible(cases);
  plan.report.transport = perftest_transport(inner->initiator_environment());
  const auto measurer = with_optional_settings(
      *inner,
      {.inline_bytes = !plan.has("inline_size"), .extended_api = !plan.has("use_old_post_send")});
  const BenchmarkFlags flags = initialize_benchmark({}, 1);
  PerftestOutput output(plan, *inner, result_context(command_line, {}, flags, clock, *inner));
  on_connected = [&output](const ConnectedCase& connected) {
    output.begin_table(perftest_connection(connected, false));
  };
  if (plan.own.device == kPerftestNullDevice)  // it connects nothing
    output.begin_table({cases.front().test_case});
  const RunTally tally =
      run_range({cases, *measurer, interrupt.word(), output}, {0, cases.size()}, flags);
  output.finish(plan.report.intervals && !tally.interrupted && output.fine());
  if (tally.interrupted) throw Interrupted("interrupted");
  return output.fine();
}

}  // namespace rdmameter
