// SPDX-License-Identifier: Apache-2.0
#include "core/session/bandwidth_result.h"

#include <algorithm>
#include <cmath>

#include "core/engine/layout/layout.h"
#include "core/result/row_fields.h"
#include "core/result/row_json.h"

namespace rdmameter {

bool receiver_counts(const TestCase& test_case) {
  return test_case.pattern == Pattern::bandwidth &&
         (test_case.over_tcp() || (test_case.takes_receive() && !test_case.reliable()));
}

namespace {

/// How many messages may be under way, or arrived and not yet seen: of those of a window as many
/// may have been complete before it opened. 0: not known (TCP).
std::uint64_t most_under_way(const TestCase& test_case) {
  if (test_case.over_tcp()) return 0;
  const std::uint64_t receives = receiver_counts(test_case) ? test_case.queues.rx_depth : 0;
  return copies_of(test_case) * test_case.devices() * test_case.threads * test_case.qps *
         (test_case.queues.depth + receives);
}

/// The time that its messages take at the rate of the whole traffic.
/// @param counted  messages of the whole traffic, counted as those of the window are
void lengthen(BandwidthData& bandwidth, std::uint64_t counted) {
  bandwidth.short_window = true;
  if (counted == 0) return;
  const double share = static_cast<double>(bandwidth.messages) / static_cast<double>(counted);
  const auto window_ns =
      static_cast<std::uint64_t>(std::llround(share * static_cast<double>(bandwidth.traffic_ns)));
  bandwidth.window_ns = std::max(bandwidth.window_ns, window_ns);
}

}  // namespace

BandwidthData bandwidth_of(const TestCase& test_case, const Report& sent, const Report& received) {
  BandwidthData bandwidth{.traffic_messages = sent.total(), .traffic_ns = sent.traffic_ns};
  const bool by_receiver = receiver_counts(test_case);
  bandwidth.messages = by_receiver ? received.operations : sent.operations;
  bandwidth.window_ns = by_receiver ? received.elapsed_ns : sent.elapsed_ns;
  bandwidth.bytes = bandwidth.messages * test_case.size_bytes;
  if (by_receiver) bandwidth.counted_by = BandwidthData::CountedBy::receiver;
  const bool traced = leaves_traces(test_case) && received.verdict;
  bandwidth.injected = !by_receiver && !test_case.reliable() && !traced;
  if (by_receiver || traced) {
    bandwidth.sent = sent.total() * copies_of(test_case);
    bandwidth.received = by_receiver ? received.total() : received.verdict->whole_slots;
  }
  bandwidth.duplicated = received.duplicated;
  bandwidth.reordered = received.reordered;
  bandwidth.peak = sent.peak;
  if (bandwidth.messages < 2 * most_under_way(test_case))
    lengthen(bandwidth,
             by_receiver ? received.total() - received.duplicated.value_or(0) : sent.total());
  return bandwidth;
}

namespace {

/// Adds the messages of the other direction to those of this one, and lets the time be what makes
/// the rate the sum of both. @tparam Part  BandwidthData, PeakData
template <class Part>
void add_rate(Part& sum, const Part& other) {
  const double rates =
      per_ns(sum.messages, sum.window_ns) + per_ns(other.messages, other.window_ns);
  sum.messages += other.messages;
  sum.bytes += other.bytes;
  sum.window_ns = window_of(sum.messages, rates);
}

}  // namespace

BandwidthData both(const BandwidthData& forward, const BandwidthData& backward) {
  BandwidthData sum = forward;
  add_rate(sum, backward);
  if (sum.peak && backward.peak)
    add_rate(*sum.peak, *backward.peak);
  else
    sum.peak.reset();
  sum.short_window = forward.short_window || backward.short_window;
  sum.traffic_messages += backward.traffic_messages;
  sum.traffic_ns = std::max(forward.traffic_ns, backward.traffic_ns);
  if (sum.sent) *sum.sent += *backward.sent;
  if (sum.received) *sum.received += *backward.received;
  if (sum.duplicated) *sum.duplicated += backward.duplicated.value_or(0);
  if (sum.reordered) *sum.reordered += backward.reordered.value_or(0);
  return sum;
}

namespace {

DeviceData device_data(const TestCase& one) {
  return {.device = one.initiator.device, .peer_device = one.responder.device, .bound_gbps = {}};
}

std::uint64_t completed_bytes(const LoadData& load, const TestCase& one) {
  if (load.mix.empty()) return load.completed * one.size_bytes;
  std::uint64_t bytes = 0;
  for (const LoadPart& part : load.mix) bytes += part.completed * part.size_bytes;
  return bytes;
}

}  // namespace

std::vector<DeviceData> per_device(const TestCase& test_case, const Report& sent,
                                   const Report& received, const Report* back_sent,
                                   const Report* back_received) {
  std::vector<DeviceData> devices;
  for (std::size_t i = 0; i < sent.devices.size(); ++i) {
    const TestCase one = of_device(test_case, i);
    BandwidthData sum = bandwidth_of(one, sent.devices[i], received.devices.at(i));
    if (back_sent != nullptr)
      sum = both(sum, bandwidth_of(one, back_sent->devices.at(i), back_received->devices.at(i)));
    DeviceData& data = devices.emplace_back(device_data(one));
    data.messages = sum.messages;
    data.bytes = sum.bytes;
    data.window_ns = sum.window_ns;
  }
  return devices;
}

std::vector<DeviceData> per_device_of_load(const TestCase& test_case, const Side& initiator) {
  std::vector<DeviceData> devices;
  for (std::size_t i = 0; initiator.devices > 1 && i < initiator.devices; ++i) {
    const TestCase one = of_device(test_case, i);
    DeviceData& data = devices.emplace_back(device_data(one));
    const LoadData load = load_of(initiator.of_device(i)).value();
    data.messages = load.completed;
    data.bytes = completed_bytes(load, one);
    data.window_ns = load.completing_ns;
  }
  return devices;
}

Json direction_json(const BandwidthData& one) {
  Json object = {{"messages", one.messages},
                 {"window_ns", one.window_ns},
                 {"traffic_messages", one.traffic_messages},
                 {"traffic_ns", one.traffic_ns}};
  if (one.peak) object["peak"] = write_fields(*one.peak);
  if (one.sent) object["sent"] = *one.sent;
  if (one.received) object["received"] = *one.received;
  return object;
}

}  // namespace rdmameter
