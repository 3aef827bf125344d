// SPDX-License-Identifier: Apache-2.0
#include "core/server/server_host.h"

#include "core/base/error.h"

namespace rdmameter {

void ServerHost::begin_case(const CaseNeeds& needs) {
  if (running_) throw MeasurementError("a session begins a case within a case");
  shared_.account.take(needs);
  const std::lock_guard lock{shared_.cases};
  const bool alone = ++shared_.cases_running == 1;
  running_ = {needs, alone, ++shared_.cases_started};
}

bool ServerHost::case_is_shared() {
  const std::lock_guard lock{shared_.cases};
  return running_ && (!running_->alone || shared_.cases_started != running_->number);
}

void ServerHost::end_case() noexcept {
  if (!running_) return;
  {
    const std::lock_guard lock{shared_.cases};
    --shared_.cases_running;
  }
  shared_.account.give_back(running_->needs);
  running_.reset();
}

}  // namespace rdmameter
