// SPDX-License-Identifier: Apache-2.0
// What a server that was started for one client prints on stdout when it listens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/wire/socket.h"

namespace rdmameter {

struct ReadyLine {
  std::string version;         ///< of the server's program
  std::uint32_t protocol = 0;  ///< of its sessions
  Address address;             ///< where it listens

  /// One line, without its end: a mark and a JSON object.
  std::string text() const;
  /// @return  nothing: another line, such as a login shell prints
  /// @throws MeasurementError  it has the mark and is malformed; the text repeats nothing of it
  static std::optional<ReadyLine> parse(std::string_view line);
};

/// The host that was named, and nothing else, is connected to: a hostile one could name any.
/// @param host   who has printed it
/// @param known  the numeric addresses that the host's name has here; none: it is known to ssh
///               alone, which may reach it through others. Then it may have any that is not this
///               machine's own
/// @throws MeasurementError  it is no numeric address, or not one of that host
void require_address_of(const ReadyLine& line, std::string_view host,
                        const std::vector<std::string>& known);

/// @param host  who has printed it, for the error
/// @throws MeasurementError  sessions with it are impossible: both releases and protocol numbers
void require_our_protocol(const ReadyLine& line, std::string_view host);

}  // namespace rdmameter
