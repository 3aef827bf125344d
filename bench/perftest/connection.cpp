// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/connection.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/engine/endpoint.h"
#include "core/engine/endpoint_view.h"
#include "core/engine/layout/layout.h"

namespace rdmameter {
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
  PerftestConnection connection{.test_case = test_case, .local = {}, .remote = {}, .group = {}};
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
  if (report.output != PerftestReport::Output::full || !connection.local || !connection.remote)
    return "";
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
      else if (perftest_names_gid(report, end.link_layer == IBV_LINK_LAYER_ETHERNET))
        text += gid_line(end.gid.value, false);
    }
  };
  // Receivers are in the group: the server, and in both directions the client.
  add("local", *connection.local, report.server || test_case.bidirectional);
  add("remote", *connection.remote, !report.server || test_case.bidirectional);
  return text;
}

}  // namespace rdmameter
