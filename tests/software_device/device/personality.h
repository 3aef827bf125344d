// SPDX-License-Identifier: Apache-2.0
// What a device claims to be: its limits, its port, its addresses.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rdmameter::software {

/// Which addresses a port has.
enum class Addresses : std::uint8_t {
  roce,        ///< link-local, IPv4 and IPv6, each as RoCE v1 and v2
  roce_vlans,  ///< before these the address of a VLAN, of another subnet on each device
  roce_pods,   ///< before these the address of another network namespace, which leads nowhere here
  link_local,  ///< one
};

/// What adapters differ in. The defaults are those of a RoCE adapter with generous limits.
struct Personality {
  std::string_view name = "generic";
  std::string_view firmware = "1.0.0";
  std::uint32_t vendor_id = 0, part_id = 0;

  ibv_transport_type transport = IBV_TRANSPORT_IB;
  int link_layer = IBV_LINK_LAYER_ETHERNET;
  Addresses addresses = Addresses::roce;
  bool grh_required = true;                       ///< a path without GRH is refused
  std::array<std::uint16_t, 4> pkeys{0xffff, 0};  ///< 0: none
  bool shows_pkeys = true;  ///< else ibv_query_pkey() fails: sysfs has no pkeys of the port
  ibv_mtu active_mtu = IBV_MTU_4096, max_mtu = IBV_MTU_4096;
  std::uint8_t active_width = 2;          ///< 4 lanes (IBTA, PortInfo:LinkWidthActive)
  std::uint8_t active_speed = 128;        ///< NDR: 100 Gb/s each
  std::uint64_t port_speed_100_mbps = 0;  ///< ibv_query_port_speed(); 0: it is not there
  // Files of sysfs; empty: they are not there.
  std::string_view sysfs_rate;   ///< ports/1/rate
  std::string_view netdev_mbps;  ///< speed of the network interface of its GIDs
  std::string_view pcie_speed, pcie_width;
  std::string_view pcie_events;   ///< device/uevent, which has its PCI address
  bool virtual_function = false;  ///< device/physfn is there
  std::uint32_t max_message_bytes = 1U << 30;

  bool tells_max_message = true;  ///< else max_msg_sz is 0, as mana_ib_query_port() had it

  bool rc = true, uc = true, ud = true;
  /// What creating a QP of a type that it lacks gives; 0: NULL, and errno stays as it was.
  int missing_type_errno = EOPNOTSUPP;
  /// The same of creating an address handle where there is no UD.
  int missing_handle_errno = EOPNOTSUPP;
  /// ibv_query_qp_data_in_order() promises the order of a WRITE's bytes.
  bool data_in_order = true;
  bool negative_post_errors = false;  ///< ibv_post_send() returns -ENOMEM
  bool flushes_posts = true;          ///< else ibv_post_send() refuses those to a QP in error
  /// Of iWARP: the TOS of the id of rdma_cm is that of the connection's packets. Else it is not
  /// looked at.
  bool takes_tos = false;
  /// A QP that is asked for more inline data is made, with as much as there can be.
  bool clamps_inline = false;
  /// Else ibv_post_send() refuses immediate data with EINVAL.
  bool send_immediate = true, write_immediate = true;
  /// Of a QP's queue for the WQEs of reads; one beyond is refused with EINVAL. 0: no limit
  std::uint32_t read_queue_bytes = 0;
  bool sets_window_key = false;  ///< posting IBV_WR_BIND_MW changes the window's key
  /// An interface of IPoIB is there, with an IP address. A multicast group is joined by that alone.
  bool ipoib = false;
  std::string_view driver;       ///< as sysfs names it; empty: it does not
  bool remote_rights = true;     ///< else regions and QPs that open memory to peers are refused
  bool unsignaled = true;        ///< else each request must ask for a completion
  bool extended_posting = true;  ///< ibv_wr_*
  /// ibv_wr_set_inline_data_list() counts no bytes, ibv_wr_set_sge_list() the first SGE's for each.
  bool miscounts_pieces = false;
  bool extended_polling = true;  ///< ibv_create_cq_ex()
  bool memory_windows = true, thread_domains = true;
  bool allocates_windows = true;  ///< else the device tells windows, and ibv_alloc_mw() has none
  std::uint32_t ece_options = 0;  ///< bits of enhanced connection establishment; 0: it has none
  std::uint32_t ece_refused = 0;  ///< of these, what the step to RTR clears
  bool polls_with_lock = false;   ///< ibv_poll_cq() takes its lock of a CQ for one thread, too
  bool dmabuf = true;             ///< registers memory by a descriptor of a dma-buf
  /// Small receives of RC and UC come in the completion, and ibv_poll_cq() copies them to their
  /// address: with device memory, which has none, the program crashes.
  bool scatters_to_cqe = false;
  ibv_atomic_cap atomics = IBV_ATOMIC_HCA;
  /// IBTA's memory placement extensions: atomic write and FLUSH. Of providers rxe alone posts them
  /// (rdma-core 65, providers/rxe/rxe.c, rxe_create_qp_ex()), and Linux knows them since 6.2.
  bool memory_placement = true;
  std::uint64_t timestamp_mask = ~std::uint64_t{0};  ///< 0: completions have no time
  std::uint64_t clock_kHz = 1'000'000;
  /// Else the mask is told, and neither ibv_create_cq_ex() nor ibv_query_rt_values_ex() has times.
  bool gives_times = true;
  ibv_odp_caps on_demand_paging{};
  /// What the subnet manager has chosen for each route: InfiniBand.
  std::uint8_t route_service_level = 0;
  ibv_rate route_rate = IBV_RATE_MAX;
  ibv_mtu route_mtu = IBV_MTU_1024;  ///< what rdma_cm tells; less than a port's on the way is usual

