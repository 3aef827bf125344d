// SPDX-License-Identifier: Apache-2.0
// How a client gets into a server: the connection, the token, the greeting.
#pragma once

#include <nlohmann/json.hpp>

#include "core/session/initiator.h"
#include "core/test_case/test_case.h"
#include "core/wire/channel.h"

namespace rdmameter {

/// A connection that the responder has welcomed. A crowded server hangs up on those that are not
/// quick enough to prove themselves, so that is no reason to give up at once.
/// @param described    the device, port and GID of the responder that its environment describes;
///                     null: none is opened there
/// @param environment  out: the responder's
/// @throws UsageError, MeasurementError, Interrupted
Channel enter_server(const SessionOptions& options, const EndSettings* described,
                     const InterruptSource& interrupt, nlohmann::ordered_json& environment);

}  // namespace rdmameter
