// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/wire/execute.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "tests/software_device/device/personality.h"
#include "tests/software_device/device/request_log.h"
#include "tests/software_device/wire/multicast.h"
#include "tests/software_device/wire/torn_writes.h"
#include "tests/software_device/wire/transfer.h"

namespace rdmameter::software {
namespace {

constexpr std::uint32_t kMulticastQpn = 0xffffff;
constexpr std::uint32_t kControlledQkey = 0x80000000;  // IBTA 10.2.5: the sender's own is used

constexpr Outcome ends(ibv_wc_status status) {
  return {.status = status};
}

/// What is lost on the way: a reliable QP tries again, others do not know of it.
Outcome lost(const SharedQp& qp) {
  return {.fate = qp.reliable() ? Fate::unanswered : Fate::over};
}

/// IBTA table 46, in units of 10 us.
std::uint64_t rnr_timer_ns(std::uint32_t code) {
  constexpr std::array<std::uint32_t, 32> kUnits{
      65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
      48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
      2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return kUnits[code % kUnits.size()] * std::uint64_t{10'000};
}

/// Where the pieces of a scatter list lie.
/// @return false: a key does not open its piece
bool locate(std::span<const ibv_sge> sges, std::uint32_t need, std::uint32_t pd, HeldKeys& keys,
            Pieces& pieces) {
  for (const ibv_sge& sge : sges) {
    if (sge.length == 0) continue;
    const auto place = keys.open(sge.lkey, sge.addr, sge.length, need, pd);
    if (!place || place->process != pieces.process()) return false;
    pieces.add(place->host, sge.length);
  }
  return true;
}

/// The bytes that a request sends; of a datagram its header before them.
struct Source {
  Pieces pieces;
  bool valid = true;
};
Source source_of(const SharedQp& qp, const Request& request, std::span<const ibv_sge> sges,
                 HeldKeys& keys, const Grh* header = nullptr) {
  Source source{.pieces = Pieces(request.inlined() ? own_process() : qp.process)};
  // Where the rest lies, too: a datagram is executed by whoever posts it, or from a copy (Packet).
  if (header != nullptr)
    source.pieces.add(reinterpret_cast<std::uint64_t>(header->data()), header->size());
  if (!request.inlined()) {
    source.valid = locate(sges, 0, qp.pd, keys, source.pieces);
    return source;
  }
  for (const ibv_sge& sge : sges) source.pieces.add(sge.addr, sge.length);
  return source;
}

/// How a message met the receive that was posted for it.
struct Receipt {
  ibv_wc_status at_receiver = IBV_WC_SUCCESS, at_sender = IBV_WC_SUCCESS;
  bool sender_lost = false;
  bool copied_by_poll = false;  ///< see Cqe
};

/// Does the receiver's ibv_poll_cq() copy the bytes to addresses that are none of its process?
bool misses_by_poll(const SharedQp& to, Rqe& receive, const Pieces& source, const Pieces& sink) {
  constexpr std::size_t kMostInCqe = 32;
  if (!to.scatters_to_cqe || source.bytes() == 0 || source.bytes() > kMostInCqe) return false;
  const auto first =
      std::ranges::find_if(receive.sges(), [](const ibv_sge& sge) { return sge.length != 0; });
  return reinterpret_cast<std::uint64_t>(sink.data()->iov_base) != first->addr;
}

/// Puts the bytes of a SEND where a posted receive wants them.
Receipt scatter(const SharedQp& to, const Source& source, Rqe& receive, HeldKeys& keys) {
  if (receive.total_bytes < source.pieces.bytes())
    return {IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR};
  Pieces sink(to.process);
  if (!locate(receive.sges(), IBV_ACCESS_LOCAL_WRITE, to.rq->pd, keys, sink))
    return {IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR};
  const Moved moved = transfer(source.pieces, sink);
  if (moved == Moved::lost_process) return {.sender_lost = true};
  if (moved == Moved::all)
    return {.copied_by_poll = misses_by_poll(to, receive, source.pieces, sink)};
  return {IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR};
}

ibv_wc_opcode receive_opcode(const Request& request) {
  return request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
}

unsigned receive_flags(const SharedQp& to, const Request& request) {
  unsigned flags = to.datagram() ? IBV_WC_GRH : 0;
  if (request.opcode == IBV_WR_SEND_WITH_IMM || request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
    flags |= IBV_WC_WITH_IMM;
  if (request.opcode == IBV_WR_SEND_WITH_INV) flags |= IBV_WC_WITH_INV;
  return flags;
}

/// Takes the receive that a message has used, then says so: who polls may post into its place.
void complete_receive(const SharedQp& from, SharedQp& to, const Request& request,
                      std::uint64_t bytes, const Receipt& receipt) {
  complete(*to.recv_cq,
           {.wr_id = to.rq->take().wr_id,
            .status = receipt.at_receiver,
            .opcode = receive_opcode(request),
            .byte_len = static_cast<std::uint32_t>(bytes),
            .imm_or_key = request.imm_or_key,
            .qpn = to.qpn,
            .src_qp = from.qpn,
            .flags = receive_flags(to, request),
            .copied_by_poll = receipt.copied_by_poll},
           (request.flags & IBV_SEND_SOLICITED) != 0);
}

/// A reliable peer has seen a request that it cannot serve: both QPs fail (IBTA 9.9.3).
Outcome refused(const SharedQp& qp, ibv_wc_status status) {
  if (!qp.reliable()) return {};
  return {.status = status, .fails_peer = true};
}

/// How a request ends whose bytes were to be moved. @param done  if all were
Outcome after(const SharedQp& qp, Moved moved, const Outcome& done = {}) {
  switch (moved) {
    case Moved::all:
      return done;
    case Moved::lost_process:
      return lost(qp);
    case Moved::bad_address:
      return refused(qp, IBV_WC_REM_ACCESS_ERR);
  }
  return {};
}

/// What arrives for a QP whose receive queue is empty.
Outcome no_receive(const SharedQp& qp, const SharedQp& peer, const Request& request) {
  if (!qp.reliable()) {
    log_request("unreceived", qp.qpn, request.number);
    return {};
  }
  // TCP has nothing that says so: the connection ends (RFC 5041, 8.2).
  if (personality(qp.device).iwarp()) return {.status = IBV_WC_WR_FLUSH_ERR, .fails_peer = true};
  return {.fate = Fate::receiver_not_ready,
          .rnr_wait_ns = rnr_timer_ns(peer.min_rnr_timer.load(std::memory_order_relaxed))};
}

Outcome deliver_send(SharedQp& qp, SharedQp& peer, const Request& request, const Source& source,
                     HeldKeys& keys) {
  SharedRq& rq = *peer.rq;
  Receipt receipt;
  {
    const std::lock_guard locked(rq.ring.consumers);
    if (rq.ring.empty()) return no_receive(qp, peer, request);
    Rqe& receive = rq.at(rq.ring.tail());
    receipt = scatter(peer, source, receive, keys);
    if (receipt.sender_lost) return lost(qp);
    complete_receive(qp, peer, request, source.pieces.bytes(), receipt);
  }
  if (receipt.at_receiver != IBV_WC_SUCCESS) return refused(qp, receipt.at_sender);
  if (request.opcode == IBV_WR_SEND_WITH_INV)
    rebind_key(request.imm_or_key, request.imm_or_key, {});
  return {};
}

/// Where a request for the peer's memory leads.
/// @return false: the peer does not open that
bool locate_remote(const SharedQp& peer, const Request& request, std::uint64_t bytes,
                   std::uint32_t need, HeldKeys& keys, Pieces& pieces) {
  if (bytes == 0) return true;
  if ((peer.access.load(std::memory_order_relaxed) & need) != need) return false;
  const auto place = keys.open(request.rkey, request.remote_address, bytes, need, peer.pd);
  if (!place || place->process != peer.process) return false;
  pieces.add(place->host, bytes);
  return true;
}

Outcome write_remote(SharedQp& qp, SharedQp& peer, const Request& request, const Source& source,
                     HeldKeys& keys) {
  Pieces sink(peer.process);
  if (!locate_remote(peer, request, source.pieces.bytes(), IBV_ACCESS_REMOTE_WRITE, keys, sink))
    return refused(qp, IBV_WC_REM_ACCESS_ERR);
  return after(qp, transfer_write(qp, peer, source.pieces, sink));
}

Outcome write_with_immediate(SharedQp& qp, SharedQp& peer, const Request& request,
                             const Source& source, HeldKeys& keys) {
  SharedRq& rq = *peer.rq;
  const std::lock_guard locked(rq.ring.consumers);
  if (rq.ring.empty()) return no_receive(qp, peer, request);
  const Outcome written = write_remote(qp, peer, request, source, keys);
  if (written.fate != Fate::over || written.status != IBV_WC_SUCCESS) return written;
  complete_receive(qp, peer, request, source.pieces.bytes(), {});
  return {};
}

Outcome read_remote(SharedQp& qp, SharedQp& peer, const Request& request,
                    std::span<const ibv_sge> sges, HeldKeys& keys) {
  Pieces source(peer.process), sink(qp.process);
  // iWARP's answer is a write into the memory that asked.
  const std::uint32_t need = personality(qp.device).iwarp()
                                 ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE
                                 : IBV_ACCESS_LOCAL_WRITE;
  if (!locate(sges, need, qp.pd, keys, sink)) return ends(IBV_WC_LOC_PROT_ERR);
  if (!locate_remote(peer, request, sink.bytes(), IBV_ACCESS_REMOTE_READ, keys, source))
    return refused(qp, IBV_WC_REM_ACCESS_ERR);
  return after(qp, transfer(source, sink), {.byte_len = static_cast<std::uint32_t>(sink.bytes())});
}

std::uint64_t after_atomic(const Request& request, std::uint64_t before) {
  if (request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) return before + request.atomic.compare_add;
  return before == request.atomic.compare_add ? request.atomic.swap : before;
}

/// Atomic among the atomics of all devices of the session, as IBV_ATOMIC_HCA promises.
Moved run_atomic(const Request& request, const Pieces& target, const Pieces& result) {
  std::uint64_t before = 0;
  const Pieces word = Pieces::here(&before, sizeof before);
  const std::lock_guard locked(tables().atomics);
  if (const Moved read = transfer(target, word); read != Moved::all) return read;
  if (const Moved back = transfer(word, result); back != Moved::all) return back;
  before = after_atomic(request, before);
  return transfer(word, target);
}

Outcome atomic_remote(SharedQp& qp, SharedQp& peer, const Request& request,
                      std::span<const ibv_sge> sges, HeldKeys& keys) {
  Pieces target(peer.process), result(qp.process);
  if (!locate(sges, IBV_ACCESS_LOCAL_WRITE, qp.pd, keys, result)) return ends(IBV_WC_LOC_PROT_ERR);
  if (result.bytes() < kAtomicBytes) return ends(IBV_WC_LOC_LEN_ERR);
  if (request.remote_address % kAtomicBytes != 0) return refused(qp, IBV_WC_REM_INV_REQ_ERR);
  if (!locate_remote(peer, request, kAtomicBytes, IBV_ACCESS_REMOTE_ATOMIC, keys, target))
    return refused(qp, IBV_WC_REM_ACCESS_ERR);
  return after(qp, run_atomic(request, target, result), {.byte_len = kAtomicBytes});
}

#ifdef RDMAMETER_IBV_WR_FLUSH
/// What has been written is visible at once, so only rights are looked at.
Outcome flush_remote(SharedQp& qp, SharedQp& peer, const Request& request, std::uint64_t bytes,
                     HeldKeys& keys) {
  Pieces range(peer.process);
  if (process_gone(peer.process)) return lost(qp);
  return locate_remote(peer, request, bytes, IBV_ACCESS_FLUSH_GLOBAL, keys, range)
             ? Outcome{}
             : refused(qp, IBV_WC_REM_ACCESS_ERR);
}
#endif

Outcome reach_memory(SharedQp& qp, SharedQp& peer, const Request& request,
                     std::span<const ibv_sge> sges) {
  HeldKeys keys;
  switch (request.opcode) {
    case IBV_WR_RDMA_READ:
      return qp.reliable() ? read_remote(qp, peer, request, sges, keys)
                           : ends(IBV_WC_LOC_QP_OP_ERR);
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return qp.reliable() ? atomic_remote(qp, peer, request, sges, keys)
                           : ends(IBV_WC_LOC_QP_OP_ERR);
#ifdef RDMAMETER_IBV_WR_FLUSH
    case IBV_WR_FLUSH:
      return qp.reliable() ? flush_remote(qp, peer, request, bytes_in(sges), keys)
                           : ends(IBV_WC_LOC_QP_OP_ERR);
#endif
    default:
      break;
  }
  const Source source =
      source_of(qp, request, sges, keys, qp.datagram() ? &qp.headers[peer.device] : nullptr);
  if (!source.valid) return ends(IBV_WC_LOC_PROT_ERR);
  if (request.opcode == IBV_WR_ATOMIC_WRITE) {
    if (!qp.reliable()) return ends(IBV_WC_LOC_QP_OP_ERR);
    if (request.remote_address % kAtomicBytes != 0) return refused(qp, IBV_WC_REM_INV_REQ_ERR);
    return write_remote(qp, peer, request, source, keys);
  }
  if (request.opcode == IBV_WR_RDMA_WRITE) return write_remote(qp, peer, request, source, keys);
  if (request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
    return write_with_immediate(qp, peer, request, source, keys);
  return deliver_send(qp, peer, request, source, keys);
}

/// IBTA 10.9.3: the low 15 bits are one partition's, and one of the two is a full member.
bool share_partition(const SharedQp& qp, const SharedQp& peer) {
  constexpr std::uint32_t kFullMember = 0x8000;
  const std::uint32_t a = qp.pkey.load(std::memory_order_relaxed);
  const std::uint32_t b = peer.pkey.load(std::memory_order_relaxed);
  if (a == 0 && b == 0) return true;  // ports that know none
  return ((a ^ b) & ~kFullMember) == 0 && ((a | b) & kFullMember) != 0;
}

/// A port whose functions share a LID finds the receiver by its GID.
bool finds_port(const SharedQp& peer, bool with_grh) {
  return with_grh || !personality(peer.device).grh_required;
}

bool takes_qkey(const SharedQp& qp, const SharedQp& peer, std::uint32_t qkey) {
  const std::uint32_t sent = (qkey & kControlledQkey) != 0 ? qp.qkey.load() : qkey;
  return sent == peer.qkey.load(std::memory_order_relaxed);
}

/// A datagram to one QP. What nobody takes is lost.
Outcome send_datagram(SharedQp& qp, std::uint32_t to, const Request& request,
                      std::span<const ibv_sge> sges) {
  const QpInUse peer(to);
  if (!peer || !peer->datagram() || !peer->receives() || !takes_qkey(qp, *peer, request.to.qkey) ||
      !share_partition(qp, *peer) || !finds_port(*peer, request.to.with_grh))
    return {};
  return reach_memory(qp, *peer, request, sges);
}

/// To every member of the group but the sender.
Outcome send_to_group(SharedQp& qp, const Request& request, std::span<const ibv_sge> sges) {
  Outcome outcome;
  for (const std::uint32_t member : group_members(request.to.gid))
    if (member != qp.qpn && outcome.status == IBV_WC_SUCCESS)
      outcome = send_datagram(qp, member, request, sges);
  return outcome;
}

Outcome datagram(SharedQp& qp, const Request& request, std::span<const ibv_sge> sges) {
  // IBTA C10-93.1.1: a longer one is not sent, and that is no error
  if (bytes_in(sges) > bytes_of(personality(qp.device).active_mtu)) return {};
  if (!request.to.routed) return {};
  if (request.to.qpn == kMulticastQpn) return send_to_group(qp, request, sges);
  return send_datagram(qp, request.to.qpn, request, sges);
}

/// Bytes have come from the peer's memory, or got there: that process lives, and is not asked for.
bool has_moved_bytes(const Outcome& outcome, std::span<const ibv_sge> sges) {
  return outcome.fate == Fate::over && outcome.status == IBV_WC_SUCCESS && bytes_in(sges) != 0;
}

Outcome connected(SharedQp& qp, const Request& request, std::span<const ibv_sge> sges) {
  const QpInUse peer(qp.peer_qpn.load(std::memory_order_relaxed));
  const bool answers = peer && peer->type == qp.type && peer->receives() &&
                       peer->peer_qpn.load(std::memory_order_relaxed) == qp.qpn &&
                       qp.routed.load(std::memory_order_relaxed) && share_partition(qp, *peer) &&
                       finds_port(*peer, qp.with_grh.load(std::memory_order_relaxed));
  if (!answers) return lost(qp);
  const Outcome outcome = reach_memory(qp, *peer, request, sges);
  if (!has_moved_bytes(outcome, sges) && process_gone(peer->process)) return lost(qp);
  if (outcome.fails_peer) enter_error(*peer);
  return outcome;
}

}  // namespace

std::uint64_t bytes_in(std::span<const ibv_sge> sges) {
  std::uint64_t sum = 0;
  for (const ibv_sge& sge : sges) sum += sge.length;
  return sum;
}

std::uint32_t destination_of(const SharedQp& qp, const Request& request) {
  const QpInUse peer(qp.datagram() ? request.to.qpn : qp.peer_qpn.load(std::memory_order_relaxed));
  return peer ? peer->device : qp.device;
}

bool gather(const SharedQp& qp, const Request& request, std::span<const ibv_sge> sges,
            std::byte* to) {
  HeldKeys keys;
  const Source source = source_of(qp, request, sges, keys);
  return source.valid &&
         transfer(source.pieces, Pieces::here(to, source.pieces.bytes())) == Moved::all;
}

Outcome execute(SharedQp& qp, const Request& request, std::span<const ibv_sge> sges) {
  if (request.injected != IBV_WC_SUCCESS) return ends(request.injected);
  if (request.opcode == IBV_WR_BIND_MW) {
    rebind_key(request.bind.window_key, request.bind.new_key, request.bind.region);
    return {};
  }
  if (request.opcode == IBV_WR_LOCAL_INV) {
    rebind_key(request.imm_or_key, request.imm_or_key, {});
    return {};
  }
  return qp.datagram() ? datagram(qp, request, sges) : connected(qp, request, sges);
}

}  // namespace rdmameter::software
