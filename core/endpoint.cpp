// SPDX-License-Identifier: Apache-2.0
#include "core/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "core/case_memory.h"
#include "core/check.h"
#include "core/error.h"
#include "core/probe.h"

namespace rdmameter {
namespace {

constexpr std::uint32_t kPsnMask = 0xffffff;  // PSNs are 24 bits wide
constexpr std::uint32_t kInlineCeiling = 65536;

/// Completions that can be outstanding on a QP's send side: one for each signal_every WRs and the
/// closing one; all of them in case of a flush, which the CQ need not hold, since the run has
/// failed by then.
std::uint64_t send_cqes(const Case& one_case, std::uint32_t depth) {
  const std::uint64_t every =
      one_case.shape() == Pattern::completion_latency ? 1 : one_case.signal_every;
  return depth / every + 2;
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

Endpoint::Endpoint(OpenDevice& device, const Case& one_case, Role role)
    : device_(device),
      case_(one_case),
      role_(role),
      layout_(layout_of(one_case, role)),
      depths_(queue_depths_of(one_case, role)),
      where_(device.port.where()),
      buffer_((check_limits(), layout_.source.total_bytes() + layout_.target.total_bytes()),
              device.numa_node) {
  register_memory();
  const std::uint64_t qps = qp_count(case_);
  send_cq_ = create_cq(send_cqes(case_, depths_.send) * qps, "send CQ");
  recv_cq_ = create_cq(std::uint64_t{depths_.receive} * qps, "receive CQ");
  create_qps();

  info_.lid = device.port.lid;
  info_.gid = device.gid;
  info_.link_layer = device.port.link_layer;
  info_.mtu_bytes = device.port.active_mtu_bytes;
  info_.reads_in = device.limits.max_qp_rd_atom;
  info_.reads_out = device.limits.max_qp_init_rd_atom;
  info_.qkey = kQkey;
  std::mt19937 random{std::random_device{}()};
  for (const Qp& qp : qps_) {
    view_.qps.push_back(qp.get());
    info_.qpns.push_back(qp->qp_num);
    info_.psns.push_back(static_cast<std::uint32_t>(random()) & kPsnMask);
  }
  view_.send_cq = send_cq_.get();
  view_.recv_cq = recv_cq_.get();
}

void Endpoint::check_limits() const {
  const auto refuse = [this](std::string_view what, std::uint64_t wanted, std::uint64_t most,
                             std::string_view remedy) {
    throw Unsupported(fmt::format("{} on {}: {} wanted, the device takes {}; {}", what, where_,
                                  wanted, most, remedy));
  };
  const DeviceLimits& limits = device_.limits;
  if (case_.size_bytes > device_.port.max_message_bytes)
    refuse("message size in bytes", case_.size_bytes, device_.port.max_message_bytes,
           "use a smaller --size");
  if (case_.service() == Transport::ud && case_.size_bytes > device_.port.active_mtu_bytes)
    refuse("a UD message is one packet; bytes of payload", case_.size_bytes,
           device_.port.active_mtu_bytes, "use a --size up to the MTU, or --transport rc");
  if (depths_.send > limits.max_qp_wr)
    refuse("send WRs per QP", depths_.send, limits.max_qp_wr, "use a smaller --depth");
  if (depths_.receive > limits.max_qp_wr)
    refuse("receive WRs per QP", depths_.receive, limits.max_qp_wr, "use a smaller --rx-depth");
  if (qp_count(case_) > limits.max_qp)
    refuse("QPs", qp_count(case_), limits.max_qp, "use fewer --qps");
  if (const std::uint64_t bytes = case_memory_bytes(case_, role_); bytes > kMostBytesPerCase)
    throw Unsupported(fmt::format(
        "buffers and queues of {:.1f} GiB, more than the {} GiB that one end of a case may take: "
        "use a smaller --size, --qps, --depth or --rx-depth",
        static_cast<double>(bytes) / (1ULL << 30), kMostBytesPerCase >> 30));
}

void Endpoint::register_memory() {
  pd_.reset(check_pointer(ibv_alloc_pd(device_.context.get()), "ibv_alloc_pd", where_));
  const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  mr_.reset(check_pointer(ibv_reg_mr(pd_.get(), buffer_.data(), buffer_.size_bytes(), access),
                          "ibv_reg_mr",
                          fmt::format("{} bytes on {}", buffer_.size_bytes(), where_)));
  view_.source = buffer_.data();
  view_.target = buffer_.data() + layout_.source.total_bytes();
  view_.lkey = mr_->lkey;
  // The area that the peer's one-sided operations work on: it writes into the target, reads the
  // source.
  const std::byte* area = case_.op() == Opcode::rdma_read ? view_.source : view_.target;
  info_.address = reinterpret_cast<std::uint64_t>(area);
  info_.rkey = mr_->rkey;
}

Cq Endpoint::create_cq(std::uint64_t cqes, const char* which) {
  if (cqes > device_.limits.max_cqe)
    throw Unsupported(
        fmt::format("{} on {} must hold {} completions, the device's largest holds {}: use fewer "
                    "--qps, a smaller "
                    "--depth or --rx-depth, or a larger --signal-every",
                    which, where_, cqes, device_.limits.max_cqe));
  return Cq{check_pointer(
      ibv_create_cq(device_.context.get(), static_cast<int>(std::max<std::uint64_t>(cqes, 1)),
                    nullptr, nullptr, 0),
      "ibv_create_cq", fmt::format("{} of {} entries on {}", which, cqes, where_))};
}

/// @param inline_bytes  in: wanted, out: what the QP was created with
/// @return  null, with errno, when the device refuses
Qp Endpoint::try_qp(std::uint32_t& inline_bytes) {
  ibv_qp_init_attr attr{};
  attr.send_cq = send_cq_.get();
  attr.recv_cq = recv_cq_.get();
  attr.cap.max_send_wr = depths_.send;
  attr.cap.max_recv_wr = depths_.receive;
  attr.cap.max_send_sge = 1;
  attr.cap.max_recv_sge = 1;
  attr.cap.max_inline_data = inline_bytes;
  attr.qp_type = qp_type(case_.service());
  Qp qp{ibv_create_qp(pd_.get(), &attr)};
  if (qp) inline_bytes = attr.cap.max_inline_data;
  return qp;
}

/// Lists of devices and their inline limits go stale; the device itself knows.
std::uint32_t Endpoint::find_most_inline() {
  const auto key = std::pair{case_.service(), depths_.send};
  if (const auto known = device_.most_inline.find(key); known != device_.most_inline.end())
    return known->second;
  std::uint32_t works = 0, refused = kInlineCeiling;
  while (refused - works > 1) {
    const std::uint32_t middle = works + (refused - works) / 2;
    std::uint32_t got = middle;
    if (try_qp(got))
      works = std::max(middle, std::min(got, refused - 1));
    else
      refused = middle;
  }
  return device_.most_inline[key] = works;
}

void Endpoint::create_qps() {
  std::uint32_t wanted = 0;
  if (case_.inline_bytes == kMax)
    wanted = find_most_inline();
  else
    wanted = static_cast<std::uint32_t>(case_.inline_bytes);
  const std::uint32_t count = qp_count(case_);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t got = wanted;
    Qp qp = try_qp(got);
    const int error = errno;
    if (!qp && wanted != 0 && i == 0) {
      const std::uint32_t most = find_most_inline();
      if (most < wanted)
        throw Unsupported(
            fmt::format("inline data of {} bytes on {}: a QP can be created with at most {}; "
                        "use --inline {} or --inline max",
                        wanted, where_, most, most));
    }
    errno = error;
    qps_.emplace_back(check_pointer(qp.release(), "ibv_create_qp",
                                    fmt::format("QP {} of {} on {}", i + 1, count, where_)));
    view_.inline_bytes = got;
    to_init(*qps_.back(), case_.service(), device_.port.number, where_);
  }
}

QpPath Endpoint::path_to(const EndpointInfo& peer, const Agreed& agreed) const {
  QpPath path;
  path.mtu = *mtu_from_bytes(agreed.mtu_bytes);
  path.port_num = device_.port.number;
  path.gid_index = static_cast<std::uint8_t>(device_.gid.index);
  // InfiniBand within a subnet goes by LID alone.
  path.global = device_.port.ethernet() ||
                device_.gid.value.global.subnet_prefix != peer.gid.value.global.subnet_prefix;
  path.remote_lid = peer.lid;
  path.remote_gid = peer.gid.value;
  path.outstanding_reads = static_cast<std::uint8_t>(agreed.outstanding_reads);
  return path;
}

Agreed Endpoint::learn(const EndpointInfo& peer) {
  if (peer.link_layer != info_.link_layer)
    throw Unsupported(
        fmt::format("{} is {} and the peer's port is {}: they cannot be connected; choose "
                    "--device or --peer-device",
                    where_, link_layer_name(info_.link_layer), link_layer_name(peer.link_layer)));
  if (const std::string why = check_gid_match(info_.gid, peer.gid); !why.empty())
    throw Unsupported(why);
  Agreed agreed;
  agreed.mtu_bytes = std::min(info_.mtu_bytes, peer.mtu_bytes);
  if (case_.mtu_bytes != kAuto) {
    if (case_.mtu_bytes > agreed.mtu_bytes)
      throw Unsupported(fmt::format("--mtu {}: the active MTU is {} on {} and {} at the peer",
                                    case_.mtu_bytes, info_.mtu_bytes, where_, peer.mtu_bytes));
    agreed.mtu_bytes = static_cast<std::uint32_t>(case_.mtu_bytes);
  }
  if (case_.service() == Transport::ud && case_.size_bytes > agreed.mtu_bytes)
    throw Unsupported(
        fmt::format("a UD message is one packet: {} bytes are more than the path's MTU of "
                    "{}; use --size {} or less, or --transport rc",
                    case_.size_bytes, agreed.mtu_bytes, agreed.mtu_bytes));
  const std::uint32_t reads = role_ == Role::initiator ? std::min(info_.reads_out, peer.reads_in)
                                                       : std::min(peer.reads_out, info_.reads_in);
  agreed.outstanding_reads = std::clamp<std::uint32_t>(reads, 1, 255);

  if (case_.service() == Transport::ud) {
    ibv_ah_attr attr = ah_attributes(path_to(peer, agreed));
    ah_.reset(check_pointer(ibv_create_ah(pd_.get(), &attr), "ibv_create_ah",
                            fmt::format("towards {} on {}", gid_text(peer.gid.value), where_)));
  }
  view_.remote_address = peer.address;
  view_.remote_key = peer.rkey;
  view_.ah = ah_.get();
  view_.remote_qpns = peer.qpns;
  view_.remote_qkey = peer.qkey;
  return agreed;
}

void Endpoint::connect(const EndpointInfo& peer, const Agreed& agreed) {
  const QpPath path = path_to(peer, agreed);
  for (std::size_t i = 0; i < qps_.size(); ++i) {
    to_rtr(*qps_[i], case_.service(), path, peer.qpns[i], peer.psns[i], where_);
    to_rts(*qps_[i], case_.service(), path, info_.psns[i], where_);
  }
}

void Endpoint::silence() noexcept {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  for (const Qp& qp : qps_) ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE);
}

nlohmann::ordered_json Endpoint::resources() const {
  return {{"qps", qps_.size()},
          {"cqs", 2},
          {"mrs", 1},
          {"buffer_bytes", buffer_.size_bytes()},
          {"send_wrs_per_qp", depths_.send},
          {"recv_wrs_per_qp", depths_.receive},
          {"send_cqes", send_cq_->cqe},
          {"recv_cqes", recv_cq_->cqe}};
}

bool Endpoint::data_in_order() const {
  return ibv_query_qp_data_in_order(qps_.front().get(), IBV_WR_RDMA_WRITE, 0) == 1;
}

}  // namespace rdmameter
