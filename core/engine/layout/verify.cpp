// SPDX-License-Identifier: Apache-2.0
#include "core/engine/layout/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>

namespace rdmameter {
namespace {

constexpr std::byte kPoison{0xa5};
constexpr std::uint64_t kPoisonWord = 0xa5a5'a5a5'a5a5'a5a5;

/// SplitMix64 (Steele, Lea, Flood 2014, and Vigna's reference): a different word for every counter.
std::uint64_t splitmix64(std::uint64_t counter) {
  std::uint64_t z = counter * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

constexpr std::size_t kWord = sizeof(std::uint64_t);

/// By whole words, and what is left of the last one: much of what is done before a case begins.
void fill_words(std::byte* to, std::size_t length, std::uint64_t counter) {
  for (; length >= kWord; length -= kWord, to += kWord, ++counter) {
    const std::uint64_t word = splitmix64(counter);
    std::memcpy(to, &word, kWord);
  }
  if (length == 0) return;
  const std::uint64_t word = splitmix64(counter);
  std::memcpy(to, &word, length);
}

/// A sender's area need not have as many slots as the receiver's, so slots are told by number. What
/// is random never begins with the poison, so that a slot which holds a message is told from one
/// which does not.
void make_payload(std::span<std::byte> bytes, const PayloadPattern& pattern, std::uint64_t qp,
                  std::uint64_t slot, Looks& looks) {
  if (!pattern.repeated.empty()) {
    for (std::size_t at = 0; at < bytes.size(); at += pattern.repeated.size()) {
      std::memcpy(&bytes[at], pattern.repeated.data(),
                  std::min(pattern.repeated.size(), bytes.size() - at));
      looks.after(pattern.repeated.size());
    }
    return;
  }
  const std::uint64_t stream = ((pattern.by_qp ? qp : 0) << 32) + (pattern.by_slot ? slot + 1 : 0);
  const std::uint64_t state = splitmix64(pattern.seed ^ splitmix64(stream));
  in_parts(bytes.size(), looks, [&](std::size_t begin, std::size_t length) {
    std::byte* const to = &bytes[begin];
    if (pattern.zero)
      std::memset(to, 0, length);
    else
      fill_words(to, length, state + begin / kWord);
  });
  if (!bytes.empty() && bytes[0] == kPoison) bytes[0] = ~kPoison;
}

void note(Verdict& verdict, std::string_view what, std::uint64_t qp, std::uint64_t slot,
          std::int64_t offset) {
  if (verdict.first_fault.empty())
    verdict.first_fault = fmt::format("{} at byte {} of slot {} of QP {}", what, offset, slot, qp);
}

/// Compares one piece, which begins `at` bytes into the payload.
void check_piece(Verdict& verdict, std::span<const std::byte> got, std::span<const std::byte> want,
                 std::uint64_t at, std::uint64_t qp, std::uint64_t slot) {
  verdict.checked_bytes += got.size();
  if (std::memcmp(got.data(), want.data(), got.size()) == 0) return;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == want[i]) continue;
    const bool missing = got[i] == kPoison;
    ++(missing ? verdict.missing_bytes : verdict.wrong_bytes);
    note(verdict, missing ? "nothing arrived" : "wrong data", qp, slot,
         static_cast<std::int64_t>(at + i));
  }
}

void check_guard(Verdict& verdict, std::span<const std::byte> slot_bytes, std::uint64_t begin,
                 std::uint64_t end, std::uint64_t qp, std::uint64_t slot) {
  for (std::uint64_t at = begin; at < end; ++at) {
    if (slot_bytes[at] == kPoison) continue;
    ++verdict.guard_bytes_hit;
    note(verdict, "written beyond the message", qp, slot, static_cast<std::int64_t>(at));
  }
}

/// Room for one message. Not zeroed: that would touch gigabytes at one go.
auto room_for(const Area& area) {
  return std::make_unique_for_overwrite<std::byte[]>(area.payload_bytes);
}

/// The part of a piece that is compared, and where in the payload it begins.
struct Compared {
  std::uint64_t in_slot, in_payload, length;
};

/// @param at  where in the payload the piece begins
Compared compared(const Area& area, const Piece& piece, std::uint64_t at, Skip skip) {
  const std::uint64_t end = area.payload_bytes - std::min(skip.last, area.payload_bytes);
  const std::uint64_t from = std::max(at, skip.first);
  const std::uint64_t to = std::max(from, std::min(at + piece.length, end));
  return {piece.offset + (from - at), from, to - from};
}

bool untouched(std::span<const std::byte> slot, const Area& area, Skip skip, Looks& looks) {
  std::uint64_t at = 0;
  for (const Piece& piece : area.pieces) {
    const Compared part = compared(area, piece, at, skip);
    at += piece.length;
    bool poison = true;
    in_parts(part.length, looks, [&](std::size_t offset, std::size_t length) {
      poison = poison && std::ranges::all_of(slot.subspan(part.in_slot + offset, length),
                                             [](std::byte byte) { return byte == kPoison; });
    });
    if (!poison) return false;
  }
  return true;
}

std::uint64_t word_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  std::uint64_t word;
  std::memcpy(&word, &bytes[offset], sizeof word);
  return word;
}

