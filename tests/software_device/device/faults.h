// SPDX-License-Identifier: Apache-2.0
// Calls of verbs that go wrong because the settings say so.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/software_device/device/verb.h"

namespace rdmameter::software {

/// The process's k-th call of a verb goes wrong; of post_send and post_recv the k-th request.
struct Fault {
  Verb verb;
  std::uint64_t call;                   ///< counted from 1
  bool ever_after;                      ///< and all that follow
  bool hangs;                           ///< it does not return
  int error;                            ///< an errno value; 0: none
  ibv_wc_status status;                 ///< of post_send: how the request ends
  std::optional<ibv_event_type> event;  ///< the call itself goes well
  /// Of poll_cq, where `call` counts the receives that were polled from a CQ: so long that CQ then
  /// shows nothing [ns]; 0: another fault
  std::uint64_t hold_ns;
};

/// RDMAMETER_DEVICE_FAULTS; what it does not understand ends the program.
std::vector<Fault> faults_of_verbs();

/// What becomes of a call.
struct Injected {
  int error = 0;
  ibv_wc_status status = IBV_WC_SUCCESS;
};
/// Counts a call. Does not return if it is one that hangs.
Injected begin_call(Verb verb);

/// @param number  of a receive whose completion was polled, from 1 in its CQ
/// @return        how long that CQ shows nothing from now on [ns]
std::uint64_t hold_after_receive(std::uint64_t number);

/// For tests: calls are counted from 1 again.
void forget_calls();

}  // namespace rdmameter::software
