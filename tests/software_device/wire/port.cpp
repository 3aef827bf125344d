// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/wire/port.h"

#include <algorithm>
#include <cmath>

#include "tests/software_device/device/settings.h"
#include "tests/software_device/queues/queue_pair.h"
#include "tests/software_device/segment/clock.h"

namespace rdmameter::software {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): every input has another output.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// From 0 to 1, without 1.
double draw(SharedQp& qp) {
  constexpr double kPerStep = 1.0 / (1ULL << 53);
  const std::uint64_t event = std::uint64_t{qp.qpn} << 32 | qp.sq.draws++;
  return static_cast<double>(mixed(mixed(settings().wire.seed) ^ event) >> 11) * kPerStep;
}

/// A cache with one place for each QP number, modulo its size: QPs made one after the other miss
/// only if they are more than it holds.
std::uint64_t qp_miss_ns(PortState& port, std::uint32_t qpn) {
  const WireSettings& wire = settings().wire;
  if (wire.qp_cache == 0) return 0;
  if (port.cached_qps[qpn % wire.qp_cache].exchange(qpn) == qpn) return 0;
  port.qp_misses.fetch_add(1, std::memory_order_relaxed);
  return wire.qp_miss_ns;
}

}  // namespace

std::uint64_t leave_port(SharedQp& qp, std::uint32_t device, const Path& path,
                         std::uint64_t bytes) {
  PortState& port = tables().ports[device];
  port.messages.fetch_add(1, std::memory_order_relaxed);
  const auto sending_ns =
      static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes) * path.ns_per_byte));
  const std::uint64_t busy_ns = settings().wire.message_ns + qp_miss_ns(port, qp.qpn) + sending_ns;
  const std::uint64_t now = now_ns();
  std::uint64_t free_ns = port.free_ns.load(std::memory_order_relaxed), left_ns = 0;
  do left_ns = std::max(free_ns, now) + busy_ns;
  while (!port.free_ns.compare_exchange_weak(free_ns, left_ns, std::memory_order_relaxed));
  return left_ns;
}

std::uint64_t arrival_ns(SharedQp& qp, const Path& path, std::uint64_t left_ns) {
  std::uint64_t arrives_ns = left_ns + path.latency_ns + qp.delay_ns;
  if (path.jitter_ns != 0)
    arrives_ns += static_cast<std::uint64_t>(draw(qp) * static_cast<double>(path.jitter_ns));
  qp.sq.last_arrival_ns = std::max(arrives_ns, qp.sq.last_arrival_ns + 1);
  return qp.sq.last_arrival_ns;
}

bool loses(SharedQp& qp, const Path& path) {
  return qp.silent || strikes(qp, path.loss);
}

bool strikes(SharedQp& qp, double share) {
  return share != 0 && draw(qp) < share;
}

}  // namespace rdmameter::software
