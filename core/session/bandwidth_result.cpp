// SPDX-License-Identifier: Apache-2.0
#include "core/session/bandwidth_result.h"

#include <algorithm>
#include <cmath>

namespace rdmameter {

bool receiver_counts(const Case& one_case) {
  return one_case.shape() == Pattern::bandwidth &&
         (one_case.over_tcp() || (one_case.takes_receive() && !one_case.reliable()));
}

BandwidthTally bandwidth_of(const Case& one_case, const Report& sent, const Report& received) {
  BandwidthTally bandwidth{.traffic_messages = sent.total, .traffic_ns = sent.traffic_ns};
  const bool by_receiver = receiver_counts(one_case);
  bandwidth.messages = by_receiver ? received.operations : sent.operations;
  bandwidth.window_ns = by_receiver ? received.elapsed_ns : sent.elapsed_ns;
  bandwidth.by_receiver = by_receiver;
  const bool traced = leaves_traces(one_case) && received.verdict;
  bandwidth.injected = !by_receiver && !one_case.reliable() && !traced;
  if (by_receiver || traced) {
    bandwidth.sent = sent.total * copies_of(one_case);
    bandwidth.received = by_receiver ? received.total : received.verdict->whole_slots;
  }
  bandwidth.duplicated = received.duplicated;
  bandwidth.reordered = received.reordered;
  return bandwidth;
}

BandwidthTally both(const BandwidthTally& forward, const BandwidthTally& backward) {
  const auto rate = [](const BandwidthTally& one) {
    return one.window_ns == 0
               ? 0.0
               : static_cast<double>(one.messages) / static_cast<double>(one.window_ns);
  };
  BandwidthTally sum = forward;
  sum.messages += backward.messages;
  const double rates = rate(forward) + rate(backward);
  sum.window_ns =
      rates == 0
          ? 0
          : static_cast<std::uint64_t>(std::llround(static_cast<double>(sum.messages) / rates));
  sum.traffic_messages += backward.traffic_messages;
  sum.traffic_ns = std::max(forward.traffic_ns, backward.traffic_ns);
  if (sum.sent) *sum.sent += *backward.sent;
  if (sum.received) *sum.received += *backward.received;
  if (sum.duplicated) *sum.duplicated += backward.duplicated.value_or(0);
  if (sum.reordered) *sum.reordered += backward.reordered.value_or(0);
  return sum;
}

nlohmann::ordered_json direction_json(const BandwidthTally& one) {
  nlohmann::ordered_json made = {{"messages", one.messages}, {"window_ns", one.window_ns}};
  if (one.sent) made["sent"] = *one.sent;
  if (one.received) made["received"] = *one.received;
  return made;
}

}  // namespace rdmameter
