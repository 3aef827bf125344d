// SPDX-License-Identifier: Apache-2.0
// Queue pairs, shared receive queues, address handles, and posting to them.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "tests/software_device/device/control_call.h"
#include "tests/software_device/device/personality.h"
#include "tests/software_device/device/request_log.h"
#include "tests/software_device/verbs/objects.h"
#include "tests/software_device/verbs/qp_transition.h"
#include "tests/software_device/wire/multicast.h"
#include "tests/software_device/wire/request.h"
#include "tests/software_device/wire/send_queue.h"
#include "tests/software_device/wire/torn_writes.h"
#include "tests/software_device/wire/wire.h"

namespace rdmameter::software {
namespace {

/// Some providers give a window its new key where others leave that to the program.
void set_window_keys(const ibv_qp& qp, const ibv_send_wr* wr) {
  if (!personality(device_of(qp.context)).sets_window_key) return;
  for (; wr != nullptr; wr = wr->next)
    if (wr->opcode == IBV_WR_BIND_MW) wr->bind_mw.mw->rkey = wr->bind_mw.rkey;
}

int post_send_verb(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  const OneAtATime alone(to_ours(qp).busy, to_ours(qp).single_threaded,
                         "two threads at once posted to a QP of a thread domain");
  if (!to_ours(qp).single_threaded) spend_lock();
  const int error = post_sends(*to_ours(qp).shared, wr, *bad);
  if (error == 0) set_window_keys(*qp, wr);
  return error;
}

/// In the error state receives come back at once.
int post_recv_verb(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  SharedQp& shared = *to_ours(qp).shared;
  if (shared.rq->is_shared || shared.state.load(std::memory_order_relaxed) == IBV_QPS_RESET)
    return *bad = wr, EINVAL;
  spend_receive();
  const int error = post_receives(*shared.rq, wr, *bad);
  if (shared.state.load() == IBV_QPS_ERR) flush_receives(shared);
  return error;
}
int post_srq_recv_verb(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  return post_receives(*to_ours(srq).shared, wr, *bad);
}

bool exceeds(const ibv_qp_cap& wanted, const Personality& device) {
  return wanted.max_send_wr > device.max_qp_wr || wanted.max_recv_wr > device.max_qp_wr ||
         wanted.max_send_sge > device.max_sge || wanted.max_recv_sge > device.most_recv_sge() ||
         wanted.max_inline_data > device.max_inline_bytes;
}

/// What a QP gets for what it asks: no queue without room.
void round_up(ibv_qp_cap& cap, bool has_srq) {
  cap.max_send_wr = std::max(cap.max_send_wr, 1U);
  cap.max_send_sge = std::max(cap.max_send_sge, 1U);
  if (has_srq) {
    cap.max_recv_wr = cap.max_recv_sge = 0;
    return;
  }
  cap.max_recv_wr = std::max(cap.max_recv_wr, 1U);
  cap.max_recv_sge = std::max(cap.max_recv_sge, 1U);
}

/// As mlx5's provider and driver do: of connected QPs, unless its variable says 0 when the QP is
/// made.
bool scatters_to_cqe(const Personality& device, ibv_qp_type type) {
  const char* const value = std::getenv("MLX5_SCATTER_TO_CQE");
  return device.scatters_to_cqe && type != IBV_QPT_UD &&
         (value == nullptr || std::strcmp(value, "0") != 0);
}

void fill_shared(SharedQp& shared, ibv_pd& pd, const Qp& qp) {
  const ibv_qp_init_attr& wanted = qp.made_with;
  shared.device = device_of(pd.context);
  shared.pd = pd.handle;
  shared.type = wanted.qp_type;
  shared.signal_all = wanted.sq_sig_all != 0;
  shared.scatters_to_cqe = scatters_to_cqe(personality(shared.device), wanted.qp_type);
  shared.max_send_wr = wanted.cap.max_send_wr;
  shared.max_send_sge = wanted.cap.max_send_sge;
  shared.max_inline_bytes = wanted.cap.max_inline_data;
  shared.send_cq = to_ours(wanted.send_cq).shared;
  shared.recv_cq = to_ours(wanted.recv_cq).shared;
  if (shared.datagram())
    for (std::uint32_t to = 0; to < kDevices; ++to)
      shared.headers[to] = grh_between(shared.device, to);
  shared.rq = wanted.srq != nullptr ? to_ours(wanted.srq).shared : qp.own_rq;
}

void fill_base(ibv_qp& base, ibv_pd& pd, const Qp& qp) {
  base.context = pd.context;
  base.qp_context = qp.made_with.qp_context;
  base.pd = &pd;
  base.send_cq = qp.made_with.send_cq;
  base.recv_cq = qp.made_with.recv_cq;
  base.srq = qp.made_with.srq;
  base.qp_num = base.handle = qp.shared->qpn;
  base.state = IBV_QPS_RESET;
  base.qp_type = qp.made_with.qp_type;
  pthread_mutex_init(&base.mutex, nullptr);
  pthread_cond_init(&base.cond, nullptr);
}

/// Counts the QP among the users of what it needs, or no longer.
void count_users(const ibv_qp& qp, bool begins) {
  const std::uint32_t change = begins ? 1 : ~std::uint32_t{0};
  to_ours(qp.pd).users += change;
  to_ours(qp.send_cq).users += change;
  to_ours(qp.recv_cq).users += change;
  if (qp.srq != nullptr) to_ours(qp.srq).users += change;
}

Qp* create_qp(ibv_pd* pd, ibv_qp_init_attr& wanted) {
  const ControlCall call(Verb::create_qp);
  if (call.error() != 0) return fail<Qp>(call.error());
  if (pd != nullptr && !personality(device_of(pd->context)).has(wanted.qp_type)) {
    const int error = personality(device_of(pd->context)).missing_type_errno;
    return error == 0 ? nullptr : fail<Qp>(error);
  }
  if (pd != nullptr && personality(device_of(pd->context)).clamps_inline)
    wanted.cap.max_inline_data =
        std::min(wanted.cap.max_inline_data, personality(device_of(pd->context)).max_inline_bytes);
  if (pd == nullptr || wanted.send_cq == nullptr || wanted.recv_cq == nullptr ||
      exceeds(wanted.cap, personality(device_of(pd->context))))
    return fail<Qp>(EINVAL);
  round_up(wanted.cap, wanted.srq != nullptr);
  auto qp = std::make_unique<Qp>();
  qp->made_with = wanted;
  qp->attributes.cap = wanted.cap;
  if (wanted.srq == nullptr) {
    qp->own_rq = make_rq(wanted.cap.max_recv_wr, wanted.cap.max_recv_sge, pd->handle);
    if (!qp->own_rq) return fail<Qp>(ENOMEM);
  }
  qp->shared = make_qp();
  if (!qp->shared) {
    if (qp->own_rq) destroy_rq(qp->own_rq);
    return fail<Qp>(ENOMEM);
  }
  fill_shared(*qp->shared, *pd, *qp);
  fill_base(qp->base.qp_base, *pd, *qp);
  qp->single_threaded = to_ours(pd).td != nullptr;
  count_users(qp->base.qp_base, true);
  publish_qp(*qp->shared);
  return qp.release();
}

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* wanted) {
  constexpr std::uint32_t kKnown = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  if ((wanted->comp_mask & ~kKnown) != 0 || (wanted->comp_mask & IBV_QP_INIT_ATTR_PD) == 0)
    return fail<ibv_qp>(EOPNOTSUPP);
  const Personality& device = personality(device_of(context));
  if ((wanted->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0 &&
      (!device.extended_posting ||
       ((wanted->send_ops_flags & IBV_QP_EX_WITH_ATOMIC_WRITE) != 0 && !device.memory_placement)))
    return fail<ibv_qp>(EOPNOTSUPP);
  ibv_qp_init_attr plain{.qp_context = wanted->qp_context,
                         .send_cq = wanted->send_cq,
                         .recv_cq = wanted->recv_cq,
                         .srq = wanted->srq,
                         .cap = wanted->cap,
                         .qp_type = wanted->qp_type,
                         .sq_sig_all = wanted->sq_sig_all};
  Qp* const qp = create_qp(wanted->pd, plain);
  if (qp == nullptr) return nullptr;
  wanted->cap = plain.cap;
  if ((wanted->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) {
    qp->has_builder = true;
    set_builder_operations(qp->base);
  }
  return &qp->base.qp_base;
}

/// The path's address must be one that this port can send from.
bool path_works(const ibv_ah_attr& path, std::uint32_t device) {
  const bool global = path.is_global != 0;
  if (!global) return !personality(device).grh_required;
  return gid_at(device, path.grh.sgid_index).has_value();
}

/// iWARP's devices know no partitions, and take the index 0.
bool has_pkey(const Personality& port, std::uint16_t index) {
  return index < port.pkeys.size() && (port.pkeys[index] != 0 || index == 0);
}

bool values_work(const ibv_qp_attr& wanted, int mask, std::uint32_t device) {
  const Personality& port = personality(device);
  if ((mask & IBV_QP_PORT) != 0 && wanted.port_num != 1) return false;
  if ((mask & IBV_QP_PKEY_INDEX) != 0 && !has_pkey(port, wanted.pkey_index)) return false;
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0 &&
      (!known_rights(wanted.qp_access_flags) ||
       (opens_memory(wanted.qp_access_flags) && !port.remote_rights)))
    return false;
  if ((mask & IBV_QP_PATH_MTU) != 0 &&
      (wanted.path_mtu < IBV_MTU_256 || wanted.path_mtu > port.active_mtu))
    return false;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0 && wanted.max_rd_atomic > port.max_init_rd_atomic)
    return false;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0 && wanted.max_dest_rd_atomic > port.max_rd_atomic)
    return false;
  if ((mask & IBV_QP_TIMEOUT) != 0 && wanted.timeout > 31) return false;
  if ((mask & IBV_QP_MIN_RNR_TIMER) != 0 && wanted.min_rnr_timer > 31) return false;
  if ((mask & IBV_QP_RETRY_CNT) != 0 && wanted.retry_cnt > 7) return false;
  if ((mask & IBV_QP_RNR_RETRY) != 0 && wanted.rnr_retry > 7) return false;
  return (mask & IBV_QP_AV) == 0 || path_works(wanted.ah_attr, device);
}

