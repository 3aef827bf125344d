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

/// Of a result's two ends the drivers whose counters are not among these, so that one that has not
/// changed tells nothing: "siw", "the driver of siw0" where none is named; each once.
/// @param context  of the result
std::vector<std::string> drivers_without_loss_counters(const nlohmann::ordered_json& context);

}  // namespace rdmameter
