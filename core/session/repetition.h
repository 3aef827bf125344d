// SPDX-License-Identifier: Apache-2.0
// One repetition of one case as the initiator runs it, from prepare to done.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "core/engine/account/interval_thread.h"
#include "core/engine/end.h"
#include "core/engine/introduction.h"
#include "core/engine/measurer.h"
#include "core/engine/placement/placement.h"
#include "core/session/message_exchange.h"
#include "core/session/messages.h"

namespace rdmameter {

class WindowSync;
class LoopThread;
class Heartbeat;
class EventFd;

class Repetition : public MessageExchange {
 public:
  /// @param devices    of this end; none over TCP
  /// @param placement  where the loops of this end run
  Repetition(Channel& channel, std::vector<OpenDevice*> devices, const DeviceCase& test_case,
             Placement placement, const ClockChoice& clock, const InterruptSource& interrupt,
             const IntervalListener& on_interval, const ConnectedListener& on_connected)
      : MessageExchange(channel),
        devices_(std::move(devices)),
        case_(test_case),
        placement_(std::move(placement)),
        clock_(clock),
        interrupt_(interrupt),
        on_interval_(on_interval),
        on_connected_(on_connected) {}

  /// Where it fails, the responder is told to abandon the case: see MessageExchange::conduct().
  /// @param same_host  do both ends run on one machine?
  Outcome run(bool same_host);

 private:
  Wait choose_wait(const Ready& ready, bool same_host) const;
  ConnectedEnd prepare(bool same_host);
  void establish(ConnectedEnd& end);
  void measure(ConnectedEnd& end);
  void run_traffic(ConnectedEnd& end, LoopThread* receiver, WindowSync& windows,
                   const EventFd& attention);
  void require_end(const SideResult& end, const StopFlag& stop, const Heartbeat& heartbeat,
                   const WindowSync& windows, LoopThread* receiver);
  std::uint64_t judge(const ConnectedEnd& end) const;
  Outcome outcome(ConnectedEnd& end) const;

  const std::vector<OpenDevice*> devices_;
  const DeviceCase case_;
  const Placement placement_;
  const ClockChoice& clock_;
  const InterruptSource& interrupt_;
  const IntervalListener& on_interval_;
  const ConnectedListener& on_connected_;
  std::optional<std::uint64_t> softirq_ns_;
  Json series_;
  Done done_;                          ///< what the responder has counted
  std::atomic<bool> tell_end_{false};  ///< the responder's own traffic must end now
  bool interrupted_ = false;
  std::chrono::steady_clock::time_point window_end_ = {};
};

}  // namespace rdmameter
