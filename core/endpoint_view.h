// SPDX-License-Identifier: Apache-2.0
// What building work requests needs to know of an endpoint, real or imaginary.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rdmameter {

/// Borrowed from an endpoint, which must outlive it and every WR built from it.
struct EndpointView {
  std::vector<ibv_qp*> qps;
  ibv_cq* send_cq = nullptr;
  ibv_cq* recv_cq = nullptr;
  std::byte* source = nullptr;  ///< begin of the source area
  std::byte* target = nullptr;  ///< begin of the target area
  std::uint32_t lkey = 0;
  std::uint32_t inline_bytes = 0;  ///< what the QPs were created with

  // The peer's, known once connected.
  std::uint64_t remote_address = 0;  ///< the area that one-sided operations work on
  std::uint32_t remote_key = 0;
  ibv_ah* ah = nullptr;  ///< UD
  std::vector<std::uint32_t> remote_qpns;
  std::uint32_t remote_qkey = 0;
};

}  // namespace rdmameter
