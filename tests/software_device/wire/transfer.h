// SPDX-License-Identifier: Apache-2.0
// Moving bytes between the memories of two processes, either of which may be this one.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace rdmameter::software {

/// Pieces of one process's memory, in order.
class Pieces {
 public:
  static constexpr std::size_t kMost = 40;  // a scatter list, and a last word apart

  Pieces() = default;
  explicit Pieces(std::uint32_t process) : process_(process) {}
  /// A piece of this process's memory.
  static Pieces here(const void* data, std::size_t length);

  std::uint32_t process() const { return process_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t count() const { return count_; }
  const iovec* data() const { return parts_.data(); }

  void add(std::uint64_t address, std::size_t length);

  /// Its first `length` bytes.
  Pieces first(std::size_t length) const;
  Pieces without_first(std::size_t length) const;
  /// Its last word as a piece of its own: see transfer().
  Pieces with_last_word_apart() const;

 private:
  std::uint32_t process_ = 0;
  std::size_t bytes_ = 0, count_ = 0;
  std::array<iovec, kMost> parts_;
};

enum class Moved { all, lost_process, bad_address };

/// Copies all bytes of `from`; `to` must have room. Bytes become visible in ascending order, and
/// the last piece's after those of all others: who polls on the end of a message sees all of it.
Moved transfer(const Pieces& from, const Pieces& to);

}  // namespace rdmameter::software
