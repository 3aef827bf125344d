// SPDX-License-Identifier: Apache-2.0
// The measured path of sequence numbers, which UC and UD messages of a bandwidth carry: what the
// sender writes, what the receiver makes of it. In the byte order of the host, as a ping-pong's.
#pragma once

#include <algorithm>
#include <cstring>

#include "core/engine/loop/step.h"

namespace rdmameter {

// Where a message's number is.

/// There is none.
struct Unnumbered {
  static constexpr bool kNumbered = false, kImmediate = false;
};
/// A message's number in the payload's first bytes.
struct NumberedPayload {
  static constexpr bool kNumbered = true, kImmediate = false;
  static void put(ibv_send_wr& wr, std::uint32_t number) noexcept {
    std::memcpy(reinterpret_cast<void*>(wr.sg_list->addr), &number, sizeof number);
  }
  static std::uint32_t get(const ibv_wc& wc) noexcept {
    std::uint32_t number;
    std::memcpy(&number, const_cast<const std::uint8_t*>(receive_of(wc).number), sizeof number);
    return number;
  }
};
/// A message's number in the immediate.
struct NumberedImmediate {
  static constexpr bool kNumbered = true, kImmediate = true;
  static void put(ibv_send_wr& wr, std::uint32_t number) noexcept { wr.imm_data = number; }
  static std::uint32_t get(const ibv_wc& wc) noexcept { return wc.imm_data; }
};

/// Numbers every WR of a list that is about to be posted.
template <class Numbers>
[[gnu::always_inline]] inline void put_numbers(const LoopState& loop_state, Lane& lane,
                                               ibv_send_wr* wr) noexcept {
  const std::uint32_t base = lane.number_base, mask = loop_state.number_mask;
  std::uint32_t numbered = lane.numbered;
  do {
    Numbers::put(*wr, base | (numbered++ & mask));
    wr = wr->next;
  } while (wr != nullptr);
  lane.numbered = numbered;
}

/// A number other than the one that was due. A function of its own, being rare.
/// @param qp  that it came over
[[gnu::noinline]] inline void note_out_of_order(Arrivals& arrivals, std::uint64_t qp,
                                                std::uint32_t number) noexcept {
  const std::uint32_t mask =
      static_cast<std::uint32_t>((std::uint64_t{1} << arrivals.count_bits) - 1);
  std::uint32_t& next = arrivals.next[qp];
  const std::uint32_t ahead = (number - next) & mask, behind = (next - number) & mask;
  const std::uint32_t window = arrivals.skipped_per_qp;
  std::uint64_t* const skipped = arrivals.skipped + qp * window;
  if (ahead <= mask / 2) {  // 0: the count has begun anew
    for (std::uint32_t i = std::min(ahead, window); i != 0; --i) {
      const std::uint32_t missing = (number - i) & mask;
      skipped[missing & (window - 1)] = missing;
    }
    next = number + 1;
    return;
  }
  std::uint64_t& place = skipped[number & (window - 1)];
  const std::uint32_t count = number & mask;
  if (behind > window || place == count)  // beyond the window it is not known: taken for late
    ++arrivals.reordered;
  else
    ++arrivals.duplicated;
  if (place == count) place = kNoNumber;
}

/// Looks at the number of each message that has arrived, before its receive is posted again; it
/// keeps copies of what does not change.
template <class Numbers>
class NumberReader {
 public:
  explicit NumberReader(Arrivals& arrivals) noexcept
      : arrivals_(arrivals), next_(arrivals.next), count_bits_(arrivals.count_bits) {}

  [[gnu::always_inline]] void note(const ibv_wc& wc) const noexcept {
    const std::uint32_t number = Numbers::get(wc);
    const std::uint64_t qp = std::uint64_t{number} >> count_bits_;
    if (next_[qp] == number) [[likely]]
      next_[qp] = number + 1;
    else
      note_out_of_order(arrivals_, qp, number);
  }

 private:
  Arrivals& arrivals_;
  std::uint32_t* const next_;
  const std::uint32_t count_bits_;
};

}  // namespace rdmameter
