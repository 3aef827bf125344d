// SPDX-License-Identifier: Apache-2.0
// Which verbs devices are here, and what each, its ports and their GIDs can do.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/json_text.h"
#include "core/verbs/gid.h"
#include "core/verbs/handles.h"

namespace rdmameter {

/// Names of all verbs devices, in libibverbs' order; empty: there is none.
std::vector<std::string> list_devices();

/// Why libibverbs may not find devices that there are: what the kernel shows beside what this
/// process has. Empty: nothing speaks for a device.
/// @param sysfs, dev  other trees for tests
std::string what_hides_devices(const std::filesystem::path& sysfs = "/sys",
                               const std::filesystem::path& dev = "/dev");

/// Opens a device by its name; an empty name: the first one with an ACTIVE port (what measures
/// chooses by more than that: core/verbs/port_choice.h).
/// @throws NoDevice        there is none, and what to do next
/// @throws UnusableDevice  what there is instead, and what to do next
/// @throws VerbsError      it is there but cannot be opened
Context open_device(std::string_view name);

std::string device_name(const ibv_context& context);

struct PortInfo {
  std::string device;
  std::uint8_t number = 0;  ///< from 1
  ibv_port_state state = IBV_PORT_NOP;
  int link_layer = IBV_LINK_LAYER_UNSPECIFIED;
  std::uint32_t active_mtu_bytes = 0, max_mtu_bytes = 0;
  std::uint32_t max_message_bytes = 0;  ///< 0: not told, as of mana before Linux 7.1
  std::uint16_t lid = 0, sm_lid = 0;    ///< 0 on Ethernet
  std::uint32_t gid_table_length = 0, pkey_table_length = 0;
  std::optional<std::uint32_t> lanes;  ///< link width: 1, 2, 4, 8, 12
  bool needs_grh = true;  ///< a packet needs a GRH within its subnet, too: wherever it has no LID
                          ///< of its own (no InfiniBand, or a LID that functions share: SR-IOV)

  bool active() const { return state == IBV_PORT_ACTIVE; }
  std::string where() const;  ///< "rxe0/1", for texts
};

std::string_view port_state_name(ibv_port_state state);  ///< "ACTIVE", "DOWN"...
std::string_view link_layer_name(int link_layer);  ///< "InfiniBand", "Ethernet", "unspecified"

/// @param active_width  as ibv_port_attr has it (IBTA, PortInfo:LinkWidthActive)
std::optional<std::uint32_t> lanes_of_width(std::uint8_t active_width);

std::uint32_t mtu_bytes(ibv_mtu mtu);                             ///< 0: no known MTU
std::optional<ibv_mtu> mtu_from_bytes(std::uint64_t size_bytes);  ///< 256, 512 ... 4096

/// @throws UsageError  the device has no such port; the text says which it has
PortInfo query_port(ibv_context& context, std::uint64_t port_num);

/// Queries a port that must be ACTIVE; kAuto: the first one that is.
/// @throws UnusableDevice  the port is not ACTIVE; the text gives the state of each
PortInfo query_active_port(ibv_context& context, std::uint64_t port_num);

/// The port's GIDs without the empty entries, ascending by index, with their subnets
/// (find_subnets()); of iWARP the IP addresses of its network interface.
std::vector<Gid> query_gids(ibv_context& context, std::uint8_t port_num);

/// PCI vendor of EFA.
inline constexpr std::uint32_t kAmazon = 0x1d0f;

/// The limits that the device states. Zero: none. (Inline data is not
/// stated: see core/verbs/probe.h.)
struct DeviceLimits {
  std::string firmware;
  std::uint32_t vendor_id = 0, vendor_part_id = 0, hardware_version = 0;
  std::uint64_t max_mr_size_bytes = 0, max_dm_size_bytes = 0;
  std::uint32_t max_qp = 0, max_qp_wr = 0, max_sge = 0, max_sge_rd = 0;
  std::uint32_t max_cq = 0, max_cqe = 0, max_mr = 0, max_mw = 0, max_pd = 0, max_ah = 0;
  std::uint32_t max_srq = 0, max_srq_wr = 0, max_srq_sge = 0;
  std::uint32_t max_qp_rd_atom = 0;       ///< reads and atomics a QP takes from its peer at once
  std::uint32_t max_qp_init_rd_atom = 0;  ///< reads and atomics a QP has under way at once
  std::uint32_t max_mcast_grp = 0, max_mcast_qp_attach = 0;
  std::uint32_t max_pkeys = 0, completion_vectors = 0;
  std::uint8_t phys_port_cnt = 0;
  std::uint64_t timestamp_mask = 0;  ///< of completion timestamps; 0: there are none
  bool unsignaled = true;            ///< takes requests that ask for no completion
  bool takes_tos = false;            ///< of iWARP: an id's TOS is that of its packets
  ibv_device_attr_ex attributes{};   ///< as libibverbs tells them: see core/verbs/capability.h
};
DeviceLimits query_limits(ibv_context& context);

/// NUMA node of the device's slot; nullopt: the kernel does not say (always so for rxe).
std::optional<int> device_numa_node(std::string_view device,
                                    const std::filesystem::path& sysfs = "/sys");

/// {"devices": [...]}: every device with its limits, ports, GIDs and what probing found. A device
/// that cannot be opened is there with an "error".
Json devices_json();

/// The devices as a text for people. @param devices  from devices_json()
std::string devices_text(const Json& devices);

/// iWARP runs over TCP: its ports are reached by the IP addresses of their network interface, and
/// its QPs are connected by rdma_cm alone.
bool is_iwarp(const ibv_context& context);

}  // namespace rdmameter
