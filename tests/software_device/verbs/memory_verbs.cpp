// SPDX-License-Identifier: Apache-2.0
// Protection domains, memory regions, memory windows, device memory.
#include <sys/mman.h>

#include <cstring>

#include "tests/software_device/device/control_call.h"
#include "tests/software_device/device/personality.h"
#include "tests/software_device/device/request_log.h"
#include "tests/software_device/segment/process.h"
#include "tests/software_device/verbs/objects.h"
#include "tests/software_device/wire/gpu_bytes.h"
#include "tests/software_device/wire/keys.h"
#include "tests/software_device/wire/request.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

namespace rdmameter::software {
namespace {

constexpr std::size_t kPageBytes = 4096;

std::atomic<std::uint32_t> next_pd{0};

struct Dm : ibv_dm {
  std::byte* data = nullptr;
  std::size_t length = 0;
};
struct Mw : ibv_mw {};

Dm& to_dm(ibv_dm* dm) {
  return *static_cast<Dm*>(dm);
}
Mr& to_mr(ibv_mr* mr) {
  return *static_cast<Mr*>(mr);
}
/// PDs of different processes may have the same number: what opens memory is the key.
std::uint32_t new_pd() {
  return own_process() << 24 | (++next_pd & 0xffffff);
}

bool lacks_local_write(unsigned access) {
  return (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 &&
         (access & IBV_ACCESS_LOCAL_WRITE) == 0;
}

ibv_mr* register_memory(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                        unsigned access) {
  const ControlCall call(Verb::reg_mr, length / kPageBytes);
  if (call.error() != 0) return fail<ibv_mr>(call.error());
  if (!known_rights(access) || lacks_local_write(access)) return fail<ibv_mr>(EINVAL);
  const Personality& device = personality(device_of(pd->context));
  if ((access & IBV_ACCESS_ON_DEMAND) != 0 && device.on_demand_paging.general_caps == 0)
    return fail<ibv_mr>(EOPNOTSUPP);
  if (opens_memory(access) && !device.remote_rights) return fail<ibv_mr>(EOPNOTSUPP);
  const std::uint32_t key = make_key({.pd = pd->handle,
                                      .access = access,
                                      .iova = (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : iova,
                                      .length = length,
                                      .host = reinterpret_cast<std::uint64_t>(address)});
  if (key == 0) return fail<ibv_mr>(ENOMEM);
  auto* const mr = new Mr;
  mr->context = pd->context;
  mr->pd = pd;
  mr->addr = address;
  mr->length = length;
  mr->handle = key >> 8;
  mr->lkey = mr->rkey = key;
  ++to_ours(pd).users;
  log_request("relaxed_ordering", 0, (access & IBV_ACCESS_RELAXED_ORDERING) != 0);
  return mr;
}

std::size_t whole_pages(std::size_t length) {
  return (length + kPageBytes - 1) / kPageBytes * kPageBytes;
}
/// The device maps the file for itself, as it has DMA to the pages of a dma-buf.
ibv_mr* register_file(ibv_pd* pd, int fd, std::uint64_t offset, std::size_t length,
                      std::uint64_t iova, unsigned access) {
  const std::size_t before = offset % kPageBytes, bytes = before + length;
  void* const pages = mmap(nullptr, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                           static_cast<off_t>(offset - before));
  if (pages == MAP_FAILED) {  // as that of a real GPU
    if (!note_gpu_memory(iova, length)) return nullptr;
    return register_memory(pd, reinterpret_cast<void*>(iova), length, iova, access);
  }
  ibv_mr* const mr =
      register_memory(pd, static_cast<std::byte*>(pages) + before, length, iova, access);
  if (mr == nullptr) return munmap(pages, whole_pages(bytes)), nullptr;
  to_mr(mr).pages = pages;
  to_mr(mr).page_bytes = whole_pages(bytes);
  mr->addr = reinterpret_cast<void*>(iova);
  return mr;
}
/// As a kernel with modules by which GPUs' drivers tell it of their memory.
ibv_mr* register_address(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                         unsigned access) {
  if (const auto part = fake_gpu_part(reinterpret_cast<std::uint64_t>(address), length))
    return register_file(pd, part->file, part->offset, length, iova, access);
  note_gpu_memory(reinterpret_cast<std::uint64_t>(address), length);  // of a real GPU
  return register_memory(pd, address, length, iova, access);
}

ibv_mr* alloc_null_mr(ibv_pd* pd) {
  return register_memory(pd, nullptr, 0, 0, 0);
}
/// Advice only: there is nothing to prefetch.
int advise_mr(ibv_pd* /*pd*/, ibv_advise_mr_advice /*advice*/, std::uint32_t /*flags*/,
              ibv_sge* /*sges*/, std::uint32_t /*count*/) {
  return EOPNOTSUPP;
}

bool within(const Dm& dm, std::uint64_t offset, std::size_t length) {
  return offset <= dm.length && length <= dm.length - offset;
}
/// Of words alone (rdma-core, providers/mlx5/verbs.c, mlx5_access_dm()).
bool copies(const Dm& dm, std::uint64_t offset, std::size_t length) {
  return within(dm, offset, length) && (offset | length) % 4 == 0;
}
int copy_to_dm(ibv_dm* dm, std::uint64_t offset, const void* from, std::size_t length) {
  if (!copies(to_dm(dm), offset, length)) return EINVAL;
  std::memcpy(to_dm(dm).data + offset, from, length);
  return 0;
}
int copy_from_dm(void* to, ibv_dm* dm, std::uint64_t offset, std::size_t length) {
  if (!copies(to_dm(dm), offset, length)) return EINVAL;
  std::memcpy(to, to_dm(dm).data + offset, length);
  return 0;
}
ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attributes) {
  if (personality(device_of(context)).max_dm_bytes == 0) return fail<ibv_dm>(EOPNOTSUPP);
  if (attributes->length == 0 || attributes->length > personality(device_of(context)).max_dm_bytes)
    return fail<ibv_dm>(EINVAL);
  void* const data = mmap(nullptr, whole_pages(attributes->length), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return fail<ibv_dm>(ENOMEM);
  auto* const dm = new Dm;
  dm->data = static_cast<std::byte*>(data);
  dm->length = attributes->length;
  dm->context = context;
  dm->memcpy_to_dm = copy_to_dm;
  dm->memcpy_from_dm = copy_from_dm;
  return dm;
}
int free_dm(ibv_dm* dm) {
  munmap(to_dm(dm).data, whole_pages(to_dm(dm).length));
  delete static_cast<Dm*>(dm);
  return 0;
}
ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length,
                  unsigned access) {
  // As real devices do, it has no addresses: each region of it begins at 0. What else is taken:
  // Linux, hw/mlx5/mlx5_ib.h, MLX5_IB_DM_MEMIC_ALLOWED_ACCESS.
  constexpr unsigned kTaken = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                              IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                              IBV_ACCESS_ZERO_BASED;
  if (!within(to_dm(dm), offset, length) || (access & IBV_ACCESS_ZERO_BASED) == 0 ||
      (access & ~kTaken) != 0)
    return fail<ibv_mr>(EINVAL);
  return register_memory(pd, to_dm(dm).data + offset, length, 0, access);
}

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  const ControlCall call(Verb::alloc_mw);
  if (call.error() != 0) return fail<ibv_mw>(call.error());
  const Personality& device = personality(device_of(pd->context));
  if (!device.memory_windows || !device.allocates_windows) return fail<ibv_mw>(EOPNOTSUPP);
  const std::uint32_t key = make_key({});
  if (key == 0) return fail<ibv_mw>(ENOMEM);
  auto* const mw = new Mw;
  mw->context = pd->context;
  mw->pd = pd;
  mw->rkey = key;
  mw->handle = key >> 8;
  mw->type = type;
  ++to_ours(pd).users;
  return mw;
}
int dealloc_mw(ibv_mw* mw) {
  const ControlCall call(Verb::dealloc_mw);
  if (call.error() != 0) return call.error();
  --to_ours(mw->pd).users;
  revoke_key(mw->rkey);
  delete static_cast<Mw*>(mw);
  return 0;
}
/// A window of type 1 is bound by a request that the library makes.
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
  if (mw->type != IBV_MW_TYPE_1) return EINVAL;
  ibv_send_wr wr{};
  wr.wr_id = bind->wr_id;
  wr.opcode = IBV_WR_BIND_MW;
  wr.send_flags = bind->send_flags;
  wr.bind_mw = {mw, ibv_inc_rkey(mw->rkey), bind->bind_info};
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(qp, &wr, &bad);
  if (error == 0) mw->rkey = wr.bind_mw.rkey;
  return error;
}

/// A parent domain is a domain with a thread domain in it: its queues are for one thread at a time.
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes) {
  if (!personality(device_of(context)).thread_domains) return fail<ibv_pd>(EOPNOTSUPP);
  if (attributes->pd == nullptr || to_ours(attributes->pd).parent != nullptr)
    return fail<ibv_pd>(EINVAL);
  auto* const made = new Pd{};
  made->context = context;
  made->handle = attributes->pd->handle;  // keys of the parent are good in it
  made->parent = &to_ours(attributes->pd);
  ++made->parent->users;
  if (attributes->td != nullptr) {
    made->td = &to_ours(attributes->td);
    ++made->td->users;
  }
  return made;
}
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* /*attributes*/) {
  if (!personality(device_of(context)).thread_domains) return fail<ibv_td>(EOPNOTSUPP);
  const ControlCall call(Verb::alloc_td);
  if (call.error() != 0) return fail<ibv_td>(call.error());
  auto* const made = new Td{};
  made->context = context;
  return made;
}
int dealloc_td(ibv_td* td) {
  if (to_ours(td).users.load() != 0) return EBUSY;
  delete &to_ours(td);
  return 0;
}

}  // namespace

