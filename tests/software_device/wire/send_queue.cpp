// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/wire/send_queue.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "tests/software_device/device/control_call.h"
#include "tests/software_device/device/request_log.h"
#include "tests/software_device/device/settings.h"
#include "tests/software_device/segment/clock.h"
#include "tests/software_device/wire/execute.h"
#include "tests/software_device/wire/packet.h"
#include "tests/software_device/wire/port.h"
#include "tests/software_device/wire/waiting.h"
#include "tests/software_device/wire/wire.h"

namespace rdmameter::software {
namespace {

constexpr std::uint8_t kRetryForEver = 7;  // rnr_retry
constexpr std::uint64_t kWaitsForEver = kNever - 1;

bool is_signaled(const SharedQp& qp, unsigned flags) {
  return qp.signal_all || (flags & IBV_SEND_SIGNALED) != 0;
}

void complete_send(SharedQp& qp, const Request& request, const Outcome& outcome) {
  if (!is_signaled(qp, request.flags) && outcome.status == IBV_WC_SUCCESS) return;
  complete(*qp.send_cq,
           {.wr_id = request.wr_id,
            .status = outcome.status,
            .opcode = completion_opcode(request.opcode),
            .byte_len = outcome.byte_len,
            .qpn = qp.qpn,
            .retires = request.number + 1},
           false);
}

void flush_one(SharedQp& qp, const Request& request) {
  complete_send(qp, request, {.status = IBV_WC_WR_FLUSH_ERR});
}

/// With the send queue locked.
void flush_waiting(SharedQp& qp) {
  SendQueue& sq = qp.sq;
  for (; sq.waits(); ++sq.first) flush_one(qp, waiting_at(qp, sq.first).request);
  sq.next = sq.end;
  sq.halted = false;
}

/// A request is over: with an error the QP is, too, and all that waits behind it.
void finish(SharedQp& qp, const Request& request, const Outcome& outcome) {
  complete_send(qp, request, outcome);
  if (outcome.status != IBV_WC_SUCCESS) enter_error(qp);
}

/// IBTA 9.7.6.1.3: 4.096 us * 2^timeout; 0 is no timeout.
std::uint64_t ack_timeout_ns(const SharedQp& qp) {
  const std::uint8_t code = qp.timeout.load(std::memory_order_relaxed);
  return code == 0 ? kWaitsForEver : std::uint64_t{4096} << code;
}

void renew_retries(SharedQp& qp) {
  qp.sq.timeouts_left = qp.retry_count.load(std::memory_order_relaxed) + 1U;
  qp.sq.rnr_retries_left = qp.rnr_retry.load(std::memory_order_relaxed);
}

/// From here to the peer and back.
std::uint64_t round_trip_ns(const SharedQp& qp, const Request& request) {
  const WireSettings& wire = settings().wire;
  if (wire.instant) return 0;
  const std::uint32_t peer = destination_of(qp, request);
  return wire.path(qp.device, peer).latency_ns + wire.path(peer, qp.device).latency_ns;
}

/// @return when it is tried again; 0: it is not
std::uint64_t next_try_ns(SharedQp& qp, const Outcome& outcome) {
  SendQueue& sq = qp.sq;
  if (outcome.fate == Fate::receiver_not_ready) {
    if (sq.rnr_retries_left == 0) return 0;
    if (sq.rnr_retries_left != kRetryForEver) --sq.rnr_retries_left;
    return now_ns() + outcome.rnr_wait_ns;
  }
  if (sq.timeouts_left == 0) return 0;
  --sq.timeouts_left;
  const std::uint64_t timeout_ns = ack_timeout_ns(qp);
  return timeout_ns == kWaitsForEver ? kWaitsForEver : now_ns() + timeout_ns;
}

/// A request was not served. Decides when it is tried again, or that this was the last time.
/// @return false: `outcome` has the status of its end
bool schedule_retry(SharedQp& qp, WaitingRequest& slot, Outcome& outcome) {
  const std::uint64_t when_ns = next_try_ns(qp, outcome);
  if (when_ns != 0) {
    const bool answered = outcome.fate == Fate::receiver_not_ready;
    slot.due_ns = when_ns + (answered ? round_trip_ns(qp, slot.request) : 0);
    return true;
  }
  outcome = {.status = outcome.fate == Fate::receiver_not_ready ? IBV_WC_RNR_RETRY_EXC_ERR
                                                                : IBV_WC_RETRY_EXC_ERR};
  return false;
}

/// When something of the QP's is due next.
std::uint64_t next_due_ns(SharedQp& qp) {
  const SendQueue& sq = qp.sq;
  std::uint64_t due_ns = next_packet_ns(qp);
  if (sq.first != sq.next) due_ns = std::min(due_ns, waiting_at(qp, sq.first).due_ns);
  if (sq.next != sq.end && !sq.halted) due_ns = std::min(due_ns, waiting_at(qp, sq.next).due_ns);
  return due_ns;
}

/// Sees that the QP comes back when something is due. A peer may have brought it into the error
/// state meanwhile: then nothing waits for long.
void wait_on_wire(SharedQp& qp) {
  const std::uint64_t due_ns = next_due_ns(qp);
  if (due_ns < qp.sq.due_ns) {
    if (qp.sq.due_ns != kNever) take_off_wire(qp.qpn);
    qp.sq.due_ns = due_ns;
    put_on_wire({due_ns, qp.qpn});
  }
  if (qp.sq.waits() && qp.state.load() == IBV_QPS_ERR) hasten(qp.qpn);
}

void leave_wire(SharedQp& qp) {
  take_off_wire(qp.qpn);
  qp.sq.due_ns = kNever;
}

/// A request of an unreliable QP leaves at its time, and is over with that. One of a reliable QP
/// is at its peer then: it may have been lost on its way.
Outcome execute_waiting(SharedQp& qp, WaitingRequest& slot) {
  ibv_sge room;
  const std::span<const ibv_sge> data = slot.data(room);
  if (settings().wire.instant) return execute(qp, slot.request, data);
  if (qp.reliable()) {
    const Path& path = settings().wire.path(qp.device, destination_of(qp, slot.request));
    if (!loses(qp, path)) return execute(qp, slot.request, data);
    tables().ports[qp.device].lost.fetch_add(1);
    return {.fate = Fate::unanswered};
  }
  if (is_local(slot.request)) return execute(qp, slot.request, data);
  return {.status = send_packet(qp, slot.request, data, slot.due_ns)};
}

/// When the answer to a request that has been executed is back.
std::uint64_t answer_ns(SharedQp& qp, const WaitingRequest& slot) {
  const WireSettings& wire = settings().wire;
  if (wire.instant || !qp.reliable()) return slot.due_ns;
  const std::uint32_t peer = destination_of(qp, slot.request);
  const Path& back = wire.path(peer, qp.device);
  const std::uint64_t sent_ns =
      slot.outcome.byte_len == 0 ? slot.due_ns : leave_port(qp, peer, back, slot.outcome.byte_len);
  return std::max(slot.due_ns, sent_ns) + back.latency_ns;
}

/// The one at `next`, whose time it is.
/// @return false: it has to wait on
bool execute_next(SharedQp& qp) {
  SendQueue& sq = qp.sq;
  WaitingRequest& slot = waiting_at(qp, sq.next);
  Outcome outcome = execute_waiting(qp, slot);
  if (outcome.fate != Fate::over && schedule_retry(qp, slot, outcome)) return false;
  slot.outcome = outcome;
  slot.due_ns = answer_ns(qp, slot);
  if (sq.first != sq.next) slot.due_ns = std::max(slot.due_ns, waiting_at(qp, sq.next - 1).due_ns);
  sq.halted = outcome.status != IBV_WC_SUCCESS;
  ++sq.next;
  renew_retries(qp);
  return true;
}

/// The one at `first`, whose answer has come.
void finish_first(SharedQp& qp) {
  WaitingRequest& slot = waiting_at(qp, qp.sq.first++);
  finish(qp, slot.request, slot.outcome);
  if (slot.outcome.status != IBV_WC_SUCCESS) flush_waiting(qp);
}

/// Executes and ends what is due.
void move_waiting(SharedQp& qp) {
  SendQueue& sq = qp.sq;
  const std::uint64_t now = now_ns();
  deliver_packets(qp, now);
  for (;;) {
    if (sq.first != sq.next && waiting_at(qp, sq.first).due_ns <= now)
      finish_first(qp);
    else if (sq.next == sq.end || sq.halted || waiting_at(qp, sq.next).due_ns > now ||
             !execute_next(qp))
      return;
  }
}

/// @return an errno value
int check_sges(const SharedQp& qp, const ibv_send_wr& wr) {
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > qp.max_send_sge) return EINVAL;
  std::uint64_t bytes = 0;
  for (int i = 0; i < wr.num_sge; ++i) bytes += wr.sg_list[i].length;
  // Of an atomic write the call itself takes the bytes, whatever inline data the QP has.
  if ((wr.send_flags & IBV_SEND_INLINE) != 0 && wr.opcode != IBV_WR_ATOMIC_WRITE &&
      bytes > qp.max_inline_bytes)
    return EINVAL;
  return bytes > personality(qp.device).max_message_bytes ? EINVAL : 0;
}

/// Only what is sent can be sent inline (ibv_post_send(3)).
bool is_inline_of_nothing(const ibv_send_wr& wr) {
  return (wr.send_flags & IBV_SEND_INLINE) != 0 &&
         (wr.opcode == IBV_WR_RDMA_READ || wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
          wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD);
}

/// What an adapter refuses that others take.
bool adapter_takes(const SharedQp& qp, const ibv_send_wr& wr) {
  const Personality& device = personality(qp.device);
  const bool atomic =
      wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  const bool immediate = wr.opcode == IBV_WR_SEND_WITH_IMM         ? device.send_immediate
                         : wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? device.write_immediate
                                                                   : true;
  return !is_inline_of_nothing(wr) && immediate && (!atomic || device.atomics != IBV_ATOMIC_NONE) &&
         (is_signaled(qp, wr.send_flags) || device.unsignaled);
}

/// When a request is executed: it leaves its port, and one of a reliable QP arrives.
std::uint64_t execution_ns(SharedQp& qp, const Request& request, std::span<const ibv_sge> sges) {
  const WireSettings& wire = settings().wire;
  if (wire.instant) return 0;
  const Path& path = wire.path(qp.device, destination_of(qp, request));
  const std::uint64_t left_ns =
      leave_port(qp, qp.device, path, carries_data(request) ? bytes_in(sges) : 0);
  return qp.reliable() ? arrival_ns(qp, path, left_ns) : left_ns;
}

/// A request that was not served at once.
/// @return an errno value
int begin_again(SharedQp& qp, const Request& request, std::span<const ibv_sge> sges,
                Outcome& outcome) {
  if (!have_room(qp)) return ENOMEM;
  WaitingRequest& slot = keep_waiting(qp, request, sges);
  if (schedule_retry(qp, slot, outcome)) {
    wait_on_wire(qp);
    return 0;
  }
  --qp.sq.end;
  finish(qp, request, outcome);
  return 0;
}

/// Executes a request at once, or has it wait.
/// @return an errno value
int begin(SharedQp& qp, const Request& request, std::span<const ibv_sge> sges) {
  if (settings().wire.instant && !qp.sq.waits()) {
    renew_retries(qp);
    Outcome outcome = execute(qp, request, sges);
    if (outcome.fate == Fate::over) {
      finish(qp, request, outcome);
      return 0;
    }
    return begin_again(qp, request, sges, outcome);
  }
  if (!have_room(qp)) return ENOMEM;
  if (!qp.sq.waits()) renew_retries(qp);
  keep_waiting(qp, request, sges).due_ns = execution_ns(qp, request, sges);
  wait_on_wire(qp);
  return 0;
}

/// Nothing polled so far says that one of its requests is over.
int queue_is_full(const SharedQp& qp) {
  misuse(qp.sq.unsignaled >= qp.max_send_wr
             ? "a send queue is full of unsignaled requests: no completion will ever retire them"
             : "a request was posted to a full send queue: poll the completions of earlier ones "
               "first");
  return ENOMEM;
}

/// rdma-core, providers/mana/wr.c: get_wqe_size(). All requests under way are taken for such reads.
bool takes_read(const SharedQp& qp, const ibv_send_wr& wr) {
  const std::uint64_t queue_bytes = personality(qp.device).read_queue_bytes;
  const std::uint64_t sges = wr.num_sge == 0 ? 1 : static_cast<std::uint64_t>(wr.num_sge);
  const std::uint64_t bytes = (16 + 16 * sges + 31) / 32 * 32;
  const std::uint64_t under_way = qp.sq.posted - qp.sq.retired.load(std::memory_order_acquire);
  return queue_bytes == 0 || (under_way + 1) * bytes <= queue_bytes;
}

int post_send(SharedQp& qp, const ibv_send_wr& wr) {
  SendQueue& sq = qp.sq;
  Request request;
  const Injected injected = begin_call(Verb::post_send);
  if (injected.error != 0) return injected.error;
  const bool failed = qp.state.load(std::memory_order_acquire) == IBV_QPS_ERR;
  if (failed && !personality(qp.device).flushes_posts) return EINVAL;
  if (const int error = check_sges(qp, wr); error != 0) return error;
  if (!adapter_takes(qp, wr)) return EINVAL;
  if (const int error = request_of(wr, qp.datagram(), request); error != 0) return error;
  if (sq.posted - sq.retired.load(std::memory_order_acquire) >= qp.max_send_wr)
    return queue_is_full(qp);
  if (wr.opcode == IBV_WR_RDMA_READ && !takes_read(qp, wr)) return EINVAL;
  if (carries_data(request) && !request.inlined() && wr.num_sge != 0) spend_fetch();
  request.injected = injected.status;
  sq.unsignaled = is_signaled(qp, wr.send_flags) ? 0 : sq.unsignaled + 1;
  request.number = sq.posted++;
  log_request("posted", qp.qpn, request.number);
  if (failed) {
    flush_waiting(qp);
    flush_one(qp, request);
    return 0;
  }
  return begin(qp, request, {wr.sg_list, static_cast<std::size_t>(wr.num_sge)});
}

int wrong_state() {
  misuse("a request was posted to a QP that is not in RTS");
  return EINVAL;
}

bool takes_sends(const SharedQp& qp) {
  const ibv_qp_state state = qp.state.load(std::memory_order_acquire);
  return state == IBV_QPS_RTS || state == IBV_QPS_SQD || state == IBV_QPS_SQE ||
         state == IBV_QPS_ERR;
}

}  // namespace

