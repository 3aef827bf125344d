// SPDX-License-Identifier: Apache-2.0
// How fast the links of a result are: what its bandwidths are held against.
#pragma once

#include <array>
#include <string>

#include "core/result/row.h"
#include "reports/stats/sample.h"
#include "reports/summary/facts.h"

namespace rdmameter {

/// The largest share of a line rate that is believed [%]: a payload gets less than the whole line,
/// and the rest is for windows that begin and end between two completions.
inline constexpr double kMostLinePercent = 105;

/// Do messages of this run pass a link? Not between a device and itself, nor of a device in
/// software, nor where an end has no device.
/// @param context  of the result
bool passes_links(const Json& context);

/// Of the links that a result's context describes: those of its first case.
struct LinkRate {
  /// Of the slower of the two ends, or of the one that is known [Gb/s]; nothing: none is known, or
  /// the messages pass no link.
  Number gbps;
  /// Device and number of the port, of the initiator and of the responder; null: not known.
  std::array<std::array<Json, 2>, 2> ports = {};
};
LinkRate link_rate(const Json& context);

/// What a row's bandwidth is at the link's rate [Gb/s]: twice of it where both ends send, and for
/// each receiver of a multicast once; nothing of other ports than the link's, of a test over TCP,
/// which may pass another link, and of several devices, whose sum note_bounds() notes.
Number line_rate_gbps(const LinkRate& link, const Row& row);

/// The row's bandwidth as a percentage of that; nothing: one of both is not known, or it is more
/// than kMostLinePercent.
Number line_percent(const LinkRate& link, const Row& row);

/// Why there is no share although the rate is known: it would be above kMostLinePercent. Empty: it
/// is not. Two virtual functions of one port, for example, are switched within the adapter.
/// @param of_the_link  not twice of it where both ends send
/// @param percent      of what the messages may fill
std::string line_doubt(double of_the_link, double percent);
/// line_doubt() of a row.
std::string line_doubt(const LinkRate& link, const Row& row);

// ---- About what a message's payload can get of an end's link and PCIe slot.

/// The share of a slot's rate that payload gets. A TLP of 256 B (the largest that most root ports
/// take) has 24 B of framing, sequence number, header and LCRC (PCI Express Base 3.0, 3.5): 91 %;
/// the rest of the way is our choice, for acknowledgements, flow control and read requests.
inline constexpr double kPcieShare = 0.85;

/// The facts about an end's device: `device` of an environment.
struct PayloadLimits {
  Number line_gbps, slot_gbps;
  /// Bytes of each packet beside the payload, on an Ethernet with the gap between frames; nullopt:
  /// not known (iWARP, EFA).
  Number header_bytes;
};
PayloadLimits payload_limits(const Json& device);

/// line x payload/(payload + headers), or slot x kPcieShare where that is less [Gb/s]; nullopt:
/// neither is known.
/// @param payload_bytes  of each packet
Number payload_bound_gbps(const PayloadLimits& limits, double payload_bytes);

/// Of a row with `bound_gbps`: the lesser of both ends' bounds [Gb/s], of one direction; nothing:
/// there is none.
Number bound_of(const Row& row);

/// The row's bandwidth as a share of its bound, or of its link's rate (`line_gbps`); where both
/// ends send, of twice of it. Nothing: it is not known.
Number share_of_bound(const Row& row);
Number share_of_line(const Row& row);

/// Adds `bound_gbps`, and `line_gbps` where a link's rate is known, to a row of a bandwidth whose
/// messages pass the links that the context describes; of several devices to each, too, with
/// `slot_bound_gbps` and `slot_gbps` where they share a slot; such a row stays as it is where the
/// context does not tell of several. Payload in the device's own memory does not cross the slot.
/// @param context  of the result
void note_bounds(Row& row, const Json& context);

}  // namespace rdmameter
