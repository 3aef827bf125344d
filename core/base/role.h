// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace rdmameter {

/// The two ends of a case. The numbers stand in the proofs of the token challenge.
enum class Role : std::uint8_t {
  initiator = 1,  ///< posts the measured requests
  responder = 2,  ///< the other end
};

constexpr Role other_end(Role role) {
  return role == Role::initiator ? Role::responder : Role::initiator;
}

}  // namespace rdmameter
