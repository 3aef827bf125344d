// SPDX-License-Identifier: Apache-2.0
// Completion queues, polling through both interfaces, completion channels and their events.
#include <sys/eventfd.h>
#include <unistd.h>

#include <ctime>
#include <mutex>

#include "tests/software_device/device/control_call.h"
#include "tests/software_device/device/faults.h"
#include "tests/software_device/device/personality.h"
#include "tests/software_device/segment/clock.h"
#include "tests/software_device/verbs/objects.h"
#include "tests/software_device/wire/wire.h"

namespace rdmameter::software {
namespace {

constexpr const char* kTwoThreads = "a CQ for a single thread was polled by two at once";

ibv_wc to_wc(const Cqe& cqe) {
  ibv_wc wc{};
  wc.wr_id = cqe.wr_id;
  wc.status = cqe.status;
  wc.opcode = cqe.opcode;
  wc.byte_len = cqe.byte_len;
  wc.imm_data = cqe.imm_or_key;
  wc.qp_num = cqe.qpn;
  wc.src_qp = cqe.src_qp;
  wc.wc_flags = cqe.flags;
  return wc;
}

bool is_held(const Cq& cq) {
  const std::uint64_t until_ns = cq.held_until_ns.load(std::memory_order_relaxed);
  return until_ns != 0 && now_ns() < until_ns;
}

/// take(), of a CQ that a fault may hold.
bool take_unless_held(Cq& cq, Cqe& cqe) {
  if (is_held(cq) || !take(*cq.shared, cqe)) return false;
  if ((cqe.opcode & IBV_WC_RECV) != 0)
    if (const std::uint64_t hold_ns = hold_after_receive(++cq.polled_receives); hold_ns != 0)
      cq.held_until_ns.store(now_ns() + hold_ns, std::memory_order_relaxed);
  return true;
}

int poll_cq(ibv_cq* cq, int most, ibv_wc* completions) {
  if (const int error = begin_call(Verb::poll_cq).error; error != 0) return -error;
  SharedCq& shared = *to_ours(cq).shared;
  const OneAtATime alone(to_ours(cq).busy, to_ours(cq).single_threaded, kTwoThreads);
  if (!to_ours(cq).single_threaded || personality(device_of(cq->context)).polls_with_lock)
    spend_lock();
  poll_wire();
  if (shared.ring.empty() && !shared.overrun.load(std::memory_order_relaxed)) return 0;
  const std::lock_guard locked(shared.ring.consumers);
  int count = 0;
  for (Cqe cqe; count < most && take_unless_held(to_ours(cq), cqe); ++count)
    completions[count] = to_wc(cqe);
  shared.ring.rewind_if_empty();
  return count;
}

int req_notify_cq(ibv_cq* cq, int solicited_only) {
  arm(*to_ours(cq).shared, solicited_only != 0);
  return 0;
}

int next_poll(ibv_cq_ex* cq) {
  Cq& ours = to_ours(cq);
  if (!take_unless_held(ours, ours.current)) return ENOENT;
  cq->wr_id = ours.current.wr_id;
  cq->status = ours.current.status;
  return 0;
}
/// The consumers' lock is held from here to end_poll(), unless there is nothing.
int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attributes) {
  if (attributes != nullptr && attributes->comp_mask != 0) return EINVAL;
  if (const int error = begin_call(Verb::poll_cq).error; error != 0) return error;
  if (!to_ours(cq).single_threaded) spend_lock();
  SharedLock& lock = to_ours(cq).shared->ring.consumers;
  poll_wire();
  lock.lock();
  const int result = next_poll(cq);
  if (result != 0) lock.unlock();
  return result;
}
void end_poll(ibv_cq_ex* cq) {
  to_ours(cq).shared->ring.consumers.unlock();
}

template <auto Member>
auto read_current(ibv_cq_ex* cq) {
  return to_ours(cq).current.*Member;
}
template <class Result>
Result read_nothing(ibv_cq_ex* /*cq*/) {
  return 0;
}
std::uint64_t read_timestamp(ibv_cq_ex* cq) {
  return clock_ticks(personality(device_of(cq->context)), to_ours(cq).current.timestamp_ns);
}
std::uint64_t read_wallclock_ns(ibv_cq_ex* cq) {
  timespec wall{}, steady{};
  clock_gettime(CLOCK_REALTIME, &wall);
  clock_gettime(CLOCK_MONOTONIC, &steady);
  const auto nanoseconds = [](const timespec& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
  };
  return to_ours(cq).current.timestamp_ns + nanoseconds(wall) - nanoseconds(steady);
}

void set_extended_polling(ibv_cq_ex& cq) {
  cq.start_poll = start_poll;
  cq.next_poll = next_poll;
  cq.end_poll = end_poll;
  cq.read_opcode = read_current<&Cqe::opcode>;
  cq.read_vendor_err = read_nothing<std::uint32_t>;
  cq.read_byte_len = read_current<&Cqe::byte_len>;
  cq.read_imm_data = read_current<&Cqe::imm_or_key>;
  cq.read_qp_num = read_current<&Cqe::qpn>;
  cq.read_src_qp = read_current<&Cqe::src_qp>;
  cq.read_wc_flags = read_current<&Cqe::flags>;
  cq.read_slid = read_nothing<std::uint32_t>;
  cq.read_sl = read_nothing<std::uint8_t>;
  cq.read_dlid_path_bits = read_nothing<std::uint8_t>;
  cq.read_completion_ts = read_timestamp;
  cq.read_completion_wallclock_ns = read_wallclock_ns;
}

void join_channel(Cq& cq, Channel& channel) {
  cq.channel = &channel;
  cq.shared->event = {own_process(), channel.fd, channel.id};
  const std::lock_guard locked(channel.mutex);
  channel.cqs.push_back(&cq);
  ++channel.refcnt;
}
void leave_channel(Cq& cq) {
  const std::lock_guard locked(cq.channel->mutex);
  cq.channel->cqs.remove(&cq);
  --cq.channel->refcnt;
}

Cq* create(ibv_context* context, std::uint32_t entries, void* cq_context, ibv_comp_channel* channel,
           std::uint32_t vector) {
  const ControlCall call(Verb::create_cq);
  if (call.error() != 0) return fail<Cq>(call.error());
  if (entries < 1 || entries > personality(device_of(context)).max_cqe ||
      vector >= static_cast<std::uint32_t>(context->num_comp_vectors))
    return fail<Cq>(EINVAL);
  const Offset<SharedCq> shared = make_cq(entries);
  if (!shared) return fail<Cq>(ENOMEM);
  auto* const cq = new Cq;
  cq->shared = shared;
  cq->base.context = context;
  cq->base.cq_context = cq_context;
  cq->base.channel = channel;
  cq->base.cqe = static_cast<int>(entries);
  pthread_mutex_init(&cq->base.mutex, nullptr);
  pthread_cond_init(&cq->base.cond, nullptr);
  if (channel != nullptr) join_channel(*cq, *static_cast<Channel*>(channel));
  return cq;
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
  constexpr std::uint64_t kNotHere =
      IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_FLOW_TAG | IBV_WC_EX_WITH_TM_INFO;
  constexpr std::uint64_t kTimes =
      IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
  const Personality& device = personality(device_of(context));
  if (!device.extended_polling || (attributes->wc_flags & kNotHere) != 0 ||
      ((attributes->wc_flags & kTimes) != 0 && (device.timestamp_mask == 0 || !device.gives_times)))
    return fail<ibv_cq_ex>(EOPNOTSUPP);
  const std::uint32_t mask = attributes->comp_mask;
  if ((mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0 &&
      to_ours(attributes->parent_domain).parent == nullptr)
    return fail<ibv_cq_ex>(EINVAL);
  const bool single = (mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 &&
                      (attributes->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0;
  if (single && !device.thread_domains) return fail<ibv_cq_ex>(EOPNOTSUPP);
  Cq* const cq = create(context, attributes->cqe, attributes->cq_context, attributes->channel,
                        attributes->comp_vector);
  if (cq == nullptr) return nullptr;
  if (single) cq->single_threaded = true;
  cq->shared->with_timestamps = (attributes->wc_flags & kTimes) != 0;
  set_extended_polling(cq->base);
  return &cq->base;
}

int modify_cq(ibv_cq* /*cq*/, ibv_modify_cq_attr* /*attributes*/) {
  return EOPNOTSUPP;  // no moderation of events
}

/// The next CQ in turn with an event, with the channel's mutex held.
Cq* take_event(Channel& channel) {
  for (auto it = channel.cqs.begin(); it != channel.cqs.end(); ++it) {
    if ((*it)->shared->pending_events.load() == 0) continue;
    (*it)->shared->pending_events.fetch_sub(1);
    channel.cqs.splice(channel.cqs.end(), channel.cqs, it);
    return channel.cqs.back();
  }
  return nullptr;
}

}  // namespace

void set_completion_operations(verbs_context& verbs) {
  verbs.create_cq_ex = create_cq_ex;
  verbs.modify_cq = modify_cq;
  verbs.context.ops.poll_cq = poll_cq;
  verbs.context.ops.req_notify_cq = req_notify_cq;
}

}  // namespace rdmameter::software

using namespace rdmameter::software;

extern "C" {

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context,
                      ibv_comp_channel* channel, int vector) {
  Cq* const cq = entries < 1 || vector < 0
                     ? fail<Cq>(EINVAL)
                     : create(context, static_cast<std::uint32_t>(entries), cq_context, channel,
                              static_cast<std::uint32_t>(vector));
  return cq == nullptr ? nullptr : ibv_cq_ex_to_cq(&cq->base);
}
int ibv_destroy_cq(ibv_cq* cq) {
  const ControlCall call(Verb::destroy_cq);
  if (call.error() != 0) return call.error();
  Cq& ours = to_ours(cq);
  if (ours.users.load() != 0) return EBUSY;
  if (ours.channel != nullptr) leave_channel(ours);
  destroy_cq(ours.shared);
  pthread_mutex_destroy(&ours.base.mutex);
  pthread_cond_destroy(&ours.base.cond);
  delete &ours;
  return 0;
}
int ibv_resize_cq(ibv_cq* /*cq*/, int /*entries*/) {
  return EOPNOTSUPP;
}

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  const int fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  if (fd < 0) return nullptr;
  auto* const channel = new Channel;
  channel->context = context;
  channel->fd = fd;
  channel->refcnt = 0;
  channel->id = new_channel_id();
  return channel;
}
int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  if (channel->refcnt != 0) return EBUSY;
  close(channel->fd);
  delete static_cast<Channel*>(channel);
  return 0;
}
int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  Channel& ours = *static_cast<Channel*>(channel);
  for (;;) {
    std::uint64_t one = 0;
    if (read(channel->fd, &one, sizeof one) != sizeof one) return -1;
    const std::lock_guard locked(ours.mutex);
    Cq* const raised = take_event(ours);
    if (raised == nullptr) continue;  // its CQ has been destroyed
    *cq = ibv_cq_ex_to_cq(&raised->base);
    *cq_context = raised->base.cq_context;
    return 0;
  }
}
void ibv_ack_cq_events(ibv_cq* cq, unsigned count) {
  pthread_mutex_lock(&cq->mutex);
  cq->comp_events_completed += count;
  pthread_mutex_unlock(&cq->mutex);
}

}  // extern "C"
