// SPDX-License-Identifier: Apache-2.0
#include "core/qp_state.h"

#include <fmt/format.h>

#include "core/check.h"
#include "core/gid.h"

namespace rdmameter {
namespace {

// ACK timeout 4.096 us * 2^14 = 67 ms, as perftest and the kernel's own consumers use it: far above
// any fabric's round trip, so that a retry means loss. Seven retries then end in half a second to
// four.
constexpr std::uint8_t kAckTimeout = 14;
constexpr std::uint8_t kRetryCount = 7;
constexpr std::uint8_t kRnrRetryForever = 7;  // 7 means without end (IBTA vol. 1, 9.7.5.2.8)
// RNR NAK timer code 12 = 0.64 ms (IBTA vol. 1, table 45): short against a stall, long against a
// refill.
constexpr std::uint8_t kMinRnrTimer = 12;
constexpr std::uint8_t kHopLimit = 64;

std::string name(const ibv_qp& qp, const std::string& where) {
  return fmt::format("QP {:#x} on {}", qp.qp_num, where);
}

}  // namespace

ibv_ah_attr ah_attributes(const QpPath& path) {
  ibv_ah_attr ah{};
  ah.port_num = path.port_num;
  ah.dlid = path.remote_lid;
  if (path.global) {
    ah.is_global = 1;
    ah.grh.dgid = path.remote_gid;
    ah.grh.sgid_index = path.gid_index;
    ah.grh.hop_limit = kHopLimit;
  }
  return ah;
}

void to_init(ibv_qp& qp, Transport transport, std::uint8_t port_num, const std::string& where) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = port_num;
  int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  if (transport == Transport::ud) {
    attr.qkey = kQkey;
    mask |= IBV_QP_QKEY;
  } else {
    attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    if (transport == Transport::rc) attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ;
    mask |= IBV_QP_ACCESS_FLAGS;
  }
  check_errno_value(ibv_modify_qp(&qp, &attr, mask), "ibv_modify_qp(RESET->INIT)", name(qp, where));
}

void to_rtr(ibv_qp& qp, Transport transport, const QpPath& path, std::uint32_t remote_qpn,
            std::uint32_t remote_psn, const std::string& where) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  int mask = IBV_QP_STATE;
  if (transport != Transport::ud) {
    attr.ah_attr = ah_attributes(path);
    attr.path_mtu = path.mtu;
    attr.dest_qp_num = remote_qpn;
    attr.rq_psn = remote_psn;
    mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  }
  if (transport == Transport::rc) {
    attr.max_dest_rd_atomic = path.outstanding_reads;
    attr.min_rnr_timer = kMinRnrTimer;
    mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  }
  check_errno_value(ibv_modify_qp(&qp, &attr, mask), "ibv_modify_qp(INIT->RTR)",
                    fmt::format("{} towards QP {:#x} at {}", name(qp, where), remote_qpn,
                                gid_text(path.remote_gid)));
}

void to_rts(ibv_qp& qp, Transport transport, const QpPath& path, std::uint32_t psn,
            const std::string& where) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = psn;
  int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (transport == Transport::rc) {
    attr.timeout = kAckTimeout;
    attr.retry_cnt = kRetryCount;
    attr.rnr_retry = kRnrRetryForever;
    attr.max_rd_atomic = path.outstanding_reads;
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  check_errno_value(ibv_modify_qp(&qp, &attr, mask), "ibv_modify_qp(RTR->RTS)", name(qp, where));
}

}  // namespace rdmameter
