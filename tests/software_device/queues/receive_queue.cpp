// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/queues/receive_queue.h"

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "tests/software_device/device/settings.h"

namespace rdmameter::software {
namespace {

std::uint64_t rq_bytes(const SharedRq& rq) {
  return std::uint64_t{Ring::slots_for(rq.ring.limit())} * rq.stride;
}

int receive_queue_is_full() {
  misuse("a receive was posted to a full receive queue");
  return ENOMEM;
}

int post_receive(SharedRq& rq, const ibv_recv_wr& wr) {
  if (const int error = begin_call(Verb::post_recv).error; error != 0) return error;
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > rq.max_sge) return EINVAL;
  if (rq.ring.full()) return receive_queue_is_full();
  Rqe& entry = rq.at(rq.ring.head());
  entry = {wr.wr_id, static_cast<std::uint32_t>(wr.num_sge), 0};
  for (std::uint32_t i = 0; i < entry.sge_count; ++i) {
    entry.sges()[i] = wr.sg_list[i];
    entry.total_bytes += wr.sg_list[i].length;
  }
  rq.ring.push();
  return 0;
}

}  // namespace

Offset<SharedRq> make_rq(std::uint32_t max_wr, std::uint32_t max_sge, std::uint32_t pd) {
  const auto rq = make_shared_object<SharedRq>();
  if (!rq) return {};
  new (&rq->ring) Ring(std::max(max_wr, 1U));
  rq->max_sge = max_sge;
  rq->stride = static_cast<std::uint32_t>(sizeof(Rqe) + max_sge * sizeof(ibv_sge));
  rq->process = own_process();
  rq->pd = pd;
  rq->entries = allocate(rq_bytes(*rq));
  if (rq->entries == 0) return destroy_shared(rq), Offset<SharedRq>{};
  return rq;
}

void destroy_rq(Offset<SharedRq> rq) {
  release(rq->entries, rq_bytes(*rq));
  destroy_shared(rq);
}

int post_receives(SharedRq& rq, ibv_recv_wr* wr, ibv_recv_wr*& bad) {
  const std::lock_guard locked(rq.ring.producers);
  for (; wr != nullptr; wr = wr->next)
    if (const int error = post_receive(rq, *wr); error != 0) {
      bad = wr;
      return error;
    }
  return 0;
}

}  // namespace rdmameter::software
