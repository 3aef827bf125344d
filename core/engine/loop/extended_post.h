// SPDX-License-Identifier: Apache-2.0
// The measured path of posting by ibv_wr_*: an instance for each kind of request, so that nothing
// of it is looked at while the clock runs.
#pragma once

#include <array>

#include "core/engine/loop/loop_state.h"
#include "core/test_case/opcode.h"

namespace rdmameter::extended {

template <Opcode kOpcode>
[[gnu::always_inline]] inline void begin(ibv_qp_ex* qp, const ibv_send_wr& wr) noexcept {
  if constexpr (kOpcode == Opcode::send)
    ibv_wr_send(qp);
  else if constexpr (kOpcode == Opcode::send_imm)
    ibv_wr_send_imm(qp, wr.imm_data);
  else if constexpr (kOpcode == Opcode::rdma_write)
    ibv_wr_rdma_write(qp, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr);
  else if constexpr (kOpcode == Opcode::write_imm)
    ibv_wr_rdma_write_imm(qp, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr, wr.imm_data);
  else if constexpr (kOpcode == Opcode::rdma_read)
    ibv_wr_rdma_read(qp, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr);
  else if constexpr (kOpcode == Opcode::fetch_add)
    ibv_wr_atomic_fetch_add(qp, wr.wr.atomic.rkey, wr.wr.atomic.remote_addr,
                            wr.wr.atomic.compare_add);
  else if constexpr (kOpcode == Opcode::cmp_swap)
    ibv_wr_atomic_cmp_swp(qp, wr.wr.atomic.rkey, wr.wr.atomic.remote_addr, wr.wr.atomic.compare_add,
                          wr.wr.atomic.swap);
  else
    static_assert(kOpcode != kOpcode, "an opcode without its ibv_wr_...()");
}

enum class Data { one_sge, sge_list, inline_one, inline_list };

constexpr std::size_t kMaxInlinePieces = 64;

template <Data kData>
[[gnu::always_inline]] inline void set_data(ibv_qp_ex* qp, const ibv_send_wr& wr) noexcept {
  const ibv_sge& first = wr.sg_list[0];
  if constexpr (kData == Data::one_sge) {
    ibv_wr_set_sge(qp, first.lkey, first.addr, first.length);
  } else if constexpr (kData == Data::sge_list) {
    ibv_wr_set_sge_list(qp, static_cast<std::size_t>(wr.num_sge), wr.sg_list);
  } else if constexpr (kData == Data::inline_one) {
    ibv_wr_set_inline_data(qp, reinterpret_cast<void*>(first.addr), first.length);
  } else {
    std::array<ibv_data_buf, kMaxInlinePieces> pieces;
    const auto count = static_cast<std::size_t>(wr.num_sge);
    for (std::size_t i = 0; i < count; ++i)
      pieces[i] = {reinterpret_cast<void*>(wr.sg_list[i].addr), wr.sg_list[i].length};
    ibv_wr_set_inline_data_list(qp, count, pieces.data());
  }
}

template <Opcode kOpcode, Data kData, bool kDatagram>
int post(const Lane& lane, ibv_send_wr* wr) noexcept {
  ibv_qp_ex* const qp = lane.extended_qp;
  ibv_wr_start(qp);
  for (; wr != nullptr; wr = wr->next) {
    qp->wr_id = wr->wr_id;
    qp->wr_flags = wr->send_flags;
    begin<kOpcode>(qp, *wr);
    if constexpr (kDatagram)
      ibv_wr_set_ud_addr(qp, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
    set_data<kData>(qp, *wr);
  }
  return ibv_wr_complete(qp);
}

}  // namespace rdmameter::extended
