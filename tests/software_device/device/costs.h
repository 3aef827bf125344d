// SPDX-License-Identifier: Apache-2.0
// How long each verb of the control path lasts, at least; and what a lock of a queue costs.
#pragma once

#include <array>
#include <cstdint>

#include "tests/software_device/device/verb.h"

namespace rdmameter::software {

struct Costs {
  std::array<std::uint64_t, kVerbs> call_ns{};
  std::uint64_t page_ns = 20;  ///< of each page that is registered
  /// Of each post to a QP, and each poll of a CQ, that is not for one thread alone.
  std::uint64_t lock_ns = 0;
  /// Of each request whose bytes the device fetches from memory, since they are not inline.
  std::uint64_t fetch_ns = 0;
  std::uint64_t receive_ns = 0;  ///< of each list of receives that is posted to a QP
};

/// RDMAMETER_DEVICE_COSTS; what it does not understand ends the program.
Costs costs_of_verbs();

}  // namespace rdmameter::software
