// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/wire/request.h"

#include <cerrno>

namespace rdmameter::software {
namespace {

int bind_of(const ibv_send_wr& wr, Request& request) {
  const ibv_mw_bind_info& info = wr.bind_mw.bind_info;
  if (wr.bind_mw.mw == nullptr) return EINVAL;
  request.bind = {wr.bind_mw.mw->rkey, wr.bind_mw.rkey, {}};
  if (info.mr == nullptr || info.length == 0) return 0;  // it opens nothing from now on
  const std::optional<Region> memory = region_of(info.mr->lkey);
  if (!memory || info.addr < memory->iova || info.length > memory->length ||
      info.addr - memory->iova > memory->length - info.length)
    return EINVAL;
  request.bind.region = {.pd = memory->pd,
                         .access = info.mw_access_flags,
                         .iova = info.addr,
                         .length = info.length,
                         .host = memory->host + (info.addr - memory->iova)};
  return 0;
}

void datagram_of(const ibv_send_wr& wr, Request& request) {
  const auto& handle = *static_cast<const AddressHandle*>(wr.wr.ud.ah);
  request.to = {wr.wr.ud.remote_qpn, wr.wr.ud.remote_qkey, handle.is_routed,
                handle.attributes.is_global != 0, handle.attributes.grh.dgid};
}

}  // namespace

int request_of(const ibv_send_wr& wr, bool datagram, Request& request) {
  request.wr_id = wr.wr_id;
  request.opcode = wr.opcode;
  request.flags = wr.send_flags;
  request.imm_or_key = wr.imm_data;
  switch (wr.opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
      if (!datagram) return 0;
      if (wr.wr.ud.ah == nullptr) return EINVAL;
      datagram_of(wr, request);
      return 0;
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_LOCAL_INV:
      return datagram ? EINVAL : 0;
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_RDMA_READ:
    case IBV_WR_ATOMIC_WRITE:
#ifdef RDMAMETER_IBV_WR_FLUSH
    case IBV_WR_FLUSH:
#endif
      request.remote_address = wr.wr.rdma.remote_addr;
      request.rkey = wr.wr.rdma.rkey;
      return datagram ? EINVAL : 0;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      request.remote_address = wr.wr.atomic.remote_addr;
      request.rkey = wr.wr.atomic.rkey;
      request.atomic = {wr.wr.atomic.compare_add, wr.wr.atomic.swap};
      return datagram ? EINVAL : 0;
    case IBV_WR_BIND_MW:
      return datagram ? EINVAL : bind_of(wr, request);
    default:
      return EINVAL;
  }
}

bool is_local(const Request& request) {
  return request.opcode == IBV_WR_BIND_MW || request.opcode == IBV_WR_LOCAL_INV;
}

bool carries_data(const Request& request) {
  switch (request.opcode) {
    case IBV_WR_RDMA_READ:
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
#ifdef RDMAMETER_IBV_WR_FLUSH
    case IBV_WR_FLUSH:
#endif
      return false;
    default:
      return !is_local(request);
  }
}

ibv_wc_opcode completion_opcode(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    case IBV_WR_ATOMIC_WRITE:
      return IBV_WC_ATOMIC_WRITE;
    case IBV_WR_LOCAL_INV:
      return IBV_WC_LOCAL_INV;
    case IBV_WR_BIND_MW:
      return IBV_WC_BIND_MW;
    default:
      return IBV_WC_SEND;
  }
}

}  // namespace rdmameter::software
