// SPDX-License-Identifier: Apache-2.0
// Checking the payloads of a mix: each part has areas and a pattern of its own, so that a message
// in the place of another part's is found.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/role.h"
#include "core/engine/layout/layout.h"
#include "core/engine/layout/verify.h"

namespace rdmameter {

/// One end of a mix on one thread.
struct MixEnd {
  const TestCase& test_case;
  const Layout& layout;
  Role role;
  std::uint64_t seed;  ///< that the parts were drawn with
};

/// Fills the sources of all parts, and the words that atomics work on.
/// @param bytes  of the mix's area, poisoned
void fill_mix(std::span<std::byte> bytes, const MixEnd& end, const CancelCheck& cancel_check);

/// Checks what arrived at this end.
/// @param total  requests of the whole traffic, warm-up included
Verdict check_mix(std::span<const std::byte> bytes, const MixEnd& end, std::uint64_t total,
                  const CancelCheck& cancel_check);

}  // namespace rdmameter
