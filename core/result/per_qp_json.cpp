// SPDX-License-Identifier: Apache-2.0
// What must hold of a row's QPs beyond each field.
#include <fmt/core.h>

#include <algorithm>

#include "core/result/row_fields.h"

namespace rdmameter {

void complete(PerQpData& data, const CheckedJson& json) {
  const std::uint64_t listed =
      data.numbers.empty() ? std::min<std::uint64_t>(data.qps, kMaxListedQps) : data.numbers.size();
  if (data.numbers.empty() && data.qps > kMaxListedQps)
    json.fail(fmt::format("lists not all of {} QPs, and `numbers` does not say which", data.qps));
  for (const char* key : {"flow_labels", "udp_source_ports", "messages_per_s", "mean_ns", "p50_ns",
                          "p99_ns", "max_ns"})
    if (const auto values = json.find(key); values && values->array_size() != listed)
      values->fail(
          fmt::format("has {} elements, one for each of {} QPs", values->array_size(), listed));
}

}  // namespace rdmameter
