// SPDX-License-Identifier: Apache-2.0
// The queue pair as it lies in the segment: what its own process and its peers need of it.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "tests/software_device/device/personality.h"
#include "tests/software_device/queues/completion_queue.h"
#include "tests/software_device/queues/receive_queue.h"
#include "tests/software_device/segment/segment.h"
#include "tests/software_device/segment/tables.h"

namespace rdmameter::software {

struct Packet;

/// The send queue. Requests that can be executed at once are; one that cannot waits, and all behind
/// it do.
struct SendQueue {
  SharedLock lock;
  std::uint32_t posted = 0;               ///< requests, ever
  std::atomic<std::uint32_t> retired{0};  ///< of those: over, as a polled completion says
  /// Positions of those that wait: from `first` for their answer, from `next` to be executed.
  std::uint32_t first = 0, next = 0, end = 0;
  std::uint64_t entries = 0;  ///< room for them, made when the first must wait
  bool halted = false;        ///< the one before `next` has failed
  std::uint32_t timeouts_left = 0, rnr_retries_left = 0;  ///< of `next`
  std::uint64_t due_ns = kNever;      ///< when it is due on the wire; kNever: it is not there
  std::uint64_t last_arrival_ns = 0;  ///< of what it has sent
  std::uint32_t unsignaled = 0;       ///< the latest requests that ask for no completion
  std::uint32_t draws = 0;            ///< of chance
  Offset<Packet> packets{};           ///< on their way, by their arrival

  bool waits() const { return first != end; }
};

struct SharedQp {
  std::uint32_t qpn = 0, device = 0, process = 0, pd = 0;
  ibv_qp_type type = IBV_QPT_RC;
  bool signal_all = false;
  bool scatters_to_cqe = false;  ///< see Personality
  bool silent = false;           ///< nothing that it sends arrives
  std::uint64_t delay_ns = 0;    ///< what it sends arrives so much later
  std::uint32_t max_send_wr = 0, max_send_sge = 0, max_inline_bytes = 0;
  Offset<SharedCq> send_cq{}, recv_cq{};
  Offset<SharedRq> rq{};
  std::array<Grh, kDevices> headers{};  ///< of what it sends to each device: UD

  std::atomic<ibv_qp_state> state{IBV_QPS_RESET};
  // Set by ibv_modify_qp(), and read while a request is executed.
  std::atomic<std::uint32_t> peer_qpn{0}, qkey{0}, access{0}, min_rnr_timer{0};
  std::atomic<std::uint16_t> pkey{0};
  std::atomic<bool> routed{true};     ///< does its path lead to the peer?
  std::atomic<bool> with_grh{false};  ///< have its packets a GRH?
  std::atomic<std::uint8_t> timeout{0}, retry_count{0}, rnr_retry{0};
  SendQueue sq;

  bool reliable() const { return type == IBV_QPT_RC; }
  bool datagram() const { return type == IBV_QPT_UD; }
  /// May it take what comes in?
  bool receives() const {
    const ibv_qp_state now = state.load(std::memory_order_acquire);
    return now == IBV_QPS_RTR || now == IBV_QPS_RTS || now == IBV_QPS_SQD;
  }
};

/// A QP by its number, kept from going while this exists.
class QpInUse {
 public:
  explicit QpInUse(std::uint32_t qpn) : entry_(tables().qps[qpn % kQps]) {
    entry_.users.enter();
    found_ = qpn != 0 && entry_.qpn.load() == qpn;
  }
  QpInUse(QpInUse&&) = delete;
  ~QpInUse() { entry_.users.leave(); }

  explicit operator bool() const { return found_; }
  SharedQp& operator*() const { return *entry_.qp; }
  SharedQp* operator->() const { return entry_.qp.get(); }

 private:
  QpEntry& entry_;
  bool found_ = false;
};

/// How many QPs this process has made.
std::uint64_t qps_made();
/// A new QP of this process, with a number; the caller fills in the rest, then publishes it.
/// @return nowhere: there is no room
Offset<SharedQp> make_qp();
void publish_qp(SharedQp& qp);
/// After it nobody uses the QP any more.
void destroy_qp(Offset<SharedQp> qp);

/// A completion of the QP's send queue has been polled.
void retire_requests(std::uint32_t qpn, std::uint32_t retires);

/// Brings the QP into the error state: receives are flushed now, sends by who next looks at them.
void enter_error(SharedQp& qp);

/// Completes all receives of a QP in error with IBV_WC_WR_FLUSH_ERR; those of an SRQ stay.
void flush_receives(SharedQp& qp);

}  // namespace rdmameter::software
