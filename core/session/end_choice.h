// SPDX-License-Identifier: Apache-2.0
// The device and port of both ends, where the user has left them open: the initiator asks the
// responder for its ports, and chooses for both.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/test_case/test_case.h"
#include "core/verbs/port_choice.h"
#include "core/wire/channel.h"

namespace rdmameter {

class EndChoice {
 public:
  explicit EndChoice(ChoiceListener listener) : listener_(std::move(listener)) {}
  EndChoice(EndChoice&&) = delete;

  /// Can this end use a port of each device that it names, by what it knows alone?
  bool usable_here(const EndSettings& mine, Transport transport);

  /// The case with a device and a port at each end that the user has not fixed; over TCP it is as
  /// it was. Of several devices each has one of the peer's (choose_port_pairs()); `all` becomes
  /// their names, and a port whose number is not the same on all is left open. Each list of ports is
  /// asked for once in a session, so that all cases have one choice. The case is as it was, too,
  /// where an end has no port that can be used, or tells of none: the reason is reported when the
  /// device is opened.
  /// @param channel  a session in which the responder waits for a message
  /// @throws Unsupported  the ends cannot be joined; names the pair of ports that could
  /// @throws MeasurementError  one of several devices cannot be used
  /// @throws MeasurementError, Interrupted  as messages do
  TestCase settled(TestCase test_case, Channel& channel);

  /// Forgets the peer, for another session.
  void forget_peer() {
    theirs_.clear();
    made_.clear();
  }

 private:
  using Lists = std::map<std::pair<std::string, std::uint64_t>, std::vector<PortFacts>>;
  using Fixed = std::tuple<std::string, std::uint64_t, std::uint64_t>;  // device, port, GID
  std::vector<PortPair> choose(const TestCase& test_case, Channel& channel);
  std::vector<PortPair> choose_several(const EndPorts& here, const EndPorts& there,
                                       Transport transport);
  void tell(std::string line);
  const std::vector<PortFacts>& mine(const std::string& device, std::uint64_t gid_index);
  const std::vector<PortFacts>& theirs(const EndSettings& wanted, Channel& channel);
  void require_joinable(const EndPorts& mine, const EndPorts& theirs, Transport transport,
                        Channel& channel);

  const ChoiceListener listener_;
  Lists mine_, theirs_;
  /// The pairs that were chosen, of ports in those lists, by what was fixed.
  std::map<std::tuple<Fixed, Fixed, Transport>, std::vector<PortPair>> made_;
  std::string told_;  ///< the last line
};

/// The settings of its end from a server's own command line.
struct OwnEnd : EndSettings {
  GpuRegistration gpu_registration = GpuRegistration::automatic;  ///< of its memory
};

/// A client's end with what it leaves open as this server was told. Port and GID belong to a device;
/// one that the client has chosen from the list of this server's is as good as left open.
/// @param own  nothing: the server was told nothing
EndSettings with_own_end(EndSettings asked, const std::optional<OwnEnd>& own);

/// A client's case, likewise. A server with a GPU of its own measures in that alone, which it has
/// told its client, and registers it as its owner has said.
/// @throws Unsupported  the case is not to measure in that memory
TestCase with_own_end(TestCase asked, const std::optional<OwnEnd>& own);

/// The responder's ports.
/// @param wanted  which of them count
void answer_list_ports(Channel& channel, const EndSettings& wanted);

}  // namespace rdmameter