/// Says that a word is not what it should be.
void blame(Verdict& verdict, std::string_view what, std::uint64_t qp, std::uint64_t slot) {
  verdict.wrong_bytes += sizeof(std::uint64_t);
  note(verdict, what, qp, slot, 0);
}

}  // namespace

void add(Verdict& sum, const Verdict& more, std::string_view where) {
  sum.checked_bytes += more.checked_bytes;
  sum.missing_bytes += more.missing_bytes;
  sum.wrong_bytes += more.wrong_bytes;
  sum.guard_bytes_hit += more.guard_bytes_hit;
  sum.whole_slots += more.whole_slots;
  if (sum.first_fault.empty() && !more.first_fault.empty())
    sum.first_fault = fmt::format("{}: {}", where, more.first_fault);
}

PayloadPattern pattern_of(const TestCase& test_case, std::uint64_t case_seed, Role sender) {
  return {.seed = splitmix64(case_seed + static_cast<std::uint64_t>(sender)),
          .zero = test_case.payload == kZeroPayload,
          .repeated = test_case.payload_bytes,
          .by_slot = test_case.one_sided(),
          .by_qp = test_case.one_sided() || (!test_case.shared_receives() && test_case.peers == 1)};
}

void fill_source(std::span<std::byte> bytes, const Area& area, const PayloadPattern& pattern,
                 const CancelCheck& cancel_check) {
  Looks looks{cancel_check};
  const auto room = room_for(area);
  const std::span message{room.get(), area.payload_bytes};
  for (std::uint64_t qp = 0; qp < area.qps; ++qp) {
    for (std::uint64_t slot = 0; slot < area.slots; ++slot) {
      if (slot == 0 || pattern.by_slot) make_payload(message, pattern, qp, slot, looks);
      const std::byte* from = message.data();
      for (const Piece& piece : area.pieces) {
        std::byte* const to = &bytes[area.slot(qp, slot) + piece.offset];
        in_parts(piece.length, looks, [&](std::size_t offset, std::size_t length) {
          std::memcpy(to + offset, from + offset, length);
        });
        from += piece.length;
      }
    }
  }
}

void poison_target(std::span<std::byte> bytes, const CancelCheck& cancel_check) {
  Looks looks{cancel_check};
  in_parts(bytes.size(), looks, [&](std::size_t offset, std::size_t length) {
    std::ranges::fill(bytes.subspan(offset, length), kPoison);
  });
}

