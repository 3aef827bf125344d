// SPDX-License-Identifier: Apache-2.0
// rdmameter check: is the RDMA of this machine, and of its peer, well? It runs doctor at both ends, a
// few cases of each device, and once more those of what was found; its command line stands last.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/cases/cases.h"
#include "bench/check/check_facts.h"
#include "bench/check/check_text.h"
#include "bench/check/judge.h"
#include "bench/check/plan.h"
#include "bench/check/time_limit.h"
#include "bench/doctor/examination_text.h"
#include "bench/options/command.h"
#include "bench/options/measuring_options.h"
#include "bench/options/run_hosts.h"
#include "bench/remote/remote_server.h"
#include "bench/running/benchmark_flags.h"
#include "bench/running/lines/run_output.h"
#include "bench/running/measurers.h"
#include "bench/running/result_context.h"
#include "bench/running/runner.h"
#include "bench/running/status_line.h"
#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "core/doctor/examination.h"
#include "core/log/print.h"
#include "core/result/output_file.h"
#include "core/result/result_file.h"
#include "core/session/initiator.h"
#include "core/verbs/port_choice.h"
#include "reports/stats/sample.h"
#include "reports/summary/facts.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

struct CheckRequest : MeasuringOptions {  // of the positionals one, HOST
  HostOptions host_options;
  std::vector<std::string> devices;  ///< none: the ends choose one; kAllDevices alone: all
  std::vector<std::string> peers;    ///< none, or one for each of the devices
  bool gpu = false, brief = false;
  std::optional<double> time_s;
  std::string expect;  ///< a result file; empty: none

  // What these come to:
  RunTarget host;
  CheckLimits limits;
};

class CheckRun {
 public:
  CheckRun(const CheckRequest& request, const Invocation& invocation, TimeLimit& limit)
      : request_(request), invocation_(invocation), limit_(limit), target_(request.host) {}

  /// Starts the server, where ssh is to, and examines both ends.
  void reach_peer() {
    if (target_.remote) {
      limit_.note("starting the server by ssh");
      server_ = std::make_unique<RemoteServer>(*target_.remote, invocation_.interrupt);
      target_.session.server = server_->address();
      target_.session.token = server_->token();
      target_.remote.reset();
    }
    limit_.note("examining this machine");
    here_ = examination_json(examine({}, try_devices()));
    if (target_.kind == RunTarget::Kind::loopback) return;
    limit_.note("examining the peer");
    peer_ = examine_peer({.server = target_.session.server, .token = target_.session.token},
                         invocation_.interrupt);
    for (const Json& finding : findings_json(compare_ends(here_, peer_)))
      if (text_at(finding, "check") == "versions_of_ends") here_["findings"].push_back(finding);
  }

  /// The device of the same name, which in a cluster of like machines is of the same network;
  /// empty: the peer has no ACTIVE port of its kind by that name, and the ends choose.
  std::string peer_of(const std::string& device) {
    const auto kind = link_layer_of(here_, device);
    if (peer_.is_null() || (kind && kind == link_layer_of(peer_, device))) return device;
    for (const Json& theirs : list_at(peer_, "/versions/devices"))
      if (kind && text_at(theirs, "name") == device)
        unusable_.push_back({"the peer's " + device, "no ACTIVE port of that kind"});
    return "";
  }

  /// Those that can be used, and those that the earlier check has: what is missing is broken.
  std::vector<std::string> all_devices() {
    std::vector<std::string> devices;
    const std::vector<PortFacts> ports = list_ports("", kAuto);
    const std::set<std::string> expected = expected_devices(expected_);
    for (const PortFacts& port : ports)
      if (port.usable())
        add_once(devices, port.device);
      else if (const std::string why = why_unusable(port, ports);
               !why.empty() && !expected.contains(port.device))
        unusable_.push_back({port.where(), why});
    for (const std::string& device : expected) add_once(devices, device);
    return devices;
  }

