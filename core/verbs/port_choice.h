// SPDX-License-Identifier: Apache-2.0
// Which device and port an end takes where the user has named none. Two ends choose together, for
// what goes best with a peer depends on the peer's; pure functions of what the ends know
// of their ports.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/test_case/test_case.h"
#include "core/verbs/port_facts.h"

namespace rdmameter {

/// One end's ports, and what the user has fixed of its settings. @param ports  borrowed
struct EndPorts {
  std::span<const PortFacts> ports;
  const EndSettings& fixed;

  /// Has the user left open which of them it is?
  bool open() const { return fixed.device.empty() || fixed.port_num == kAuto; }
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
