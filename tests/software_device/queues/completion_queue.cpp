// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/queues/completion_queue.h"

#include <mutex>
#include <string>

#include "tests/software_device/device/request_log.h"
#include "tests/software_device/device/settings.h"
#include "tests/software_device/queues/queue_pair.h"
#include "tests/software_device/segment/clock.h"
#include "tests/software_device/segment/process.h"
#include "tests/software_device/segment/tables.h"

namespace rdmameter::software {
namespace {

/// What only a wrong key, address, length or right leads to.
bool tells_misuse(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_OP_ERR:
      return true;
    default:
      return false;
  }
}

void check_status(const Cqe& cqe) {
  if (!settings().strict || !tells_misuse(cqe.status)) return;
  misuse("a completion of QP " + std::to_string(cqe.qpn) + " has status " +
         std::to_string(cqe.status) +
         " (enum ibv_wc_status): a wrong key, address, length or right");
}

void check_copy(const Cqe& cqe) {
  if (!cqe.copied_by_poll) return;
  die("ibv_poll_cq() of this adapter copies a small receive from the completion to its address, "
      "but its region is zero-based or of device memory: the program crashes");
}

void raise_event(SharedCq& cq) {
  cq.pending_events.fetch_add(1);
  signal_event(cq.event);
}

/// Either this sees an arming, or whoever arms sees the completion when it polls: both read and
/// write `armed` in one step, so one of them comes first.
void notify(SharedCq& cq, bool solicited) {
  const std::uint32_t armed = cq.armed.fetch_add(0, std::memory_order_acq_rel);
  if (armed != kArmedForAny && !(armed == kArmedForSolicited && solicited)) return;
  if (cq.armed.exchange(kUnarmed) != kUnarmed) raise_event(cq);
}

}  // namespace

Offset<SharedCq> make_cq(std::uint32_t entries) {
  const auto cq = make_shared_object<SharedCq>();
  if (!cq) return {};
  const std::uint64_t room = allocate(Ring::slots_for(entries) * sizeof(Cqe));
  if (room == 0) return destroy_shared(cq), Offset<SharedCq>{};
  new (&cq->ring) Ring(entries);
  cq->entries = {room};
  return cq;
}

void destroy_cq(Offset<SharedCq> cq) {
  release(cq->entries.bytes, Ring::slots_for(cq->ring.limit()) * sizeof(Cqe));
  destroy_shared(cq);
}

void complete(SharedCq& cq, const Cqe& cqe, bool solicited) {
  const std::lock_guard locked(cq.ring.producers);
  if (cq.ring.full()) [[unlikely]] {
    cq.overrun.store(true);
    return;
  }
  Cqe& slot = cq.entries.get()[cq.ring.slot_of(cq.ring.head())];
  slot = cqe;
  if (cq.with_timestamps) slot.timestamp_ns = now_ns();
  cq.ring.push();
  if (cq.event.channel_id != 0) notify(cq, solicited || cqe.status != IBV_WC_SUCCESS);
}

bool take(SharedCq& cq, Cqe& cqe) {
  if (cq.ring.empty()) {
    if (cq.overrun.load(std::memory_order_relaxed)) [[unlikely]]
      die("a CQ overran: more completions than the CQ was created for");
    return false;
  }
  cqe = cq.entries.get()[cq.ring.slot_of(cq.ring.tail())];
  cq.ring.pop();
  check_copy(cqe);
  check_status(cqe);
  if ((cqe.opcode & IBV_WC_RECV) == 0) {
    log_request("polled", cqe.qpn, cqe.retires - 1);
    retire_requests(cqe.qpn, cqe.retires);
  }
  return true;
}

void purge_completions(SharedCq& cq, std::uint32_t qpn) {
  const std::lock_guard reading(cq.ring.consumers);
  const std::lock_guard writing(cq.ring.producers);
  Cqe* const entries = cq.entries.get();
  std::uint32_t kept = cq.ring.tail();
  for (std::uint32_t at = kept; at != cq.ring.head(); ++at)
    if (const Cqe cqe = entries[cq.ring.slot_of(at)]; cqe.qpn != qpn)
      entries[cq.ring.slot_of(kept++)] = cqe;
  cq.ring.cut(kept);
}

void arm(SharedCq& cq, bool solicited_only) {
  cq.armed.exchange(solicited_only ? kArmedForSolicited : kArmedForAny, std::memory_order_acq_rel);
}

}  // namespace rdmameter::software