  std::vector<CheckedEnds> chosen_ends() {
    std::vector<std::string> devices = request_.devices;
    if (!devices.empty() && devices.front() == kAllDevices) devices = all_devices();
    if (devices.empty()) devices.emplace_back();  // who opens it says why there is none
    std::vector<CheckedEnds> ends;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const std::string& device = devices[i];
      ends.push_back({.device = device,
                      .peer = !request_.peers.empty() ? request_.peers[i]
                              : device.empty()        ? ""
                                                      : peer_of(device),
                      .gpu = request_.gpu ? near_gpu(device) : ""});
    }
    return ends;
  }

  /// Of several devices one that cannot be opened is broken, as is one that the earlier check has;
  /// the others are measured.
  std::unique_ptr<Measurer> open(std::size_t pair) {
    const auto cases =
        filtered(plan_.cases, [pair](const CheckCase& one) { return one.pair == pair; });
    try {
      return make_measurer(target_, mapped(cases, &CheckCase::planned), clock_,
                           invocation_.interrupt);
    } catch (const NotConnected&) {
      throw;
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception&) {
      if (ends_.size() == 1 && !expected_devices(expected_).contains(ends_[pair].device)) throw;
      return std::make_unique<FailedMeasurer>(std::current_exception());
    }
  }

  void describe(std::size_t pair, const Measurer& measurer) {
    const Json ends{{"initiator", measurer.initiator_environment()},
                    {"responder", measurer.responder_environment()}};
    CheckSubject& subject = subjects_[pair];
    if (measurer.usable()) subject.context = {{"rdmameter", ends}};
    if (subject.name.empty()) subject.name = text_at(ends, "/initiator/device/name");
    if (!output_) {
      output_.emplace(request_.output,
                      result_context(invocation_.command_line, {}, flags_, clock_, measurer),
                      std::vector<PlannedCase>());
      output_->keep_without_lines();
    }
    output_->bound_by(subject.context);  // the result's context describes only the first devices
  }

  /// @param which  ascending
  RunTally measure_cases(const std::vector<std::size_t>& which) {
    RunTally tally;
    const auto cases = mapped(plan_.cases, &CheckCase::planned);
    for (std::size_t pair = 0; pair < subjects_.size() && !tally.interrupted; ++pair) {
      const auto of_pair =
          filtered(which, [&](std::size_t i) { return plan_.cases[i].pair == pair; });
      if (of_pair.empty()) continue;
      const std::string& name = subjects_[pair].name;
      limit_.note("measuring " + (name.empty() ? "the device" : name));
      try {
        const std::unique_ptr<Measurer> measurer = open(pair);
        describe(pair, *measurer);
        tally += run_round({cases, *measurer, invocation_.interrupt.word(), *output_},
                           {.which = of_pair, .repetitions = 1}, earlier_);
      } catch (const Interrupted&) {
        if (!limit_.passed() || !output_) throw;
        tally.interrupted = true;
      }
    }
    return tally;
  }

  /// Those behind what is not known without measuring; siblings together, so that what changes in
  /// the course of a check is no difference between them.
  std::vector<std::size_t> cases_of(std::span<const CheckFinding> findings) const {
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < plan_.cases.size(); ++i) {
      const CheckCase& one = plan_.cases[i];
      if (std::ranges::any_of(findings, [&](const CheckFinding& finding) {
            const bool all = finding.reason == CheckReason::siblings;
            return finding.test == one.test->label && (all || finding.subject == one.pair);
          }))
        which.push_back(i);
    }
    return which;
  }

  /// One for each time that the case was measured to its end.
  std::vector<const Row*> rows_of(std::size_t planned) const {
    std::vector<const Row*> found;
    for (const Row& row : output_->kept())
      if (row.family_index == planned && !row.interrupted) found.push_back(&row);
    return found;
  }

  /// Of each case the last row.
  std::vector<CheckReading> readings() const {
    std::vector<CheckReading> last;
    for (std::size_t i = 0; i < plan_.cases.size(); ++i)
      if (const auto rows = rows_of(i); !rows.empty())
        last.push_back({plan_.cases[i].pair, plan_.cases[i].test->label, rows.back()});
    return last;
  }

  std::vector<std::string> notes(std::span<const CheckReading> readings) const {
    std::vector<std::string> texts;
    if (const std::string text = together_text(subjects_, readings); !text.empty())
      texts.push_back(text);
    if (!request_.expect.empty())
      texts.push_back("expected: " + expected_text(readings, expected_, request_.expect));
    for (const std::string& text : not_judged(subjects_, readings))
      texts.push_back("not judged: " + text);
    if (!plan_.left_out.empty())
      texts.push_back(
          fmt::format("left out, for want of time: {}", fmt::join(plan_.left_out, ", ")));
    if (ends_.size() > 1 && !are_apart(ends_))
      texts.emplace_back("left out: write together, because a device has no peer of its own");
    if (request_.gpu)
      for (std::size_t pair = 0; pair < ends_.size(); ++pair)
        if (ends_[pair].gpu.empty())
          texts.push_back(
              fmt::format("no GPU: none of NVIDIA's is behind the switch or host bridge of {}",
                          subjects_[pair].name));
    return texts;
  }

  /// At the end of the time, what was found is the verdict; nothing found is none.
  ExitStatus report(RunTally tally, std::vector<CheckFinding> findings) {
    tally.interrupted = tally.interrupted && !limit_.passed();
    output_->finish(tally);
    if (tally.interrupted) return ExitStatus::interrupted;
    const std::vector<CheckReading> read = readings();
    const CheckReport report{.subjects = subjects_,
                             .readings = read,
                             .findings = std::move(findings),
                             .unusable = unusable_,
                             .notes = notes(read),
                             .elapsed_s = seconds_since(begun_at_)};
    const bool ran_out = limit_.passed();
    if (ran_out && is_well(report)) return ExitStatus::interrupted;
    limit_.end();
    const TextStyle style = terminal_style();
    std::string line = check_line(report, true);
    if (!request_.expect.empty() && count_expected(read, expected_) == 0)
      line += "; " + expected_text(read, expected_, request_.expect);
    std::string text = request_.brief ? printable(line) + "\n" : check_text(report, style);
    if (!style.utf8) text = to_ascii(text);
    request_.output == "-" ? tell_text(text) : print_text(text);
    const bool each_was_skipped =
        tally.measured == 0 && tally.failed == 0 && tally.skipped > 0 && !ran_out;
    if (each_was_skipped) return ExitStatus::failed;
    return is_well(report) ? ExitStatus::pass : ExitStatus::regression;
  }

  /// Writes the result, and prints what was found.
  /// @throws NoDevice, UsageError, MeasurementError, Interrupted  nothing could be measured
  ExitStatus measure() {
    check_writable(request_.output);
    if (!request_.expect.empty()) expected_ = read_result(request_.expect).rows;
    reach_peer();
    ends_ = chosen_ends();
    CheckLimits limits = request_.limits;
    if (request_.brief)  // ssh was slow, or doctor
      limits.time_s -= std::max(0.0, seconds_since(begun_at_) - kStart_s);
    plan_ = plan_check(ends_, limits);
    for (const CheckedEnds& ends : ends_)
      subjects_.push_back({.name = ends.device,
                           .findings = here_.at("findings"),
                           .peer_findings = peer_.is_null() ? Json() : peer_.at("findings")});
    if (!plan_.cases.empty() && plan_.cases.back().pair == ends_.size()) {
      subjects_.push_back(subjects_.front());
      subjects_.back().name = "all devices";
      subjects_.back().together = true;
    }
    std::vector<std::size_t> all(plan_.cases.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    RunTally tally = measure_cases(all);
    if (!output_) return ExitStatus::failed;
    std::vector<CheckFinding> findings = judge_check(subjects_, readings(), expected_);
    if (const auto again = cases_of(findings); !again.empty() && !tally.interrupted) {
      tally += measure_cases(again);
      findings = confirmed(findings, judge_check(subjects_, readings(), expected_));
    }
    // For whose second one there was no time.
    std::erase_if(findings, [&](const CheckFinding& one) {
      return one.reason != CheckReason::failed &&
             std::ranges::any_of(cases_of({&one, 1}),
                                 [&](auto i) { return rows_of(i).size() < 2; });
    });
    return report(tally, std::move(findings));
  }

 private:
  const CheckRequest& request_;
  const Invocation& invocation_;
  TimeLimit& limit_;
  RunTarget target_;
  const ClockChoice clock_ = choose_clock();
  const std::chrono::steady_clock::time_point begun_at_ = std::chrono::steady_clock::now();
  const BenchmarkFlags flags_ = initialize_benchmark({}, 1);
  std::unique_ptr<RemoteServer> server_;
  Json here_, peer_;  ///< examinations; the peer's null: it is this machine
  std::vector<CheckedEnds> ends_;
  std::vector<UnusablePort> unusable_;
  CheckPlan plan_;
  EarlierRounds earlier_;
  std::vector<CheckSubject> subjects_;  ///< by pair
  std::optional<RunOutput> output_;     ///< readings borrow its rows, until more come
  std::vector<Row> expected_;
};