/// An iWARP QP is connected by rdma_cm alone.
bool needs_cm(const ibv_qp& qp, ibv_qp_state to) {
  return to == IBV_QPS_RTR && qp.context->device->transport_type == IBV_TRANSPORT_IWARP;
}

/// What ibv_query_qp() tells from now on.
void remember(ibv_qp_attr& known, const ibv_qp_attr& wanted, int mask) {
  const auto take = [&](int bit, auto member) {
    if ((mask & bit) != 0) known.*member = wanted.*member;
  };
  take(IBV_QP_ACCESS_FLAGS, &ibv_qp_attr::qp_access_flags);
  take(IBV_QP_PKEY_INDEX, &ibv_qp_attr::pkey_index);
  take(IBV_QP_PORT, &ibv_qp_attr::port_num);
  take(IBV_QP_QKEY, &ibv_qp_attr::qkey);
  take(IBV_QP_AV, &ibv_qp_attr::ah_attr);
  take(IBV_QP_PATH_MTU, &ibv_qp_attr::path_mtu);
  take(IBV_QP_TIMEOUT, &ibv_qp_attr::timeout);
  take(IBV_QP_RETRY_CNT, &ibv_qp_attr::retry_cnt);
  take(IBV_QP_RNR_RETRY, &ibv_qp_attr::rnr_retry);
  take(IBV_QP_RQ_PSN, &ibv_qp_attr::rq_psn);
  take(IBV_QP_SQ_PSN, &ibv_qp_attr::sq_psn);
  take(IBV_QP_MAX_QP_RD_ATOMIC, &ibv_qp_attr::max_rd_atomic);
  take(IBV_QP_MAX_DEST_RD_ATOMIC, &ibv_qp_attr::max_dest_rd_atomic);
  take(IBV_QP_MIN_RNR_TIMER, &ibv_qp_attr::min_rnr_timer);
  take(IBV_QP_DEST_QPN, &ibv_qp_attr::dest_qp_num);
}

