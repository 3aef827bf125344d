// SPDX-License-Identifier: Apache-2.0
// The extended interface to posting, ibv_wr_*: it stages requests of the classic one, and
// ibv_wr_complete() posts them as one list.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/software_device/device/personality.h"
#include "tests/software_device/segment/process.h"
#include "tests/software_device/verbs/objects.h"

namespace rdmameter::software {
namespace {

/// Until ibv_wr_complete() or ibv_wr_abort() the QP is this thread's.
void start(ibv_qp_ex* base) {
  Qp& qp = to_ours(base);
  qp.building.lock();
  qp.staged_count = 0;
}

int complete_build(ibv_qp_ex* base) {
  Qp& qp = to_ours(base);
  const std::unique_lock until_return(qp.building, std::adopt_lock);
  if (qp.staged_count == 0) return 0;
  for (std::size_t i = 0; i < qp.staged_count; ++i) {
    StagedRequest& staged = qp.staged[i];
    staged.wr.sg_list = staged.sges.data();
    staged.wr.num_sge = static_cast<int>(staged.sges.size());
    staged.wr.next = i + 1 < qp.staged_count ? &qp.staged[i + 1].wr : nullptr;
  }
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(&base->qp_base, &qp.staged[0].wr, &bad);
}

/// The next request: what was staged here before keeps its memory.
ibv_send_wr& stage(ibv_qp_ex* base, ibv_wr_opcode opcode) {
  Qp& qp = to_ours(base);
  if (qp.staged_count == qp.staged.size()) qp.staged.emplace_back();
  StagedRequest& staged = qp.staged[qp.staged_count++];
  staged.sges.clear();
  staged.wr = {};
  staged.wr.wr_id = base->wr_id;
  staged.wr.send_flags = base->wr_flags & ~static_cast<unsigned>(IBV_SEND_INLINE);
  staged.wr.opcode = opcode;
  return staged.wr;
}
StagedRequest& current(ibv_qp_ex* base) {
  Qp& qp = to_ours(base);
  return qp.staged[qp.staged_count - 1];
}

bool miscounts_pieces(const ibv_qp_ex* base) {
  return personality(device_of(base->qp_base.context)).miscounts_pieces;
}

ibv_send_wr& stage_rdma(ibv_qp_ex* base, ibv_wr_opcode opcode, std::uint32_t rkey,
                        std::uint64_t address) {
  ibv_send_wr& wr = stage(base, opcode);
  wr.wr.rdma.rkey = rkey;
  wr.wr.rdma.remote_addr = address;
  return wr;
}
ibv_send_wr& stage_atomic(ibv_qp_ex* base, ibv_wr_opcode opcode, std::uint32_t rkey,
                          std::uint64_t address, std::uint64_t compare_add) {
  ibv_send_wr& wr = stage(base, opcode);
  wr.wr.atomic.rkey = rkey;
  wr.wr.atomic.remote_addr = address;
  wr.wr.atomic.compare_add = compare_add;
  return wr;
}

void set_sge(ibv_qp_ex* base, std::uint32_t lkey, std::uint64_t address, std::uint32_t length) {
  current(base).sges.assign(1, {address, length, lkey});
}
void set_sges(ibv_qp_ex* base, std::size_t count, const ibv_sge* sges) {
  std::vector<ibv_sge>& staged = current(base).sges;
  staged.assign(sges, sges + count);
  if (!miscounts_pieces(base)) return;
  std::uint32_t left = static_cast<std::uint32_t>(count) * sges[0].length;
  for (ibv_sge& sge : staged) left -= sge.length = std::min(sge.length, left);
}
void set_inline_list(ibv_qp_ex* base, std::size_t count, const ibv_data_buf* list) {
  StagedRequest& staged = current(base);
  staged.bytes.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const auto* const data = static_cast<const std::byte*>(list[i].addr);
    staged.bytes.insert(staged.bytes.end(), data, data + list[i].length);
  }
  staged.wr.send_flags |= IBV_SEND_INLINE;
  const std::size_t bytes = count > 1 && miscounts_pieces(base) ? 0 : staged.bytes.size();
  staged.sges.assign(1, {reinterpret_cast<std::uint64_t>(staged.bytes.data()),
                         static_cast<std::uint32_t>(bytes), 0});
}
void set_inline(ibv_qp_ex* base, void* address, std::size_t length) {
  const ibv_data_buf buffer{address, length};
  set_inline_list(base, 1, &buffer);
}
void atomic_write(ibv_qp_ex* base, std::uint32_t rkey, std::uint64_t address, const void* value) {
  stage_rdma(base, IBV_WR_ATOMIC_WRITE, rkey, address);
  set_inline(base, const_cast<void*>(value), kAtomicBytes);
}
#ifdef RDMAMETER_IBV_WR_FLUSH
/// The range is a piece that has no data.
void flush(ibv_qp_ex* base, std::uint32_t rkey, std::uint64_t address, std::size_t length,
           std::uint8_t /*type*/, std::uint8_t /*level*/) {
  stage_rdma(base, IBV_WR_FLUSH, rkey, address);
  set_sge(base, 0, 0, static_cast<std::uint32_t>(length));
}
#endif

}  // namespace

