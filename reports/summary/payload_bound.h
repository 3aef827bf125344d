// SPDX-License-Identifier: Apache-2.0
// About what a message's payload can get of an end's link and PCIe slot.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/result/row.h"

namespace rdmameter {

/// Of what a slot carries, the share that payload gets. A TLP of 256 B (the largest that most root
/// ports take) has 24 B of framing, sequence number, header and LCRC (PCI Express Base 3.0, 3.5):
/// 91 %; the rest of the way is our choice, for acknowledgements, flow control and read requests.
inline constexpr double kPcieShare = 0.85;

/// What an end's device tells of itself: `device` of an environment.
struct PayloadLimits {
  std::optional<double> line_gbps, slot_gbps;
  /// Of each packet, beside the payload, on an Ethernet with the gap between frames; nullopt: not
  /// known (iWARP, EFA).
  std::optional<double> header_bytes;
};
PayloadLimits payload_limits(const nlohmann::ordered_json& device);

/// line x payload/(payload + headers), or slot x kPcieShare where that is less [Gb/s]; nullopt:
/// neither is known.
/// @param payload_bytes  of each packet
std::optional<double> payload_bound_gbps(const PayloadLimits& limits, double payload_bytes);

/// Of both ends of one result.
class PayloadBounds {
 public:
  /// @param context  of the result
  explicit PayloadBounds(const nlohmann::ordered_json& context);

  /// Adds `bound_gbps` to a row of a bandwidth whose messages pass the links that the context
  /// describes. Payload in the device's own memory does not cross the slot.
  void note(Row& row) const;

 private:
  struct End {
    nlohmann::ordered_json device;
    PayloadLimits limits;
  };
  std::array<End, 2> ends_;  ///< initiator, responder
  bool linked_ = false;      ///< messages pass links
};

}  // namespace rdmameter
