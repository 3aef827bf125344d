// SPDX-License-Identifier: Apache-2.0
// What every call of a verb of the control path has in common: it costs time, and may be one that
// the settings let fail.
#pragma once

#include <cstdint>

#include "tests/software_device/device/faults.h"
#include "tests/software_device/device/verb.h"

namespace rdmameter::software {

/// A post or a poll takes the lock of its queue, as the costs have it.
void spend_lock();
/// A request's bytes are fetched from memory, likewise.
void spend_fetch();
/// A list of receives is posted, likewise.
void spend_receive();

class ControlCall {
 public:
  /// @param pages  that it pins
  explicit ControlCall(Verb verb, std::uint64_t pages = 0);
  ControlCall(ControlCall&&) = delete;
  ~ControlCall();

  /// An errno value: the call fails with it, and does nothing. 0: it does its work.
  int error() const { return injected_.error; }

 private:
  const std::uint64_t until_ns_;
  const Injected injected_;
};

}  // namespace rdmameter::software
