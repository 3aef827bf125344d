// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace rdmameter {

/// What a control path test calls.
enum class Verb : std::uint64_t {
  reg_mr,
  dereg_mr,
  create_cq,
  destroy_cq,
  create_qp,
  destroy_qp,
  modify_qp_init,  ///< RESET -> INIT
  modify_qp_rtr,   ///< INIT -> RTR
  modify_qp_rts,   ///< RTR -> RTS
  create_ah,
  destroy_ah,
};

}  // namespace rdmameter
