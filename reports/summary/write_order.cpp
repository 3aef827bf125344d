// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/write_order.h"

namespace rdmameter {

bool tail_may_be_missing(const Row& row) {
  using Json = nlohmann::ordered_json;
  if (!row.latency || !row.extra.is_object() || !row.case_object.is_object()) return false;
  const Json size = row.case_object.value("size_bytes", Json());
  const Json mtu = row.case_object.value("mtu_bytes", Json());
  return row.extra.value("data_in_order", Json()) == false && size.is_number_unsigned() &&
         mtu.is_number_unsigned() && size > mtu;
}

}  // namespace rdmameter
