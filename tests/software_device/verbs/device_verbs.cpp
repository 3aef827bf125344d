// SPDX-License-Identifier: Apache-2.0
// Devices, contexts, and what can be asked of them.
#include <endian.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/software_device/device/async_events.h"
#include "tests/software_device/device/personality.h"
#include "tests/software_device/device/settings.h"
#include "tests/software_device/segment/clock.h"
#include "tests/software_device/system/interfaces.h"
#include "tests/software_device/verbs/objects.h"

#undef ibv_query_port

namespace rdmameter::software {
namespace {

/// Bytes around a context that other libraries may look at before they find that it is not theirs.
constexpr std::size_t kAroundContext = 8192;
constexpr std::uint8_t kPort = 1;

std::array<Device, kDevices>& all_devices() {
  static auto* const made = [] {
    auto* const devices = new std::array<Device, kDevices>;
    for (std::uint32_t i = 0; i < kDevices; ++i) {
      Device& device = (*devices)[i];
      ibv_device& base = device.base;
      device.index = i;
      const char* const name = settings().names[i].c_str();
      std::snprintf(base.name, sizeof base.name, "%s", name);
      std::snprintf(base.dev_name, sizeof base.dev_name, "uverbs-soft%u", i);
      std::snprintf(base.dev_path, sizeof base.dev_path,
                    "/sys/class/infiniband_verbs/uverbs-soft%u", i);
      std::snprintf(base.ibdev_path, sizeof base.ibdev_path, "/sys/class/infiniband/%s", name);
    }
    return devices;
  }();
  return *made;
}

ibv_node_type node_type(ibv_transport_type transport) {
  switch (transport) {
    case IBV_TRANSPORT_IWARP:
      return IBV_NODE_RNIC;
    case IBV_TRANSPORT_UNSPECIFIED:
      return IBV_NODE_UNSPECIFIED;
    default:
      return IBV_NODE_CA;
  }
}

std::uint16_t pkey_count(const Personality& device) {
  return static_cast<std::uint16_t>(
      std::ranges::count_if(device.pkeys, [](std::uint16_t pkey) { return pkey != 0; }));
}

/// @return 0: there is none
std::uint16_t pkey_at(ibv_context* context, int index) {
  const auto& pkeys = personality(device_of(context)).pkeys;
  const auto at = static_cast<std::size_t>(index);
  return index >= 0 && at < pkeys.size() ? pkeys[at] : std::uint16_t{0};
}

ibv_device_attr device_attributes(std::uint32_t device) {
  const Personality& says = personality(device);
  ibv_device_attr made{};
  std::snprintf(made.fw_ver, sizeof made.fw_ver, "%.*s", static_cast<int>(says.firmware.size()),
                says.firmware.data());
  made.node_guid = made.sys_image_guid = device_guid(device);
  made.max_mr_size = ~std::uint64_t{0};
  made.page_size_cap = ~std::uint64_t{4095};
  made.vendor_id = says.vendor_id;
  made.vendor_part_id = says.part_id;
  made.max_qp = static_cast<int>(says.max_qp);
  made.max_qp_wr = static_cast<int>(says.max_qp_wr);
  made.device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SYS_IMAGE_GUID;
  if (says.memory_windows)
    made.device_cap_flags |= IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  made.max_sge = static_cast<int>(std::min(says.max_sge, says.most_recv_sge()));
  made.max_sge_rd = made.max_srq_sge = made.max_sge;
  made.max_cq = static_cast<int>(says.max_cq);
  made.max_cqe = static_cast<int>(says.max_cqe);
  made.max_mr = static_cast<int>(says.max_mr);
  made.max_mw = says.memory_windows ? made.max_mr : 0;
  made.max_pd = static_cast<int>(says.max_pd);
  made.max_qp_rd_atom = says.max_rd_atomic;
  made.max_qp_init_rd_atom = says.max_init_rd_atomic;
  made.max_res_rd_atom = made.max_qp_rd_atom * made.max_qp;
  made.atomic_cap = says.atomics;
  made.max_ah = static_cast<int>(says.max_ah);
  made.max_srq = static_cast<int>(says.max_srq);
  made.max_srq_wr = static_cast<int>(says.max_srq_wr);
  made.max_pkeys = pkey_count(says);
  made.max_mcast_grp = static_cast<int>(says.max_multicast_groups);
  made.max_mcast_qp_attach = static_cast<int>(says.max_multicast_qps);
  made.max_total_mcast_qp_attach = made.max_mcast_grp * made.max_mcast_qp_attach;
  made.phys_port_cnt = 1;
  return made;
}

/// Copies as much of a struct as the caller's version of it has.
template <class Struct>
void copy_known(void* to, std::size_t size, const Struct& from) {
  std::memset(to, 0, size);
  std::memcpy(to, &from, std::min(size, sizeof from));
}

/// Linux, include/uapi/rdma/ib_user_verbs.h: IB_UVERBS_DEVICE_FLUSH_GLOBAL, ..._ATOMIC_WRITE
constexpr std::uint64_t kFlushGlobal = std::uint64_t{1} << 38,
                        kAtomicWrite = std::uint64_t{1} << 40;

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* /*input*/,
                    ibv_device_attr_ex* attributes, std::size_t size) {
  const std::uint32_t device = device_of(context);
  ibv_device_attr_ex made{};
  made.orig_attr = device_attributes(device);
  const Personality& says = personality(device);
  made.odp_caps = says.on_demand_paging;
  if (says.memory_placement) made.device_cap_flags_ex = kFlushGlobal | kAtomicWrite;
  made.completion_timestamp_mask = says.timestamp_mask;
  made.hca_core_clock = says.clock_kHz;
  made.max_dm_size = says.max_dm_bytes;
  made.phys_port_cnt_ex = 1;
  copy_known(attributes, size, made);
  return 0;
}

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes,
               std::size_t size) {
  constexpr std::uint8_t kLinkUp = 5;
  if (port != kPort) return EINVAL;
  const std::uint32_t device = device_of(context);
  const Personality& says = personality(device);
  ibv_port_attr made{};
  made.state = says.port_state;
  made.max_mtu = says.max_mtu;
  made.active_mtu = says.active_mtu;
  made.gid_tbl_len = kGids;
  made.port_cap_flags = IBV_PORT_CM_SUP | (says.ethernet() ? IBV_PORT_IP_BASED_GIDS : 0);
  made.max_msg_sz = says.tells_max_message ? says.max_message_bytes : 0;
  made.pkey_tbl_len = pkey_count(says);
  made.lid = device_lid(device);
  if (made.lid != 0) made.lid = static_cast<std::uint16_t>(made.lid + lid_moved_by());
  made.sm_lid = says.infiniband() ? 1 : 0;
  made.max_vl_num = 1;
  made.active_width = says.active_width;
  made.active_speed = says.active_speed;
  made.phys_state = kLinkUp;
  made.link_layer = static_cast<std::uint8_t>(says.link_layer);
  made.flags = says.grh_required ? IBV_QPF_GRH_REQUIRED : 0;
  copy_known(attributes, size, made);
  return 0;
}

