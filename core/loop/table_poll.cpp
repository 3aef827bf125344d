// SPDX-License-Identifier: Apache-2.0
#include "core/loop/table_poll.h"

#include "core/loop/verbs.h"

namespace rdmameter {

PollFunction choose_poll(const Case& one_case, Role role) {
  // The immediate is looked at where it carries a number.
  const bool immediate = one_case.immediate() && !one_case.reliable();
  if (!one_case.extended_cq())
    return immediate ? poll_in_turn<ClassicCq, true> : poll_in_turn<ClassicCq, false>;
  if (one_case.timestamps == 0 || role == Role::responder)
    return immediate ? poll_in_turn<ExtendedCq, true> : poll_in_turn<ExtendedCq, false>;
  return immediate ? poll_in_turn<ExtendedCqs<true>, true> : poll_in_turn<ExtendedCqs<true>, false>;
}

}  // namespace rdmameter
