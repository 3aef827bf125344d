// SPDX-License-Identifier: Apache-2.0
// Which memory a key opens, to whom and for what.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tests/software_device/segment/tables.h"

namespace rdmameter::software {

struct Region {
  std::uint32_t pd, access;
  std::uint64_t iova, length, host;
};

/// Makes a key of this process for a region; a region of no length opens nothing (the key of a
/// memory window that is not bound).
/// @return 0: all keys are taken
std::uint32_t make_key(const Region& region);

/// Gives a key up, after everybody who works with its memory has done so.
void revoke_key(std::uint32_t key);

/// Changes what a key opens, and its low 8 bits: a window that is bound, or invalidated. A key that
/// does not exist stays so.
void rebind_key(std::uint32_t key, std::uint32_t new_key, const Region& region);

/// What a key opens, while nothing changes it: for a window that is bound to it.
std::optional<Region> region_of(std::uint32_t key);

/// The keys that a request uses, held until its bytes have been moved: their owner's
/// ibv_dereg_mr() waits for that, as for a real device's DMA.
class HeldKeys {
 public:
  HeldKeys() = default;
  HeldKeys(HeldKeys&&) = delete;
  ~HeldKeys() {
    for (std::size_t i = 0; i < count_; ++i) held_[i]->users.leave();
  }

  /// Opens [address, address + length) for a QP of protection domain `pd`.
  /// @param need  access rights, IBV_ACCESS_*
  /// @return where that lies in the memory of the key's process; nullopt: the key does not open it
  struct Place {
    std::uint32_t process;
    std::uint64_t host;
  };
  std::optional<Place> open(std::uint32_t key, std::uint64_t address, std::uint64_t length,
                            std::uint32_t need, std::uint32_t pd);

 private:
  static constexpr std::size_t kMost = 64;  // two scatter lists
  std::size_t count_ = 0;
  std::array<KeyEntry*, kMost> held_;
};

}  // namespace rdmameter::software