/// The raw clock is in ticks, all of them in tv_nsec (ibv_query_rt_values_ex(3)).
int query_rt_values(ibv_context* context, ibv_values_ex* values) {
  const Personality& says = personality(device_of(context));
  if (says.timestamp_mask == 0 || !says.gives_times) return EOPNOTSUPP;
  if ((values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) != 0)
    values->raw_clock = {0, static_cast<long>(clock_ticks(says, now_ns()))};
  values->comp_mask &= IBV_VALUES_MASK_RAW_CLOCK;
  return 0;
}

void set_device_operations(verbs_context& verbs) {
  verbs.query_port = query_port;
  verbs.query_device_ex = query_device_ex;
  verbs.query_rt_values = query_rt_values;
}

Context* make_context(Device& device) {
  void* const room = std::calloc(1, sizeof(Context) + 2 * kAroundContext);
  if (room == nullptr) return nullptr;
  auto* const made = new (static_cast<std::byte*>(room) + kAroundContext) Context;
  made->device = device.index;
  verbs_context& verbs = made->verbs;
  verbs.sz = sizeof verbs;
  set_device_operations(verbs);
  set_memory_operations(verbs);
  set_completion_operations(verbs);
  set_queue_pair_operations(verbs);
  ibv_context& context = verbs.context;
  context.device = &device.base;
  context.cmd_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  context.async_fd = open_events();
  context.num_comp_vectors = personality(device.index).completion_vectors;
  pthread_mutex_init(&context.mutex, nullptr);
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  return made;
}

/// iWARP's ports have one of their own, as IPoIB has, which no GID names; RoCE's have lo.
std::uint32_t interface_of(std::uint32_t device) {
  if (personality(device).transport == IBV_TRANSPORT_IWARP) return kFirstInterface + device;
  return personality(device).ethernet() ? 1 : 0;
}

}  // namespace
}  // namespace rdmameter::software

using namespace rdmameter::software;

