// SPDX-License-Identifier: Apache-2.0
// What a latency that ends with a WRITE's last byte may lack.
#pragma once

#include <string_view>

#include "core/result/row.h"

namespace rdmameter {

inline constexpr std::string_view kTailMayBeMissing =
    "write_lat ends with a message's last byte, and it is not known that this arrives last "
    "(data_in_order): of messages longer than the MTU the tail may be missing. ";

/// Is that so of this row?
bool tail_may_be_missing(const Row& row);

}  // namespace rdmameter
