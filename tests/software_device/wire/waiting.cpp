// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/wire/waiting.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace rdmameter::software {
namespace {

std::uint64_t slot_bytes(const SharedQp& qp) {
  const std::uint64_t data =
      std::max<std::uint64_t>(qp.max_send_sge * sizeof(ibv_sge), qp.max_inline_bytes);
  return sizeof(WaitingRequest) + (data + 63) / 64 * 64;
}
std::uint32_t slots(const SharedQp& qp) {
  return std::bit_ceil(qp.max_send_wr);
}

}  // namespace

std::span<const ibv_sge> WaitingRequest::data(ibv_sge& room) {
  if (!request.inlined()) return {sges(), sge_count};
  room = {reinterpret_cast<std::uint64_t>(bytes()), inline_bytes, 0};
  return {&room, 1};
}

bool have_room(SharedQp& qp) {
  if (qp.sq.entries == 0) qp.sq.entries = allocate(slots(qp) * slot_bytes(qp));
  return qp.sq.entries != 0;
}

WaitingRequest& waiting_at(SharedQp& qp, std::uint32_t position) {
  return *reinterpret_cast<WaitingRequest*>(segment_at(qp.sq.entries) +
                                            (position & (slots(qp) - 1)) * slot_bytes(qp));
}

WaitingRequest& keep_waiting(SharedQp& qp, const Request& request, std::span<const ibv_sge> sges) {
  WaitingRequest& slot = waiting_at(qp, qp.sq.end++);
  slot = {.request = request};
  if (!request.inlined()) {
    slot.sge_count = static_cast<std::uint32_t>(sges.size());
    std::ranges::copy(sges, slot.sges());
    return slot;
  }
  for (const ibv_sge& sge : sges) {
    std::memcpy(slot.bytes() + slot.inline_bytes, reinterpret_cast<const void*>(sge.addr),
                sge.length);
    slot.inline_bytes += sge.length;
  }
  return slot;
}

void free_waiting_requests(SharedQp& qp) {
  if (qp.sq.entries != 0) release(qp.sq.entries, slots(qp) * slot_bytes(qp));
}

}  // namespace rdmameter::software
