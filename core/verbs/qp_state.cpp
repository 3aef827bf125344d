// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/qp_state.h"

#include <fmt/format.h>

#include <random>

#include "core/test_case/flow_label.h"
#include "core/verbs/check.h"
#include "core/verbs/gid.h"

namespace rdmameter {
namespace {

constexpr std::uint8_t kHopLimit = 64;

/// For texts of failures alone: of many QPs it takes as long as the calls.
std::string name(const ibv_qp& qp, const std::string& where) {
  return fmt::format("QP {:#x} on {}", qp.qp_num, where);
}

}  // namespace

std::uint32_t random_psn() {
  thread_local std::random_device device;
  return device() & k24Bits;
}

QpPath path_of(const TestCase& test_case) {
  QpPath path;
  path.service_level = static_cast<std::uint8_t>(test_case.path.service_level);
  path.traffic_class = static_cast<std::uint8_t>(test_case.path.traffic_class);
  path.flow_label = FlowLabels(test_case.path.flow_label).of(test_case.path.first_qp);
  path.timeout = static_cast<std::uint8_t>(test_case.path.qp_timeout);
  path.retry_count = static_cast<std::uint8_t>(test_case.path.retry_count);
  path.rnr_retry = static_cast<std::uint8_t>(test_case.path.rnr_retry);
  path.min_rnr_timer = static_cast<std::uint8_t>(test_case.path.min_rnr_timer);
  return path;
}

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
  set_asked(ah, path);
  return ah;
}

void set_asked(ibv_ah_attr& ah, const QpPath& path) {
  if (path.service_level != 0) ah.sl = path.service_level;
  if (path.traffic_class != 0) ah.grh.traffic_class = path.traffic_class;
  if (path.flow_label != 0) ah.grh.flow_label = path.flow_label;
}

QpStep init_step(Transport transport, std::uint8_t port_num, std::uint16_t pkey_index,
                 int remote_access, std::uint32_t qkey) {
  QpStep step{.mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT};
  ibv_qp_attr& attr = step.attributes;
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = port_num;
  attr.pkey_index = pkey_index;
  if (transport == Transport::ud) {
    attr.qkey = qkey;
    step.mask |= IBV_QP_QKEY;
  } else {
    attr.qp_access_flags = static_cast<unsigned>(remote_access);
    step.mask |= IBV_QP_ACCESS_FLAGS;
  }
  return step;
}

QpStep rtr_step(Transport transport, const QpPath& path, std::uint32_t remote_qpn,
                std::uint32_t remote_psn) {
  QpStep step{.mask = IBV_QP_STATE};
  ibv_qp_attr& attr = step.attributes;
  attr.qp_state = IBV_QPS_RTR;
  if (transport != Transport::ud) {
    attr.ah_attr = ah_attributes(path);
    attr.path_mtu = path.mtu;
    attr.dest_qp_num = remote_qpn;
    attr.rq_psn = remote_psn;
    step.mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  }
  if (transport == Transport::rc) {
    attr.max_dest_rd_atomic = path.reads_in;
    attr.min_rnr_timer = path.min_rnr_timer;
    step.mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  }
  return step;
}

QpStep rts_step(Transport transport, const QpPath& path, std::uint32_t psn) {
  QpStep step{.mask = IBV_QP_STATE | IBV_QP_SQ_PSN};
  ibv_qp_attr& attr = step.attributes;
  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = psn;
  if (transport == Transport::rc) {
    attr.timeout = path.timeout;
    attr.retry_cnt = path.retry_count;
    attr.rnr_retry = path.rnr_retry;
    attr.max_rd_atomic = path.reads_out;
    step.mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  return step;
}

void to_init(ibv_qp& qp, Transport transport, std::uint8_t port_num, std::uint16_t pkey_index,
             int remote_access, std::uint32_t qkey, const std::string& where) {
  const int error = init_step(transport, port_num, pkey_index, remote_access, qkey).take(qp);
  if (error != 0) throw_failure("ibv_modify_qp(RESET->INIT)", name(qp, where), error);
}

void to_rts(ibv_qp& qp, Transport transport, const QpPath& path, std::uint32_t remote_qpn,
            std::uint32_t remote_psn, std::uint32_t psn, const std::string& where) {
  if (const int error = rtr_step(transport, path, remote_qpn, remote_psn).take(qp); error != 0)
    throw_failure("ibv_modify_qp(INIT->RTR)",
                  fmt::format("{} towards QP {:#x} at {}", name(qp, where), remote_qpn,
                              gid_text(path.remote_gid)),
                  error);
  if (const int error = rts_step(transport, path, psn).take(qp); error != 0)
    throw_failure("ibv_modify_qp(RTR->RTS)", name(qp, where), error);
}

}  // namespace rdmameter
