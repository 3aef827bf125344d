// SPDX-License-Identifier: Apache-2.0
// What a rank must know of another one to connect with it, and whether the two can talk.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/endpoint.h"

namespace rdmameter {

/// The port's own facts; QPs and addresses are the caller's to add.
EndpointInfo port_info(const OpenDevice& device);

/// The path of a QP to a peer. @param peer  what it has told
/// @throws Unsupported  the two ports cannot talk; --mtu is more than one of them has
QpPath path_between(const OpenDevice& device, const Case& one_case, const EndpointInfo& peer);

/// A first PSN that no earlier connection of the same QP number is likely to have had.
std::uint32_t random_psn();

}  // namespace rdmameter
