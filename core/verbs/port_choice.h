// SPDX-License-Identifier: Apache-2.0
// What an end knows of each port that it could use, and which device and port it takes where the
// user has named none: by that alone. Two ends choose together, for what goes best with a peer
// depends on the peer's; each choice is a pure function.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/result/field_list.h"
#include "core/test_case/test_case.h"
#include "core/verbs/gid.h"
#include "core/verbs/gid_pair.h"

namespace rdmameter {

/// The most devices that are looked at (each must be opened), and the most ports that are sent to a
/// peer: a host may have hundreds of virtual functions.
inline constexpr std::size_t kMostDevicesLookedAt = 64, kMostPortsTold = 64;

struct PortFacts {
  std::string device;
  std::uint8_t number = 0;  ///< from 1; 0: not known, the device cannot be opened
  ibv_port_state state = IBV_PORT_NOP;
  int link_layer = IBV_LINK_LAYER_UNSPECIFIED;
  bool iwarp = false;
  std::vector<Gid> gids;         ///< that it may use: see gids_to_offer()
  std::vector<Transport> lacks;  ///< that its QPs were found not to have

  bool opens() const { return number != 0; }
  bool has(Transport transport) const;
  /// Can anything be measured on it? ACTIVE, with a GID.
  bool usable() const { return state == IBV_PORT_ACTIVE && !gids.empty(); }
  std::string where() const;  ///< "mlx5_0/1"; of one that does not open "mlx5_0"
};

/// "InfiniBand", "RoCE", "iWARP"; what is none of them (EFA): "of no known link layer"
std::string_view kind_name(const PortFacts& port);

/// The ports of this end, in libibverbs' order. QPs are tried only where ports of devices of
/// several models can be used: those of one model have the same transports.
/// @param device     as EndSettings has it; empty: all
/// @param gid_index  kAuto, or the only GID that counts
/// @return  also those that cannot be used; empty: there is no (such) device
std::vector<PortFacts> list_ports(std::string_view device, std::uint64_t gid_index);

/// The ports that are sent to a peer: up to kMostPortsTold, those that can be chosen before those
/// that only have a reason.
std::vector<PortFacts> ports_to_tell(std::vector<PortFacts> ports);

/// The fields of a port that an end sends to its peer.
void list_fields(auto& fields, Is<PortFacts> auto& port) {
  fields("device", port.device, {.min_size = 1, .max_size = IBV_SYSFS_NAME_MAX});
  fields("port_num", port.number);
  fields("state", port.state, {.max = 7});  // room for later ones
  fields("link_layer", port.link_layer, {.max = 255});
  fields("iwarp", port.iwarp);
  fields("gids", port.gids, {.max_size = kMostGidsOffered});
  fields("lacks", port.lacks, {.max = static_cast<std::uint64_t>(Transport::ud), .max_size = 3});
}

/// One end's ports, and what the user has fixed of its settings. @param ports  borrowed
struct EndPorts {
  std::span<const PortFacts> ports;
  const EndSettings& fixed;

  /// Has the user left open which of them it is?
  bool open() const { return fixed.device.empty() || fixed.port_num == kAuto; }
  bool names_devices() const { return !fixed.device.empty() && fixed.device != kAllDevices; }
  bool fits(const PortFacts& port) const;
};

/// For an end whose peer is not asked. An ACTIVE port with a GID, and of those the first one whose
/// device has the transport and whose best GID is of an interface here, RoCE v2 before v1,
/// no link-local address.
/// @return  of `end.ports`; null: none can be used
const PortFacts* choose_port(const EndPorts& end, Transport transport);

struct PortPair {
  const PortFacts* mine = nullptr;
  const PortFacts* theirs = nullptr;
};

/// For two ends: of the pairs of ACTIVE ports of one kind (kind_name()) with GIDs that match, the
/// first one whose devices have the transport and whose best two GIDs have the least rank_of(): of
/// interfaces here, of one subnet.
/// @return  of the ports of the two; nothing: no such pair
std::optional<PortPair> choose_port_pair(const EndPorts& mine, const EndPorts& theirs,
                                         Transport transport);

/// For a case over several devices: each device with one of the peer's, in the order in which they are
/// named, else listed. If both ends name theirs, the first is paired with the first, and so on. Else
/// the best pairs come first (see choose_port_pair()). If neither end names any, and some pair of a
/// kind has the transport and one subnet that is not link-local, all others of that kind are left
/// out: nothing says that a router joins them.
std::vector<PortPair> choose_port_pairs(const EndPorts& mine, const EndPorts& theirs,
                                        Transport transport);

/// The devices of this end that could be used and that `all` leaves out, as one line without its
/// end; empty: there is none.
/// @param pairs  that choose_port_pairs() has chosen, where neither end names devices
std::string left_out_text(const EndPorts& mine, std::span<const PortPair> pairs,
                          Transport transport);

/// The choice and what was passed over, as one line without its end; empty: nothing was passed over
/// but ports that are not ACTIVE and those that come later and are as good.
std::string choice_text(const EndPorts& mine, const EndPorts& theirs, const PortPair& taken,
                        Transport transport);
/// The text of a choice without a peer.
std::string choice_text(const EndPorts& end, const PortFacts& taken, Transport transport);

/// Why two ends cannot be joined, and the pair that could, if there is one.
/// @param fixed       usable ports, which the user has fixed or the ends would take alone
/// @param all_mine    all ports of this end
/// @param all_theirs  all ports of the responder
/// @return  empty: that is nothing to be said here
std::string not_joined_text(const PortPair& fixed, std::span<const PortFacts> all_mine,
                            std::span<const PortFacts> all_theirs, Transport transport);

/// Takes the line of a choice.
using ChoiceListener = std::function<void(const std::string& line)>;

/// Chooses for an end whose peer is not asked, once for each setting: a port that changes its state
/// later changes no choice.
class LoneChoice {
 public:
  explicit LoneChoice(ChoiceListener listener = {}) : listener_(std::move(listener)) {}
  /// @return  the settings with device and port; as they are where none can be used: who opens it
  ///          says why
  const EndSettings& settled(const EndSettings& end, Transport transport);

 private:
  const ChoiceListener listener_;
  std::map<std::tuple<std::string, std::uint64_t, std::uint64_t, Transport>, EndSettings> made_;
};

}  // namespace rdmameter
