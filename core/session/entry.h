// SPDX-License-Identifier: Apache-2.0
// How a client gets into a server: the connection, the token, the greeting.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/session/initiator.h"
#include "core/test_case/test_case.h"
#include "core/wire/channel.h"

namespace rdmameter {

using ChooseDescribed = std::function<std::optional<EndSettings>(Channel&)>;

/// A connection that the responder has welcomed. A crowded server hangs up on those that are not
/// quick enough to prove themselves, so that is no reason to give up at once.
/// @param described    chooses the device, port and GID of the responder that its environment
///                     describes, for which it may ask the responder; nothing: none is opened there
/// @param environment  out: the responder's
/// @throws UsageError, MeasurementError, Interrupted
Channel enter_server(const SessionOptions& options, const ChooseDescribed& described,
                     const InterruptSource& interrupt, nlohmann::ordered_json& environment);

}  // namespace rdmameter
