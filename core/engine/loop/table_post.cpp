// SPDX-License-Identifier: Apache-2.0
// How each opcode is posted: by ibv_post_send() as a kind of WR, and by ibv_wr_*. The latter is on
// the measured path: an instance for each opcode and kind of data, so that nothing of it is looked
// at while the clock runs.
#include <array>
#include <utility>

#include "core/base/error.h"
#include "core/engine/loop/loop_state.h"
#include "core/engine/loop/table.h"
#include "core/test_case/opcode.h"

namespace rdmameter {
namespace {

struct Posting {
  Opcode opcode;
  ibv_wr_opcode request{};
  std::uint64_t extended = 0;  ///< IBV_QP_EX_WITH_...
  /// Its ibv_wr_...(); null where an earlier entry has the same, or it is not posted by verbs.
  void (*begin)(ibv_qp_ex* qp, const ibv_send_wr& wr) = nullptr;
  /// A request behind it, of no data, that completes for both.
  void (*follow)(ibv_qp_ex* qp, const ibv_send_wr& wr) = nullptr;
};

constexpr std::array kPostings{
    Posting{Opcode::send, IBV_WR_SEND, IBV_QP_EX_WITH_SEND,
            [](ibv_qp_ex* qp, const ibv_send_wr&) { ibv_wr_send(qp); }},
    Posting{Opcode::rdma_write, IBV_WR_RDMA_WRITE, IBV_QP_EX_WITH_RDMA_WRITE,
            [](ibv_qp_ex* qp, const ibv_send_wr& wr) {
              ibv_wr_rdma_write(qp, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr);
            }},
    Posting{Opcode::rdma_read, IBV_WR_RDMA_READ, IBV_QP_EX_WITH_RDMA_READ,
            [](ibv_qp_ex* qp, const ibv_send_wr& wr) {
              ibv_wr_rdma_read(qp, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr);
            }},
    Posting{Opcode::send_imm, IBV_WR_SEND_WITH_IMM, IBV_QP_EX_WITH_SEND_WITH_IMM,
            [](ibv_qp_ex* qp, const ibv_send_wr& wr) { ibv_wr_send_imm(qp, wr.imm_data); }},
    Posting{Opcode::write_imm, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
            [](ibv_qp_ex* qp, const ibv_send_wr& wr) {
              ibv_wr_rdma_write_imm(qp, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr, wr.imm_data);
            }},
    Posting{Opcode::fetch_add, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
            [](ibv_qp_ex* qp, const ibv_send_wr& wr) {
              ibv_wr_atomic_fetch_add(qp, wr.wr.atomic.rkey, wr.wr.atomic.remote_addr,
                                      wr.wr.atomic.compare_add);
            }},
    Posting{Opcode::cmp_swap, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
            [](ibv_qp_ex* qp, const ibv_send_wr& wr) {
              ibv_wr_atomic_cmp_swp(qp, wr.wr.atomic.rkey, wr.wr.atomic.remote_addr,
                                    wr.wr.atomic.compare_add, wr.wr.atomic.swap);
            }},
    Posting{Opcode::tcp_send},
    Posting{Opcode::mcast_send, IBV_WR_SEND, IBV_QP_EX_WITH_SEND},
    Posting{Opcode::mix},
    Posting{Opcode::atomic_write, IBV_WR_ATOMIC_WRITE, IBV_QP_EX_WITH_ATOMIC_WRITE,
            [](ibv_qp_ex* qp, const ibv_send_wr& wr) {
              ibv_wr_atomic_write(qp, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr,
                                  reinterpret_cast<const void*>(wr.sg_list->addr));
            }},
#ifdef RDMAMETER_IBV_WR_FLUSH
    Posting{Opcode::flush, IBV_WR_RDMA_WRITE, IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_FLUSH,
            [](ibv_qp_ex* qp, const ibv_send_wr& wr) {
              ibv_wr_rdma_write(qp, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr);
            },
            [](ibv_qp_ex* qp, const ibv_send_wr& wr) {
              std::size_t bytes = 0;
              for (int i = 0; i < wr.num_sge; ++i) bytes += wr.sg_list[i].length;
              ibv_wr_flush(qp, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr, bytes, IBV_FLUSH_GLOBAL,
                           IBV_FLUSH_RANGE);
            }},
#else
    Posting{Opcode::flush},
#endif
};
static_assert(kPostings.size() == kOpcodes.size() && in_order_of_opcodes(kPostings));

const Posting& posting(Opcode opcode) {
  return kPostings[static_cast<std::size_t>(opcode)];
}

enum class Data { none, one_sge, sge_list, inline_one, inline_list };

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

template <std::size_t kOpcode, Data kData, bool kDatagram>
int post(const Lane& lane, ibv_send_wr* wr) noexcept {
  constexpr auto kBegin = kPostings[kOpcode].begin;
  constexpr auto kFollow = kPostings[kOpcode].follow;
  static_assert(kBegin != nullptr, "an opcode without its ibv_wr_...()");
  ibv_qp_ex* const qp = lane.extended_qp;
  ibv_wr_start(qp);
  for (; wr != nullptr; wr = wr->next) {
    qp->wr_id = wr->wr_id;
    qp->wr_flags = wr->send_flags & ~(kFollow == nullptr ? 0U : unsigned{IBV_SEND_SIGNALED});
    kBegin(qp, *wr);
    if constexpr (kDatagram)
      ibv_wr_set_ud_addr(qp, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
    if constexpr (kData != Data::none) set_data<kData>(qp, *wr);
    if constexpr (kFollow != nullptr) {
      qp->wr_flags = wr->send_flags & IBV_SEND_SIGNALED;
      kFollow(qp, *wr);
    }
  }
  return ibv_wr_complete(qp);
}

template <std::size_t kOpcode, bool kDatagram>
PostFunction choose_data(bool inlined, bool one_sge) {
  if (inlined)
    return one_sge ? post<kOpcode, Data::inline_one, kDatagram>
                   : post<kOpcode, Data::inline_list, kDatagram>;
  return one_sge ? post<kOpcode, Data::one_sge, kDatagram>
                 : post<kOpcode, Data::sge_list, kDatagram>;
}

template <std::size_t kOpcode>
PostFunction choose(bool datagram, bool inlined, bool one_sge) {
  if constexpr (kPostings[kOpcode].extended == 0) {
    return nullptr;
  } else {
    constexpr OpcodeTraits kTraits = kOpcodes[kOpcode];
    if constexpr (kTraits.by_value) return post<kOpcode, Data::none, false>;
    if constexpr (!kTraits.one_sided)
      if (datagram) return choose_data<kOpcode, true>(inlined, one_sge);
    return choose_data<kOpcode, false>(inlined && !kTraits.returns_data, one_sge);
  }
}

/// Opcodes with one request share its instances: those without an ibv_wr_...() of their own.
constexpr std::size_t first_alike(std::size_t opcode) {
  std::size_t first = kPostings[opcode].begin == nullptr ? 0 : opcode;
  while (kPostings[first].extended != kPostings[opcode].extended) ++first;
  return first;
}

template <std::size_t... kOpcode>
constexpr auto choose_by_opcode(std::index_sequence<kOpcode...>) {
  return std::array{choose<first_alike(kOpcode)>...};
}

}  // namespace

ibv_wr_opcode wr_opcode(Opcode opcode) {
  return posting(opcode).request;
}

PostFunction choose_extended_post(const TestCase& test_case, bool inlined, std::size_t sges) {
  if (inlined && sges > kMaxInlinePieces)
    throw Unsupported(
        "{} SGEs inline by ibv_wr_*: this program does so with at most {}; use --inline off", sges,
        kMaxInlinePieces);
  static constexpr auto kChoose = choose_by_opcode(std::make_index_sequence<kPostings.size()>());
  return kChoose[static_cast<std::size_t>(test_case.opcode)](test_case.transport == Transport::ud,
                                                             inlined, sges == 1);
}

std::uint64_t extended_operations(const TestCase& test_case) {
  return posting(test_case.opcode).extended;
}

}  // namespace rdmameter
