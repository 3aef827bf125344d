// SPDX-License-Identifier: Apache-2.0
#include "core/engine/mix_verify.h"

#include <fmt/format.h>

#include <vector>

#include "core/engine/account/load.h"
#include "core/engine/work.h"

namespace rdmameter {
namespace {

PayloadPattern pattern_of_part(const TestCase& part, const MixEnd& end, std::size_t number,
                               Role sender) {
  constexpr unsigned kAboveThreads = 32;  // whose seeds follow each other
  return pattern_of(part, end.seed + (std::uint64_t{number} << kAboveThreads), sender);
}

/// What came of so many requests of one part. @param count  of them
Verdict check_part(std::span<const std::byte> bytes, const MixEnd& end, std::size_t number,
                   std::uint64_t count, const CancelCheck& cancel_check) {
  const TestCase part = case_of_part(end.test_case, mix_of(end.test_case)[number]);
  const Layout& layout = end.layout.parts[number];
  if (part.atomic()) {
    const std::uint64_t chain = mix_chain_length(end.test_case, number);
    return end.role == Role::initiator
               ? check_returned(bytes, layout.target, part.opcode, count, chain)
               : check_words(bytes, layout.source, part.opcode, count, chain);
  }
  if (layout.target.slots == 0) return {};
  const Role sender = other_end(end.role);
  // Of several QPs a request takes whichever has room.
  const std::uint64_t written = layout.target.qps == 1 ? count : 0;
  return check_target(bytes, layout.target, pattern_of_part(part, end, number, sender), {}, written,
                      cancel_check);
}

}  // namespace

void fill_mix(std::span<std::byte> bytes, const MixEnd& end, const CancelCheck& cancel_check) {
  const std::vector<MixPart> parts = mix_of(end.test_case);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const TestCase part = case_of_part(end.test_case, parts[p]);
    const PayloadPattern pattern =
        part.atomic() ? PayloadPattern{.zero = true} : pattern_of_part(part, end, p, end.role);
    fill_source(bytes, end.layout.parts[p].source, pattern, cancel_check);
  }
}

Verdict check_mix(std::span<const std::byte> bytes, const MixEnd& end, std::uint64_t total,
                  const CancelCheck& cancel_check) {
  const std::vector<MixPart> parts = mix_of(end.test_case);
  const std::vector<std::uint64_t> counts =
      count_parts(draw_parts(end.test_case, end.seed), parts.size(), 0, total);
  Verdict sum;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Verdict one = check_part(bytes, end, p, counts[p], cancel_check);
    add(sum, one, fmt::format("{} of {} bytes", traits(parts[p].opcode).name, parts[p].size_bytes));
  }
  return sum;
}

}  // namespace rdmameter