Verdict check_target(std::span<const std::byte> bytes, const Area& area,
                     const PayloadPattern& pattern, Skip skip, std::uint64_t min_slots,
                     const CancelCheck& cancel_check) {
  Looks looks{cancel_check};
  Verdict verdict;
  const auto room = room_for(area);
  const std::span message{room.get(), area.payload_bytes};
  for (std::uint64_t qp = 0; qp < area.qps; ++qp) {
    for (std::uint64_t slot = 0; slot < area.slots; ++slot) {
      if (slot == 0 || pattern.by_slot) make_payload(message, pattern, qp, slot, looks);
      const auto got = bytes.subspan(area.slot(qp, slot), area.stride_bytes);
      const bool compare = slot < min_slots || !untouched(got, area, skip, looks);
      const std::uint64_t faults = verdict.missing_bytes + verdict.wrong_bytes;
      std::uint64_t at = 0, guard = 0;
      for (const Piece& piece : area.pieces) {
        const Compared part = compared(area, piece, at, skip);
        const std::uint64_t length = compare ? part.length : 0;
        in_parts(length, looks, [&](std::size_t offset, std::size_t some) {
          check_piece(verdict, got.subspan(part.in_slot + offset, some),
                      message.subspan(part.in_payload + offset, some), part.in_payload + offset, qp,
                      slot);
        });
        const std::uint64_t head = at == 0 ? area.head_bytes : 0;
        check_guard(verdict, got, guard, std::max(guard, piece.offset - head), qp, slot);
        at += piece.length;
        guard = piece.offset + piece.length;
      }
      check_guard(verdict, got, guard, area.stride_bytes, qp, slot);
      if (compare && faults == verdict.missing_bytes + verdict.wrong_bytes) ++verdict.whole_slots;
    }
  }
  return verdict;
}

namespace {

Verdict check_words(std::span<const std::byte> bytes, const Area& area, Opcode opcode,
                    std::uint64_t total, std::uint64_t chain) {
  Verdict verdict;
  std::uint64_t sum = 0;
  for (std::uint64_t qp = 0; qp < area.qps; ++qp) {
    const std::uint64_t word = word_at(bytes, area.payload(qp, 0));
    verdict.checked_bytes += sizeof word;
    sum += word;
    if (opcode == Opcode::cmp_swap && word >= chain)
      blame(verdict, "a value that no compare-and-swap wrote", qp, 0);
  }
  if (opcode == Opcode::fetch_add && sum != total)
    blame(verdict, fmt::format("{} additions made, {} counted,", total, sum), 0, 0);
  if (opcode == Opcode::cmp_swap && area.qps == 1 && sum != total % chain)
    blame(verdict, fmt::format("{} swaps made of a chain of {}, {} left,", total, chain, sum), 0,
          0);
  return verdict;
}

Verdict check_returned(std::span<const std::byte> bytes, const Area& area, Opcode opcode,
                       std::uint64_t total, std::uint64_t chain) {
  Verdict verdict;
  std::uint64_t result = 0;
  for (std::uint64_t qp = 0; qp < area.qps; ++qp) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t slot = 0; slot < area.slots; ++slot) {
      const std::uint64_t word = word_at(bytes, area.payload(qp, slot));
      if (word == kPoisonWord) continue;  // not used
      verdict.checked_bytes += sizeof word;
      if (opcode == Opcode::cmp_swap) {
        // Slot 0 may hold what the closing one found, which is any.
        if (word >= chain || (slot != 0 && word % area.slots != slot))
          blame(verdict, "a swap found another value than the one before it left", qp, slot);
      } else if (!seen.insert(word).second || word >= total) {
        blame(verdict, "two additions found one value", qp, slot);
      }
    }
    if (!seen.empty()) result += *seen.rbegin() + 1;
  }
  if (opcode == Opcode::fetch_add && result != total)
    blame(verdict, fmt::format("{} additions made, {} seen,", total, result), 0, 0);
  return verdict;
}

}  // namespace

Verdict check_atomics(std::span<const std::byte> bytes, const Layout& layout, Role role,
                      Opcode opcode, std::uint64_t total, std::uint64_t chain) {
  return role == Role::initiator ? check_returned(bytes, layout.target, opcode, total, chain)
                                 : check_words(bytes, layout.source, opcode, total, chain);
}

}  // namespace rdmameter
