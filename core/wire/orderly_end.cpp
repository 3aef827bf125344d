// SPDX-License-Identifier: Apache-2.0
#include "core/wire/orderly_end.h"

#include <poll.h>

#include <utility>

#include "core/base/thread.h"

namespace rdmameter {

OrderlyEnd::OrderlyEnd(const InterruptSource& source, Deadline::Clock::duration grace,
                       std::function<bool()> end_now)
    : source_(source),
      grace_(grace),
      end_now_(std::move(end_now)),
      thread_(start_thread([this] { watch(); })) {
  source_.gentle_ = true;
}

OrderlyEnd::~OrderlyEnd() {
  source_.gentle_ = false;
  over_.raise();
  thread_.join();
}

void OrderlyEnd::watch() const noexcept {
  if (wait_for(source_.enough_.fd(), POLLIN, Deadline::never(), source_, &over_) != Waited::ready)
    return;
  asked_ = true;
  const bool kept = end_now_();
  if (!kept || wait_for(-1, 0, Deadline::in(grace_), source_, &over_) == Waited::deadline)
    source_.end_everything();
}

}  // namespace rdmameter