  std::uint32_t max_qp = 60000, max_qp_wr = 32768, max_sge = 30;
  std::uint32_t max_recv_sge = 0;  ///< 0: as max_sge; else the device tells the lesser of the two
  std::uint32_t max_inline_bytes = 4096;
  std::uint32_t max_cq = 60000, max_cqe = 32767;
  std::uint32_t max_srq = 60000, max_srq_wr = 32767;
  std::uint32_t max_mr = 60000, max_pd = 60000;
  std::uint32_t max_ah = 1U << 30;
  std::uint8_t max_rd_atomic = 16, max_init_rd_atomic = 16;
  std::uint32_t max_multicast_groups = 4096, max_multicast_qps = 240;
  std::uint64_t max_dm_bytes = 256 << 10;  ///< 0: no device memory
  int completion_vectors = 4;

  // RDMAMETER_DEVICE_PORTS
  ibv_port_state port_state = IBV_PORT_ACTIVE;
  bool has_gids = true, opens = true;

  bool ethernet() const { return link_layer == IBV_LINK_LAYER_ETHERNET; }
  bool infiniband() const { return link_layer == IBV_LINK_LAYER_INFINIBAND; }
  bool iwarp() const { return transport == IBV_TRANSPORT_IWARP; }
  /// Has it a network interface that only programs of the session see?
  bool own_interface() const { return iwarp() || ipoib || addresses == Addresses::roce_pods; }
  std::uint32_t most_recv_sge() const { return max_recv_sge != 0 ? max_recv_sge : max_sge; }
  bool has(ibv_qp_type type) const {
    return type == IBV_QPT_RC ? rc : type == IBV_QPT_UC ? uc : type == IBV_QPT_UD && ud;
  }
};

/// @return null: there is none of that name
const Personality* personality_named(std::string_view name);
std::string personality_names();

inline constexpr std::uint32_t kDevices = 8;  ///< at most: soft0, soft1...

const Personality& personality(std::uint32_t device);
std::uint32_t device_count();  ///< those that there are

constexpr std::uint32_t bytes_of(ibv_mtu mtu) {
  return 128U << static_cast<unsigned>(mtu);
}

std::uint64_t device_guid(std::uint32_t device);  ///< in network order
std::uint16_t device_lid(std::uint32_t device);   ///< 0 on Ethernet

/// The GID table of a device's only port.
inline constexpr std::uint32_t kGids = 8;  ///< entries, some of them empty
struct GidEntry {
  ibv_gid gid{};
  std::uint32_t type = IBV_GID_TYPE_IB;
};
/// @return nullopt: that entry is empty
std::optional<GidEntry> gid_at(std::uint32_t device, std::uint32_t index);
bool same_gid(const ibv_gid& a, const ibv_gid& b);
/// ::ffff:a.b.c.d
bool is_ipv4(const ibv_gid& gid);
inline constexpr std::size_t kIpv4At = 12;  ///< of its bytes
/// The IPv4 address that rdma_cm knows, as a GID.
ibv_gid ipv4_gid(std::uint32_t device);

/// The bytes in front of a datagram (IBTA: global route header).
using Grh = std::array<std::uint8_t, 40>;
Grh grh_between(std::uint32_t from_device, std::uint32_t to_device);

/// Is there a route from a device's address to another one? Only VLANs keep addresses apart.
bool routed(std::uint32_t device, std::uint32_t gid_index, const ibv_gid& to);

/// A time as the device's clock shows it.
std::uint64_t clock_ticks(const Personality& device, std::uint64_t time_ns);

}  // namespace rdmameter::software
