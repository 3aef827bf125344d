// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/device/delays.h"

#include <algorithm>

#include "tests/software_device/device/words.h"

namespace rdmameter::software {

QpDelays delays_of_qps(bool instant) {
  QpDelays made;
  for (const Word& word : words_of("RDMAMETER_DEVICE_DELAYS")) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (instant) reject(word, "nothing without a wire: set RDMAMETER_DEVICE_WIRE, too");
    if (word.name.empty() || word.name.size() > 9 || !std::ranges::all_of(word.name, is_digit))
      reject(word, "K=TIME or K=lost for the K-th QP that the process creates, such as 2=4ms");
    made[std::stoull(word.name)] = word.value == "lost" ? kLost : nanoseconds_of(word);
  }
  return made;
}

}  // namespace rdmameter::software
