// SPDX-License-Identifier: Apache-2.0
#include "core/engine/device/open_device.h"

#include <cerrno>
#include <utility>

#include "core/base/error.h"
#include "core/test_case/test_case.h"
#include "core/verbs/check.h"
#include "core/verbs/device_events.h"
#include "core/verbs/environment.h"
#include "core/verbs/port_choice.h"
#include "core/verbs/probe.h"

namespace rdmameter {
namespace {

void query_port_and_gids(OpenDevice& open, std::uint64_t port_num, std::uint64_t gid_index) {
  open.port = query_active_port(*open.context, port_num);
  std::vector<Gid> gids = query_gids(*open.context, open.port.number);
  open.gid = choose_gid(gids, open.port.link_layer, gid_index, open.port.where());
  open.gids = gids_to_offer(std::move(gids), gid_index);
}

}  // namespace

OpenDevice open_for_run(const std::string& device, std::uint64_t port_num,
                        std::uint64_t gid_index) {
  if (device.empty())
    if (const EndSettings chosen = LoneChoice{}.settled(
            {.device = {}, .port_num = port_num, .gid_index = gid_index, .core = {}, .memory = {}},
            Transport::rc);
        !chosen.device.empty())
      return open_for_run(chosen.device, chosen.port_num, gid_index);
  OpenDevice open;
  open.context = open_device(device);
  open.limits = query_limits(*open.context);
  query_port_and_gids(open, port_num, gid_index);
  open.numa_node = device_numa_node(open.port.device);
  return open;
}

void look_again(OpenDevice& device, std::uint64_t gid_index) {
  std::vector<std::string> noted;
  take_fatal_event(*device.context, device.port.number, noted);
  try {
    query_port_and_gids(device, device.port.number, gid_index);
  } catch (const UnusableDevice& error) {  // it could when it was opened
    throw MeasurementError(error.what());
  }
}

void use_gids_of(OpenDevice& device, std::span<const Gid> peer) {
  if (const auto pair = choose_gid_pair(device.gids, peer)) device.gid = pair->mine;
}

EndpointInfo endpoint_info_of(const OpenDevice& device) {
  EndpointInfo info;
  info.lid = device.port.lid;
  info.gid = device.gid;
  info.gids = device.gids;
  info.link_layer = device.port.link_layer;
  info.needs_grh = device.port.needs_grh;
  info.mtu_bytes = device.port.active_mtu_bytes;
  info.reads_in = device.limits.max_qp_rd_atom;
  info.reads_out = device.limits.max_qp_init_rd_atom;
  info.qkey = kQkey;
  return info;
}

void complete(const EndpointDevice& info, const CheckedJson& json) {
  if (!mtu_from_bytes(info.mtu_bytes)) json.at("mtu_bytes").fail("is not an MTU");
}

void require_queues_of(const EndpointQueues& queues, std::uint64_t qps) {
  const auto hold = [qps](std::string_view key, std::size_t size, bool fits) {
    if (!fits)
      throw MeasurementError("the peer's message: {} has {} elements, and the case has {} QPs", key,
                             size, qps);
  };
  hold("qpns", queues.qpns.size(), queues.qpns.size() == qps);
  hold("psns", queues.psns.size(), queues.psns.size() == qps);
  hold("rkeys", queues.rkeys.size(), queues.rkeys.size() <= qps);
}

ProtectionDomain::ProtectionDomain(ibv_context& context, std::uint64_t thread_domain,
                                   const std::string& where)
    : pd_(check_pointer([&] { return ibv_alloc_pd(&context); }, "ibv_alloc_pd", where)) {
  if (thread_domain == 0) return;
  ibv_td_init_attr attributes{};
  errno = 0;
  td_.reset(ibv_alloc_td(&context, &attributes));
  const char* verb = "ibv_alloc_td";
  if (td_) {
    verb = "ibv_alloc_parent_domain";
    ibv_parent_domain_init_attr domain{};
    domain.pd = pd_.get();
    domain.td = td_.get();
    parent_.reset(ibv_alloc_parent_domain(&context, &domain));
  }
  if (parent_) return;
  const int error = errno_of_null();
  td_.reset();
  if (thread_domain == kAuto) return;
  if (is_unsupported(error))
    throw Unsupported("{} has no thread domains: use --thread-domain auto, or --thread-domain off",
                      where);
  check_errno_value(error, verb, where);
}

}  // namespace rdmameter
