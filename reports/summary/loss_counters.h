// SPDX-License-Identifier: Apache-2.0
// The counters of Linux' drivers that have to do with loss and congestion, and what they mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

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

struct UncountedEnd {
  std::string_view end;  ///< "initiator" or "responder"
  std::string driver;    ///< "siw"; "the driver of siw0" where none is named
};

/// Of a result's two ends those of whose drivers no counter is among these: that none has changed
/// there tells nothing.
/// @param context  of the result
std::vector<UncountedEnd> ends_without_loss_counters(const nlohmann::ordered_json& context);

}  // namespace rdmameter
