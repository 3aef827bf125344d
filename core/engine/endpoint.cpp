// SPDX-License-Identifier: Apache-2.0
#include "core/engine/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/engine/case_memory.h"
#include "core/engine/loop/table.h"
#include "core/verbs/capability.h"
#include "core/verbs/check.h"
#include "core/verbs/device.h"
#include "core/verbs/environment.h"
#include "core/verbs/memory/memory.h"
#include "core/verbs/probe.h"

namespace rdmameter {
namespace {

constexpr int kAccessFlushGlobal = 1
                                   << 8;  // IBV_ACCESS_FLUSH_GLOBAL, in verbs.h since rdma-core 45

/// What the peer may do with this end's memory: what the case does, and no more. Some devices open
/// no memory to peers at all, yet carry sends.
int remote_access(const TestCase& test_case, bool iwarp) {
  int access = 0;
  for (const MixPart& part : mix_of(test_case)) {
    const OpcodeTraits& kind = traits(part.opcode);
    if (kind.atomic)
      access |= IBV_ACCESS_REMOTE_ATOMIC;
    else if (kind.one_sided)
      access |= kind.returns_data ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
    if (kind.flushes) access |= kAccessFlushGlobal;
  }
  // iWARP answers a read by writing into the memory that asked (RFC 5040, 4.1).
  return access != 0 && iwarp ? access | IBV_ACCESS_REMOTE_WRITE : access;
}

/// What an end's memory is there for, as on-demand paging tells uses apart (IBV_ODP_SUPPORT_...).
std::uint32_t memory_uses(const TestCase& test_case, Role role) {
  const std::uint32_t receives =
      test_case.shared_receives() ? IBV_ODP_SUPPORT_SRQ_RECV : IBV_ODP_SUPPORT_RECV;
  std::uint32_t uses = 0;
  for (const MixPart& part : mix_of(test_case)) {
    const OpcodeTraits& kind = traits(part.opcode);
    if (kind.atomic)
      uses |= IBV_ODP_SUPPORT_ATOMIC;
    else if (kind.one_sided)
      uses |= kind.returns_data ? IBV_ODP_SUPPORT_READ : IBV_ODP_SUPPORT_WRITE;
    else
      uses |= (posts_sends(test_case, role) ? std::uint32_t{IBV_ODP_SUPPORT_SEND} : 0) |
              (posts_receives(test_case, role) ? receives : 0);
  }
  return uses;
}

/// The device tells the lesser number of sends' and receives' (Linux,
/// drivers/infiniband/core/uverbs_cmd.c, copy_query_dev_fields()): erdma has 6 and 1. A QP that can
/// be made with more takes more.
std::uint32_t most_sges(const OpenDevice& device, const TestCase& test_case,
                        std::uint32_t ibv_qp_cap::*which, std::uint64_t wanted) {
  const std::uint32_t told = device.limits.max_sge;
  if (wanted <= told) return told;
  return largest_qp_limit(*device.context, test_case.transport, which, told);
}

bool posts_reads(const TestCase& test_case) {
  return std::ranges::count(mix_of(test_case), Opcode::rdma_read, &MixPart::opcode) != 0;
}

/// @return  the case. @throws Unsupported  the device cannot do it
const DeviceCase& checked_case(const OpenDevice& device, const DeviceCase& settled) {
  const TestCase& test_case = settled;
  const Role role = settled.role();
  require_link_has(device, test_case);
  const DeviceLimits& limits = device.limits;
  const std::string where = device.port.where();
  for (const MixPart& part : mix_of(test_case))
    require_capability(limits, traits(part.opcode).needs, where);
  const auto hold = [&](std::string_view what, std::uint64_t wanted, std::uint64_t max,
                        std::string_view remedy) {
    if (wanted <= max) return;
    require_transport(device, test_case);  // without it the remedy would not help
    throw Unsupported("{} on {}: {} wanted, the device takes {}; {}", what, where, wanted, max,
                      remedy);
  };
  const QueueDepths depths = queue_depths_of(test_case, role);
  if (device.port.max_message_bytes != 0)
    hold("message size in bytes", largest_message(test_case), device.port.max_message_bytes,
         "use a smaller --size");
  if (test_case.transport == Transport::ud)
    hold("a UD message is one packet; bytes of payload", test_case.size_bytes,
         device.port.active_mtu_bytes,
         "use a --size up to the MTU" + or_transport(test_case, "rc"));
  hold("send WRs per QP", depths.send_wrs, limits.max_qp_wr, "use a smaller --depth");
  hold("QPs", test_case.qps, limits.max_qp, "use fewer --qps");
  if (posts_sends(test_case, role))
    hold("SGEs per request", test_case.queues.sge,
         test_case.returns_data()
             ? (limits.max_sge_rd != 0 ? limits.max_sge_rd : limits.max_sge)
             : most_sges(device, test_case, &ibv_qp_cap::max_send_sge, test_case.queues.sge),
         "use fewer --sge");
  if (const std::uint32_t most = most_reads_posted(*device.context, test_case.queues.sge);
      most != 0 && posts_sends(test_case, role) && posts_reads(test_case))
    hold("reads posted to a QP", depths.send, most, "use a smaller --depth");
  if (test_case.shared_receives()) {
    if (limits.max_srq == 0)
      throw Unsupported("{} has no shared receive queues: use --recv rq", where);
    hold("receive WRs per SRQ", depths.receive, limits.max_srq_wr, "use a smaller --rx-depth");
    hold("SGEs per receive of an SRQ", test_case.queues.recv_sge, limits.max_srq_sge,
         "use fewer --recv-sge");
  } else {
    hold("receive WRs per QP", depths.receive, limits.max_qp_wr, "use a smaller --rx-depth");
    hold("SGEs per receive", test_case.queues.recv_sge,
         most_sges(device, test_case, &ibv_qp_cap::max_recv_sge, test_case.queues.recv_sge),
         "use fewer --recv-sge");
  }
  if (test_case.multicast()) {
    if (limits.max_mcast_grp == 0) throw Unsupported("{} has no multicast", where);
    if (role == Role::responder)
      hold("QPs in a multicast group", test_case.qps, limits.max_mcast_qp_attach,
           "use fewer --peers");
  }
  require_paging(limits, test_case, memory_uses(test_case, role), where);
  require_memory(settled);
  return settled;
}

bool pieces_are_miscounted(const OpenDevice& device, const TestCase& test_case) {
  return test_case.extended_api() && test_case.queues.sge > 1 && miscounts_pieces(*device.context);
}

/// @param inline_bytes  that the QP takes
void require_counted_pieces(const OpenDevice& device, const TestCase& test_case,
                            std::uint32_t inline_bytes) {
  if (!pieces_are_miscounted(device, test_case)) return;
  const std::uint64_t sges = test_case.queues.sge, bytes = test_case.size_bytes;
  const std::string where = device.port.where();
  if (!test_case.returns_data() && inline_bytes != 0 && bytes <= inline_bytes)
    throw Unsupported(
        "ibv_wr_set_inline_data_list on {}: rdma-core's rxe before 64 sends nothing of "
        "several inlined pieces; use --api classic, --sge 1 or --inline off",
        where);
  if (pieces_of(test_case.queues.split, sges, bytes, 0).front().length * sges != bytes)
    throw Unsupported(
        "ibv_wr_set_sge_list on {}: rdma-core's rxe before 64 takes each SGE for as "
        "long as the first; use --api classic, --sge 1 or SGEs of one length",
        where);
}

}  // namespace

Endpoint::Endpoint(OpenDevice& device, const DeviceCase& test_case)
    : device_(device),
      case_(checked_case(device, test_case)),
      role_(test_case.role()),
      layout_(layout_of(case_, role_)),
      depths_(queue_depths_of(case_, role_)),
      where_(device.port.where()),
      pkey_(choose_pkey(*device.context, device.port, case_.path, test_case.at_responder())),
      info_(endpoint_info_of(device)),
      memory_(*device.context, device.limits.max_dm_size_bytes,
              layout_.source.total_bytes() + layout_.target.total_bytes(), device.numa_node,
              case_.end(role_).memory, where_, device.memory, case_.registration.gpu),
      // One for each endpoint, since one thread alone uses an endpoint's queues.
      domain_(*device.context,
              case_.shares_qps() && role_ == Role::initiator ? 0 : case_.queues.thread_domain,
              where_) {
  if (case_.by_cm() || case_.multicast()) info_.qkey = kCmQkey;
  register_memory();
  make_credits();
  create_cqs();
  if (case_.shared_receives() && posts_receives(case_, role_)) create_srq();
  create_qps();

  for (const Qp& qp : qps_) {
    view_.qps.push_back(qp.get());
    if (case_.extended_api()) view_.extended_qps.push_back(ibv_qp_to_qp_ex(qp.get()));
    info_.qpns.push_back(qp->qp_num);
    info_.psns.push_back(random_psn());
  }
}

AreaView Endpoint::register_area(Area Layout::*which, int access) {
  const Area& area = layout_.*which;
  const std::size_t offset = offset_of(which);
  AreaView view{.address = memory_.address() + offset,
                .host = memory_.host() == nullptr ? nullptr : memory_.host() + offset,
                .lkeys = {}};
  if (area.slots == 0) return view;
  const std::uint64_t parts = case_.registration.mr_per_qp ? area.qps : 1;
  const std::uint64_t length = area.total_bytes() / parts;
  for (std::uint64_t part = 0; part < parts; ++part) {
    mrs_.push_back(memory_.register_part(domain_.plain(), offset + part * length, length, access));
    view.lkeys.push_back(mrs_.back()->lkey);
  }
  return view;
}

void Endpoint::register_memory() {
  const int access = memory_access(case_, remote_access(case_, is_iwarp(*device_.context)));
  view_.source = register_area(&Layout::source, access);
  const std::size_t targets = mrs_.size();
  view_.target = register_area(&Layout::target, access);
  if (case_.mixed()) view_.source = view_.target;
  // The area that the peer's one-sided operations work on: it writes into the target,
  // reads the source.
  info_.address = case_.returns_data() ? view_.source.address : view_.target.address;
  const std::size_t begin = case_.returns_data() ? 0 : targets;
  const std::size_t end = case_.returns_data() ? targets : mrs_.size();
  for (std::size_t i = begin; i < end; ++i) info_.rkeys.push_back(mrs_[i]->rkey);
}

void Endpoint::make_credits() {
  const bool iwarp = is_iwarp(*device_.context);
  if (iwarp && case_.open_loop() && case_.takes_receive())
    view_.most_unanswered = most_unanswered(case_);
  if (!needs_credits(case_, iwarp)) return;
  const int access = role_ == Role::initiator ? int{IBV_ACCESS_REMOTE_WRITE} : 0;
  credits_.emplace(domain_.plain(), case_, access, where_);
  view_.credits = credits_->all();
  info_.credit_address = credits_->address();
  info_.credit_rkey = credits_->rkey();
}

void Endpoint::create_cqs() {
  check_events_and_timestamps();
  const std::uint64_t rings = case_.shared_receives() ? 1 : case_.qps;
  // Every WR, signaled or not, leaves a completion where a QP in the error state flushes it.
  view_.send_cqs = create_cqs(send_cqs_, depths_.send_wrs, case_.qps, "send CQ");
  // Receives that QPs share may all complete on one of them.
  view_.recv_cqs = create_cqs(recv_cqs_, depths_.receive, rings, "receive CQ");
}

/// @param cqes_per_qp  completions that can be outstanding
/// @param sharers      QPs whose completions a CQ that all share must hold
std::vector<ibv_cq*> Endpoint::create_cqs(std::optional<CompletionQueues>& queues,
                                          std::uint64_t cqes_per_qp, std::uint64_t sharers,
                                          const char* which) {
  const std::uint64_t cqes = cqes_per_qp * (case_.cq_per_qp() ? 1 : sharers);
  const char* const apart =
      sharers > 1 && !case_.cq_per_qp() ? "--cq-sharing per-qp, fewer --qps" : "fewer --qps";
  if (case_.queues.cq_depth != kAuto && case_.queues.cq_depth < cqes)
    throw Unsupported(
        "the {} on {} must hold {} completions, and one of {} entries overruns: use --cq-depth {} "
        "or more (or auto), {}, or a smaller --depth or --rx-depth",
        which, where_, cqes, case_.queues.cq_depth, cqes, apart);
  const std::uint64_t entries = case_.queues.cq_depth == kAuto ? cqes : case_.queues.cq_depth;
  if (entries > device_.limits.max_cqe)
    throw Unsupported(
        "{} on {} must hold {} completions, the device's largest holds {}: use {}, or a "
        "smaller --depth, --rx-depth or --cq-depth",
        which, where_, entries, device_.limits.max_cqe, apart);
  const CqPlan plan{.count = case_.cq_per_qp() ? case_.qps : 1,
                    .entries = entries,
                    .timestamps = case_.queues.timestamps && role_ == Role::initiator,
                    .domain = domain_.parent(),
                    .which = which};
  queues.emplace(*device_.context, plan, case_, where_);
  return queues->all();
}

void Endpoint::check_events_and_timestamps() const {
  const DeviceLimits& limits = device_.limits;
  if (case_.queues.comp_vector >= std::max<std::uint32_t>(limits.completion_vectors, 1))
    throw Unsupported(
        "completion vector {}: {} has {}, 0 being the first; use a smaller --comp-vector",
        case_.queues.comp_vector, where_, limits.completion_vectors);
  if (case_.queues.timestamps && role_ == Role::initiator && limits.timestamp_mask == 0)
    throw Unsupported(
        "{} gives no completion timestamps: use --timestamps off, which has the latency as a whole",
        where_);
  const std::uint64_t cqs = case_.cq_per_qp() ? 2 * case_.qps : 2;
  if (cqs > limits.max_cq)
    throw Unsupported(
        "CQs on {}: {} wanted, the device has {}; use fewer --qps, or --cq-sharing shared", where_,
        cqs, limits.max_cq);
}

void Endpoint::create_srq() {
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr = depths_.receive;
  attributes.attr.max_sge = static_cast<std::uint32_t>(case_.queues.recv_sge);
  srq_.reset(check_pointer([&] { return ibv_create_srq(&domain_.of_queues(), &attributes); },
                           "ibv_create_srq", fmt::format("{} WRs on {}", depths_.receive, where_)));
  view_.srq = srq_.get();
}

/// @param index         of its CQs, where each QP has its own
/// @param inline_bytes  wanted: a QP with less is none
/// @return  null, with errno, when the device refuses
Qp Endpoint::try_qp(std::uint64_t index, std::uint32_t inline_bytes) {
  ibv_qp_init_attr_ex attr{};
  attr.send_cq = view_.send_cqs[view_.send_cqs.size() == 1 ? 0 : index];
  attr.recv_cq = view_.recv_cqs[view_.recv_cqs.size() == 1 ? 0 : index];
  attr.srq = srq_.get();
  attr.cap.max_send_wr = depths_.send_wrs;
  attr.cap.max_recv_wr = srq_ ? 0 : depths_.receive;
  attr.cap.max_send_sge =
      posts_sends(case_, role_) ? static_cast<std::uint32_t>(case_.queues.sge) : 1;
  attr.cap.max_recv_sge =
      !srq_ && posts_receives(case_, role_) ? static_cast<std::uint32_t>(case_.queues.recv_sge) : 1;
  attr.cap.max_inline_data = inline_bytes;
  attr.qp_type = qp_type(case_.transport);
  attr.pd = &domain_.of_queues();
  attr.comp_mask = IBV_QP_INIT_ATTR_PD;
  if (case_.extended_api()) {
    attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attr.send_ops_flags = extended_operations(case_);
  }
  const ScatterToCqe setting{cpu_reaches(case_.end(role_).memory)};
  errno = 0;
  // Without anything extended this is ibv_create_qp() itself (verbs.h).
  Qp qp{ibv_create_qp_ex(device_.context.get(), &attr)};
  if (qp && attr.cap.max_inline_data < inline_bytes) {  // hns lowers what it cannot give
    qp.reset();
    errno = EINVAL;
  }
  return qp;
}

/// Lists of devices and their inline limits go stale; the device itself knows.
std::uint32_t Endpoint::find_max_inline() {
  if (!takes_inline(*device_.context)) return 0;
  const auto key = std::tuple{case_.transport, depths_.send_wrs, case_.queues.sge};
  if (const auto known = device_.max_inline.find(key); known != device_.max_inline.end())
    return known->second;
  return device_.max_inline[key] = largest_that_works(
             0, kMaxInlineBytes,
             [this](std::uint32_t bytes) { return try_qp(0, bytes) != nullptr; });
}

/// Says what of the case a device that refuses a QP cannot do, where that can be told.
void Endpoint::explain_refusal(std::uint32_t wanted_inline, int error) {
  if (case_.extended_api() && is_unsupported(error))
    throw Unsupported("{} does not post by ibv_wr_* what this test posts{}", where_,
                      case_.by_extended_alone() ? "" : ": use --api classic");
  require_transport(device_, case_);
  if (wanted_inline != 0 && try_qp(0, 0)) {
    const std::uint32_t max = find_max_inline();
    if (max < wanted_inline)
      throw Unsupported(
          "inline data of {} bytes on {}: a QP can be created with at most {}; use --inline {}",
          wanted_inline, where_, max, max == 0 ? "off" : fmt::format("{} or --inline max", max));
  }
  if (srq_ && case_.transport != Transport::rc)
    throw Unsupported("{} does not share receives among QPs of this transport: use --recv rq{}",
                      where_, or_transport(case_, "rc"));
}

/// With --inline auto: none where the device or the memory cannot send inline.
std::uint32_t Endpoint::inline_to_ask() const {
  const std::uint64_t wanted = case_.wanted_inline();
  const bool taken = takes_inline(*device_.context);
  if (case_.queues.inline_bytes != kAuto && wanted != 0 && !taken)
    throw Unsupported(
        "{} has no inline data: its provider passes over IBV_SEND_INLINE; use --inline off",
        where_);
  if (case_.queues.inline_bytes != kAuto) return static_cast<std::uint32_t>(wanted);
  const bool can_be = taken && posts_sends(case_, role_) && cpu_reaches(case_.end(role_).memory) &&
                      !pieces_are_miscounted(device_, case_);
  return can_be ? static_cast<std::uint32_t>(wanted) : 0;
}

void Endpoint::create_qps() {
  std::uint32_t wanted =
      case_.queues.inline_bytes == kDeviceMax ? find_max_inline() : inline_to_ask();
  int access = remote_access(case_, is_iwarp(*device_.context));
  if (credits_ && role_ == Role::initiator) access |= IBV_ACCESS_REMOTE_WRITE;
  for (std::uint64_t i = 0; i < case_.qps; ++i) {
    Qp qp = try_qp(i, wanted);
    if (!qp && i == 0 && case_.queues.inline_bytes == kAuto && wanted != 0)
      qp = try_qp(i, wanted = 0);
    const int error = errno;
    if (!qp && i == 0) explain_refusal(wanted, error);
    if (!qp)
      throw_failure("ibv_create_qp", fmt::format("QP {} of {} on {}", i + 1, case_.qps, where_),
                    error);
    qps_.push_back(std::move(qp));
    view_.inline_bytes = wanted;  // the device may have made room for more
    to_init(*qps_.back(), case_.transport, device_.port.number, pkey_.index, access, info_.qkey,
            where_);
  }
  if (posts_sends(case_, role_)) require_counted_pieces(device_, case_, view_.inline_bytes);
}

void Endpoint::move_qps_to_error() noexcept {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  for (const Qp& qp : qps_) ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE);
}

