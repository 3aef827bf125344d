// SPDX-License-Identifier: Apache-2.0
#include "core/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "core/case_memory.h"
#include "core/check.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/loop/table_post.h"
#include "core/probe.h"

namespace rdmameter {
namespace {

constexpr std::uint32_t kPsnMask = 0xffffff;  // PSNs are 24 bits wide
constexpr std::uint32_t kInlineCeiling = 65536;

/// Completions that can be outstanding on a QP's send side: one for each signal_every WRs and the
/// closing one; all of them in case of a flush, which the CQ need not hold, since the run has
/// failed by then.
std::uint64_t send_cqes(const Case& one_case, std::uint32_t depth) {
  return depth / signal_period(one_case) + 2;
}

/// What the peer may do with this end's memory.
int remote_access(const Case& one_case) {
  int access = IBV_ACCESS_REMOTE_WRITE;
  if (one_case.reliable()) access |= IBV_ACCESS_REMOTE_READ;
  if (one_case.atomic()) access |= IBV_ACCESS_REMOTE_ATOMIC;
  return access;
}

const std::string& memory_of(const Case& one_case, Role role) {
  return role == Role::initiator ? one_case.memory : one_case.peer_memory;
}

}  // namespace

OpenDevice open_for_run(const std::string& device, std::uint64_t port_num,
                        std::uint64_t gid_index) {
  OpenDevice open;
  open.context = open_device(device);
  open.limits = query_limits(*open.context);
  open.port = query_active_port(*open.context, port_num);
  const std::vector<Gid> gids = query_gids(*open.context, open.port.number);
  open.gid = choose_gid(gids, open.port.link_layer, gid_index, open.port.where());
  open.numa_node = device_numa_node(open.port.device);
  return open;
}

EndpointInfo endpoint_info_of(const OpenDevice& device) {
  EndpointInfo info;
  info.lid = device.port.lid;
  info.gid = device.gid;
  info.link_layer = device.port.link_layer;
  info.mtu_bytes = device.port.active_mtu_bytes;
  info.reads_in = device.limits.max_qp_rd_atom;
  info.reads_out = device.limits.max_qp_init_rd_atom;
  info.qkey = kQkey;
  return info;
}

void require_match(const EndpointInfo& mine, const EndpointInfo& peer, const std::string& where) {
  if (peer.link_layer != mine.link_layer)
    throw Unsupported(
        fmt::format("{} is {} and the peer's port is {}: they cannot be connected; choose "
                    "--device or --peer-device",
                    where, link_layer_name(mine.link_layer), link_layer_name(peer.link_layer)));
  if (const std::string why = check_gid_match(mine.gid, peer.gid); !why.empty())
    throw Unsupported(why);
}

int memory_access(const Case& one_case, int remote_access) {
  int access = IBV_ACCESS_LOCAL_WRITE | remote_access;
  if (one_case.relaxed_ordering != 0) access |= IBV_ACCESS_RELAXED_ORDERING;
  if (one_case.odp != 0) access |= IBV_ACCESS_ON_DEMAND;
  return access;
}

void require_paging(const DeviceLimits& limits, const Case& one_case, const std::string& where) {
  if (one_case.odp != 0 && (limits.odp.general_caps & IBV_ODP_SUPPORT) == 0)
    throw Unsupported(fmt::format("{} has no on-demand paging", where));
}

Endpoint::Endpoint(OpenDevice& device, const Case& one_case, Role role)
    : device_(device),
      case_(with_known_sges(one_case, device.limits)),
      role_(role),
      layout_((check_limits(), layout_of(case_, role))),
      depths_(queue_depths_of(case_, role)),
      where_(device.port.where()),
      qkey_(case_.by_cm() || case_.multicast() ? kCmQkey : kQkey),
      info_(endpoint_info_of(device)),
      memory_((check_memory(), *device.context), device.limits.max_dm_size_bytes,
              layout_.source.total_bytes() + layout_.target.total_bytes(), device.numa_node,
              memory_of(case_, role), where_) {
  register_memory();
  create_cqs();
  if (case_.shared_receives() && posts_receives(case_, role_)) create_srq();
  create_qps();

  info_.qkey = qkey_;
  std::mt19937 random{std::random_device{}()};
  for (const Qp& qp : qps_) {
    view_.qps.push_back(qp.get());
    if (case_.extended_api()) view_.extended_qps.push_back(ibv_qp_to_qp_ex(qp.get()));
    info_.qpns.push_back(qp->qp_num);
    info_.psns.push_back(static_cast<std::uint32_t>(random()) & kPsnMask);
  }
}

void Endpoint::check_limits() const {
  const std::string where = device_.port.where();  // where_ is not there yet
  const auto hold = [&where](std::string_view what, std::uint64_t wanted, std::uint64_t most,
                             std::string_view remedy) {
    if (wanted > most)
      throw Unsupported(fmt::format("{} on {}: {} wanted, the device takes {}; {}", what, where,
                                    wanted, most, remedy));
  };
  const DeviceLimits& limits = device_.limits;
  const QueueDepths depths = queue_depths_of(case_, role_);
  hold("message size in bytes", case_.size_bytes, device_.port.max_message_bytes,
       "use a smaller --size");
  if (case_.service() == Transport::ud)
    hold("a UD message is one packet; bytes of payload", case_.size_bytes,
         device_.port.active_mtu_bytes, "use a --size up to the MTU, or --transport rc");
  hold("send WRs per QP", depths.send, limits.max_qp_wr, "use a smaller --depth");
  hold("QPs", case_.qps, limits.max_qp, "use fewer --qps");
  if (posts_sends(case_, role_))
    hold("SGEs per request", case_.sge,
         case_.returns_data() && limits.max_sge_rd != 0 ? limits.max_sge_rd : limits.max_sge,
         "use fewer --sge");
  if (case_.shared_receives()) {
    if (limits.max_srq == 0)
      throw Unsupported(fmt::format("{} has no shared receive queues: use --recv rq", where));
    hold("receive WRs per SRQ", depths.receive, limits.max_srq_wr, "use a smaller --rx-depth");
    hold("SGEs per receive of an SRQ", case_.recv_sge, limits.max_srq_sge, "use fewer --recv-sge");
  } else {
    hold("receive WRs per QP", depths.receive, limits.max_qp_wr, "use a smaller --rx-depth");
    hold("SGEs per receive", case_.recv_sge, limits.max_sge, "use fewer --recv-sge");
  }
  if (case_.multicast()) {
    if (limits.max_mcast_grp == 0) throw Unsupported(fmt::format("{} has no multicast", where));
    if (role_ == Role::responder)
      hold("QPs in a multicast group", case_.qps, limits.max_mcast_qp_attach, "use fewer --peers");
  }
  if (case_.atomic() && limits.atomic_cap == IBV_ATOMIC_NONE)
    throw Unsupported(fmt::format("{} has no atomic operations", where));
  if (case_.pkey_index >= device_.port.pkey_table_length)
    throw Unsupported(fmt::format("--pkey-index {}: {} has {} partition keys, 0 being the first",
                                  case_.pkey_index, where, device_.port.pkey_table_length));
}

void Endpoint::check_memory() const {
  require_paging(device_.limits, case_, where_);
  require_memory(case_, role_);
}

AreaView Endpoint::register_area(const Area& area, std::size_t offset, int access) {
  AreaView view{.address = memory_.address() + offset,
                .host = memory_.host() == nullptr ? nullptr : memory_.host() + offset,
                .lkeys = {}};
  if (area.slots == 0) return view;
  const std::uint64_t parts = case_.mr_per_qp != 0 ? area.qps : 1;
  const std::uint64_t length = area.total_bytes() / parts;
  for (std::uint64_t part = 0; part < parts; ++part) {
    mrs_.push_back(memory_.register_part(*pd_, offset + part * length, length, access));
    view.lkeys.push_back(mrs_.back()->lkey);
  }
  return view;
}

void Endpoint::register_memory() {
  pd_.reset(check_pointer(ibv_alloc_pd(device_.context.get()), "ibv_alloc_pd", where_));
  const int access = memory_access(case_, remote_access(case_));
  view_.source = register_area(layout_.source, 0, access);
  const std::size_t targets = mrs_.size();
  view_.target = register_area(layout_.target, layout_.source.total_bytes(), access);
  // The area that the peer's one-sided operations work on: it writes into the target, reads the
  // source.
  info_.address = case_.returns_data() ? view_.source.address : view_.target.address;
  const std::size_t begin = case_.returns_data() ? 0 : targets;
  const std::size_t end = case_.returns_data() ? targets : mrs_.size();
  for (std::size_t i = begin; i < end; ++i) info_.rkeys.push_back(mrs_[i]->rkey);
}

void Endpoint::create_cqs() {
  check_events_and_timestamps();
  const std::uint64_t rings = case_.shared_receives() ? 1 : case_.qps;
  view_.send_cqs = create_cqs(send_cqs_, send_cqes(case_, depths_.send), case_.qps, "send CQ");
  // Receives that QPs share may all complete on one of them.
  view_.recv_cqs = create_cqs(recv_cqs_, depths_.receive, rings, "receive CQ");
}

/// @param cqes_per_qp  completions that can be outstanding
/// @param sharers      QPs whose completions a CQ that all share must hold
std::vector<ibv_cq*> Endpoint::create_cqs(std::optional<CompletionQueues>& queues,
                                          std::uint64_t cqes_per_qp, std::uint64_t sharers,
                                          const char* which) {
  const std::uint64_t cqes = cqes_per_qp * (case_.cq_per_qp() ? 1 : sharers);
  if (case_.cq_depth != kAuto && case_.cq_depth < cqes)
    throw Unsupported(fmt::format(
        "the {} on {} must hold {} completions, and one of {} entries overruns: use --cq-depth {} "
        "or more (or auto), fewer --qps, a smaller --depth or --rx-depth, or a larger "
        "--signal-every",
        which, where_, cqes, case_.cq_depth, cqes));
  const std::uint64_t entries = case_.cq_depth == kAuto ? cqes : case_.cq_depth;
  if (entries > device_.limits.max_cqe)
    throw Unsupported(
        fmt::format("{} on {} must hold {} completions, the device's largest holds {}: use fewer "
                    "--qps, a smaller --depth, --rx-depth or --cq-depth, or a larger "
                    "--signal-every",
                    which, where_, entries, device_.limits.max_cqe));
  const CqPlan plan{.count = case_.cq_per_qp() ? case_.qps : 1,
                    .entries = entries,
                    .timestamps = case_.timestamps != 0 && role_ == Role::initiator,
                    .which = which};
  queues.emplace(*device_.context, plan, case_, where_);
  return queues->all();
}

void Endpoint::check_events_and_timestamps() const {
  const DeviceLimits& limits = device_.limits;
  if (case_.comp_vector >= std::max<std::uint32_t>(limits.completion_vectors, 1))
    throw Unsupported(
        fmt::format("completion vector {}: {} has {}, 0 being the first; use a "
                    "smaller --comp-vector",
                    case_.comp_vector, where_, limits.completion_vectors));
  if (case_.timestamps != 0 && role_ == Role::initiator && limits.timestamp_mask == 0)
    throw Unsupported(fmt::format(
        "{} gives no completion timestamps: use --timestamps off, which has the latency as a whole",
        where_));
  const std::uint64_t cqs = case_.cq_per_qp() ? 2 * case_.qps : 2;
  if (cqs > limits.max_cq)
    throw Unsupported(
        fmt::format("CQs on {}: {} wanted, the device has {}; use fewer --qps, or "
                    "--cq-sharing shared",
                    where_, cqs, limits.max_cq));
}

void Endpoint::create_srq() {
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr = depths_.receive;
  attributes.attr.max_sge = static_cast<std::uint32_t>(case_.recv_sge);
  srq_.reset(check_pointer(ibv_create_srq(pd_.get(), &attributes), "ibv_create_srq",
                           fmt::format("{} WRs on {}", depths_.receive, where_)));
  view_.srq = srq_.get();
}

/// @param index         of its CQs, where each QP has its own
/// @param inline_bytes  in: wanted, out: what the QP was created with
/// @return  null, with errno, when the device refuses
Qp Endpoint::try_qp(std::uint64_t index, std::uint32_t& inline_bytes) {
  ibv_qp_init_attr_ex attr{};
  attr.send_cq = view_.send_cqs[view_.send_cqs.size() == 1 ? 0 : index];
  attr.recv_cq = view_.recv_cqs[view_.recv_cqs.size() == 1 ? 0 : index];
  attr.srq = srq_.get();
  attr.cap.max_send_wr = depths_.send;
  attr.cap.max_recv_wr = srq_ ? 0 : depths_.receive;
  attr.cap.max_send_sge = posts_sends(case_, role_) ? static_cast<std::uint32_t>(case_.sge) : 1;
  attr.cap.max_recv_sge =
      !srq_ && posts_receives(case_, role_) ? static_cast<std::uint32_t>(case_.recv_sge) : 1;
  attr.cap.max_inline_data = inline_bytes;
  attr.qp_type = qp_type(case_.service());
  attr.pd = pd_.get();
  attr.comp_mask = IBV_QP_INIT_ATTR_PD;
  if (case_.extended_api()) {
    attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attr.send_ops_flags = extended_operations(case_);
  }
  // Without anything extended this is ibv_create_qp() itself (verbs.h).
  Qp qp{ibv_create_qp_ex(device_.context.get(), &attr)};
  if (qp) inline_bytes = attr.cap.max_inline_data;
  return qp;
}

/// Lists of devices and their inline limits go stale; the device itself knows.
std::uint32_t Endpoint::find_most_inline() {
  const auto key = std::tuple{case_.service(), depths_.send, case_.sge};
  if (const auto known = device_.most_inline.find(key); known != device_.most_inline.end())
    return known->second;
  std::uint32_t works = 0, refused = kInlineCeiling;
  while (refused - works > 1) {
    const std::uint32_t middle = works + (refused - works) / 2;
    std::uint32_t got = middle;
    if (try_qp(0, got))
      works = std::max(middle, std::min(got, refused - 1));
    else
      refused = middle;
  }
  return device_.most_inline[key] = works;
}

/// Says what of the case a device that refuses a QP cannot do, where that can be told.
void Endpoint::explain_refusal(std::uint32_t wanted_inline, int error) {
  if (case_.extended_api() && (error == EOPNOTSUPP || error == ENOSYS))
    throw Unsupported(fmt::format(
        "{} does not post by ibv_wr_* what this test posts: use --api classic", where_));
  if (wanted_inline != 0) {
    const std::uint32_t most = find_most_inline();
    if (most < wanted_inline)
      throw Unsupported(
          fmt::format("inline data of {} bytes on {}: a QP can be created with at most {}; "
                      "use --inline {} or --inline max",
                      wanted_inline, where_, most, most));
  }
  if (srq_ && case_.service() != Transport::rc)
    throw Unsupported(fmt::format(
        "{} does not share receives among QPs of this transport: use --recv rq, or --transport rc",
        where_));
}

void Endpoint::create_qps() {
  const std::uint32_t wanted = case_.inline_bytes == kMax
                                   ? find_most_inline()
                                   : static_cast<std::uint32_t>(case_.inline_bytes);
  for (std::uint64_t i = 0; i < case_.qps; ++i) {
    std::uint32_t got = wanted;
    Qp qp = try_qp(i, got);
    const int error = errno;
    if (!qp && i == 0) explain_refusal(wanted, error);
    errno = error;
    qps_.emplace_back(check_pointer(qp.release(), "ibv_create_qp",
                                    fmt::format("QP {} of {} on {}", i + 1, case_.qps, where_)));
    view_.inline_bytes = got;
    to_init(*qps_.back(), case_.service(), device_.port.number,
            static_cast<std::uint16_t>(case_.pkey_index), remote_access(case_), qkey_, where_);
  }
  refuse_what_rxe_drops();
}

/// rdma-core's rxe (seen in 44, and in its sources since) sends an empty message there: it never
/// sums up the pieces' lengths.
void Endpoint::refuse_what_rxe_drops() const {
  const bool inlined = posts_sends(case_, role_) && !case_.returns_data() &&
                       case_.inline_bytes != 0 && case_.size_bytes <= view_.inline_bytes;
  if (inlined && case_.extended_api() && case_.sge > 1 &&
      device_driver(device_.port.device) == "rdma_rxe")
    throw Unsupported(
        fmt::format("ibv_wr_set_inline_data_list on {}: rdma-core's rxe sends nothing of several "
                    "inlined pieces; use --api classic, --sge 1 or --inline off",
                    where_));
}

void Endpoint::silence() noexcept {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  for (const Qp& qp : qps_) ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE);
}

