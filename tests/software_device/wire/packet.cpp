// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/wire/packet.h"

#include <algorithm>
#include <utility>

#include "tests/software_device/device/request_log.h"
#include "tests/software_device/device/settings.h"
#include "tests/software_device/wire/execute.h"
#include "tests/software_device/wire/port.h"
#include "tests/software_device/wire/wire.h"

namespace rdmameter::software {
namespace {

/// What an overtaken packet waits for a successor, at most [ns].
constexpr std::uint64_t kLongestWait_ns = 10'000'000;

std::byte* bytes_of(Packet& packet) {
  return reinterpret_cast<std::byte*>(&packet + 1);
}
std::size_t size_of(const Packet& packet) {
  return sizeof(Packet) + packet.bytes;
}

/// In the order of their arrival; behind those of the same time.
void insert(SharedQp& qp, Offset<Packet> packet) {
  Offset<Packet>* place = &qp.sq.packets;
  while (*place && (*place)->arrives_ns <= packet->arrives_ns) place = &(*place)->next;
  packet->next = *place;
  *place = packet;
}

Offset<Packet> take_first(SharedQp& qp) {
  return std::exchange(qp.sq.packets, qp.sq.packets->next);
}

/// The successor of overtaken packets has left: they come right behind it.
void let_pass(SharedQp& qp, std::uint64_t arrives_ns) {
  Offset<Packet> waited{};
  for (Offset<Packet>* place = &qp.sq.packets; *place;) {
    if (!(*place)->overtaken) {
      place = &(*place)->next;
      continue;
    }
    const Offset<Packet> found = std::exchange(*place, (*place)->next);
    found->next = waited;
    waited = found;
  }
  while (waited) {
    const Offset<Packet> each = std::exchange(waited, waited->next);
    each->overtaken = false;
    log_request("overtaken", qp.qpn, each->request.number);
    each->arrives_ns = arrives_ns;
    insert(qp, each);
  }
}

Offset<Packet> make_packet(const Request& request, std::size_t bytes) {
  const Offset<Packet> made{allocate(sizeof(Packet) + bytes)};
  if (!made) return made;
  new (made.get()) Packet{request, 0, {}, static_cast<std::uint32_t>(bytes), false};
  made->request.flags |= IBV_SEND_INLINE;  // the bytes lie where whoever executes it finds them
  return made;
}

/// The same bytes once more.
void duplicate(SharedQp& qp, Packet& packet) {
  const Offset<Packet> made = make_packet(packet.request, packet.bytes);
  if (!made) return;
  std::copy_n(bytes_of(packet), packet.bytes, bytes_of(*made));
  made->arrives_ns = packet.arrives_ns;
  insert(qp, made);
}

const Path& path_of(const SharedQp& qp, const Request& request) {
  return settings().wire.path(qp.device, destination_of(qp, request));
}

}  // namespace

ibv_wc_status send_packet(SharedQp& qp, const Request& request, std::span<const ibv_sge> sges,
                          std::uint64_t left_ns) {
  if (request.injected != IBV_WC_SUCCESS) return request.injected;
  const Path& path = path_of(qp, request);
  PortState& port = tables().ports[qp.device];
  const Offset<Packet> packet = make_packet(request, bytes_in(sges));
  if (!packet) return IBV_WC_GENERAL_ERR;
  if (!gather(qp, request, sges, bytes_of(*packet))) {
    release(packet.bytes, size_of(*packet));
    return IBV_WC_LOC_PROT_ERR;
  }
  const std::uint64_t arrives_ns = arrival_ns(qp, path, left_ns);
  if (loses(qp, path)) {
    port.lost.fetch_add(1);
    log_request("lost", qp.qpn, request.number);
    release(packet.bytes, size_of(*packet));
    return IBV_WC_SUCCESS;
  }
  packet->overtaken = qp.datagram() && strikes(qp, path.overtaken);
  packet->arrives_ns = arrives_ns + (packet->overtaken ? kLongestWait_ns : 0);
  insert(qp, packet);
  if (packet->overtaken) {
    port.overtaken.fetch_add(1);
    return IBV_WC_SUCCESS;
  }
  let_pass(qp, arrives_ns);
  if (qp.datagram() && strikes(qp, path.duplicates)) {
    port.duplicated.fetch_add(1);
    log_request("duplicated", qp.qpn, request.number);
    duplicate(qp, *packet);
  }
  return IBV_WC_SUCCESS;
}

std::uint64_t next_packet_ns(const SharedQp& qp) {
  return qp.sq.packets ? qp.sq.packets->arrives_ns : kNever;
}

void deliver_packets(SharedQp& qp, std::uint64_t now) {
  while (next_packet_ns(qp) <= now) {
    const Offset<Packet> packet = take_first(qp);
    const ibv_sge data{reinterpret_cast<std::uint64_t>(bytes_of(*packet)), packet->bytes, 0};
    execute(qp, packet->request, {&data, 1});
    release(packet.bytes, size_of(*packet));
  }
}

void drop_packets(SharedQp& qp) {
  while (qp.sq.packets) {
    const Offset<Packet> packet = take_first(qp);
    release(packet.bytes, size_of(*packet));
  }
}

}  // namespace rdmameter::software