ExitStatus run_check(const CheckRequest& request, const Invocation& invocation) {
  TimeLimit limit((request.brief ? 1 : kPatience) * request.limits.time_s, invocation.interrupt);
  try {
    const ExitStatus status = CheckRun(request, invocation, limit).measure();
    if (status != ExitStatus::interrupted || !limit.passed()) return status;
  } catch (const Interrupted&) {
    if (!limit.passed()) throw;
  }
  throw MeasurementError(limit.text());
}

constexpr double kMostTime_s = 3600;

double read_check_time(const std::string& text) {
  constexpr double kLeast_s = kStart_s + 2 * (kLeastTest_s + kSetUp_s);
  const auto time_ns = parse_seconds_ns(text);
  const double time_s = static_cast<double>(time_ns.value_or(0)) / 1e9;
  if (time_s < kLeast_s || time_s > kMostTime_s)
    throw invalid_value("--time", text,
                        fmt::format("a time from {:g} to {:g} s", kLeast_s, kMostTime_s));
  return time_s;
}

std::vector<std::string> read_device_names(const std::string& option, const std::string& list) {
  if (list == kAllDevices) return {list};
  const std::vector<std::string> names = read_axis_list(*find_axis(option), list);  // each once
  for (const std::string& name : names)
    if (name.empty() || name == kAllDevices || name == "null")
      throw UsageError("--{} '{}': takes names of devices, with commas between them, or all",
                       option, list);
  const auto words = split(list, ",");
  if (option == "device" && names.size() < words.size())
    throw UsageError("--device '{}': names a device twice", list);
  return {words.begin(), words.end()};
}

