// SPDX-License-Identifier: Apache-2.0
#include "core/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace rdmameter {
namespace {

constexpr std::byte kPoison{0xa5};

/// SplitMix64 (Steele, Lea, Flood 2014, and Vigna's reference): a different word for every counter.
std::uint64_t splitmix64(std::uint64_t counter) {
  std::uint64_t z = counter * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// The pattern of one payload, eight bytes at a time.
class Pattern8 {
 public:
  Pattern8(std::uint64_t seed, std::uint64_t stream)
      : state_(splitmix64(seed ^ splitmix64(stream))) {}
  std::uint64_t word(std::uint64_t index) const { return splitmix64(state_ + index); }

 private:
  std::uint64_t state_;
};

/// Of QP and slot alone: a sender's area need not have as many slots as the receiver's.
std::uint64_t stream_of(std::uint64_t qp, std::uint64_t slot, bool by_slot) {
  return (qp << 32) + (by_slot ? slot + 1 : 0);
}

void note(Verdict& verdict, std::string_view what, std::uint64_t qp, std::uint64_t slot,
          std::int64_t offset) {
  if (verdict.first_fault.empty())
    verdict.first_fault = fmt::format("{} at byte {} of slot {} of QP {}", what, offset, slot, qp);
}

void check_payload(Verdict& verdict, const std::byte* payload, std::uint64_t length,
                   const Pattern8& pattern, std::uint64_t qp, std::uint64_t slot) {
  verdict.checked_bytes += length;
  for (std::uint64_t at = 0; at < length; at += 8) {
    const std::uint64_t expected = pattern.word(at / 8);
    const std::uint64_t part = std::min<std::uint64_t>(8, length - at);
    if (std::memcmp(payload + at, &expected, part) == 0) continue;
    const auto* want = reinterpret_cast<const std::byte*>(&expected);
    for (std::uint64_t i = 0; i < part; ++i) {
      if (payload[at + i] == want[i]) continue;
      const bool missing = payload[at + i] == kPoison;
      ++(missing ? verdict.missing_bytes : verdict.wrong_bytes);
      note(verdict, missing ? "nothing arrived" : "wrong data", qp, slot,
           static_cast<std::int64_t>(at + i));
    }
  }
}

bool untouched(const std::byte* begin, std::uint64_t length) {
  return std::all_of(begin, begin + length, [](std::byte byte) { return byte == kPoison; });
}

}  // namespace

std::uint64_t source_seed(std::uint64_t case_seed, Role sender) {
  return splitmix64(case_seed + static_cast<std::uint64_t>(sender));
}

void fill_source(std::span<std::byte> bytes, const Area& area, std::uint64_t seed, bool by_slot) {
  for (std::uint64_t qp = 0; qp < area.qps; ++qp) {
    for (std::uint64_t slot = 0; slot < area.slots; ++slot) {
      const Pattern8 pattern{seed, stream_of(qp, slot, by_slot)};
      std::byte* const payload = bytes.data() + area.payload(qp, slot);
      for (std::uint64_t at = 0; at < area.payload_bytes; at += 8) {
        const std::uint64_t word = pattern.word(at / 8);
        std::memcpy(payload + at, &word, std::min<std::uint64_t>(8, area.payload_bytes - at));
      }
    }
  }
}

void poison_target(std::span<std::byte> bytes) {
  std::memset(bytes.data(), static_cast<int>(kPoison), bytes.size());
}

Verdict check_target(std::span<const std::byte> bytes, const Area& area, std::uint64_t seed,
                     bool by_slot, bool skip_last, std::uint64_t least_slots) {
  Verdict verdict;
  const std::uint64_t compared = area.payload_bytes - (skip_last ? 1 : 0);
  const std::uint64_t guard_begin = area.head_bytes + area.payload_bytes;
  for (std::uint64_t qp = 0; qp < area.qps; ++qp) {
    for (std::uint64_t slot = 0; slot < area.slots; ++slot) {
      const Pattern8 pattern{seed, stream_of(qp, slot, by_slot)};
      const std::byte* const begin = bytes.data() + area.slot(qp, slot);
      if (slot < least_slots || !untouched(begin + area.head_bytes, compared))
        check_payload(verdict, begin + area.head_bytes, compared, pattern, qp, slot);
      for (std::uint64_t at = guard_begin; at < area.stride_bytes; ++at) {
        if (begin[at] == kPoison) continue;
        ++verdict.guard_bytes_hit;
        note(verdict, "written beyond the message", qp, slot,
             static_cast<std::int64_t>(at - area.head_bytes));
      }
    }
  }
  return verdict;
}

}  // namespace rdmameter
