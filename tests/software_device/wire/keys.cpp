// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/wire/keys.h"

#include <mutex>

namespace rdmameter::software {
namespace {

KeyEntry& entry_of(std::uint32_t key) {
  return tables().keys[(key >> 8) % kKeys];
}

void fill(KeyEntry& entry, const Region& region) {
  entry.pd = region.pd;
  entry.access = region.access;
  entry.iova = region.iova;
  entry.length = region.length;
  entry.host = region.host;
}

/// A place in the table, with the tables' lock held; null: none is left.
KeyEntry* take_key_entry() {
  Tables& all = tables();
  for (std::uint32_t tried = 0; tried < kKeys; ++tried) {
    const std::uint32_t index = ++all.next_key % kKeys;
    if (index == 0 || all.keys[index].taken) continue;  // key 0 means none
    take_entry(all.keys[index]);
    return &all.keys[index];
  }
  return nullptr;
}

void close_entry(KeyEntry& entry) {
  entry.key.store(0);
  entry.users.await_none();
}

}  // namespace

std::uint32_t make_key(const Region& region) {
  const std::lock_guard locked(tables().lock);
  KeyEntry* const entry = take_key_entry();
  if (entry == nullptr) return 0;
  fill(*entry, region);
  const auto index = static_cast<std::uint32_t>(entry - tables().keys.data());
  const std::uint32_t key = index << 8 | ++entry->generation;
  entry->key.store(key);
  return key;
}

void revoke_key(std::uint32_t key) {
  KeyEntry& entry = entry_of(key);
  close_entry(entry);
  const std::lock_guard locked(tables().lock);
  free_entry(entry);
}

void rebind_key(std::uint32_t key, std::uint32_t new_key, const Region& region) {
  KeyEntry& entry = entry_of(key);
  if (entry.key.load() != key) return;
  close_entry(entry);
  fill(entry, region);
  entry.key.store(new_key);
}

std::optional<Region> region_of(std::uint32_t key) {
  KeyEntry& entry = entry_of(key);
  entry.users.enter();
  std::optional<Region> region;
  if (entry.key.load() == key && key != 0)
    region = {entry.pd, entry.access, entry.iova, entry.length, entry.host};
  entry.users.leave();
  return region;
}

std::optional<HeldKeys::Place> HeldKeys::open(std::uint32_t key, std::uint64_t address,
                                              std::uint64_t length, std::uint32_t need,
                                              std::uint32_t pd) {
  KeyEntry& entry = entry_of(key);
  if (count_ == kMost) return std::nullopt;
  entry.users.enter();
  held_[count_++] = &entry;
  const bool opens = key != 0 && entry.key.load() == key && entry.pd == pd &&
                     (entry.access & need) == need && length <= entry.length &&
                     address - entry.iova <= entry.length - length;
  if (!opens) return std::nullopt;
  return Place{entry.process, entry.host + (address - entry.iova)};
}

}  // namespace rdmameter::software