void Endpoint::edit_source(const std::function<void(std::span<std::byte>)>& edit) {
  memory_.edit(0, layout_.source.total_bytes(), edit);
}
void Endpoint::edit_target(const std::function<void(std::span<std::byte>)>& edit) {
  memory_.edit(layout_.source.total_bytes(), layout_.target.total_bytes(), edit);
}
void Endpoint::inspect_source(const std::function<void(std::span<const std::byte>)>& look) const {
  memory_.inspect(0, layout_.source.total_bytes(), look);
}
void Endpoint::inspect_target(const std::function<void(std::span<const std::byte>)>& look) const {
  memory_.inspect(layout_.source.total_bytes(), layout_.target.total_bytes(), look);
}

nlohmann::ordered_json Endpoint::resources() const {
  nlohmann::ordered_json made = {{"qps", qps_.size()},
                                 {"cqs", view_.send_cqs.size() + view_.recv_cqs.size()},
                                 {"mrs", mrs_.size()},
                                 {"buffer_bytes", memory_.size_bytes()},
                                 {"send_wrs_per_qp", depths_.send},
                                 {"recv_wrs_per_qp", srq_ ? 0 : depths_.receive},
                                 {"send_cqes", view_.send_cqs.front()->cqe},
                                 {"recv_cqes", view_.recv_cqs.front()->cqe}};
  if (!ahs_.empty()) made["ahs"] = ahs_.size();
  if (srq_) made["srq_wrs"] = depths_.receive;
  return made;
}

bool Endpoint::data_in_order() const {
  return ibv_query_qp_data_in_order(qps_.front().get(), IBV_WR_RDMA_WRITE, 0) == 1;
}

}  // namespace rdmameter
