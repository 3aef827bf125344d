// SPDX-License-Identifier: Apache-2.0
// Capabilities that a device does not state, found by trying: no list of PCI ids can know them.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

#include "core/case.h"

namespace rdmameter {

ibv_qp_type qp_type(Transport transport);

/// What QPs of one transport can be created with.
struct QpLimits {
  bool creatable = false;              ///< a plain QP of this transport can be made at all
  std::string reason;                  ///< why not, else empty
  std::uint32_t max_inline_bytes = 0;  ///< with one SGE
  std::uint32_t max_send_sge = 0, max_recv_sge = 0;
};

/// Creates and destroys a few dozen QPs (about 10 for each limit); nothing is connected or sent.
/// @throws VerbsError  a PD or CQ could not be made
QpLimits probe_qp_limits(ibv_context& context, Transport transport);

/// Most inline bytes that a send queue of `depth` WRs with `send_sge` SGEs each can be created
/// with; the two share a WQE, so ask for what will be used. 0: none, or no such QP at all.
std::uint32_t probe_max_inline(ibv_context& context, ibv_pd& pd, Transport transport,
                               std::uint32_t depth = 1, std::uint32_t send_sge = 1);

}  // namespace rdmameter
