// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verbs_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/engine/account/latency_breakdown.h"
#include "core/engine/account/load.h"
#include "core/engine/loop/table.h"
#include "core/engine/work.h"
#include "core/test_case/flow_label.h"
#include "core/verbs/device.h"
#include "core/verbs/device_events.h"
#include "core/verbs/environment.h"
#include "core/wire/auth.h"

namespace rdmameter {
namespace {

/// The user has told the provider that the whole process is one thread: it takes no locks at all
/// (rdma-core, providers/mlx5/mlx5.c, mlx5_single_threaded).
bool mlx5_is_single_threaded(std::string_view device) {
  const char* const told = std::getenv("MLX5_SINGLE_THREADED");
  return told != nullptr && std::string_view(told) == "1" && device_driver(device) == "mlx5_core";
}

}  // namespace

VerbsRunner::VerbsRunner(OpenDevice& device, const DeviceCase& test_case, std::uint64_t seed,
                         CmWatch watch)
    : EndpointRunner(test_case, seed),
      device_(device),
      counters_before_(read_counters(device.port.device, device.port.number)),
      shared_(std::make_shared<Endpoint>(device, settled_)),
      endpoint_(*shared_),
      watch_(watch) {
  endpoint_.edit(&Layout::source, [&](std::span<std::byte> bytes) {
    if (case_.atomic())
      std::ranges::fill(bytes, std::byte{0});  // the words that atomics work on
    else
      fill_source(bytes, endpoint_.layout().source, pattern_of(case_, seed_, role_),
                  device_.memory.cancel_check);
  });
  // A ping-pong's responder answers the first byte that differs from what its target holds.
  endpoint_.edit(&Layout::target, [&](std::span<std::byte> bytes) {
    poison_target(bytes, device_.memory.cancel_check);
    if (case_.mixed()) fill_mix(bytes, mix_end(), device_.memory.cancel_check);
  });
  if (role_ == Role::responder) plan_.warmup *= copies_of(case_);
  if (!both_at_once()) return;
  const CmEndpoint end = endpoint_.cm_endpoint();
  if (case_.multicast()) {
    const bool of_ipv6 = end.address.family() == AF_INET6 &&
                         endpoint_.info().link_layer != IBV_LINK_LAYER_INFINIBAND;
    group_text_ = case_.group.empty() ? random_group(of_ipv6 ? AF_INET6 : AF_INET) : case_.group;
    return;
  }
  cm_ = std::make_unique<CmConnector>(watch);
  if (role_ == Role::initiator) return;
  listening_ = {.port = cm_->listen(end, case_.qps), .nonce = make_nonce()};
}

VerbsRunner::VerbsRunner(const VerbsRunner& first, std::uint32_t sharer)
    : EndpointRunner(first.settled_, first.seed_),
      device_(first.device_),
      counters_before_(first.counters_before_),
      shared_(first.shared_),
      endpoint_(first.endpoint_),
      sharer_(sharer),
      watch_(first.watch_) {}

Introduction VerbsRunner::introduction() const {
  return {.endpoint = endpoint_.info(),
          .device = device_.port.device,
          .port_num = device_.port.number,
          .thread_domain = endpoint_.has_thread_domain(),
          .recv_sge = case_.queues.recv_sge,
          .group = group_text_,
          .listening = listening_};
}

Agreed VerbsRunner::connect(const Introduction& peer) {
  if (sharer_ != 0) {
    if (!both_at_once()) build_work();
    return {};
  }
  peer_ = peer.endpoint_of(role_ == Role::initiator ? case_.qps * case_.peers
                                                    : case_.qps / case_.peers);
  // The WRs hold the peer's address and key, which the view learns on connecting; the receives must
  // be there before the QP can be reached. So: take over the peer's facts, build, post, connect.
  agreed_ = endpoint_.negotiate(peer_);
  peer_thread_domain_ = peer.thread_domain;
  if (!both_at_once()) {
    build_work();
    endpoint_.connect(peer_, agreed_);
    ask_for_order();
  } else if (case_.multicast()) {
    if (role_ == Role::initiator) group_text_ = peer.group;
  } else if (role_ == Role::initiator) {
    listening_ = peer.where_listening();
  }
  Agreed agreed = agreed_;
  if (is_iwarp(*device_.context)) agreed.mtu_bytes = 0;
  return agreed;
}

std::optional<std::uint32_t> VerbsRunner::establish() {
  std::optional<std::uint32_t> route_mtu_bytes;
  if (!both_at_once()) return route_mtu_bytes;
  // Its WRs hold what rdma_cm tells: nothing comes to it before it sends. Every other end has its
  // receives there before it can be reached: the peer may send at once.
  const bool learns = role_ == Role::initiator && case_.transport == Transport::ud;
  if (!learns) build_work();
  if (sharer_ == 0) {
    if (case_.multicast())
      join_group();
    else
      route_mtu_bytes = connect_by_cm();
    ask_for_order();
  }
  if (learns) build_work();
  return route_mtu_bytes;
}

void VerbsRunner::ask_for_order() {
  data_in_order_ = case_.seen_in_memory() && endpoint_.data_in_order();
}

/// @return  the MTU of the route; nothing: as agreed, or of iWARP, which has none
std::optional<std::uint32_t> VerbsRunner::connect_by_cm() {
  endpoint_.connect_by_cm(*cm_, peer_, agreed_, listening_->port, listening_->nonce);
  const std::optional<CmRoute>& route = cm_->route();
  if (!route || is_iwarp(*device_.context)) return std::nullopt;
  std::uint32_t mtu_bytes = route->qp_mtu_bytes != 0 ? route->qp_mtu_bytes : agreed_.mtu_bytes;
  const bool managed = endpoint_.info().link_layer == IBV_LINK_LAYER_INFINIBAND;
  if (case_.transport != Transport::ud || !managed || !route->mtu_bytes) return mtu_bytes;
  mtu_bytes = std::min(mtu_bytes, *route->mtu_bytes);
  require_one_packet(case_, mtu_bytes);
  return mtu_bytes;
}

void VerbsRunner::join_group() {
  const auto address = IpAddress::parse(group_text_);
  if (!address || !address->multicast())
    throw MeasurementError("the peer's message: `group` is not a multicast address");
  const CmEndpoint end = endpoint_.cm_endpoint_towards(peer_, agreed_);
  group_ = std::make_unique<MulticastGroup>(
      watch_, end, group_address(*address, endpoint_.info().link_layer, endpoint_.pkey().value));
  endpoint_.connect_to_group(*group_, end);
}

void VerbsRunner::build_work() {
  work_ =
      std::make_unique<Work>(case_, role_, endpoint_.layout(), endpoint_.view(), seed_, sharer_);
  work_->post_receives();
}

std::string VerbsRunner::take_fatal_event() {
  std::string event =
      rdmameter::take_fatal_event(*device_.context, device_.port.number, noted_events_);
  return event.empty() && cm_ ? cm_->take_fatal_event() : event;
}

EndpointRunner::Loop VerbsRunner::loop(Wait wait, ClockChoice::Kind clock) {
  assert(wait != Wait::event || case_.wait == Wait::event);  // else the CQs have no channel
  const MeasuredLoop chosen =
      choose_loop(case_, role_, wait, clock, !endpoint_.view().credits.empty());
  if (chosen == nullptr) return nullptr;
  return [this, chosen](const LoopPlan& plan, const ClockChoice& choice, const StopFlag& stop,
                        LoopTally& tally) {
    const auto run = [&] {
      const LoopResult end = chosen(work_->loop_state(), plan, choice, stop, tally);
      if (end.why == LoopResult::Why::post_failed && tally.progress.load() == 0)
        require_posts(device_, case_, endpoint_.view().qps, end.error);
      return end;
    };
    scale_ = choice.counter.scale;
    if (WatchLog* const watch = work_->watch(); watch != nullptr) {
      watch->begin(choice);
      const LoopResult end = run();
      watched_ = watch->data(choice);
      return end;
    }
    if (!case_.queues.timestamps || role_ == Role::responder) return run();
    const ClockPair before = read_both_clocks(*device_.context, choice, where());
    const LoopResult end = run();
    const ClockPair after = read_both_clocks(*device_.context, choice, where());
    breakdown_ = latency_breakdown_json(work_->timestamps(), before, after,
                                        device_.limits.timestamp_mask, choice);
    return end;
  };
}

std::optional<Verdict> VerbsRunner::verify(std::uint64_t peer_total) const {
  if (case_.mixed())
    return endpoint_.check(&Layout::target, [&](std::span<const std::byte> bytes) {
      return check_mix(bytes, mix_end(), peer_total, device_.memory.cancel_check);
    });
  if (case_.atomic()) return verify_atomics(role_ == Role::initiator ? tally().total : peer_total);
  const Area& area = endpoint_.layout().target;
  if (area.slots == 0) return std::nullopt;
  const bool ping_pong = case_.pattern == Pattern::ping_pong;
  // Every QP of a bandwidth test is filled to its depth before anything else, and RC delivers it
  // all; those of a latency have their turns.
  const std::uint64_t filled =
      case_.closed_loop() ? peer_total / case_.qps
                          : in_flight(case_) / case_.queues.post_list * case_.queues.post_list;
  // An open loop's requests take whatever QP has room.
  const bool known = case_.reliable() && !(case_.shared_receives() && case_.takes_receive()) &&
                     !(case_.open_loop() && area.qps > 1) &&
                     !(case_.shares_qps() && case_.closed_loop() && area.qps > 1);
  const std::uint64_t min = !known ? 0 : area.qps == 1 ? peer_total : filled;
  // A number in the immediate leaves the payload alone.
  const bool last_is_number =
      ping_pong && (!case_.takes_receive() || (!case_.reliable() && !case_.immediate()));
  const Skip skip{.first = numbers_sent(case_) == NumberPlace::payload ? kNumberBytes : 0,
                  .last = last_is_number ? 1U : 0U};
  return endpoint_.check(&Layout::target, [&](std::span<const std::byte> bytes) {
    return check_target(bytes, area, pattern_of(case_, seed_, other_end(role_)), skip, min,
                        device_.memory.cancel_check);
  });
}

/// @param total  atomics made, closing ones included
Verdict VerbsRunner::verify_atomics(std::uint64_t total) const {
  const bool closed = case_.opcode == Opcode::cmp_swap && case_.pattern == Pattern::bandwidth;
  const auto area = role_ == Role::initiator ? &Layout::target : &Layout::source;
  return endpoint_.check(area, [&](std::span<const std::byte> bytes) {
    return check_atomics(bytes, endpoint_.layout(), role_, case_.opcode,
                         total - (closed ? case_.qps : 0),
                         send_chain_length(case_, Role::initiator));
  });
}

std::vector<QpFigures> VerbsRunner::per_qp() const {
  if (case_.multicast() ||
      (case_.qps * case_.threads * case_.devices() == 1 && case_.path.flow_label.empty()))
    return {};
  std::vector<QpFigures> figures = work_->per_qp(tally().elapsed_ns);
  figures.resize(case_.qps);
  const FlowLabels labels{case_.path.flow_label};
  const bool has_port = case_.transport != Transport::ud && !case_.by_cm() &&
                        endpoint_.info().gid.type == GidType::roce_v2;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    figures[i].flow_label = labels.of(case_.path.first_qp + i);
    if (has_port)
      figures[i].udp_source_port =
          udp_source_port(figures[i].flow_label, endpoint_.info().qpns[i], peer_.qpns[i]);
  }
  return figures;
}

