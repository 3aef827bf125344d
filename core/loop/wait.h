// SPDX-License-Identifier: Apache-2.0
// What a measured loop does with an empty poll.
#pragma once

#include <sched.h>

namespace rdmameter {

/// Polls again at once: the shortest latency, a core of its own.
struct SpinWait {
  void operator()() const noexcept {}
};

/// Gives the core away between polls: where both ends share one core, a spinning end would keep the
/// other from answering until its time slice is over.
struct YieldWait {
  void operator()() const noexcept { sched_yield(); }
};

}  // namespace rdmameter