extern "C" {

/// Declared by the headers of rdma-core 62 and later.
int ibv_query_port_speed(ibv_context* context, std::uint32_t port, std::uint64_t* speed);

ibv_device** ibv_get_device_list(int* count) {
  auto** const list =
      static_cast<ibv_device**>(std::calloc(device_count() + 1, sizeof(ibv_device*)));
  if (list == nullptr) return fail<ibv_device*>(ENOMEM);
  for (std::uint32_t i = 0; i < device_count(); ++i) {
    list[i] = &all_devices()[i].base;
    list[i]->transport_type = personality(i).transport;
    list[i]->node_type = node_type(personality(i).transport);
  }
  if (count != nullptr) *count = static_cast<int>(device_count());
  return list;
}
void ibv_free_device_list(ibv_device** list) {
  std::free(list);
}
const char* ibv_get_device_name(ibv_device* device) {
  return device->name;
}
int ibv_get_device_index(ibv_device* device) {
  return static_cast<int>(to_ours(device).index);
}
__be64 ibv_get_device_guid(ibv_device* device) {
  return device_guid(to_ours(device).index);
}

ibv_context* ibv_open_device(ibv_device* device) {
  if (!personality(to_ours(device).index).opens) return fail<ibv_context>(EACCES);
  if (const int error = attach(); error != 0) return fail<ibv_context>(error);
  Context* const made = make_context(to_ours(device));
  return made != nullptr ? &made->verbs.context : fail<ibv_context>(ENOMEM);
}
int ibv_close_device(ibv_context* context) {
  close(context->cmd_fd);
  close_events(context->async_fd);
  pthread_mutex_destroy(&context->mutex);
  std::free(reinterpret_cast<std::byte*>(&to_ours(*context)) - kAroundContext);
  return 0;
}

int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  *attributes = device_attributes(device_of(context));
  return 0;
}
int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attributes) {
  return query_port(context, port, reinterpret_cast<ibv_port_attr*>(attributes),
                    offsetof(ibv_port_attr, flags));
}

int ibv_query_port_speed(ibv_context* context, std::uint32_t port, std::uint64_t* speed) {
  const std::uint64_t told = personality(device_of(context)).port_speed_100_mbps;
  if (port != kPort) return EINVAL;
  if (told == 0) return EOPNOTSUPP;
  *speed = told;
  return 0;
}

int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  if (port != kPort || index < 0 || static_cast<std::uint32_t>(index) >= kGids)
    return errno = EINVAL, -1;
  const auto entry = gid_at(device_of(context), static_cast<std::uint32_t>(index));
  *gid = entry ? entry->gid : ibv_gid{};
  return 0;
}
int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index,
                      ibv_gid_entry* entry, std::uint32_t /*flags*/, std::size_t size) {
  if (port != kPort || index >= kGids) return EINVAL;
  const auto found = gid_at(device_of(context), index);
  if (!found) return ENODATA;
  ibv_gid_entry made{};
  made.gid = found->gid;
  made.gid_index = index;
  made.port_num = port;
  made.gid_type = found->type;
  made.ndev_ifindex = interface_of(device_of(context));
  copy_known(entry, size, made);
  return 0;
}
ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t most,
                             std::uint32_t flags, std::size_t size) {
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < kGids && count < most; ++i) {
    auto* const next = reinterpret_cast<std::byte*>(entries) + count * size;
    if (_ibv_query_gid_ex(context, kPort, i, reinterpret_cast<ibv_gid_entry*>(next), flags, size) ==
        0)
      ++count;
  }
  return static_cast<ssize_t>(count);
}
/// Private to rdma-core, but ibv_devinfo and old perftest use it. 0: InfiniBand or RoCE v1, 1:
/// RoCE v2.
int ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned index, int* type) {
  if (port != kPort || index >= kGids) return errno = EINVAL, -1;
  const auto entry = gid_at(device_of(context), index);
  *type = entry && entry->type == IBV_GID_TYPE_ROCE_V2 ? 1 : 0;
  return 0;
}
int ibv_query_pkey(ibv_context* context, std::uint8_t port, int index, __be16* pkey) {
  if (port != kPort || pkey_at(context, index) == 0 || !personality(device_of(context)).shows_pkeys)
    return errno = EINVAL, -1;
  *pkey = htobe16(pkey_at(context, index));
  return 0;
}
int ibv_get_pkey_index(ibv_context* context, std::uint8_t port, __be16 pkey) {
  if (!personality(device_of(context)).shows_pkeys) return -1;
  for (int index = 0; port == kPort && pkey_at(context, index) != 0; ++index)
    if (htobe16(pkey_at(context, index)) == pkey) return index;
  return -1;
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  const std::optional<ibv_event_type> type = take_event(context->async_fd);
  if (!type) return -1;
  event->event_type = *type;
  event->element.port_num = kPort;
  return 0;
}
void ibv_ack_async_event(ibv_async_event* /*event*/) {}

int ibv_fork_init() {
  return 0;
}
ibv_fork_status ibv_is_fork_initialized() {
  return IBV_FORK_UNNEEDED;
}
ibv_context* ibv_import_device(int /*fd*/) {
  return fail<ibv_context>(EOPNOTSUPP);
}

}  // extern "C"