Json VerbsRunner::counters() const {
  return counter_differences(counters_before_,
                             read_counters(device_.port.device, device_.port.number));
}

std::optional<CmRoute> VerbsRunner::route_found() const {
  if (device_.port.link_layer != IBV_LINK_LAYER_INFINIBAND) return std::nullopt;
  if (group_) return route_of(group_->service().way);
  return cm_ ? cm_->route() : std::nullopt;
}

Json VerbsRunner::facts() const {
  auto facts = Json::object();
  if (case_.multicast()) facts["multicast_group"] = group_text_;
  if (const auto route = route_found()) {
    facts["route"] = {{"service_level", route->service_level},
                      {"rate_gbps", or_null(route->rate_gbps)},
                      {"mtu_bytes", or_null(route->mtu_bytes)}};
  }
  if (cm_ && cm_->route() && case_.transport != Transport::ud && !is_iwarp(*device_.context)) {
    const Ece& ece = cm_->route()->ece;
    facts["ece"] = {{"vendor_id", ece.vendor_id}, {"options", ece.options}};
    if (!ece.failed.empty()) facts["ece"]["failed"] = ece.failed;
  }
  if (!case_.returns_data() && endpoint_.view().inline_bytes != 0)
    facts["inlined"] = work_->inlined();
  facts.update(endpoint_.gpu_facts());
  if (case_.seen_in_memory()) facts["data_in_order"] = data_in_order_;
  facts["peer_thread_domain"] = peer_thread_domain_;
  if (mlx5_is_single_threaded(device_.port.device)) facts["mlx5_single_threaded"] = true;
  if (!noted_events_.empty()) facts["async_events"] = noted_events_;
  if (!breakdown_.is_null()) facts["shares"] = breakdown_;
  return facts;
}

