// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/port_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "core/verbs/device.h"
#include "core/verbs/gid_pair.h"
#include "core/verbs/iwarp.h"
#include "core/verbs/probe.h"
#include "core/wire/fields.h"

namespace rdmameter {
namespace {

constexpr Transport kTransports[] = {Transport::rc, Transport::uc, Transport::ud};
constexpr std::size_t kMostDeviceBytes = 64;  ///< IBV_SYSFS_NAME_MAX

/// An open device, and where its ports are in the list.
struct Listed {
  Context context;
  std::tuple<std::uint32_t, std::uint32_t, ibv_transport_type> model;
  std::size_t first = 0, end = 0;

  bool usable_in(const std::vector<PortFacts>& ports) const {
    return std::any_of(ports.begin() + static_cast<std::ptrdiff_t>(first),
                       ports.begin() + static_cast<std::ptrdiff_t>(end),
                       [](const PortFacts& port) { return port.usable(); });
  }
};

PortFacts facts_of(ibv_context& context, const PortInfo& port, std::uint64_t gid_index) {
  std::vector<Gid> gids = query_gids(context, port.number);
  find_subnets(gids);
  return {.device = port.device,
          .number = port.number,
          .state = port.state,
          .link_layer = port.link_layer,
          .iwarp = is_iwarp(context),
          .gids = gids_to_offer(std::move(gids), gid_index),
          .lacks = {}};
}

Listed list_device(const std::string& name, std::uint64_t gid_index,
                   std::vector<PortFacts>& ports) {
  Listed listed{.context = open_device(name), .model = {}, .first = ports.size()};
  const DeviceLimits limits = query_limits(*listed.context);
  listed.model = {limits.vendor_id, limits.vendor_part_id, listed.context->device->transport_type};
  std::vector<PortFacts> found;
  for (unsigned number = 1; number <= limits.phys_port_cnt; ++number)
    found.push_back(facts_of(*listed.context, query_port(*listed.context, number), gid_index));
  std::ranges::move(found, std::back_inserter(ports));
  listed.end = ports.size();
  return listed;
}

/// Tries the transports of each model, where there is more than one.
void find_lacks(const std::vector<Listed>& devices, std::vector<PortFacts>& ports) {
  std::vector<const Listed*> models;
  for (const Listed& device : devices)
    if (device.usable_in(ports) && std::ranges::none_of(models, [&](const Listed* known) {
          return known->model == device.model;
        }))
      models.push_back(&device);
  if (models.size() < 2) return;
  for (const Listed* const model : models) {
    std::vector<Transport> lacks;
    for (const Transport transport : kTransports)
      if (lacks_transport(*model->context, transport)) lacks.push_back(transport);
    for (const Listed& device : devices)
      if (device.model == model->model)
        for (std::size_t i = device.first; i < device.end; ++i) ports[i].lacks = lacks;
  }
}

}  // namespace

bool PortFacts::has(Transport transport) const {
  return std::ranges::find(lacks, transport) == lacks.end();
}

std::string PortFacts::where() const {
  return opens() ? fmt::format("{}/{}", device, number) : device;
}

std::string_view kind_name(const PortFacts& port) {
  if (port.iwarp) return "iWARP";
  if (port.link_layer == IBV_LINK_LAYER_ETHERNET) return "RoCE";
  if (port.link_layer == IBV_LINK_LAYER_INFINIBAND) return "InfiniBand";
  return "of no known link layer";
}

std::vector<PortFacts> list_ports(std::string_view device, std::uint64_t gid_index) {
  std::vector<PortFacts> ports;
  std::vector<Listed> listed;
  std::size_t looked_at = 0;
  for (const std::string& name : list_devices()) {
    if (!device.empty() && name != device) continue;
    if (looked_at++ == kMostDevicesLookedAt) break;
    try {
      listed.push_back(list_device(name, gid_index, ports));
    } catch (const std::exception&) {  // whoever opens it says why it cannot
      ports.push_back({.device = name, .gids = {}, .lacks = {}});
    }
  }
  try {
    find_lacks(listed, ports);
  } catch (const VerbsError&) {  // no PD or CQ: whoever measures says so
  }
  return ports;
}

nlohmann::json ports_to_wire(std::vector<PortFacts> ports) {
  auto list = nlohmann::json::array();
  // Those that can be chosen before those that only have a reason.
  std::stable_partition(ports.begin(), ports.end(),
                        [](const PortFacts& port) { return port.state == IBV_PORT_ACTIVE; });
  for (const PortFacts& port : ports) {
    if (list.size() == kMostPortsTold) break;
    auto lacks = nlohmann::json::array();
    for (const Transport transport : port.lacks) lacks.push_back(transport_name(transport));
    list.push_back({{"device", port.device},
                    {"port_num", port.number},
                    {"state", static_cast<unsigned>(port.state)},
                    {"link_layer", port.link_layer},
                    {"iwarp", port.iwarp},
                    {"gids", gids_to_wire(port.gids)},
                    {"lacks", std::move(lacks)}});
  }
  return list;
}

std::vector<PortFacts> ports_from_wire(const nlohmann::json& message) {
  constexpr std::uint64_t kMostState = 7, kMostLinkLayer = 255;  // room for later ones
  std::vector<PortFacts> ports;
  for (const nlohmann::json& each : require_array(message, "ports", kMostPortsTold)) {
    PortFacts port{
        .device = require_string(each, "device", kMostDeviceBytes, 1),
        .number = require_uint_as<std::uint8_t>(each, "port_num"),
        .state = static_cast<ibv_port_state>(require_uint(each, "state", 0, kMostState)),
        .link_layer = static_cast<int>(require_uint(each, "link_layer", 0, kMostLinkLayer)),
        .iwarp = require_bool(each, "iwarp"),
        .gids = gids_from_wire(each, "gids"),
        .lacks = {}};
    for (const nlohmann::json& name : require_array(each, "lacks", std::size(kTransports)))
      for (const Transport transport : kTransports)
        if (name == transport_name(transport)) port.lacks.push_back(transport);
    ports.push_back(std::move(port));
  }
  return ports;
}

}  // namespace rdmameter
