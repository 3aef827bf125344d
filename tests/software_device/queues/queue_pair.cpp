// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/queues/queue_pair.h"

#include <atomic>
#include <mutex>

#include "tests/software_device/device/settings.h"
#include "tests/software_device/wire/send_queue.h"
#include "tests/software_device/wire/waiting.h"

namespace rdmameter::software {
namespace {

constexpr std::uint32_t kFirstQpn = 0x100;    // 0 and 1 are special QPs, and small numbers mislead
constexpr std::uint32_t kGenerations = 0x3f;  // a QP number has 24 bits, and 0xffffff is multicast

std::atomic<std::uint64_t> made_qps{0};

QpEntry* take_qp_entry() {
  Tables& all = tables();
  for (std::uint32_t tried = 0; tried < kQps; ++tried) {
    const std::uint32_t index = (kFirstQpn + all.next_qp++) % kQps;
    if (index <= 1 || all.qps[index].taken) continue;
    take_entry(all.qps[index]);
    return &all.qps[index];
  }
  return nullptr;
}

}  // namespace

std::uint64_t qps_made() {
  return made_qps.load();
}

Offset<SharedQp> make_qp() {
  const auto qp = make_shared_object<SharedQp>();
  if (!qp) return {};
  if (const auto delay = settings().delays.find(++made_qps); delay != settings().delays.end()) {
    qp->silent = delay->second == kLost;
    if (!qp->silent) qp->delay_ns = delay->second;
  }
  const std::lock_guard locked(tables().lock);
  QpEntry* const entry = take_qp_entry();
  if (entry == nullptr) return {};
  entry->qp = qp;
  qp->process = own_process();
  entry->generation = (entry->generation + 1) & kGenerations;
  const auto index = static_cast<std::uint32_t>(entry - tables().qps.data());
  qp->qpn = static_cast<std::uint32_t>(entry->generation) << kQpBits | index;
  return qp;
}

void publish_qp(SharedQp& qp) {
  tables().qps[qp.qpn % kQps].qpn.store(qp.qpn);
}

void destroy_qp(Offset<SharedQp> qp) {
  QpEntry& entry = tables().qps[qp->qpn % kQps];
  await_packets(*qp);
  entry.qpn.store(0);
  entry.users.await_none();
  take_off_wire(qp->qpn);
  purge_completions(*qp->send_cq, qp->qpn);
  purge_completions(*qp->recv_cq, qp->qpn);
  free_waiting_requests(*qp);
  destroy_shared(qp);
  const std::lock_guard locked(tables().lock);
  free_entry(entry);
}

void retire_requests(std::uint32_t qpn, std::uint32_t retires) {
  const QpEntry& entry = tables().qps[qpn % kQps];
  if (entry.qpn.load(std::memory_order_relaxed) == qpn)
    entry.qp->sq.retired.store(retires, std::memory_order_release);
}

void enter_error(SharedQp& qp) {
  qp.state.store(IBV_QPS_ERR);
  flush_receives(qp);
  hasten(qp.qpn);
}

void flush_receives(SharedQp& qp) {
  SharedRq& rq = *qp.rq;
  if (rq.is_shared) return;
  const std::lock_guard locked(rq.ring.consumers);
  while (!rq.ring.empty())
    complete(*qp.recv_cq,
             {.wr_id = rq.take().wr_id,
              .status = IBV_WC_WR_FLUSH_ERR,
              .opcode = IBV_WC_RECV,
              .qpn = qp.qpn},
             true);
}

}  // namespace rdmameter::software
