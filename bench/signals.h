// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM.
#pragma once

#include "core/session/wait.h"

namespace rdmameter {

/// SIGINT and SIGTERM raise `interrupt`, which must live as long as the process. The second SIGINT
/// has the default action, for a run that does not end. SIGPIPE is ignored: a reader that goes away
/// is an error of write().
void raise_on_signals(InterruptSource& interrupt);

}  // namespace rdmameter