void log_path(std::uint32_t qpn, const ibv_ah_attr& path) {
  log_request("service_level", qpn, path.sl);
  if (path.is_global == 0) return;
  log_request("traffic_class", qpn, path.grh.traffic_class);
  log_request("flow_label", qpn, path.grh.flow_label);
}

/// Into the log: what a QP is given of the axes that programs have.
void log_attributes(std::uint32_t qpn, const ibv_qp_attr& given, int mask) {
  const auto note = [&](int bit, const char* what, std::uint32_t value) {
    if ((mask & bit) != 0) log_request(what, qpn, value);
  };
  if ((mask & IBV_QP_AV) != 0) log_path(qpn, given.ah_attr);
  if ((mask & IBV_QP_PATH_MTU) != 0) log_request("mtu_bytes", qpn, bytes_of(given.path_mtu));
  note(IBV_QP_PKEY_INDEX, "pkey_index", given.pkey_index);
  note(IBV_QP_TIMEOUT, "qp_timeout", given.timeout);
  note(IBV_QP_RETRY_CNT, "retry_count", given.retry_cnt);
  note(IBV_QP_RNR_RETRY, "rnr_retry", given.rnr_retry);
  note(IBV_QP_MIN_RNR_TIMER, "min_rnr_timer", given.min_rnr_timer);
}

