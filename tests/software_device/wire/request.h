// SPDX-License-Identifier: Apache-2.0
// A posted send request as the device keeps it, and its translation from both interfaces of verbs.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <span>

#include "tests/software_device/wire/keys.h"

namespace rdmameter::software {

/// Binds a memory window to a region.
struct Binding {
  std::uint32_t window_key, new_key;
  Region region;
};

inline constexpr std::uint64_t kAtomicBytes = 8;

struct AtomicOperands {
  std::uint64_t compare_add, swap;
};

struct DatagramTarget {
  std::uint32_t qpn, qkey;
  bool routed;    ///< does its address handle lead there?
  bool with_grh;  ///< and gives packets a GRH?
  ibv_gid gid;
};

struct Request {
  std::uint64_t wr_id;
  std::uint32_t number;  ///< of the send queue's requests
  ibv_wr_opcode opcode;
  unsigned flags;
  std::uint32_t imm_or_key;
  std::uint64_t remote_address;
  std::uint32_t rkey;
  ibv_wc_status injected;  ///< it ends so, and does nothing else; IBV_WC_SUCCESS: it does its work
  union {
    AtomicOperands atomic;
    DatagramTarget to;
    Binding bind;
  };

  bool inlined() const { return (flags & IBV_SEND_INLINE) != 0; }
};

/// @param sges  of an inline request: in memory of whoever executes it, else in the poster's
struct RequestAndData {
  Request request;
  std::span<const ibv_sge> sges;
};

/// The address that a handle of verbs stands for.
struct AddressHandle : ibv_ah {
  ibv_ah_attr attributes;
  bool is_routed;
};

/// @return an errno value: the request is ill-formed
int request_of(const ibv_send_wr& wr, bool datagram, Request& request);

/// Does it concern this end alone?
bool is_local(const Request& request);
/// Does it bring bytes to the peer?
bool carries_data(const Request& request);

/// How its completion is called.
ibv_wc_opcode completion_opcode(ibv_wr_opcode opcode);

}  // namespace rdmameter::software
