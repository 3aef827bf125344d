// SPDX-License-Identifier: Apache-2.0
// Does the limit on open files let a server have so many clients?
#pragma once

#include <cstdint>

namespace rdmameter {

/// Raises the soft limit (RLIMIT_NOFILE) to what so many clients may take.
/// @throws UsageError  the hard limit is lower; the text names what fits
void allow_open_files(std::uint32_t max_clients);

}  // namespace rdmameter