namespace {

PayloadPattern pattern_of_part(const TestCase& part, const MixEnd& end, std::size_t number,
                               Role sender) {
  constexpr unsigned kAboveThreads = 32;  // whose seeds follow each other
  return pattern_of(part, end.seed + (std::uint64_t{number} << kAboveThreads), sender);
}

/// What came of so many requests of one part. @param count  of them
Verdict check_part(std::span<const std::byte> bytes, const MixEnd& end, std::size_t number,
                   std::uint64_t count, const CancelCheck& cancel_check) {
  const TestCase part = case_of_part(end.test_case, mix_of(end.test_case)[number]);
  const Layout& layout = end.layout.parts[number];
  if (part.atomic())
    return check_atomics(bytes, layout, end.role, part.opcode, count,
                         mix_chain_length(end.test_case, number));
  if (layout.target.slots == 0) return {};
  const Role sender = other_end(end.role);
  // Of several QPs a request takes whichever has room.
  const std::uint64_t written = layout.target.qps == 1 ? count : 0;
  return check_target(bytes, layout.target, pattern_of_part(part, end, number, sender), {}, written,
                      cancel_check);
}

}  // namespace

void fill_mix(std::span<std::byte> bytes, const MixEnd& end, const CancelCheck& cancel_check) {
  const std::vector<MixPart> parts = mix_of(end.test_case);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const TestCase part = case_of_part(end.test_case, parts[p]);
    const PayloadPattern pattern =
        part.atomic() ? PayloadPattern{.zero = true} : pattern_of_part(part, end, p, end.role);
    fill_source(bytes, end.layout.parts[p].source, pattern, cancel_check);
  }
}

Verdict check_mix(std::span<const std::byte> bytes, const MixEnd& end, std::uint64_t total,
                  const CancelCheck& cancel_check) {
  const std::vector<MixPart> parts = mix_of(end.test_case);
  const std::vector<std::uint64_t> counts =
      count_parts(draw_parts(end.test_case, end.seed), parts.size(), 0, total);
  Verdict sum;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Verdict one = check_part(bytes, end, p, counts[p], cancel_check);
    add(sum, one, fmt::format("{} of {} bytes", traits(parts[p].opcode).name, parts[p].size_bytes));
  }
  return sum;
}

}  // namespace rdmameter