/// What the device itself goes by.
void apply(SharedQp& shared, const ibv_qp_attr& known) {
  const ibv_global_route& route = known.ah_attr.grh;
  shared.pkey.store(personality(shared.device).pkeys[known.pkey_index], std::memory_order_relaxed);
  shared.routed.store(
      known.ah_attr.is_global == 0 || routed(shared.device, route.sgid_index, route.dgid),
      std::memory_order_relaxed);
  shared.with_grh.store(known.ah_attr.is_global != 0, std::memory_order_relaxed);
  shared.peer_qpn.store(known.dest_qp_num, std::memory_order_relaxed);
  shared.qkey.store(known.qkey, std::memory_order_relaxed);
  shared.access.store(known.qp_access_flags, std::memory_order_relaxed);
  shared.min_rnr_timer.store(known.min_rnr_timer, std::memory_order_relaxed);
  shared.timeout.store(known.timeout, std::memory_order_relaxed);
  shared.retry_count.store(known.retry_cnt, std::memory_order_relaxed);
  shared.rnr_retry.store(known.rnr_retry, std::memory_order_relaxed);
}

void enter_state(Qp& qp, ibv_qp_state to) {
  SharedQp& shared = *qp.shared;
  qp.base.qp_base.state = to;
  shared.state.store(to);
  if (to == IBV_QPS_RESET) {
    reset_queues(shared);
    qp.attributes = {.cap = qp.attributes.cap};
    apply(shared, qp.attributes);
  }
  if (to == IBV_QPS_ERR) {
    flush_sends(shared);
    flush_receives(shared);
  }
}

ibv_srq* create_srq(ibv_pd* pd, const ibv_srq_attr& wanted, void* srq_context) {
  const ControlCall call(Verb::create_srq);
  if (call.error() != 0) return fail<ibv_srq>(call.error());
  const Personality& device = personality(device_of(pd->context));
  if (wanted.max_wr == 0 || wanted.max_wr > device.max_srq_wr ||
      wanted.max_sge > device.most_recv_sge())
    return fail<ibv_srq>(EINVAL);
  const auto shared = make_rq(wanted.max_wr, std::max(wanted.max_sge, 1U), pd->handle);
  if (!shared) return fail<ibv_srq>(ENOMEM);
  shared->is_shared = true;
  auto* const srq = new Srq{};
  srq->shared = shared;
  srq->context = pd->context;
  srq->srq_context = srq_context;
  srq->pd = pd;
  ++to_ours(pd).users;
  return srq;
}
ibv_srq* create_srq_ex(ibv_context* /*context*/, ibv_srq_init_attr_ex* wanted) {
  const bool basic =
      (wanted->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) == 0 || wanted->srq_type == IBV_SRQT_BASIC;
  if (!basic || (wanted->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0) return fail<ibv_srq>(EOPNOTSUPP);
  return create_srq(wanted->pd, wanted->attr, wanted->srq_context);
}

}  // namespace

