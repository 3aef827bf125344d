// SPDX-License-Identifier: Apache-2.0
// One repetition as one line, printed as it ends.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/result/row.h"

namespace rdmameter {

/// "write_lat/rc/size:64  half RTT p50 2.31 µs  p99 3.02 µs ...", without a line end.
/// @param name_width  columns for the name, so that lines align
std::string row_line(const Row& row, std::size_t name_width);

/// The line's text behind the name.
std::string row_text(const Row& row);

/// Did another client use the server during the repetition? What lines say of it then.
bool shares_responder(const Row& row);
inline constexpr const char* kSharedResponder = "  (another client used the server)";

/// "half RTT", "RTT", "completion"...: what the latency is of.
std::string latency_name(const LatencyData& latency);

/// The first sentence of an error, which is in its line: what to do about it follows, and has its
/// place in the summary.
std::string_view headline(std::string_view message);

}  // namespace rdmameter