/// Fills what the options say together.
CheckRequest completed(CheckRequest request) {
  if (!request.host_options.loopback && request.positionals.empty())
    throw UsageError(
        "say where the other end is: 'rdmameter check HOST' where 'rdmameter serve' runs, or "
        "--loopback to start it here");
  request.host = *one_host(request.positionals, request.host_options);
  const auto all = [](const std::vector<std::string>& names) {
    return !names.empty() && names.front() == kAllDevices;
  };
  if (!request.peers.empty() && (request.peers.size() != request.devices.size() ||
                                 all(request.peers) || all(request.devices)))
    throw UsageError(
        "--peer-device: takes one name for each name of --device, in their order, and no 'all'");
  if (request.gpu && request.devices.empty())
    throw UsageError("--gpu: say near which devices, with --device NAME,... or --device all");
  if (request.brief) request.limits = {.time_s = kBriefTime_s, .tests = kBriefTests};
  request.limits.time_s = request.time_s.value_or(request.limits.time_s);
  return request;
}

std::string check_footer() {
  return fmt::format(
      "Exit status: 0 well, 1 degraded or broken, 2 called wrongly, 77 no device,\n"
      "99 it could not be measured.\n\n"
      "A device is degraded if, in two measurements, one way is below {:.0f} % of what line\n"
      "and slot allow or of the other way; if it is below {:.0f} % of its siblings' or of\n"
      "the expected bandwidth, or above {:.0f} % of their latency; or if its slot carries\n"
      "less than its line, or its link or MTU is less than that of its siblings.\n"
      "It fills the network: docs/check.md says when not to run it.\n\n"
      "Examples:\n"
      "  rdmameter check ssh://192.0.2.1 --device all -o check.json\n"
      "  rdmameter check 192.0.2.1 --device all --expect check.json\n"
      "  rdmameter check --loopback --brief",
      100 * kLeastOfBound, 100 * kLeastOfOthers, 100 * kMostOfLatency);
}

void declare_check_options(CLI::App& app, CheckRequest& request) {
  add_option(app, "HOST", request.positionals, "",
             "HOST or HOST:PORT, where `rdmameter serve` runs, or ssh://[USER@]HOST[:PORT], where "
             "it is started by ssh for this check");
  add_flag(app, "--loopback", request.host_options.loopback,
           "start the other end here: each device sends to itself");
  add_option(app, "--device", request.devices, "NAME,...",
             "check these devices, or all that can be used. Default: the one that reaches the peer",
             [](const std::string& list) { return read_device_names("device", list); });
  add_option(app, "--peer-device", request.peers, "NAME,...",
             "the peer's, one for each of --device. Default: that of the same name, if the peer "
             "has it; else the ends choose",
             [](const std::string& list) { return read_device_names("peer-device", list); });
  add_flag(app, "--gpu", request.gpu,
           "measure from the memory of a GPU, too, where one is near a device of --device");
  add_option(app, "--expect", request.expect, "FILE",
             "hold the numbers against this result of an earlier check");
  declare_output_option(app, request);
  add_flag(app, "--brief", request.brief,
           fmt::format("one line, in at most {:g} s: for a scheduler's prologue", kBriefTime_s));
  add_option(app, "--time", request.time_s, "TIME",
             fmt::format("take this time for all devices: {:g} s at least for each test, else "
                         "tests are left out. Default: {:g} s",
                         kLeastTest_s, kCheckTime_s),
             read_check_time);
  declare_host_options(app, request.host_options);
}

}  // namespace

Action declare_check(CLI::App& app) {
  const auto request = std::make_shared<CheckRequest>();
  declare_check_options(app, *request);
  app.footer(check_footer());
  return [request](const Invocation& invocation) {
    return run_check(completed(*request), invocation);
  };
}

}  // namespace rdmameter
