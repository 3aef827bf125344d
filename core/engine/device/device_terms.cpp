// SPDX-License-Identifier: Apache-2.0
#include "core/engine/device/device_terms.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/verbs/capability.h"
#include "core/verbs/check.h"
#include "core/verbs/device.h"
#include "core/verbs/probe.h"

namespace rdmameter {
namespace {

/// What on-demand paging may be missing for.
constexpr std::pair<std::uint32_t, std::string_view> kPagedUses[] = {
    {IBV_ODP_SUPPORT_SEND, "sends"},
    {IBV_ODP_SUPPORT_RECV, "receives"},
    {IBV_ODP_SUPPORT_SRQ_RECV, "receives of an SRQ"},
    {IBV_ODP_SUPPORT_WRITE, "RDMA WRITEs"},
    {IBV_ODP_SUPPORT_READ, "RDMA READs"},
    {IBV_ODP_SUPPORT_ATOMIC, "atomics"}};

std::uint32_t paging_of(const ibv_odp_caps& odp, Transport transport) {
  switch (transport) {
    case Transport::rc:
      return odp.per_transport_caps.rc_odp_caps;
    case Transport::uc:
      return odp.per_transport_caps.uc_odp_caps;
    case Transport::ud:
      return odp.per_transport_caps.ud_odp_caps;
  }
  return 0;
}

/// The kernel's rdma_cm hands to an iWARP driver no axis that is not of iWARP (cma.c,
/// cma_connect_iw() and cma_accept_iw()).
void require_iwarp_path(const OpenDevice& device, const TestCase& test_case) {
  const std::string where = device.port.where();
  for (const Axis& axis : axes()) {
    if (axis.of_iwarp) continue;
    if (const std::string asked = axis_text(test_case, axis); asked != axis.latency_default)
      throw Unsupported(
          "--{} {}: {} is an iWARP device, where TCP and the driver choose that: leave it out",
          axis.option, asked, where);
  }
  if (test_case.path.traffic_class != 0 && !device.limits.takes_tos)
    throw Unsupported(
        "--tclass {}: {} is an iWARP device whose driver is not known to heed it (irdma "
        "and cxgb4 are): use --tclass 0",
        test_case.path.traffic_class, where);
}

/// Providers take the lower three bits alone.
void require_priority(const OpenDevice& device, const TestCase& test_case) {
  constexpr std::uint64_t kMostPriority = 7;
  if (device.port.link_layer == IBV_LINK_LAYER_ETHERNET &&
      test_case.path.service_level > kMostPriority)
    throw Unsupported("--sl {}: on {} it is the priority of a VLAN, from 0 to {}",
                      test_case.path.service_level, device.port.where(), kMostPriority);
}

/// Closing, terminated or in error, which drivers of iWARP tell as SQD, SQE and ERR. Anything else
/// is taken for a QP that stands: some kernels fill in no state of QPs of siw and erdma.
bool has_failed(ibv_qp* qp) {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr made_with{};
  if (ibv_query_qp(qp, &attributes, IBV_QP_STATE, &made_with) != 0) return true;
  return attributes.qp_state == IBV_QPS_SQD || attributes.qp_state == IBV_QPS_SQE ||
         attributes.qp_state == IBV_QPS_ERR;
}

}  // namespace

int memory_access(const TestCase& test_case, int remote_access) {
  int access = IBV_ACCESS_LOCAL_WRITE | remote_access;
  if (test_case.relaxes_ordering()) access |= IBV_ACCESS_RELAXED_ORDERING;
  if (test_case.registration.odp) access |= IBV_ACCESS_ON_DEMAND;
  return access;
}

void require_link_has(const OpenDevice& device, const TestCase& test_case) {
  if (!is_iwarp(*device.context)) return require_priority(device, test_case);
  const auto lacks = [&device](std::string_view what, std::string_view remedy) {
    throw Unsupported("{} is an iWARP device, which has no {}: {}", device.port.where(), what,
                      remedy);
  };
  if (test_case.ud_alone())
    lacks(test_case.multicast() ? "multicast" : "UD", "use a test over --transport rc");
  if (test_case.transport != Transport::rc)
    lacks(test_case.transport == Transport::uc ? "UC" : "UD", "use --transport rc");
  if (has_part(test_case, &OpcodeTraits::atomic) && !device_has(device.limits, "atomics"))
    lacks("atomic operations", "use a test of sends, writes or reads");
  if (!test_case.by_cm())
    throw Unsupported(
        "{} is an iWARP device, whose QPs rdma_cm alone can connect: use --connect cm",
        device.port.where());
  if (!test_case.control()) require_iwarp_path(device, test_case);
}

void require_posts(const OpenDevice& device, const TestCase& test_case,
                   std::span<ibv_qp* const> qps, int error) {
  const int reason = std::abs(error);  // negative of cxgb4, siw and erdma
  if (!is_iwarp(*device.context) || !test_case.immediate() ||
      (reason != EINVAL && !is_unsupported(reason)) || std::ranges::any_of(qps, has_failed))
    return;
  throw Unsupported("{} is an iWARP device, which has no immediate data: use the same test without",
                    device.port.where());
}

void require_transport(const OpenDevice& device, const TestCase& test_case) {
  if (lacks_transport(*device.context, test_case.transport))
    throw Unsupported("{} has no QPs of {}: use {}another --transport", device.port.where(),
                      transport_text(test_case), test_case.ud_alone() ? "a test over " : "");
}

void require_connectable(const OpenDevice& device) {
  if (is_iwarp(*device.context))
    throw Unsupported(
        "{} is an iWARP device, whose QPs rdma_cm alone can connect, and this test connects them "
        "without: choose another device, or RoCE where the adapter has both",
        device.port.where());
}

void require_reached_apart(std::span<OpenDevice* const> devices, const TestCase& test_case) {
  if (!test_case.by_cm()) return;
  for (std::size_t i = 0; i < devices.size(); ++i)
    for (std::size_t j = i + 1; j < devices.size(); ++j) {
      const OpenDevice &one = *devices[i], &other = *devices[j];
      if (!answers_for_each_other(one.gid, other.gid)) continue;
      throw Unsupported(
          "{} ({}) and {} ({}) are in one subnet: their machine may answer for the "
          "address of one by the other, and rdma_cm connects the wrong port: {}{}",
          one.port.where(), one.gid.netdev, other.port.where(), other.gid.netdev, kOneSubnetRemedy,
          is_iwarp(*one.context) ? "" : "; or --connect tcp");
    }
}

void require_paging(const DeviceLimits& limits, const TestCase& test_case, std::uint32_t uses,
                    const std::string& where) {
  if (!test_case.registration.odp) return;
  if (!device_has(limits, "on_demand_paging"))
    throw Unsupported("{} has no on-demand paging: use --odp off", where);
  const std::uint32_t lacks = uses & ~paging_of(limits.attributes.odp_caps, test_case.transport);
  for (const auto& [use, name] : kPagedUses)
    if ((lacks & use) != 0)
      throw Unsupported("{} has no on-demand paging for {} over {}: use --odp off{}", where, name,
                        transport_text(test_case),
                        test_case.reliable() ? "" : or_transport(test_case, "rc"));
}

}  // namespace rdmameter