void set_builder_operations(ibv_qp_ex& qp) {
  qp.wr_start = start;
  qp.wr_complete = complete_build;
  qp.wr_abort = [](ibv_qp_ex* base) { to_ours(base).building.unlock(); };
  qp.wr_atomic_cmp_swp = [](ibv_qp_ex* base, std::uint32_t rkey, std::uint64_t address,
                            std::uint64_t compare, std::uint64_t swap) {
    stage_atomic(base, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, address, compare).wr.atomic.swap = swap;
  };
  qp.wr_atomic_fetch_add = [](ibv_qp_ex* base, std::uint32_t rkey, std::uint64_t address,
                              std::uint64_t add) {
    stage_atomic(base, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, address, add);
  };
  qp.wr_bind_mw = [](ibv_qp_ex* base, ibv_mw* mw, std::uint32_t rkey,
                     const ibv_mw_bind_info* info) {
    stage(base, IBV_WR_BIND_MW).bind_mw = {mw, rkey, *info};
  };
  qp.wr_local_inv = [](ibv_qp_ex* base, std::uint32_t rkey) {
    stage(base, IBV_WR_LOCAL_INV).invalidate_rkey = rkey;
  };
  qp.wr_rdma_read = [](ibv_qp_ex* base, std::uint32_t rkey, std::uint64_t address) {
    stage_rdma(base, IBV_WR_RDMA_READ, rkey, address);
  };
  qp.wr_rdma_write = [](ibv_qp_ex* base, std::uint32_t rkey, std::uint64_t address) {
    stage_rdma(base, IBV_WR_RDMA_WRITE, rkey, address);
  };
  qp.wr_rdma_write_imm = [](ibv_qp_ex* base, std::uint32_t rkey, std::uint64_t address,
                            __be32 imm) {
    stage_rdma(base, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, address).imm_data = imm;
  };
  qp.wr_send = [](ibv_qp_ex* base) { stage(base, IBV_WR_SEND); };
  qp.wr_send_imm = [](ibv_qp_ex* base, __be32 imm) {
    stage(base, IBV_WR_SEND_WITH_IMM).imm_data = imm;
  };
  qp.wr_send_inv = [](ibv_qp_ex* base, std::uint32_t rkey) {
    stage(base, IBV_WR_SEND_WITH_INV).invalidate_rkey = rkey;
  };
  qp.wr_set_ud_addr = [](ibv_qp_ex* base, ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) {
    current(base).wr.wr.ud = {ah, qpn, qkey};
  };
  qp.wr_set_sge = set_sge;
  qp.wr_set_sge_list = set_sges;
  qp.wr_set_inline_data = set_inline;
  qp.wr_set_inline_data_list = set_inline_list;
  qp.wr_send_tso = [](ibv_qp_ex*, void*, std::uint16_t, std::uint16_t) {
    die("it has no ibv_wr_send_tso()");
  };
  qp.wr_set_xrc_srqn = [](ibv_qp_ex*, std::uint32_t) { die("it has no ibv_wr_set_xrc_srqn()"); };
  qp.wr_atomic_write = atomic_write;
#ifdef RDMAMETER_IBV_WR_FLUSH
  qp.wr_flush = flush;
#endif
}

}  // namespace rdmameter::software
