// SPDX-License-Identifier: Apache-2.0
// Messages of UC and UD on their way: the request is over when they leave, so they have its bytes
// with them. Only where the wire takes time.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>

#include "tests/software_device/queues/queue_pair.h"
#include "tests/software_device/wire/request.h"

namespace rdmameter::software {

/// Its bytes follow it.
struct Packet {
  Request request;
  std::uint64_t arrives_ns;
  Offset<Packet> next;
  std::uint32_t bytes;
  bool overtaken;  ///< it waits for its successor, and arrives after it
};

// All of these with the QP's send queue locked.

/// A request leaves at a time: its bytes are taken, and chance decides what becomes of them.
/// @return IBV_WC_SUCCESS, or why its bytes cannot be taken
ibv_wc_status send_packet(SharedQp& qp, const Request& request, std::span<const ibv_sge> sges,
                          std::uint64_t left_ns);

/// When the first one arrives; kNever: there is none.
std::uint64_t next_packet_ns(const SharedQp& qp);
/// Delivers what has arrived by then.
void deliver_packets(SharedQp& qp, std::uint64_t now);
void drop_packets(SharedQp& qp);

}  // namespace rdmameter::software
