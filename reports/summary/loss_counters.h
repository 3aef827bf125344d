// SPDX-License-Identifier: Apache-2.0
// The counters of Linux' drivers that have to do with loss and congestion, and what they mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rdmameter {

enum class LossEvent : std::uint8_t {
  timeout,
  rnr_nak,
  sequence_nak,
  retry,  ///< after a timeout or a sequence NAK
  other   ///< tells of loss or congestion, and of no one sample
};
inline constexpr std::size_t kLossEvents = 5;

struct LossCounterInfo {
  std::string_view name;
  LossEvent event;
  std::string_view meaning;  ///< as the end that counted it sees it
};

/// @return  nullptr: not a counter of loss, or not known
const LossCounterInfo* find_loss_counter(std::string_view name);

}  // namespace rdmameter
