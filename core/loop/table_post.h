// SPDX-License-Identifier: Apache-2.0
// Which function posts a case's requests by ibv_wr_*.
#pragma once

#include "core/case.h"
#include "core/loop/traffic.h"

namespace rdmameter {

/// @param inlined  the payload goes into the WQE
/// @param sges     of each WR
/// @throws Unsupported  more inlined pieces than the measured path has room for
PostFunction choose_extended_post(const Case& one_case, bool inlined, std::size_t sges);

/// IBV_QP_EX_WITH_...: what a QP must be created with for it.
std::uint64_t extended_operations(const Case& one_case);

}  // namespace rdmameter
