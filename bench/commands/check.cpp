// SPDX-License-Identifier: Apache-2.0
// The command line of rdmameter check: is the RDMA of this machine, and of its peer, well?
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/cases/cases.h"
#include "bench/check/judge.h"
#include "bench/commands/check_run.h"
#include "bench/options/command.h"
#include "bench/options/measuring_options.h"
#include "bench/options/run_hosts.h"
#include "core/base/error.h"
#include "core/base/parse_value.h"

namespace rdmameter {
namespace {

struct CheckArguments : MeasuringOptions {  // of the positionals one, HOST
  bool loopback = false;
  std::optional<double> time_s;
  HostOptions hosts;
  CheckRequest request;
};

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
  std::vector<std::string> names = read_axis_list(*find_axis(option), list);
  for (const std::string& name : names)
    if (name.empty() || name == kAllDevices || name == "null")
      throw UsageError(
          fmt::format("--{} '{}': takes names of devices, with commas between them, "
                      "or all",
                      option, list));
  return names;
}

/// Fills what the options say together.
CheckRequest completed(const CheckArguments& options) {
  CheckRequest request = options.request;
  request.output = options.output;
  if (options.positionals.size() > 1)
    throw UsageError("name one HOST, where `rdmameter serve` runs");
  if (options.loopback == !options.positionals.empty())
    throw UsageError(options.loopback
                         ? "--loopback: with it there is no HOST"
                         : "say where the other end is: 'rdmameter check HOST' where 'rdmameter "
                           "serve' runs, or --loopback to start it here");
  const std::vector<RunHost> hosts = run_hosts(options.positionals, options.hosts);
  if (options.loopback)
    request.host = {.target = {.kind = RunTarget::Kind::loopback}};
  else
    request.host = hosts.front();
  const auto all = [](const std::vector<std::string>& names) {
    return !names.empty() && names.front() == kAllDevices;
  };
  if (!request.peers.empty() && (request.peers.size() != request.devices.size() ||
                                 all(request.peers) || all(request.devices)))
    throw UsageError(
        "--peer-device: takes one name for each name of --device, in their order, and no 'all'");
  if (request.brief) request.limits = {.time_s = kBriefTime_s, .tests = kBriefTests};
  request.limits.time_s = options.time_s.value_or(request.limits.time_s);
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

void declare_check_options(CLI::App& app, CheckArguments& options) {
  CheckRequest& request = options.request;
  add_option(app, "HOST", options.positionals, "",
             "HOST or HOST:PORT, where `rdmameter serve` runs, or ssh://[USER@]HOST[:PORT], where "
             "it is started by ssh for this check");
  app.add_flag("--loopback", options.loopback,
               help_text("start the other end here: each device sends to itself"));
  add_option(app, "--device", request.devices, "NAME,...",
             "check these devices, or all that can be used. Default: the one that reaches the peer",
             [](const std::string& list) { return read_device_names("device", list); });
  add_option(app, "--peer-device", request.peers, "NAME,...",
             "the peer's, one for each of --device. Default: that of the same name, if the peer "
             "has it; else the ends choose",
             [](const std::string& list) { return read_device_names("peer-device", list); });
  app.add_flag("--gpu", request.gpu,
               help_text("measure from the memory of a GPU, too, where one is near the device"));
  add_option(app, "--expect", request.expect, "FILE",
             "hold the numbers against this result of an earlier check");
  declare_output_option(app, options);
  app.add_flag("--brief", request.brief,
               help_text(fmt::format("one line, in at most {:g} s: for a scheduler's prologue",
                                     kBriefTime_s)));
  add_option(app, "--time", options.time_s, "TIME",
             fmt::format("take this time for all devices: {:g} s at least for each test, else "
                         "tests are left out. Default: {:g} s",
                         kLeastTest_s, kCheckTime_s),
             read_check_time);
  declare_host_options(app, options.hosts);
}

}  // namespace

Action declare_check(CLI::App& app) {
  const auto options = std::make_shared<CheckArguments>();
  declare_check_options(app, *options);
  app.footer(check_footer());
  return [options](const Invocation& invocation) {
    return run_check(completed(*options), invocation);
  };
}

}  // namespace rdmameter
