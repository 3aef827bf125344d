// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/own_device.h"

#include <algorithm>
#include <cctype>

#include "bench/perftest/notes.h"
#include "core/base/error.h"
#include "core/base/ip_address.h"
#include "core/base/printable.h"
#include "core/engine/device/open_device.h"
#include "core/engine/open_devices.h"
#include "core/log/print.h"

namespace rdmameter {

namespace {

/// The port's state: "Down".
std::string state_of(const PortInfo& port) {
  std::string name(port_state_name(port.state));
  std::transform(name.begin() + 1, name.end(), name.begin() + 1,
                 [](unsigned char c) { return std::tolower(c); });
  return name;
}

/// As perftest, which takes the first device and its first port where none is named.
/// @return is there the device?
bool tell_of_port(const PerftestPlan& plan) {
  const std::vector<std::string> devices = list_devices();
  if (devices.empty()) return false;
  try {
    const Context device = open_device(plan.own.device.empty() ? devices.front() : plan.own.device);
    const PortInfo port = query_port(*device, plan.own.port_num == kAuto ? 1 : plan.own.port_num);
    if (!port.active())
      tell(" Port number {} state is {}\n Couldn't set the link layer\n", port.number,
           state_of(port));
    tell_text(" Couldn't get context for the device\n");
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

void tell_no_device(const PerftestPlan& plan) {
  if (tell_of_port(plan)) return;
  if (!plan.own.device.empty()) tell("IB device {} not found\n", printable(plan.own.device));
  tell_text(" Unable to find the Infiniband/RoCE device\n");
}

void bind_to_source(PerftestPlan& plan) {
  const std::string& source = plan.host.empty() ? plan.bind : plan.source;
  const bool by_cm = std::ranges::find(plan.axes, "connect", &GivenAxis::option) != plan.axes.end();
  const auto address = IpAddress::parse(without_scope(source));
  if (!by_cm || !address || plan.own.gid_index != kAuto) return;
  const bool named = !plan.own.device.empty();
  for (const std::string& name : named ? std::vector{plan.own.device} : list_devices()) try {
      const OpenDevice device = open_for_run(name, plan.own.port_num, kAuto);
      for (const Gid& gid : device.gids) {
        if (gid.type != GidType::roce_v2 && gid.type != GidType::iwarp) continue;
        if (IpAddress::of_bytes(gid.value.raw, 0, 0).host() != address->host()) continue;
        plan.own.device = name;
        plan.own.port_num = device.port.number;
        plan.own.gid_index = gid.index;
        if (!named) plan.axes.push_back({find_axis("device"), {name}});
        plan.axes.push_back({find_axis("gid-index"), {std::to_string(gid.index)}});
        return;
      }
    } catch (const std::exception&) {  // another one may do; reported when it is opened
    }
  tell_note("--bind_source_ip: no GID has that address: -R takes the device's own choice");
}

std::string perftest_transport(const nlohmann::ordered_json& environment) {
  const auto device = environment.is_object()
                          ? environment.value("device", nlohmann::ordered_json())
                          : nlohmann::ordered_json();
  if (!device.is_object()) return "IB";
  try {
    switch (open_device(device.value("name", ""))->device->transport_type) {
      case IBV_TRANSPORT_IB:
        return "IB";
      case IBV_TRANSPORT_IWARP:
        return "IW";
      default:  // a library's enum, which grows
        return "Unknown";
    }
  } catch (const std::exception&) {  // it has gone: reported when it is measured
    return "Unknown";
  }
}

nlohmann::ordered_json require_own_device(const PerftestPlan& plan, const ClockChoice& clock) {
  try {
    const OpenDevice device = open_for_run(plan.own.device, plan.own.port_num, plan.own.gid_index);
    return environment_with(clock, &device);
  } catch (const NoDevice&) {
    tell_no_device(plan);
    throw;
  } catch (const std::exception&) {
    tell_text(" Couldn't get context for the device\n");
    throw;
  }
}

}  // namespace rdmameter