std::size_t Endpoint::offset_of(Area Layout::*area) const {
  return area == &Layout::source ? 0 : layout_.source.total_bytes();
}

void Endpoint::edit(Area Layout::*area, const std::function<void(std::span<std::byte>)>& edit) {
  memory_.edit(offset_of(area), (layout_.*area).total_bytes(), edit);
}

Json Endpoint::resources() const {
  Json object = {{"qps", qps_.size()},
                 {"cqs", view_.send_cqs.size() + view_.recv_cqs.size()},
                 {"mrs", mrs_.size() + (credits_ ? 1 : 0)},
                 {"buffer_bytes", memory_.size_bytes()},
                 {"send_wrs_per_qp", depths_.send_wrs},
                 {"recv_wrs_per_qp", srq_ ? 0 : depths_.receive},
                 {"send_cqes", view_.send_cqs.front()->cqe},
                 {"recv_cqes", view_.recv_cqs.front()->cqe}};
  if (memory_.gpu() != nullptr) object["gpu_bytes"] = memory_.size_bytes();
  if (!ahs_.empty()) object["ahs"] = ahs_.size();
  if (has_thread_domain()) {
    object["thread_domains"] = 1;
    object["single_threaded_cqs"] = send_cqs_->single_threaded() + recv_cqs_->single_threaded();
  }
  if (srq_) object["srq_wrs"] = depths_.receive;
  return object;
}

Json Endpoint::gpu_facts() const {
  return gpu_facts_of(memory_, device_.port.device);
}

bool Endpoint::data_in_order() const {
  return std::ranges::all_of(qps_, [](const Qp& qp) {
    return ibv_query_qp_data_in_order(qp.get(), IBV_WR_RDMA_WRITE, 0) == 1;
  });
}

}  // namespace rdmameter