int post_sends(SharedQp& qp, ibv_send_wr* wr, ibv_send_wr*& bad) {
  const std::lock_guard locked(qp.sq.lock);
  for (; wr != nullptr; wr = wr->next) {
    const int error = takes_sends(qp) ? post_send(qp, *wr) : wrong_state();
    if (error != 0) return bad = wr, personality(qp.device).negative_post_errors ? -error : error;
  }
  return 0;
}

void move_send_queue(Due due) {
  const QpInUse qp(due.qpn);
  if (!qp || process_gone(qp->process)) return;
  const std::lock_guard locked(qp->sq.lock);
  if (qp->state.load() == IBV_QPS_ERR) {
    leave_wire(*qp);
    flush_waiting(*qp);
    deliver_packets(*qp, now_ns());
  } else {
    // Since it was taken off the wire, its owner may have put it there again.
    if (due.when_ns != qp->sq.due_ns) return;
    qp->sq.due_ns = kNever;
    move_waiting(*qp);
  }
  if (next_due_ns(*qp) != kNever) wait_on_wire(*qp);
}

void flush_sends(SharedQp& qp) {
  const std::lock_guard locked(qp.sq.lock);
  leave_wire(qp);
  flush_waiting(qp);
  if (next_due_ns(qp) != kNever) wait_on_wire(qp);
}

void await_packets(SharedQp& qp) {
  for (;;) {
    {
      const std::lock_guard locked(qp.sq.lock);
      if (!qp.sq.packets || process_gone(qp.process)) return;
    }
    move_what_is_due();
    sched_yield();
  }
}

void reset_queues(SharedQp& qp) {
  {
    const std::lock_guard locked(qp.sq.lock);
    leave_wire(qp);
    drop_packets(qp);
    qp.sq.first = qp.sq.next = qp.sq.end;
    qp.sq.halted = false;
    qp.sq.retired.store(qp.sq.posted);
  }
  SharedRq& rq = *qp.rq;
  if (!rq.is_shared) {
    const std::lock_guard writing(rq.ring.producers);
    const std::lock_guard reading(rq.ring.consumers);
    rq.ring.cut(rq.ring.tail());
  }
  purge_completions(*qp.send_cq, qp.qpn);
  purge_completions(*qp.recv_cq, qp.qpn);
}

}  // namespace rdmameter::software
