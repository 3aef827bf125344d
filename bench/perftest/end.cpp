// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/end.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "bench/perftest/notes.h"
#include "core/base/error.h"
#include "core/base/ip_address.h"
#include "core/base/printable.h"
#include "core/engine/device/open_device.h"
#include "core/engine/endpoint.h"
#include "core/engine/endpoint_view.h"
#include "core/engine/layout/layout.h"
#include "core/engine/open_devices.h"
#include "core/log/print.h"
#include "reports/summary/facts.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

/// The port's state: "Down".
std::string state_of(const PortInfo& port) {
  std::string name(port_state_name(port.state));
  std::transform(name.begin() + 1, name.end(), name.begin() + 1,
                 [](unsigned char c) { return std::tolower(c); });
  return name;
}

}  // namespace

void tell_no_device(const PerftestPlan& plan) {
  const std::string& named = plan.own.device;
  const std::vector<std::string> devices = list_devices();
  if (!devices.empty()) {
    try {
      // As perftest, which takes the first device and its first port where none is named.
      const Context device = open_device(named.empty() ? devices.front() : named);
      const PortInfo port = query_port(*device, plan.own.port_num == kAuto ? 1 : plan.own.port_num);
      if (!port.active())
        tell(" Port number {} state is {}\n Couldn't set the link layer\n", port.number,
             state_of(port));
      tell_text(" Couldn't get context for the device\n");
      return;
    } catch (const std::exception&) {  // it is not there
    }
  }
  if (!named.empty()) tell("IB device {} not found\n", printable(named));
  tell_text(" Unable to find the Infiniband/RoCE device\n");
}

void bind_to_source(PerftestPlan& plan) {
  const auto address = IpAddress::parse(without_scope(plan.address));
  if (!plan.has("rdma_cm") || !address || plan.own.gid_index != kAuto) return;
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

std::string perftest_transport(const Json& environment) {
  const Json& device = fact_at(environment, "device");
  if (!device.is_object()) return "IB";
  try {
    const auto type = open_device(text_at(device, "name"))->device->transport_type;
    return type == IBV_TRANSPORT_IB ? "IB" : type == IBV_TRANSPORT_IWARP ? "IW" : "Unknown";
  } catch (const std::exception&) {  // it has gone: reported when it is measured
    return "Unknown";
  }
}

Json require_own_device(const PerftestPlan& plan, const ClockChoice& clock) {
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

void require_link(const PerftestPlan& plan, const Json& environment) {
  const std::string link = upper_case(text_at(environment, "/device/link_layer"));
  if (plan.report.link.empty() || plan.has("rdma_cm") || link.empty() ||
      link.front() == plan.report.link.front())
    return;
  throw UsageError("--force-link: the port's link is {}, and another one goes with -R, --rdma_cm",
                   printable(link));
}

namespace {

/// The QP number by which all receivers of a multicast are addressed.
constexpr std::uint32_t kMulticastQpn = 0xffffff;

/// As C's %#0WIDTHx, which leaves the 0x of a zero away.
std::string hexadecimal(std::uint64_t value, int width) {
  return value == 0 ? fmt::format("{:0{}}", 0, width) : fmt::format("{:#0{}x}", value, width);
}

/// @param text  "239.1.2.3", "ff15::1"
std::optional<ibv_gid> group_gid(const std::string& text) {
  // An IPv4 address is mapped, as RoCE v2 has it.
  return gid_from_text(text.find(':') == text.npos ? "::ffff:" + text : text);
}

/// perftest writes its bytes as decimal numbers.
std::string gid_line(const ibv_gid& gid, bool group) {
  std::string text;
  for (const std::uint8_t byte : gid.raw) text += fmt::format(":{:02}", byte);
  return fmt::format(" {}: {}\n", group ? "MGID" : "GID", text.substr(1));
}

/// Reads under way that the initiator may have on each QP.
std::uint64_t outstanding_reads(const PerftestConnection& connection, bool server) {
  const EndpointInfo& reader = server ? *connection.remote : *connection.local;
  const EndpointInfo& target = server ? *connection.local : *connection.remote;
  return std::min({std::uint64_t{reader.reads_out}, std::uint64_t{target.reads_in},
                   connection.test_case.queues.outstanding_reads});
}

}  // namespace

PerftestConnection perftest_connection(const ConnectedCase& connected, bool server) {
  const TestCase& test_case = connected.test_case;
  PerftestConnection connection{.test_case = test_case};
  if (test_case.over_tcp() || test_case.threads * test_case.peers != 1) return connection;
  connection.local = connected.local.forward.endpoint_of(test_case.qps);
  connection.remote = connected.remote.forward.endpoint_of(test_case.qps);
  if (test_case.multicast())  // the receiver chooses it
    connection.group = group_gid((server ? connected.local : connected.remote).forward.group);
  return connection;
}

std::string perftest_gpu(const PerftestConnection& connection, bool server) {
  const Role role = server ? Role::responder : Role::initiator;
  const TestCase& test_case = connection.test_case;
  const std::string& memory = test_case.end(role).memory;
  if (!is_gpu(memory) || !connection.local) return "";
  const Layout layout = layout_of(test_case, role);
  const std::uint64_t bytes = layout.source.total_bytes() + layout.target.total_bytes();
  return memory.starts_with(kCudaMemory)
             ? fmt::format(
                   "initializing CUDA\nallocated GPU buffer of a {} address at {:#x} "
                   "for type CUDA_MEM_DEVICE\n",
                   bytes, connection.local->address)
             : fmt::format("allocated {} bytes of GPU buffer at {:#x}\n", bytes,
                           connection.local->address);
}

std::string perftest_addresses(const PerftestReport& report, const PerftestConnection& connection) {
  if (report.output != PerftestReport::Output::full || !connection.local) return "";
  const TestCase& test_case = connection.test_case;
  // Where it exchanges data by rdma_cm, perftest prints the line of its own exchange, which
  // sends (create_comm_struct()).
  const bool read = test_case.opcode == Opcode::rdma_read && !test_case.by_cm();
  const bool keys = read || (test_case.opcode == Opcode::rdma_write && !test_case.by_cm());
  std::string text;
  const auto add = [&](const char* side, const EndpointInfo& end, bool in_group) {
    for (std::size_t i = 0; i < end.qpns.size(); ++i) {
      const bool of_group = in_group && connection.group;
      text += fmt::format(" {} address: LID {} QPN {} PSN {}", side, hexadecimal(end.lid, 4),
                          hexadecimal(of_group ? kMulticastQpn : end.qpns[i], 6),
                          hexadecimal(end.psns[i], 6));
      if (read)
        text +=
            fmt::format(" OUT {}", hexadecimal(outstanding_reads(connection, report.server), 4));
      if (keys) {  // an end that opens no memory to the other has no key
        const std::uint32_t rkey = end.rkeys.empty() ? 0 : key_of(end.rkeys, i);
        text += fmt::format(" RKey {} VAddr {}", hexadecimal(rkey, 8),
                            hexadecimal(rkey == 0 ? 0 : end.address, 16));
      }
      text += '\n';
      if (of_group)
        text += gid_line(*connection.group, true);
      else if (perftest_names_gid(report, report.link.empty()
                                              ? end.link_layer == IBV_LINK_LAYER_ETHERNET
                                              : report.link.front() == 'E'))
        text += gid_line(end.gid.value, false);
    }
  };
  // Receivers are in the group: the server, and in both directions the client.
  add("local", *connection.local, report.server || test_case.bidirectional);
  add("remote", *connection.remote, !report.server || test_case.bidirectional);
  return text;
}

}  // namespace rdmameter
