// SPDX-License-Identifier: Apache-2.0
// One request at its destination: whom it reaches, what it does there, how it ends.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/software_device/queues/queue_pair.h"
#include "tests/software_device/wire/request.h"

namespace rdmameter::software {

enum class Fate {
  over,                ///< with a status
  receiver_not_ready,  ///< the peer has no receive posted
  unanswered,          ///< nobody is there, as far as the requester can tell
};

struct Outcome {
  Fate fate = Fate::over;
  ibv_wc_status status = IBV_WC_SUCCESS;
  std::uint32_t byte_len = 0;
  std::uint64_t rnr_wait_ns = 0;  ///< what the peer asks for if it is not ready
  bool fails_peer = false;        ///< the peer's QP goes into the error state, too
};

/// The bytes of a scatter list.
std::uint64_t bytes_in(std::span<const ibv_sge> sges);

/// The device that a request goes to; its own where there is none.
std::uint32_t destination_of(const SharedQp& qp, const Request& request);

/// Copies the bytes of a request, which is one that sends or writes, into this process's memory.
/// @return false: a key does not open its piece
bool gather(const SharedQp& qp, const Request& request, std::span<const ibv_sge> sges,
            std::byte* to);

/// Executes a request, with its QP's send queue locked; any process may.
/// @param sges  see RequestAndData
Outcome execute(SharedQp& qp, const Request& request, std::span<const ibv_sge> sges);

}  // namespace rdmameter::software
