// SPDX-License-Identifier: Apache-2.0
// The client's part of a session: measures cases with the responder, or has its machine examined.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "core/engine/account/interval_thread.h"
#include "core/engine/introduction.h"
#include "core/engine/measurer.h"
#include "core/instrument/clock.h"
#include "core/result/json_text.h"
#include "core/verbs/memory/memory_file.h"
#include "core/verbs/port_choice.h"
#include "core/wire/socket.h"
#include "core/wire/wait.h"

namespace rdmameter {

struct SessionOptions {
  Address server;
  std::string token;                    ///< empty: what a server of this user has left, if any
  std::chrono::seconds connect_for{5};  ///< a server that is not up yet is waited for this long
  IntervalListener on_interval = {};    ///< called at each interval of a long case
  ConnectedListener on_connected = {};  ///< called with each case that is connected
  ChoiceListener on_choice = {};        ///< called with what was chosen among devices
  FileMemory files = FileMemory::none;  ///< that this end may map, for its own user
};

/// Connects, proves the token and opens this end's device.
/// @param first      its devices, ports and GIDs are the ones that both environments describe
/// @param interrupt  borrowed; ends every wait and every loop
/// @throws NoDevice, UsageError, MeasurementError, Interrupted
std::unique_ptr<Measurer> make_initiator(const SessionOptions& options, const TestCase& first,
                                         const ClockChoice& clock,
                                         const InterruptSource& interrupt);

/// Asks what spoils measurements on the machine of a server: connects, asks, and leaves.
/// @return  as checked_examination() (core/doctor/examination.h)
/// @throws UsageError, MeasurementError, Interrupted  the server cannot be asked
Json examine_peer(const SessionOptions& options, const InterruptSource& interrupt);

}  // namespace rdmameter
