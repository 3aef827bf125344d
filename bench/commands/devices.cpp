// SPDX-License-Identifier: Apache-2.0
// rdmameter devices: what is here.

#include <memory>

#include "bench/options/command.h"
#include "core/log/print.h"
#include "core/result/json_text.h"
#include "core/verbs/device.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

ExitStatus run_devices(bool as_json) {
  const Json devices = devices_json();
  if (as_json)
    print("{}\n", json_text(devices, 2));
  else if (!devices.at("devices").empty())
    print_text(for_stdout(devices_text(devices)));
  if (devices.at("devices").empty()) open_device("");  // throws: it knows what to do next
  return ExitStatus::pass;
}

}  // namespace

Action declare_devices(CLI::App& app) {
  const auto as_json = std::make_shared<bool>(false);
  add_flag(app, "--json", *as_json, "print JSON");
  app.footer(
      "Exit status: 0 there is a device, 77 there is none.\n\n"
      "Examples:\n"
      "  rdmameter devices\n"
      "  rdmameter devices --json");
  return [as_json](const Invocation&) { return run_devices(*as_json); };
}

}  // namespace rdmameter
