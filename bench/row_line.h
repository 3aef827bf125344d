// SPDX-License-Identifier: Apache-2.0
// One repetition as one line, printed as it ends.
#pragma once

#include <cstddef>
#include <string>

#include "reports/row.h"

namespace rdmameter {

/// "write_lat/rc/size:64  half RTT p50 2.31 µs  p99 3.02 µs ...", without a line end.
/// @param name_width  columns for the name, so that lines align
std::string row_line(const Row& row, std::size_t name_width);

}  // namespace rdmameter
