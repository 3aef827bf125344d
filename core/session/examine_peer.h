// SPDX-License-Identifier: Apache-2.0
// What spoils measurements on the machine of a server: its session examines that, and answers.
//
//   client                            server
//   examine {}                   ->
//                                <-   examination {examination}
#pragma once

#include <nlohmann/json.hpp>

#include "core/session/initiator.h"
#include "core/wire/channel.h"

namespace rdmameter {

/// The client's part: connects, asks, and leaves.
/// @return  as checked_examination() (core/doctor/examination.h)
/// @throws UsageError, MeasurementError, Interrupted  the server cannot be asked
nlohmann::ordered_json examine_peer(const SessionOptions& options,
                                    const InterruptSource& interrupt);

/// The server's part, after `examine`.
/// @throws ChannelError, Interrupted
void answer_examine(Channel& channel);

}  // namespace rdmameter
