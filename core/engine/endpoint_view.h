// SPDX-License-Identifier: Apache-2.0
// What building work requests needs to know of an endpoint, real or imaginary.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/engine/loop/loop_state.h"

namespace rdmameter {

/// The key of a QP's memory region, where each QP has its own or all share one.
inline std::uint32_t key_of(const std::vector<std::uint32_t>& keys, std::uint64_t qp) {
  return keys[keys.size() == 1 ? 0 : qp];
}

/// An area of an end's own memory.
struct AreaView {
  std::uint64_t address = 0;         ///< as SGEs and the peer name it
  std::byte* host = nullptr;         ///< null: the CPU cannot reach it
  std::vector<std::uint32_t> lkeys;  ///< of each QP, or one for all
  std::uint32_t lkey(std::uint64_t qp) const { return key_of(lkeys, qp); }
  /// A byte as the CPU reaches it; null: it cannot.
  std::uint8_t* byte(std::uint64_t offset) const {
    return host == nullptr ? nullptr : reinterpret_cast<std::uint8_t*>(host) + offset;
  }
};

/// Borrowed from an endpoint, which must outlive it and every WR built from it.
struct EndpointView {
  std::vector<ibv_qp*> qps;
  std::vector<ibv_qp_ex*> extended_qps;     ///< the same, where ibv_wr_* posts; else empty
  std::vector<ibv_cq*> send_cqs, recv_cqs;  ///< one for all QPs, or one for each
  ibv_srq* srq = nullptr;                   ///< null: each QP has its own receive queue
  AreaView source, target;
  std::uint32_t inline_bytes = 0;  ///< what the QPs were created with
  std::span<Credit> credits;       ///< of each QP, or one for all; empty: sends need none
  std::uint32_t most_unanswered =
      std::numeric_limits<std::uint32_t>::max();  ///< requests of an open loop, per QP

  // The peer's, known once connected.
  std::uint64_t remote_address = 0;        ///< the area that one-sided operations work on
  std::vector<std::uint32_t> remote_keys;  ///< of each QP, or one for all
  std::vector<ibv_ah*> ahs;                ///< UD: towards each remote QP, or one for all
  std::vector<std::uint32_t> remote_qpns;
  std::uint32_t remote_qkey = 0;
};

}  // namespace rdmameter