void set_queue_pair_operations(verbs_context& verbs) {
  verbs.create_qp_ex = create_qp_ex;
  verbs.create_srq_ex = create_srq_ex;
  verbs.context.ops.post_send = post_send_verb;
  verbs.context.ops.post_recv = post_recv_verb;
  verbs.context.ops.post_srq_recv = post_srq_recv_verb;
}

}  // namespace rdmameter::software

using namespace rdmameter::software;

extern "C" {

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* wanted) {
  Qp* const qp = create_qp(pd, *wanted);
  return qp == nullptr ? nullptr : &qp->base.qp_base;
}
ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  return to_ours(qp).has_builder ? &to_ours(qp).base : nullptr;
}
int ibv_destroy_qp(ibv_qp* qp) {
  const ControlCall call(Verb::destroy_qp);
  if (call.error() != 0) return call.error();
  Qp& ours = to_ours(qp);
  leave_all_groups(qp->qp_num);
  forget_torn_write(qp->qp_num);
  destroy_qp(ours.shared);
  if (ours.own_rq) destroy_rq(ours.own_rq);
  count_users(*qp, false);
  pthread_mutex_destroy(&qp->mutex);
  pthread_cond_destroy(&qp->cond);
  delete &ours;
  return 0;
}

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* wanted, int mask) {
  const ControlCall call(Verb::modify_qp);
  if (call.error() != 0) return call.error();
  Qp& ours = to_ours(qp);
  const ibv_qp_state from = ours.shared->state.load();
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? wanted->qp_state : from;
  if (needs_cm(*qp, to) || !allows(qp->qp_type, from, to, mask) ||
      !values_work(*wanted, mask, device_of(qp->context)))
    return EINVAL;
  remember(ours.attributes, *wanted, mask);
  log_attributes(qp->qp_num, *wanted, mask);
  apply(*ours.shared, ours.attributes);
  if ((mask & IBV_QP_STATE) != 0) enter_state(ours, to);
  return 0;
}
int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int /*mask*/, ibv_qp_init_attr* made_with) {
  const ControlCall call(Verb::query_qp);
  if (call.error() != 0) return call.error();
  const Qp& ours = to_ours(qp);
  *attributes = ours.attributes;
  qp->state = attributes->qp_state = attributes->cur_qp_state = ours.shared->state.load();
  *made_with = ours.made_with;
  return 0;
}
/// 0 also where nothing is known: before the QP can receive, as mlx5 has no context of it to ask.
int ibv_query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode /*opcode*/, std::uint32_t /*flags*/) {
  const SharedQp& shared = *to_ours(qp).shared;
  const auto& paths = settings().wire.paths;
  const bool torn = std::ranges::any_of(paths, [](const auto& from) {
    return std::ranges::any_of(from, [](const Path& path) { return path.torn != 0; });
  });
  const bool promised = personality(shared.device).data_in_order && !torn;
  return promised && shared.state.load() == IBV_QPS_RTS ? 1 : 0;
}
/// mlx5's, the PCI vendor (rdma-core, providers/mlx5/verbs.c, mlx5_query_ece()), which is not the
/// one of ibv_query_device().
constexpr std::uint32_t kEceVendor = 0x15b3;
/// Until the step to RTR it tells what could be, then what is in force.
int ibv_query_ece(ibv_qp* qp, ibv_ece* ece) {
  const ControlCall call(Verb::query_ece);
  if (call.error() != 0) return call.error();
  const Personality& device = personality(device_of(qp->context));
  if (device.ece_options == 0) return EOPNOTSUPP;
  const ibv_qp_state state = to_ours(qp).shared->state.load();
  const bool early = state == IBV_QPS_RESET || state == IBV_QPS_INIT;
  const std::uint32_t options = to_ours(qp).ece_options.value_or(device.ece_options);
  *ece = {kEceVendor, options & ~(early ? 0 : device.ece_refused), 0};
  return 0;
}
/// Of the options it takes those that the device has. It is too late once the QP receives.
int ibv_set_ece(ibv_qp* qp, ibv_ece* ece) {
  const ControlCall call(Verb::set_ece);
  if (call.error() != 0) return call.error();
  const Personality& device = personality(device_of(qp->context));
  if (device.ece_options == 0) return EOPNOTSUPP;
  const ibv_qp_state state = to_ours(qp).shared->state.load();
  if (ece->vendor_id != kEceVendor || ece->comp_mask != 0 ||
      (state != IBV_QPS_RESET && state != IBV_QPS_INIT))
    return EINVAL;
  to_ours(qp).ece_options = ece->options & device.ece_options;
  return 0;
}

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* wanted) {
  return create_srq(pd, wanted->attr, wanted->srq_context);
}
int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attributes) {
  const SharedRq& shared = *to_ours(srq).shared;
  *attributes = {shared.ring.limit(), shared.max_sge, 0};
  return 0;
}
int ibv_modify_srq(ibv_srq* /*srq*/, ibv_srq_attr* /*attributes*/, int /*mask*/) {
  return EOPNOTSUPP;  // neither resizing nor the limit event
}
int ibv_destroy_srq(ibv_srq* srq) {
  const ControlCall call(Verb::destroy_srq);
  if (call.error() != 0) return call.error();
  if (to_ours(srq).users.load() != 0) return EBUSY;
  destroy_rq(to_ours(srq).shared);
  --to_ours(srq->pd).users;
  delete &to_ours(srq);
  return 0;
}

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
  const ControlCall call(Verb::create_ah);
  if (call.error() != 0) return fail<ibv_ah>(call.error());
  if (const Personality& device = personality(device_of(pd->context)); !device.ud)
    return device.missing_handle_errno == 0 ? nullptr : fail<ibv_ah>(device.missing_handle_errno);
  if (attributes->port_num != 1 || !path_works(*attributes, device_of(pd->context)))
    return fail<ibv_ah>(EINVAL);
  auto* const ah = new AddressHandle{};
  ah->context = pd->context;
  ah->pd = pd;
  ah->attributes = *attributes;
  ah->is_routed = attributes->is_global == 0 ||
                  routed(device_of(pd->context), attributes->grh.sgid_index, attributes->grh.dgid);
  ++to_ours(pd).users;
  log_path(0, *attributes);
  return ah;
}
int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* /*wc*/, ibv_grh* grh,
                        ibv_ah_attr* attributes) {
  *attributes = {};
  attributes->port_num = port;
  attributes->is_global = personality(device_of(context)).grh_required ? 1 : 0;
  attributes->grh.dgid = grh->sgid;
  return 0;
}
ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port) {
  ibv_ah_attr attributes{};
  ibv_init_ah_from_wc(pd->context, port, wc, grh, &attributes);
  return ibv_create_ah(pd, &attributes);
}
int ibv_destroy_ah(ibv_ah* ah) {
  const ControlCall call(Verb::destroy_ah);
  if (call.error() != 0) return call.error();
  --to_ours(ah->pd).users;
  delete static_cast<AddressHandle*>(ah);
  return 0;
}
int ibv_resolve_eth_l2_from_gid(ibv_context* /*context*/, ibv_ah_attr* /*attributes*/,
                                std::uint8_t mac[6], std::uint16_t* vlan) {
  constexpr std::uint16_t kNoVlan = 0xffff;
  std::fill_n(mac, 6, std::uint8_t{0});
  if (vlan != nullptr) *vlan = kNoVlan;
  return 0;
}

int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* group, std::uint16_t /*lid*/) {
  if (personality(device_of(qp->context)).max_multicast_groups == 0) return EOPNOTSUPP;
  return qp->qp_type == IBV_QPT_UD ? join_group(qp->qp_num, *group) : EINVAL;
}
int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* group, std::uint16_t /*lid*/) {
  return leave_group(qp->qp_num, *group);
}

}  // extern "C"
