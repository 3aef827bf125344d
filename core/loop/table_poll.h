// SPDX-License-Identifier: Apache-2.0
// Which function polls a case's CQs where they are several, or give timestamps.
#pragma once

#include "core/case.h"
#include "core/loop/traffic.h"
#include "core/role.h"

namespace rdmameter {

/// For a CqRing of this end. Timestamps are the initiator's alone.
PollFunction choose_poll(const Case& one_case, Role role);

}  // namespace rdmameter
