// SPDX-License-Identifier: Apache-2.0
#include "core/loop/table_post.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/loop/extended_post.h"

namespace rdmameter {
namespace {

using extended::Data;
using extended::kMostInlinePieces;
using extended::post;

template <Opcode kOpcode, bool kDatagram = false>
PostFunction choose_data(bool inlined, bool one_sge) {
  if (inlined)
    return one_sge ? post<kOpcode, Data::inline_one, kDatagram>
                   : post<kOpcode, Data::inline_list, kDatagram>;
  return one_sge ? post<kOpcode, Data::one_sge, kDatagram>
                 : post<kOpcode, Data::sge_list, kDatagram>;
}

}  // namespace

PostFunction choose_extended_post(const Case& one_case, bool inlined, std::size_t sges) {
  if (inlined && sges > kMostInlinePieces)
    throw Unsupported(fmt::format(
        "{} SGEs inline by ibv_wr_*: this program does so with at most {}; use --inline off", sges,
        kMostInlinePieces));
  const bool one_sge = sges == 1;
  const bool datagram = one_case.service() == Transport::ud;
  switch (one_case.op()) {
    case Opcode::send:
    case Opcode::mcast_send:
      return datagram ? choose_data<Opcode::send, true>(inlined, one_sge)
                      : choose_data<Opcode::send>(inlined, one_sge);
    case Opcode::send_imm:
      return datagram ? choose_data<Opcode::send_imm, true>(inlined, one_sge)
                      : choose_data<Opcode::send_imm>(inlined, one_sge);
    case Opcode::rdma_write:
      return choose_data<Opcode::rdma_write>(inlined, one_sge);
    case Opcode::write_imm:
      return choose_data<Opcode::write_imm>(inlined, one_sge);
    case Opcode::rdma_read:
      return choose_data<Opcode::rdma_read>(false, one_sge);
    case Opcode::fetch_add:
      return choose_data<Opcode::fetch_add>(false, one_sge);
    case Opcode::cmp_swap:
      return choose_data<Opcode::cmp_swap>(false, one_sge);
    case Opcode::tcp_send:  // is not posted
      break;
  }
  return nullptr;
}

std::uint64_t extended_operations(const Case& one_case) {
  switch (one_case.op()) {
    case Opcode::send:
    case Opcode::mcast_send:
      return IBV_QP_EX_WITH_SEND;
    case Opcode::send_imm:
      return IBV_QP_EX_WITH_SEND_WITH_IMM;
    case Opcode::rdma_write:
      return IBV_QP_EX_WITH_RDMA_WRITE;
    case Opcode::write_imm:
      return IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
    case Opcode::rdma_read:
      return IBV_QP_EX_WITH_RDMA_READ;
    case Opcode::fetch_add:
      return IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
    case Opcode::cmp_swap:
      return IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP;
    case Opcode::tcp_send:
      break;
  }
  return 0;
}

}  // namespace rdmameter
