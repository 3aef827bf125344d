// SPDX-License-Identifier: Apache-2.0
// The adapters that a device can be. Their limits are of one model and firmware each, as
// ibv_devinfo -v and the providers of rdma-core tell them; other ones differ, so no test should
// rely on a number. What no field says is as on the generic device. Which optional verbs a provider
// has (ibv_wr_*, ibv_create_cq_ex(), ibv_alloc_td()...) is as in rdma-core 65.
#include "tests/software_device/device/personality.h"

namespace rdmameter::software {
namespace {

constexpr std::uint8_t k1x = 1, k4x = 2;  // IBTA, LinkWidthActive
constexpr std::uint8_t kSdr = 1, kQdr = 4, kEdr = 32, kHdr = 64, kNdr = 128;  // LinkSpeedActive

/// What a device allows on demand, on RC, UC and UD: mlx5 has no plain receive of UD, and no UC.
constexpr ibv_odp_caps kMlx5Paging{
    IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT,
    {IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
         IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV,
     0, IBV_ODP_SUPPORT_SEND}};
/// ConnectX-6 Dx. Its inline limit depends on the other limits of a QP: this is that of small ones.
constexpr Personality kMlx5{.name = "mlx5-roce",
                            .firmware = "22.35.1012",
                            .vendor_id = 0x02c9,
                            .part_id = 4125,
                            .addresses = Addresses::roce_vlans,
                            .active_speed = kEdr,
                            .driver = "mlx5_core",
                            // rdma-core, providers/mlx5/verbs.c, mlx5_query_ece()
                            .ece_options = 0x1000'0007,
                            // rdma-core, providers/mlx5/cq.c, poll_cq(): unless the user has set
                            // MLX5_SINGLE_THREADED
                            .polls_with_lock = true,
                            .scatters_to_cqe = true,
                            .memory_placement = false,
                            .clock_kHz = 1'000'000,
                            .on_demand_paging = kMlx5Paging,
                            .max_qp = 131072,
                            .max_qp_wr = 32768,
                            .max_sge = 30,
                            .max_inline_bytes = 956,
                            .max_cq = 16777216,
                            .max_cqe = 4194303,
                            .max_srq = 8388608,
                            .max_srq_wr = 32767,
                            .max_mr = 16777216,
                            .max_pd = 8388608,
                            .max_ah = 2147483647,
                            .max_rd_atomic = 16,
                            .max_init_rd_atomic = 16,
                            .max_multicast_groups = 2097152,
                            .max_multicast_qps = 240,
                            .max_dm_bytes = 131072,
                            .completion_vectors = 8};

constexpr Personality mlx5_infiniband() {
  Personality made = kMlx5;
  made.name = "mlx5-ib";
  made.firmware = "20.31.1014";
  made.part_id = 4123;  // ConnectX-6
  made.link_layer = IBV_LINK_LAYER_INFINIBAND;
  made.addresses = Addresses::link_local;
  made.grh_required = false;
  made.ipoib = true;
  made.pkeys = {0xffff, 0x8001, 0x0001, 0x0003};
  made.active_speed = kHdr;
  made.clock_kHz = 156'250;
  made.route_service_level = 3;
  made.route_rate = IBV_RATE_100_GBPS;
  made.route_mtu = IBV_MTU_2048;
  return made;
}

/// A port of SR-IOV: the virtual function shares its LID, so its packets need a GRH. Its P_Keys
/// are in another order than the physical function's.
constexpr Personality mlx5_virtual_function() {
  Personality made = mlx5_infiniband();
  made.name = "mlx5-ib-vf";
  made.grh_required = true;
  made.pkeys = {0x8001, 0xffff};
  made.virtual_function = true;
  made.ece_refused = 4;             // fewer than the physical function's
  made.port_speed_100_mbps = 1000;  // limited to half of the port's
  return made;
}

/// ConnectX-8. Linux, drivers/infiniband/core/uverbs_std_types_device.c: copy_port_attr_to_resp()
/// shows XDR as NDR; rate_show() in sysfs.c knows it. A slot of the fourth generation carries less.
constexpr Personality mlx5_xdr() {
  Personality made = mlx5_infiniband();
  made.name = "mlx5-xdr";
  made.firmware = "40.44.1036";
  made.part_id = 4131;
  made.active_speed = kNdr;
  made.sysfs_rate = "800 Gb/sec (4X XDR)";
  made.pcie_speed = "16.0 GT/s PCIe";
  made.pcie_width = "16";
  return made;
}

/// Linux, drivers/infiniband/core/cma.c: cma_join_ib_multicast() asks for the record of IPoIB's
/// broadcast group, and ib_sa_get_mcmember_rec() has none where the id is bound to a GID (AF_IB).
constexpr Personality mlx5_without_ipoib() {
  Personality made = mlx5_infiniband();
  made.name = "mlx5-ib-bare";
  made.ipoib = false;
  return made;
}

/// A container: libibverbs reads P_Keys in sysfs alone (rdma-core, libibverbs/verbs.c,
/// ibv_query_pkey()), and a GID table has the addresses of all network namespaces (Linux,
/// drivers/infiniband/core/roce_gid_mgmt.c).
constexpr Personality pod() {
  Personality made;
  made.name = "pod";
  made.addresses = Addresses::roce_pods;
  made.shows_pkeys = false;
  return made;
}

constexpr Personality kBnxt{.name = "bnxt",
                            .firmware = "226.0.145.0",
                            .vendor_id = 0x14e4,
                            .part_id = 5968,
                            .active_speed = kEdr,
                            .uc = false,
                            // rdma-core, providers/bnxt_re/verbs.c: bnxt_re_create_qp() returns
                            // NULL alone; bnxt_re_post_send() negative values
                            .missing_type_errno = 0,
                            // rdma-core: providers mlx5 and efa alone have
                            // query_qp_data_in_order()
                            .data_in_order = false,
                            .negative_post_errors = true,
                            .extended_polling = false,
                            .thread_domains = false,
                            // Linux, hw/bnxt_re/ib_verbs.c: bnxt_re_query_device() tells them;
                            // rdma-core, providers/bnxt_re/main.c: there is no alloc_mw
                            .allocates_windows = false,
                            .atomics = IBV_ATOMIC_NONE,
                            .memory_placement = false,
                            .timestamp_mask = 0,
                            .clock_kHz = 0,
                            .max_qp = 65537,
                            .max_sge = 6,
                            .max_inline_bytes = 96,
                            .max_rd_atomic = 126,
                            .max_init_rd_atomic = 126,
                            .max_multicast_groups = 0,
                            .max_multicast_qps = 0,
                            .max_dm_bytes = 0};

/// E810 as RoCE.
constexpr Personality kIrdma{.name = "irdma-roce",
                             .firmware = "1.74",
                             .vendor_id = 0x8086,
                             .part_id = 5522,
                             .active_speed = kEdr,
                             .uc = false,
                             .data_in_order = false,
                             // rdma-core, providers/irdma/uverbs.c, irdma_upost_send()
                             .sets_window_key = true,
                             .extended_posting = false,
                             .thread_domains = false,
                             .atomics = IBV_ATOMIC_NONE,
                             .memory_placement = false,
                             // Linux, hw/irdma/verbs.c: irdma_query_device(). In rdma-core
                             // ucreate_cq_ex() takes the flag of GEN 3 alone.
                             .timestamp_mask = 0x1ffff,
                             .clock_kHz = 1'000'000,
                             .gives_times = false,
                             .max_qp = 4092,
                             .max_qp_wr = 8127,
                             .max_sge = 6,
                             .max_inline_bytes = 101,
                             .max_cq = 8189,
                             .max_cqe = 1048574,
                             .max_srq = 0,
                             .max_srq_wr = 0,
                             .max_mr = 4194301,
                             .max_pd = 262141,
                             .max_ah = 131072,
                             .max_rd_atomic = 8,
                             .max_init_rd_atomic = 8,
                             .max_multicast_qps = 8,
                             .max_dm_bytes = 0};

/// HIP08, the first generation (rdma-core, providers/hns/hns_roce_u_verbs.c):
/// check_qp_create_mask() and its like refuse UD by EINVAL, hns_roce_u_create_ah() returns NULL
/// alone, and get_max_inline_data() lowers what is asked. Linux, hw/hns: set_default_caps() of
/// hns_roce_hw_v2.c has atomics, hns_roce_query_device() tells no memory windows, and before 6.6
/// hns_roce_query_port() told 4X SDR of a port of 100 Gb/s.
constexpr Personality hns() {
  Personality made = kBnxt;
  made.name = "hns";
  made.firmware = "1.0.0";
  made.vendor_id = 0x19e5;
  made.part_id = 0xa222;
  made.ud = false;
  made.missing_type_errno = EINVAL;
  made.missing_handle_errno = 0;
  made.memory_windows = false;
  made.atomics = IBV_ATOMIC_HCA;
  made.negative_post_errors = false;
  made.extended_polling = made.thread_domains = true;
  made.dmabuf = false;
  made.clamps_inline = true;
  made.active_speed = kSdr;
  made.sysfs_rate = "10 Gb/sec (4X SDR)";
  made.netdev_mbps = "100000";
  made.max_inline_bytes = 1024;
  return made;
}

/// Linux, drivers/infiniband/hw/mana/main.c: mana_ib_query_device() tells no vendor and no memory
/// windows, and mana_ib_query_port() no largest message, and 4X EDR of each port. rdma-core,
/// providers/mana/wr.c: it does not look at IBV_SEND_INLINE, and qp.c not at the inline data that
/// is asked for.
constexpr Personality mana() {
  Personality made = kBnxt;
  made.name = "mana";
  made.firmware = "";
  made.vendor_id = made.part_id = 0;
  made.ud = false;
  made.tells_max_message = false;
  made.memory_windows = false;
  made.missing_type_errno = EOPNOTSUPP;
  made.negative_post_errors = false;
  made.extended_posting = false;  // mana_create_qp_ex() is for raw packets
  made.max_srq = made.max_srq_wr = 0;
  made.max_inline_bytes = 1U << 30;
  // rdma-core, providers/mana/qp.c: get_queue_size() gives the queue of read requests a page, and
  // wr.c, mana_ib_post_send_request() says EINVAL where it is full.
  made.read_queue_bytes = 4096;
  made.driver = "mana";
  return made;
}

/// E810 as iWARP: a QP comes to life by rdma_cm alone. Linux, drivers/infiniband/hw/irdma/cm.c
/// takes the TOS of the id (irdma_connect(), irdma_make_listen_node()).
constexpr Personality iwarp() {
  Personality made = kIrdma;
  made.name = "iwarp";
  made.takes_tos = true;
  made.transport = IBV_TRANSPORT_IWARP;
  made.addresses = Addresses::link_local;
  made.pkeys = {0, 0};
  made.send_immediate = made.write_immediate = false;
  made.ud = false;
  made.max_multicast_groups = made.max_multicast_qps = 0;
  return made;
}

/// The kernel's iWARP in software (drivers/infiniband/sw/siw): it does not look at the TOS.
/// rdma-core, providers/siw/siw.c: siw_post_send() returns negative values; it shares receives.
constexpr Personality siw() {
  Personality made = iwarp();
  made.name = "siw";
  made.memory_windows = false;
  made.firmware = "";
  made.vendor_id = 0x626d74;
  made.part_id = 0;
  made.takes_tos = false;
  made.negative_post_errors = true;
  made.extended_polling = made.dmabuf = false;
  made.max_srq = 60000;
  made.max_srq_wr = 32768;
  made.timestamp_mask = 0;
  made.clock_kHz = 0;
  return made;
}

/// Alibaba's adapter. rdma-core, providers/erdma/erdma_verbs.c: erdma_push_one_sqe() takes atomics,
/// immediate data and six pieces, push_recv_wqe() one. Linux, hw/erdma/erdma_verbs.c:
/// erdma_query_device() tells the lesser number.
constexpr Personality erdma() {
  Personality made = iwarp();
  made.name = "erdma";
  made.memory_windows = false;
  made.firmware = "";
  made.vendor_id = 0x1ded;
  made.part_id = 0x107f;
  made.takes_tos = false;
  made.negative_post_errors = true;
  made.extended_polling = made.dmabuf = false;
  made.send_immediate = made.write_immediate = true;
  made.max_sge = 6;
  made.max_recv_sge = 1;
  made.max_inline_bytes = 96;
  made.atomics = IBV_ATOMIC_HCA;
  made.timestamp_mask = 0;
  made.clock_kHz = 0;
  return made;
}

/// Chelsio's T6. rdma-core, providers/cxgb4/qp.c: c4iw_post_send() takes immediate data of writes
/// (T4_SQ_WRITE_W_IMM), and build_rdma_send() none of sends; of a QP in error it takes nothing.
constexpr Personality cxgb4() {
  Personality made = iwarp();
  made.name = "cxgb4";
  made.firmware = "1.27.5.0";
  made.vendor_id = 0x1425;
  made.part_id = 0x6401;
  made.negative_post_errors = true;
  made.flushes_posts = false;
  made.extended_polling = made.dmabuf = false;
  made.max_srq = made.max_srq_wr = 1024;
  made.write_immediate = true;
  made.timestamp_mask = 0;
  made.clock_kHz = 0;
  return made;
}

/// Amazon's adapter through verbs alone: UD, and no memory that peers open. Linux,
/// drivers/infiniband/hw/efa/efa_verbs.c: efa_query_port() of older kernels tells 4X EDR of each
/// port.
constexpr Personality kEfa{.name = "efa",
                           .firmware = "0.0.0.0",
                           .vendor_id = 0x1d0f,
                           .part_id = 0xefa1,
                           .transport = IBV_TRANSPORT_UNSPECIFIED,
                           .link_layer = IBV_LINK_LAYER_UNSPECIFIED,
                           .addresses = Addresses::link_local,
                           .active_speed = kEdr,
                           .max_message_bytes = 8760,
                           .rc = false,
                           .uc = false,
                           .remote_rights = false,
                           .unsignaled = false,
                           .memory_windows = false,
                           // rdma-core, providers/efa/verbs.c, efa_poll_cq()
                           .polls_with_lock = true,
                           .atomics = IBV_ATOMIC_NONE,
                           .memory_placement = false,
                           .timestamp_mask = 0,
                           .clock_kHz = 0,
                           .max_qp = 256,
                           .max_qp_wr = 4096,
                           .max_sge = 2,
                           .max_inline_bytes = 32,
                           .max_cq = 512,
                           .max_srq = 0,
                           .max_srq_wr = 0,
                           .max_mr = 262144,
                           .max_pd = 256,
                           .max_rd_atomic = 0,
                           .max_init_rd_atomic = 0,
                           .max_multicast_groups = 0,
                           .max_multicast_qps = 0,
                           .max_dm_bytes = 0};

/// drivers/infiniband/sw/rxe/rxe_param.h of Linux 6.1, on an interface with an MTU of 1500 bytes,
/// with providers/rxe/rxe.c of rdma-core before 64.
constexpr Personality kRxe{.name = "rxe",
                           .firmware = "",
                           .vendor_id = 0xffffff,
                           .active_mtu = IBV_MTU_1024,
                           .active_width = k1x,
                           .active_speed = kSdr,
                           .max_message_bytes = 0x800000,
                           .data_in_order = false,
                           .driver = "rdma_rxe",
                           .miscounts_pieces = true,
                           .thread_domains = false,
                           .dmabuf = false,
                           .memory_placement = false,
                           .timestamp_mask = 0,
                           .clock_kHz = 0,
                           .max_qp = 1U << 20,
                           .max_qp_wr = 1U << 20,
                           .max_sge = 32,
                           .max_inline_bytes = 512,
                           .max_cq = 1U << 20,
                           .max_srq = 1U << 20,
                           .max_srq_wr = 1U << 20,
                           .max_mr = 1U << 20,
                           .max_pd = 1U << 20,
                           .max_ah = 1U << 20,
                           .max_rd_atomic = 128,
                           .max_init_rd_atomic = 128,
                           .max_multicast_groups = 8192,
                           .max_multicast_qps = 56,
                           .max_dm_bytes = 0};

/// No adapter: the least of everything. It reads deeper as a target than it asks.
constexpr Personality kTiny{.name = "tiny",
                            .active_mtu = IBV_MTU_256,
                            .max_mtu = IBV_MTU_256,
                            .active_width = k1x,
                            .active_speed = kQdr,
                            .max_message_bytes = 64 << 10,
                            .extended_posting = false,
                            .extended_polling = false,
                            .memory_windows = false,
                            .thread_domains = false,
                            .atomics = IBV_ATOMIC_NONE,
                            .memory_placement = false,
                            .timestamp_mask = 0,
                            .clock_kHz = 0,
                            .max_qp = 16,
                            .max_qp_wr = 16,
                            .max_sge = 1,
                            .max_inline_bytes = 0,
                            .max_cq = 16,
                            .max_cqe = 64,
                            .max_srq = 1,
                            .max_srq_wr = 16,
                            .max_mr = 16,
                            .max_pd = 4,
                            .max_ah = 16,
                            .max_rd_atomic = 4,
                            .max_init_rd_atomic = 1,
                            .max_multicast_groups = 1,
                            .max_multicast_qps = 2,
                            .max_dm_bytes = 0,
                            .completion_vectors = 1};

constexpr std::array kPersonalities{Personality{},
                                    mlx5_infiniband(),
                                    mlx5_virtual_function(),
                                    mlx5_xdr(),
                                    mlx5_without_ipoib(),
                                    pod(),
                                    kMlx5,
                                    kBnxt,
                                    kIrdma,
                                    hns(),
                                    mana(),
                                    iwarp(),
                                    siw(),
                                    erdma(),
                                    cxgb4(),
                                    kEfa,
                                    kRxe,
                                    kTiny};
static_assert(k4x == Personality{}.active_width);

}  // namespace

const Personality* personality_named(std::string_view name) {
  for (const Personality& each : kPersonalities)
    if (each.name == name) return &each;
  return nullptr;
}

std::string personality_names() {
  std::string names;
  for (const Personality& each : kPersonalities)
    names += std::string(names.empty() ? "" : ", ") + std::string(each.name);
  return names;
}

}  // namespace rdmameter::software
