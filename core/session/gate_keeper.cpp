// SPDX-License-Identifier: Apache-2.0
#include "core/session/gate_keeper.h"

#include "core/error.h"
#include "core/session/fields.h"
#include "core/session/protocol.h"

namespace rdmameter {

GateKeeper::GateKeeper(Channel& channel, const Case& one_case, Side* sender, const Wake& attention)
    : channel_(channel), attention_(attention), both_ways_(one_case.both_ways()) {
  const bool together = one_case.threads > 1 || both_ways_;
  if (sender == nullptr || one_case.shape() != Pattern::bandwidth || !together) return;
  gate_.emplace(static_cast<std::uint32_t>(one_case.threads), both_ways_);
  if (both_ways_)
    gate_->on_last([](void* wake) { static_cast<const Wake*>(wake)->raise(); },
                   const_cast<Wake*>(&attention_));
  sender->pass(*gate_);
}

void GateKeeper::pass_on() {
  if (!gate_ || !both_ways_) return;
  for (std::size_t step = 0; step < LoadGate::kSteps; ++step) {
    if (said_[step] || !gate_->reached_here(static_cast<LoadGate::Step>(step))) continue;
    said_[step] = Clock::now();
    channel_.send({{"type", "gate"}, {"step", step}}, Deadline::in(kSetupTimeout));
  }
}

bool GateKeeper::overdue(Clock::time_point now) const {
  constexpr int kAsLong = 10;
  for (std::size_t step = 0; step < LoadGate::kSteps; ++step) {
    if (!said_[step] || gate_->told(static_cast<LoadGate::Step>(step))) continue;
    if (now - *said_[step] > kSilence + kAsLong * (*said_[step] - begun_)) return true;
  }
  return false;
}

bool GateKeeper::hear(const nlohmann::json& message) {
  if (require_string(message, "type", 32) != "gate") return false;
  if (!gate_ || !both_ways_) throw MeasurementError("the message 'gate' was not expected");
  gate_->tell(static_cast<LoadGate::Step>(require_uint(message, "step", 0, LoadGate::kSteps - 1)));
  return true;
}

}  // namespace rdmameter
