// SPDX-License-Identifier: Apache-2.0
#include "core/engine/loop/table.h"
#include "core/engine/loop/verbs.h"

namespace rdmameter {

PollFunction choose_poll(const TestCase& test_case, Role role) {
  // The immediate is looked at where it carries a number.
  const bool immediate = test_case.immediate() && !test_case.reliable();
  if (!test_case.extended_cq())
    return immediate ? poll_in_turn<ClassicCq, true> : poll_in_turn<ClassicCq, false>;
  if (!test_case.queues.timestamps || role == Role::responder)
    return immediate ? poll_in_turn<ExtendedCq, true> : poll_in_turn<ExtendedCq, false>;
  return immediate ? poll_in_turn<ExtendedCqs<true>, true> : poll_in_turn<ExtendedCqs<true>, false>;
}

}  // namespace rdmameter
