// SPDX-License-Identifier: Apache-2.0
// What a rank says that cannot have the QPs which a case asks of it: how many it had,
// and the limit.
#pragma once

#include <cstdint>
#include <string>

#include "core/engine/endpoint.h"

namespace rdmameter {

/// @param wanted  QPs of the graph at this rank
/// @throws Unsupported  the device has room for fewer, even if no other program uses it
void require_qps(const OpenDevice& device, std::uint64_t wanted);

/// Throws the error of an ibv_create_qp() that has failed.
/// @param which  "graph" or "barrier": whose QPs they are
/// @param had    QPs of it that this rank had by then, of `wanted`
/// @throws VerbsError
[[noreturn]] void throw_no_qp(const OpenDevice& device, const std::string& which, std::uint64_t had,
                              std::uint64_t wanted, int error);

}  // namespace rdmameter