void OneAtATime::end(const char* what) {
  die(what);
}

void set_memory_operations(verbs_context& verbs) {
  verbs.advise_mr = advise_mr;
  verbs.alloc_null_mr = alloc_null_mr;
  verbs.alloc_dm = alloc_dm;
  verbs.free_dm = free_dm;
  verbs.reg_dm_mr = reg_dm_mr;
  verbs.alloc_parent_domain = alloc_parent_domain;
  verbs.alloc_td = alloc_td;
  verbs.dealloc_td = dealloc_td;
  verbs.context.ops.alloc_mw = alloc_mw;
  verbs.context.ops.dealloc_mw = dealloc_mw;
  verbs.context.ops.bind_mw = bind_mw;
}

}  // namespace rdmameter::software

using namespace rdmameter::software;

extern "C" {

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  const ControlCall call(Verb::alloc_pd);
  if (call.error() != 0) return fail<ibv_pd>(call.error());
  auto* const pd = new Pd{};
  pd->context = context;
  pd->handle = new_pd();
  return pd;
}
int ibv_dealloc_pd(ibv_pd* pd) {
  const ControlCall call(Verb::dealloc_pd);
  if (call.error() != 0) return call.error();
  if (to_ours(pd).users.load() != 0) return EBUSY;
  if (to_ours(pd).parent != nullptr) --to_ours(pd).parent->users;
  if (to_ours(pd).td != nullptr) --to_ours(pd).td->users;
  delete &to_ours(pd);
  return 0;
}

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  return register_address(pd, address, length, reinterpret_cast<std::uint64_t>(address),
                          static_cast<unsigned>(access));
}
ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                        int access) {
  return register_address(pd, address, length, iova, static_cast<unsigned>(access));
}
ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                         unsigned access) {
  return register_address(pd, address, length, iova, access);
}
int ibv_dereg_mr(ibv_mr* mr) {
  const ControlCall call(Verb::dereg_mr);
  if (call.error() != 0) return call.error();
  revoke_key(mr->lkey);
  --to_ours(mr->pd).users;
  forget_gpu_memory(reinterpret_cast<std::uint64_t>(mr->addr));
  if (to_mr(mr).pages != nullptr) munmap(to_mr(mr).pages, to_mr(mr).page_bytes);
  delete &to_mr(mr);
  return 0;
}

