// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/device/costs.h"

#include "tests/software_device/device/words.h"

namespace rdmameter::software {

Costs costs_of_verbs() {
  constexpr std::uint64_t kSystemCall_ns = 500;  // into a quick driver
  Costs made;
  made.call_ns.fill(kSystemCall_ns);
  for (const Word& word : words_of("RDMAMETER_DEVICE_COSTS")) {
    const std::uint64_t cost_ns = nanoseconds_of(word);
    const std::optional<Verb> verb = verb_named(word.name);
    if (word.name == "all")
      made.call_ns.fill(cost_ns);
    else if (word.name == "page")
      made.page_ns = cost_ns;
    else if (word.name == "lock")
      made.lock_ns = cost_ns;
    else if (word.name == "fetch")
      made.fetch_ns = cost_ns;
    else if (word.name == "receive")
      made.receive_ns = cost_ns;
    else if (verb && is_control(*verb))
      made.call_ns[index(*verb)] = cost_ns;
    else
      reject(
          word,
          "all, page, lock, fetch, receive, or a verb of the control path, such as create_qp=50us");
  }
  return made;
}

}  // namespace rdmameter::software
