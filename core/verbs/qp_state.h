// SPDX-License-Identifier: Apache-2.0
// A QP's way RESET -> INIT -> RTR -> RTS, and the attributes that each step needs.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

#include "core/test_case/test_case.h"

namespace rdmameter {

/// The Q_Key of every UD QP here: any value that both ends share and that is not privileged (bit 31
/// clear, IBTA vol. 1, 3.5.3).
inline constexpr std::uint32_t kQkey = 0x11111111;
/// The Q_Key of QPs that rdma_cm announces to peers, or puts into a multicast group: RDMA_UDP_QKEY.
inline constexpr std::uint32_t kCmQkey = 0x01234567;

/// QPNs and PSNs are 24 bits wide.
inline constexpr std::uint32_t k24Bits = 0xffffff;

/// A first PSN that no earlier connection of the same QP number is likely to have had.
std::uint32_t random_psn();

/// The facts about its peer that a connected QP needs, and the settings that both have agreed on.
struct QpPath {
  ibv_mtu mtu = IBV_MTU_1024;
  std::uint8_t port_num = 1;
  std::uint8_t gid_index = 0;
  bool global = true;  ///< with a GRH: where a port needs one, between subnets, and for what only
                       ///< a GRH carries
  std::uint16_t remote_lid = 0;
  ibv_gid remote_gid{};
  std::uint8_t reads_out = 1, reads_in = 1;  ///< reads and atomics under way: made, taken

  // As the axes of these names have them.
  std::uint8_t service_level = 0, traffic_class = 0;
  std::uint32_t flow_label = 0;
  std::uint8_t timeout = 14, retry_count = 7, rnr_retry = 7, min_rnr_timer = 12;

  /// Do the axes ask for what only a GRH carries?
  bool asks_for_grh() const { return traffic_class != 0 || flow_label != 0; }
};

/// The path's settings from a case's axes; the rest comes from the devices and the peer.
QpPath path_of(const TestCase& test_case);

/// The address handle attributes of the path, for RTR (RC, UC) and for ibv_create_ah (UD).
ibv_ah_attr ah_attributes(const QpPath& path);

/// What the axes ask of an address. Where one is 0, what is there stays: rdma_cm's choice.
void set_asked(ibv_ah_attr& ah, const QpPath& path);

/// A step's attributes, ready for the call.
struct QpStep {
  ibv_qp_attr attributes;
  int mask;
  /// ibv_modify_qp(). @return 0 or the errno value
  int take(ibv_qp& qp) noexcept { return ibv_modify_qp(&qp, &attributes, mask); }
};

/// Arguments as those of to_init() and to_rts().
QpStep init_step(Transport transport, std::uint8_t port_num, std::uint16_t pkey_index,
                 int remote_access, std::uint32_t qkey = kQkey);
QpStep rtr_step(Transport transport, const QpPath& path, std::uint32_t remote_qpn,
                std::uint32_t remote_psn);
QpStep rts_step(Transport transport, const QpPath& path, std::uint32_t psn);

/// RESET -> INIT.
/// @param remote_access  IBV_ACCESS_REMOTE_...: what the peer may do (not UD)
/// @param qkey           of UD
/// @param where          device/port, for the error's text
/// @throws VerbsError
void to_init(ibv_qp& qp, Transport transport, std::uint8_t port_num, std::uint16_t pkey_index,
             int remote_access, std::uint32_t qkey, const std::string& where);

/// INIT -> RTR -> RTS.
/// @param remote_psn  first PSN that the peer will send with
/// @param psn         first PSN of this QP
/// @throws VerbsError
void to_rts(ibv_qp& qp, Transport transport, const QpPath& path, std::uint32_t remote_qpn,
            std::uint32_t remote_psn, std::uint32_t psn, const std::string& where);

}  // namespace rdmameter
