// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace rdmameter {

/// What a request asks for.
enum class Opcode : std::uint64_t {
  send,
  rdma_write,
  rdma_read,
  send_imm,
  write_imm,
  fetch_add,
  cmp_swap,
  tcp_send,    ///< over a socket, not over verbs
  mcast_send,  ///< to a multicast group
};

}  // namespace rdmameter
