// SPDX-License-Identifier: Apache-2.0
#include "core/session/loop_thread.h"

#include "core/base/error.h"
#include "core/base/thread.h"
#include "core/session/protocol.h"

namespace rdmameter {

LoopThread::LoopThread(Side& side, Wait wait, const ClockChoice& clock, const EventFd& attention)
    : side_(side) {
  thread_ = start_thread([this, wait, clock, &attention] {
    try {
      end_ = side_.run(wait, clock, stop_);
    } catch (const std::exception&) {
      error_ = std::current_exception();
    }
    if (error_ || end_.why != LoopResult::Why::done) {
      failed_.store(true, std::memory_order_release);
      attention.raise();
    }
    ended_.raise();
  });
}

LoopThread::~LoopThread() {
  if (!thread_.joinable()) return;
  stop_.request(StopReason::peer);
  side_.abort_traffic();
  thread_.join();
}

void LoopThread::finish(const std::vector<std::uint64_t>& sent, const InterruptSource& interrupt) {
  side_.expect(sent);
  stop_.request(StopReason::finish);
  join(interrupt,
       "messages went on arriving after the peer had sent everything, or fewer came than it says "
       "it sent");
}

void LoopThread::join(const InterruptSource& interrupt, const char* late) {
  const Waited waited = wait_for(-1, 0, Deadline::in(kSilence), interrupt, &ended_);
  if (waited == Waited::interrupted) throw Interrupted("interrupted");
  if (waited != Waited::woken) throw MeasurementError(late);
  thread_.join();
  if (error_) std::rethrow_exception(error_);
  if (end_.why != LoopResult::Why::done && end_.why != LoopResult::Why::stopped)
    throw MeasurementError(end_.text());
}

}  // namespace rdmameter
