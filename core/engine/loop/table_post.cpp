// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "core/base/error.h"
#include "core/engine/loop/extended_post.h"
#include "core/engine/loop/table.h"

namespace rdmameter {
namespace {

using extended::Data;
using extended::kMaxInlinePieces;
using extended::post;

template <Opcode kOpcode, bool kDatagram>
PostFunction choose_data(bool inlined, bool one_sge) {
  if (inlined)
    return one_sge ? post<kOpcode, Data::inline_one, kDatagram>
                   : post<kOpcode, Data::inline_list, kDatagram>;
  return one_sge ? post<kOpcode, Data::one_sge, kDatagram>
                 : post<kOpcode, Data::sge_list, kDatagram>;
}

template <Opcode kOpcode>
PostFunction choose_extended(bool datagram, bool inlined, bool one_sge) {
  constexpr OpcodeTraits kTraits = traits(kOpcode);
  if constexpr (!kTraits.one_sided)
    if (datagram) return choose_data<kOpcode, true>(inlined, one_sge);
  return choose_data<kOpcode, false>(inlined && !kTraits.returns_data, one_sge);
}

PostFunction not_posted(bool, bool, bool) {
  return nullptr;
}

/// How each opcode is posted.
struct Posting {
  Opcode opcode;
  ibv_wr_opcode request;
  std::uint64_t extended;  ///< IBV_QP_EX_WITH_...
  PostFunction (*choose_extended)(bool datagram, bool inlined, bool one_sge);
};

constexpr std::array kPostings{
    Posting{Opcode::send, IBV_WR_SEND, IBV_QP_EX_WITH_SEND, choose_extended<Opcode::send>},
    Posting{Opcode::rdma_write, IBV_WR_RDMA_WRITE, IBV_QP_EX_WITH_RDMA_WRITE,
            choose_extended<Opcode::rdma_write>},
    Posting{Opcode::rdma_read, IBV_WR_RDMA_READ, IBV_QP_EX_WITH_RDMA_READ,
            choose_extended<Opcode::rdma_read>},
    Posting{Opcode::send_imm, IBV_WR_SEND_WITH_IMM, IBV_QP_EX_WITH_SEND_WITH_IMM,
            choose_extended<Opcode::send_imm>},
    Posting{Opcode::write_imm, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
            choose_extended<Opcode::write_imm>},
    Posting{Opcode::fetch_add, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
            choose_extended<Opcode::fetch_add>},
    Posting{Opcode::cmp_swap, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
            choose_extended<Opcode::cmp_swap>},
    Posting{Opcode::tcp_send, {}, 0, not_posted},
    Posting{Opcode::mcast_send, IBV_WR_SEND, IBV_QP_EX_WITH_SEND, choose_extended<Opcode::send>},
    Posting{Opcode::mix, {}, 0, not_posted},
};
static_assert(kPostings.size() == kOpcodes.size() && in_order_of_opcodes(kPostings));

const Posting& posting(Opcode opcode) {
  return kPostings[static_cast<std::size_t>(opcode)];
}

}  // namespace

ibv_wr_opcode wr_opcode(Opcode opcode) {
  return posting(opcode).request;
}

PostFunction choose_extended_post(const TestCase& test_case, bool inlined, std::size_t sges) {
  if (inlined && sges > kMaxInlinePieces)
    throw Unsupported(fmt::format(
        "{} SGEs inline by ibv_wr_*: this program does so with at most {}; use --inline off", sges,
        kMaxInlinePieces));
  return posting(test_case.opcode)
      .choose_extended(test_case.transport == Transport::ud, inlined, sges == 1);
}

std::uint64_t extended_operations(const TestCase& test_case) {
  return posting(test_case.opcode).extended;
}

}  // namespace rdmameter
