// SPDX-License-Identifier: Apache-2.0
// Measures cases with a responder over a session.
#pragma once

#include <memory>
#include <string>

#include "core/clock.h"
#include "core/interval_thread.h"
#include "core/measurer.h"
#include "core/session/socket.h"
#include "core/session/wait.h"

namespace rdmameter {

struct SessionOptions {
  Address server;
  std::string token;                    ///< empty: none
  std::chrono::seconds connect_for{5};  ///< a server that is not up yet is waited for this long
  IntervalListener on_interval = {};    ///< hears of what goes on until interrupted
};

/// Connects, proves the token and opens this end's device.
/// @param first      its devices, ports and GIDs are the ones that both environments describe
/// @param interrupt  borrowed; ends every wait and every loop
/// @throws NoDevice, UsageError, MeasurementError, Interrupted
std::unique_ptr<Measurer> make_initiator(const SessionOptions& options, const Case& first,
                                         const ClockChoice& clock,
                                         const InterruptSource& interrupt);

}  // namespace rdmameter
