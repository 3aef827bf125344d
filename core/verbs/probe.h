// SPDX-License-Identifier: Apache-2.0
// Capabilities that a device does not state, found by trying: no list of PCI ids can know them.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/test_case/test_case.h"

namespace rdmameter {

struct RdmaCoreVersion;  // core/verbs/environment.h

ibv_qp_type qp_type(Transport transport);
std::string_view transport_name(Transport transport);  ///< "rc", "uc", "ud"

/// The attributes of a QP with one SGE a request and no inline data. @param cq  for its
/// sends and receives
ibv_qp_init_attr plain_qp(ibv_cq& cq, Transport transport, std::uint64_t send_wrs,
                          std::uint64_t recv_wrs);

/// The limits with which QPs of one transport can be created.
struct QpLimits {
  bool creatable = false;              ///< a plain QP of this transport can be made at all
  std::string reason;                  ///< why not, else empty
  std::uint32_t max_inline_bytes = 0;  ///< with one SGE
  std::uint32_t max_send_sge = 0, max_recv_sge = 0;
};

/// Creates and destroys a few dozen QPs (about 10 for each limit); nothing is connected or sent.
/// @throws VerbsError  a PD or CQ could not be made
QpLimits probe_qp_limits(ibv_context& context, Transport transport);

/// Tries the smallest QP. Of a type that they lack, providers say EOPNOTSUPP, EINVAL (hns, UD on
/// HIP08) or nothing (bnxt_re); what a want of resources or rights says is no such answer.
/// @return has the device no QPs of this transport?
/// @throws VerbsError  a PD or CQ could not be made
bool lacks_transport(ibv_context& context, Transport transport);

/// The greatest value of one capability that a QP of the transport can be made with; `told` where
/// none of more can. Creates about 8 QPs.
/// @throws VerbsError  a PD or CQ could not be made
std::uint32_t largest_qp_limit(ibv_context& context, Transport transport,
                               std::uint32_t ibv_qp_cap::*which, std::uint32_t told);

/// Reads that can be under way on a QP, whatever its send queue holds; 0: as many as that. mana's
/// provider has one page for them (rdma-core, providers/mana/qp.c, get_queue_size()), of which each
/// takes the more the more SGEs it has (wr.c, get_wqe_size()), and says EINVAL at the post of
/// another (mana_ib_post_send_request()).
/// @param sges  of each read, at least 1
std::uint32_t most_reads_posted(const ibv_context& context, std::uint64_t sges);

/// Does its provider copy payloads into WQEs? mana's makes a QP with whatever is asked, and passes
/// over IBV_SEND_INLINE (rdma-core, providers/mana/wr.c).
bool takes_inline(const ibv_context& context);

/// Does ibv_wr_*() count the bytes of several pieces wrongly? rdma-core's rxe before 64 counts none
/// of inlined ones (rxe.c, wr_set_inline_data_list()), and takes each other one for as long as the
/// first (wr_set_sge_list()). Late point releases of 40 to 63 have both mended.
bool rxe_miscounts_pieces(RdmaCoreVersion version) noexcept;
bool miscounts_pieces(const ibv_context& context);

/// The most inline bytes that are tried: far above what any known device takes.
inline constexpr std::uint32_t kMaxInlineBytes = 65536;

/// The greatest value from `least`, which is not tried, to `most` that works; binary search, since
/// whatever fits fits with less too. Every refusal counts as a limit, a passing want of memory too.
std::uint32_t largest_that_works(std::uint32_t min, std::uint32_t max,
                                 const std::function<bool(std::uint32_t)>& works);

}  // namespace rdmameter