int ibv_rereg_mr(ibv_mr* /*mr*/, int /*flags*/, ibv_pd* /*pd*/, void* /*address*/,
                 std::size_t /*length*/, int /*access*/) {
  return errno = EOPNOTSUPP, IBV_REREG_MR_ERR_INPUT;
}
ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                          int fd, int access) {
  if (!personality(device_of(pd->context)).dmabuf) return fail<ibv_mr>(EOPNOTSUPP);
  if (iova % kPageBytes != offset % kPageBytes) return fail<ibv_mr>(EINVAL);
  return register_file(pd, fd, offset, length, iova, static_cast<unsigned>(access));
}
ibv_pd* ibv_import_pd(ibv_context* /*context*/, std::uint32_t /*handle*/) {
  return fail<ibv_pd>(EOPNOTSUPP);
}
void ibv_unimport_pd(ibv_pd* /*pd*/) {}
ibv_mr* ibv_import_mr(ibv_pd* /*pd*/, std::uint32_t /*handle*/) {
  return fail<ibv_mr>(EOPNOTSUPP);
}
void ibv_unimport_mr(ibv_mr* /*mr*/) {}
ibv_dm* ibv_import_dm(ibv_context* /*context*/, std::uint32_t /*handle*/) {
  return fail<ibv_dm>(EOPNOTSUPP);
}
void ibv_unimport_dm(ibv_dm* /*dm*/) {}

}  // extern "C"
