// SPDX-License-Identifier: Apache-2.0
// Which verb is called by what, and what several of them need.
#include <algorithm>

#include "core/base/error.h"
#include "core/control/control_call.h"
#include "core/verbs/check.h"

namespace rdmameter {

std::unique_ptr<ControlCall> make_control_call(OpenDevice& device, const TestCase& test_case) {
  switch (object_of(test_case.verb)) {
    case ControlObject::memory:
      return make_memory_call(device, test_case);
    case ControlObject::cq:
      return make_cq_call(device, test_case);
    case ControlObject::qp:
      return make_qp_call(device, test_case);
    case ControlObject::ah:
      return make_ah_call(device, test_case);
    case ControlObject::window:
      return make_window_call(device, test_case);
    case ControlObject::connection:  // needs a session
      break;
  }
  return nullptr;
}

void require_objects(const TestCase& test_case, std::string_view kind, std::uint64_t max,
                     const std::string& where) {
  if (test_case.objects + 1 > max)
    throw Unsupported("{} on {}: {} wanted, the device has {}; use fewer --objects", kind, where,
                      test_case.objects + 1, max);
}

void require_depths(const TestCase& test_case, const DeviceLimits& limits,
                    const std::string& where) {
  const std::uint64_t max = std::max(test_case.queues.depth, test_case.queues.rx_depth);
  if (max > limits.max_qp_wr)
    throw Unsupported("a queue of {} WRs: {} takes at most {}; use a smaller --depth or --rx-depth",
                      max, where, limits.max_qp_wr);
}

Pd make_pd(const OpenDevice& device) {
  return Pd{check_pointer([&] { return ibv_alloc_pd(device.context.get()); }, "ibv_alloc_pd",
                          device.port.where())};
}

Cq make_cq(const OpenDevice& device) {
  return Cq{
      check_pointer([&] { return ibv_create_cq(device.context.get(), 1, nullptr, nullptr, 0); },
                    "ibv_create_cq", device.port.where())};
}

QpPath path_to_itself(const OpenDevice& device) {
  QpPath path;
  path.mtu = *mtu_from_bytes(device.port.active_mtu_bytes);
  path.port_num = device.port.number;
  path.gid_index = static_cast<std::uint8_t>(device.gid.index);
  path.global = device.port.needs_grh;  // to itself is within one subnet
  path.remote_lid = device.port.lid;
  path.remote_gid = device.gid.value;
  path.reads_out = path.reads_in = static_cast<std::uint8_t>(std::clamp<std::uint32_t>(
      std::min(device.limits.max_qp_rd_atom, device.limits.max_qp_init_rd_atom), 1, 255));
  return path;
}

}  // namespace rdmameter
