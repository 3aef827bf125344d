// SPDX-License-Identifier: Apache-2.0
// One client's session at the responder: takes the plan, case after case, and does its part of
// each.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "core/case_memory.h"
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
  std::uint64_t most_memory_bytes = kMostBytesPerCase;  ///< of all cases that run at a time
  std::atomic<std::uint64_t> memory_bytes{0};           ///< of those that run now
};

/// How the server lets a client in; serve_client() calls these once each, in this order.
class Admission {
 public:
  /// The peer has sent something: it is not one of those that connect and say nothing.
  virtual void spoken() noexcept = 0;
  /// The peer has proved its token. Waits for a place among the clients.
  /// @throws MeasurementError  there is none
  /// @throws Interrupted       the server ends
  virtual void enter(const Channel& channel) = 0;

 protected:
  ~Admission() = default;
};

/// Serves a client until it says bye, goes away, falls silent or misbehaves. Everything made for it
/// is gone when this returns. Throws nothing: what went wrong is logged.
void serve_client(Connection connection, ResponderShared& shared, const InterruptSource& interrupt,
                  Admission& admission);

}  // namespace rdmameter
