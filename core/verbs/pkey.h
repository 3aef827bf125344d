// SPDX-License-Identifier: Apache-2.0
// Partition keys: two QPs talk if theirs are of one partition. Where in a port's table a key stands
// differs from host to host and from function to function, so an end looks its key up by value.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include "core/test_case/test_case.h"
#include "core/verbs/device.h"

namespace rdmameter {

inline constexpr std::uint16_t kDefaultPkey = 0xffff;  ///< of the partition that every port has
inline constexpr std::uint16_t kFullMember = 0x8000;   ///< beside the number of the partition

/// An entry of a port's table.
struct PkeyEntry {
  std::uint16_t index = 0;
  std::optional<std::uint16_t> value;  ///< nullopt: the port knows no partitions (iWARP, EFA)
};

/// The entry that a case means: that of --pkey, by value; else the one at --pkey-index. The key
/// that is as asked goes before the other one of its partition (bit 15, IBTA vol. 1, 10.9.1.1).
/// @param of_peer  --pkey is the other end's key, and the entry is for QPs that talk to it: of two
///                 limited members none receives what the other sends (10.9.3), so a full
///                 membership goes before
/// @throws Unsupported  there is none; the text lists those that there are
PkeyEntry choose_pkey(ibv_context& context, const PortInfo& port, const PathSettings& path,
                      bool of_peer = false);

}  // namespace rdmameter
