// SPDX-License-Identifier: Apache-2.0
// One client's session at the responder: takes the plan, case after case, and does its part of
// each.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "core/clock.h"
#include "core/session/channel.h"

namespace rdmameter {

/// What the sessions of one server share.
struct ResponderShared {
  ClockChoice clock;
  std::string token;                            ///< empty: none is wanted
  std::function<void(const std::string&)> log;  ///< one line, from any session's thread
  std::atomic<std::uint32_t> cases_running{0};
  std::atomic<std::uint64_t> cases_started{0};
};

/// Serves a client until it says bye, goes away, falls silent or misbehaves. Everything made for it
/// is gone when this returns. Throws nothing: what went wrong is logged.
void serve_client(Connection connection, ResponderShared& shared, const InterruptSource& interrupt);

}  // namespace rdmameter
