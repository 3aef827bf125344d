// SPDX-License-Identifier: Apache-2.0
// `rdmameter devices`: all that is known of the devices here, as JSON and for people.
#include <fmt/format.h>

#include <exception>
#include <limits>
#include <utility>

#include "core/base/error_text.h"
#include "core/verbs/capability.h"
#include "core/verbs/device.h"
#include "core/verbs/environment.h"
#include "core/verbs/link_rate.h"
#include "core/verbs/probe.h"

namespace rdmameter {
namespace {

/// Drivers say 2^64 - 1 for "no limit of mine"; beyond 2^53 a JSON number is no longer exact.
Json size_limit(std::uint64_t size_bytes) {
  if (size_bytes >= 1ULL << 53) return "unlimited";
  return size_bytes;
}

Json limits_json(const DeviceLimits& limits) {
  return {{"max_qp", limits.max_qp},
          {"max_qp_wr", limits.max_qp_wr},
          {"max_sge", limits.max_sge},
          {"max_sge_rd", limits.max_sge_rd},
          {"max_cq", limits.max_cq},
          {"max_cqe", limits.max_cqe},
          {"completion_vectors", limits.completion_vectors},
          {"max_mr", limits.max_mr},
          {"max_mr_size_bytes", size_limit(limits.max_mr_size_bytes)},
          {"max_mw", limits.max_mw},
          {"max_pd", limits.max_pd},
          {"max_ah", limits.max_ah},
          {"max_srq", limits.max_srq},
          {"max_srq_wr", limits.max_srq_wr},
          {"max_srq_sge", limits.max_srq_sge},
          {"max_qp_rd_atom", limits.max_qp_rd_atom},
          {"max_qp_init_rd_atom", limits.max_qp_init_rd_atom},
          {"max_mcast_grp", limits.max_mcast_grp},
          {"max_mcast_qp_attach", limits.max_mcast_qp_attach},
          {"max_pkeys", limits.max_pkeys},
          {"max_dm_size_bytes", limits.max_dm_size_bytes}};
}

Json features_json(const DeviceLimits& limits) {
  Json features = Json::object();
  for (const Capability& capability : capabilities())
    features[std::string(capability.key)] = capability_json(capability, limits);
  return features;
}

Json transport_json(ibv_context& context, Transport transport) {
  const QpLimits limits = probe_qp_limits(context, transport);
  if (!limits.creatable) return {{"available", false}, {"reason", limits.reason}};
  return {{"available", true},
          {"max_inline_bytes", limits.max_inline_bytes},
          {"max_send_sge", limits.max_send_sge},
          {"max_recv_sge", limits.max_recv_sge}};
}

Json port_json(ibv_context& context, const PortInfo& port, std::uint32_t vendor_id) {
  const std::vector<Gid> gids = query_gids(context, port.number);
  Json gid_list = Json::array();
  for (const Gid& gid : gids)
    gid_list.push_back({{"index", gid.index},
                        {"gid", gid_text(gid.value)},
                        {"type", gid_type_name(gid.type)},
                        {"netdev", gid.netdev.empty() ? Json(nullptr) : Json(gid.netdev)}});
  const Json chosen = gids.empty()
                          ? Json(nullptr)
                          : Json(choose_gid(gids, port.link_layer, kAuto, port.where()).index);
  return {{"port_num", port.number},
          {"state", port_state_name(port.state)},
          {"link_layer", link_layer_name(port.link_layer)},
          {"rate_gbps", or_null(link_rate_gbps(link_rate_facts(context, port, vendor_id)))},
          {"lanes", or_null(port.lanes)},
          {"active_mtu_bytes", port.active_mtu_bytes},
          {"max_mtu_bytes", port.max_mtu_bytes},
          {"max_message_bytes", port.max_message_bytes},
          {"lid", port.lid},
          {"sm_lid", port.sm_lid},
          {"gids", std::move(gid_list)},
          {"chosen_gid_index", chosen}};
}

Json opened_device_json(const std::string& name) {
  const Context context = open_device(name);
  const DeviceLimits limits = query_limits(*context);
  Json device = {{"name", name},
                 {"firmware", limits.firmware},
                 {"vendor_id", limits.vendor_id},
                 {"vendor_part_id", limits.vendor_part_id},
                 {"hardware_version", limits.hardware_version}};
  device.update(device_slot_json(name, "/sys"));
  device["ports"] = Json::array();
  for (unsigned port = 1; port <= limits.phys_port_cnt; ++port)
    device["ports"].push_back(port_json(*context, query_port(*context, port), limits.vendor_id));
  for (const Transport transport : {Transport::rc, Transport::uc, Transport::ud})
    device["transports"][std::string(transport_name(transport))] =
        transport_json(*context, transport);
  device["features"] = features_json(limits);
  device["limits"] = limits_json(limits);
  return device;
}

// ---- for people

/// A value as one would write it: text without quotes, null as "unknown", of a capability with
/// details whether it is there.
std::string plain(const Json& value) {
  if (value.is_null()) return "unknown";
  if (value.is_object()) return plain(value.at("supported"));
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string port_text(const Json& port) {
  std::string text = fmt::format(
      "  port {}  {}  {}  {} Gb/s ({}X)  MTU {} of {} B\n", plain(port.at("port_num")),
      plain(port.at("state")), plain(port.at("link_layer")), plain(port.at("rate_gbps")),
      plain(port.at("lanes")), plain(port.at("active_mtu_bytes")), plain(port.at("max_mtu_bytes")));
  for (const Json& gid : port.at("gids"))
    text +=
        fmt::format("    GID {:>3}{} {:<8} {:<28} {}\n", plain(gid.at("index")),
                    gid.at("index") == port.at("chosen_gid_index") ? '*' : ' ',
                    plain(gid.at("type")), plain(gid.at("gid")),
                    !gid.at("netdev").is_null()                    ? plain(gid.at("netdev"))
                    : gid.at("type") != gid_type_name(GidType::ib) ? "(not of an interface here)"
                                                                   : "");
  if (port.at("gids").empty()) text += "    no GID\n";
  return text;
}

std::string transports_text(const Json& transports) {
  std::string text = "  transport  max inline  max SGE (send, receive)   found by creating QPs\n";
  for (const auto& [name, limits] : transports.items())
    text +=
        limits.at("available").get<bool>()
            ? fmt::format("  {:<9}  {:>8} B  {}, {}\n", name, plain(limits.at("max_inline_bytes")),
                          plain(limits.at("max_send_sge")), plain(limits.at("max_recv_sge")))
            : fmt::format("  {:<9}  none: {}\n", name, plain(limits.at("reason")));
  return text;
}

std::string features_text(const Json& features) {
  std::string text;
  for (const Capability& capability : capabilities())
    text += fmt::format("{}{} {}", text.empty() ? "  " : ", ", capability.label,
                        plain(features.at(std::string(capability.key))));
  return text + "\n";
}

/// Five to a line.
std::string limits_text(const Json& limits) {
  constexpr std::size_t kPerLine = 5;
  std::string text;
  std::size_t written = 0;
  for (const auto& [name, value] : limits.items()) {
    text += fmt::format("{}{} {}", written % kPerLine == 0 ? "  " : ", ", name, plain(value));
    if (++written % kPerLine == 0) text += "\n";
  }
  if (written % kPerLine != 0) text += "\n";
  return text;
}

std::string slot_text(const Json& device) {
  if (device.at("pcie_speed").is_null()) return "no PCIe slot known";
  return fmt::format("PCIe {} x{}", plain(device.at("pcie_speed")), plain(device.at("pcie_width")));
}

/// "mlx5_core", "mlx5_core 24.10-1.1.4"
std::string driver_text(const Json& device) {
  const Json& version = device.at("driver_version");
  return plain(device.at("driver")) + (version.is_null() ? "" : " " + plain(version));
}

/// As choose_port() has it, but for transports; the lesser the better: by its GID, of an interface
/// here (for choose_port() the address must be here, too), not of RoCE v1, not link-local.
int rank_of_gids(const Json& port) {
  constexpr int kElsewhere = 4, kFirst = 2, kLinkLocal = 1, kNone = 8;
  const Json& chosen = port.at("chosen_gid_index");
  if (chosen.is_null()) return kNone;
  for (const Json& gid : port.at("gids"))
    if (gid.at("index") == chosen && gid.at("type") != gid_type_name(GidType::ib)) {
      const auto value = gid_from_text(plain(gid.at("gid")));
      return (gid.at("netdev").is_null() ? kElsewhere : 0) +
             (gid.at("type") == gid_type_name(GidType::roce_v1) ? kFirst : 0) +
             (value && is_link_local(*value) ? kLinkLocal : 0);
    }
  return 0;
}

/// "2 devices, 2 of 3 ports ACTIVE; mlx5_0 is taken unless --device says otherwise"
std::string summary_text(const Json& devices) {
  std::size_t ports = 0, active = 0;
  int best = std::numeric_limits<int>::max();
  std::string first;
  for (const Json& device : devices) {
    if (!device.contains("ports")) continue;
    for (const Json& port : device.at("ports")) {
      ++ports;
      if (port.at("state") != port_state_name(IBV_PORT_ACTIVE)) continue;
      ++active;
      if (rank_of_gids(port) >= best) continue;
      best = rank_of_gids(port);
      first = plain(device.at("name"));
    }
  }
  const std::string taken = first.empty() ? "none can be measured on"
                                          : first + " is taken unless --device says otherwise";
  return fmt::format("{} device{}, {} of {} port{} ACTIVE; {}\n\n", devices.size(),
                     devices.size() == 1 ? "" : "s", active, ports, ports == 1 ? "" : "s", taken);
}

std::string device_text(const Json& device) {
  if (device.contains("error"))
    return fmt::format("{}\n  cannot be opened: {}\n", plain(device.at("name")),
                       plain(device.at("error")));
  std::string text =
      fmt::format("{}  driver {}, firmware {}, vendor {:#x} part {}, NUMA node {}, {}\n",
                  plain(device.at("name")), driver_text(device), plain(device.at("firmware")),
                  device.at("vendor_id").get<std::uint32_t>(), plain(device.at("vendor_part_id")),
                  plain(device.at("numa_node")), slot_text(device));
  for (const Json& port : device.at("ports")) text += port_text(port);
  return text + transports_text(device.at("transports")) + features_text(device.at("features")) +
         limits_text(device.at("limits"));
}

}  // namespace

Json devices_json() {
  Json devices = Json::array();
  for (const std::string& name : list_devices()) try {
      devices.push_back(opened_device_json(name));
    } catch (const std::exception& failure) {
      devices.push_back({{"name", name}, {"error", error_text(failure)}});
    }
  return {{"devices", std::move(devices)}};
}

std::string devices_text(const Json& devices) {
  if (devices.at("devices").empty()) return "no verbs device\n";
  std::string text = summary_text(devices.at("devices"));
  for (const Json& device : devices.at("devices")) {
    if (!text.ends_with("\n\n")) text += "\n";
    text += device_text(device);
  }
  const bool marked = text.find("* ") != text.npos;
  return text + (marked ? "\n* the GID taken unless --gid-index says otherwise\n" : "");
}

}  // namespace rdmameter
