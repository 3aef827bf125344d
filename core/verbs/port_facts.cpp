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
#include "core/verbs/probe.h"

namespace rdmameter {
namespace {

constexpr Transport kTransports[] = {Transport::rc, Transport::uc, Transport::ud};

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
    if (!names_device(device, name)) continue;
    if (looked_at++ == kMostDevicesLookedAt) break;
    try {
      listed.push_back(list_device(name, gid_index, ports));
    } catch (const std::exception&) {  // reported when it is opened
      ports.push_back({.device = name, .gids = {}, .lacks = {}});
    }
  }
  try {
    find_lacks(listed, ports);
  } catch (const VerbsError&) {  // no PD or CQ: reported when it is measured
  }
  return ports;
}

std::vector<PortFacts> ports_to_tell(std::vector<PortFacts> ports) {
  std::stable_partition(ports.begin(), ports.end(),
                        [](const PortFacts& port) { return port.state == IBV_PORT_ACTIVE; });
  if (ports.size() > kMostPortsTold) ports.resize(kMostPortsTold);
  return ports;
}

}  // namespace rdmameter
