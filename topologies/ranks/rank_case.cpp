// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/rank_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/error_text.h"
#include "core/engine/device/device_terms.h"
#include "core/verbs/device.h"
#include "core/verbs/rdma_netlink.h"
#include "topologies/ranks/loop/loop_table.h"
#include "topologies/ranks/rank_run.h"
#include "topologies/ranks/watchdog.h"

namespace rdmameter {
namespace {

/// What a rank that is to have QPs with another one tells it of them.
struct QpsWithPeer {
  std::optional<EndpointQueues> graph, barrier;
  std::optional<CmInvitation> cm;
};

void list_fields(auto& fields, Is<QpsWithPeer> auto& qps) {
  fields("graph", qps.graph);
  fields("barrier", qps.barrier);
  fields("cm", qps.cm);
}

}  // namespace

RankCase::RankCase(const TestCase& test_case, Rank rank, std::chrono::milliseconds patience,
                   const ClockChoice& clock, const InterruptSource& interrupt)
    : plan_(plan_topology(test_case)), patience_(patience), clock_(clock), interrupt_(interrupt) {
  if (rank < test_case.ranks) mine_.emplace(plan_rank(plan_, rank));
}

void RankCase::lap(const char* step, std::uint64_t apart_ns) {
  const auto since = std::exchange(last_lap_, std::chrono::steady_clock::now());
  const std::chrono::nanoseconds passed = last_lap_ - since;
  count_of(result_.setup_ns, step) += static_cast<std::uint64_t>(passed.count()) - apart_ns;
}

void RankCase::begin(const PairAttempt& attempt) {
  attempt_ = attempt;
  cm_.reset();
  queues_.reset();
  result_ = {};
}

void RankCase::create(OpenDevice& device, Placement placement, std::uint64_t seed, bool yields) {
  device_ = &device;
  placement_ = std::move(placement);
  yields_ = yields;
  if (counters_before_.empty())
    counters_before_ = read_counters(device.port.device, device.port.number);
  const Pinned pinned = pinned_to_make(placement_, "--core");
  if (is_iwarp(*device.context))
    require_iwarp_carries(device, plan_);
  else
    require_link_has(device, plan_.test_case);
  start_lap();  // opening the device and choosing a CPU are no part of a case
  queues_ = std::make_unique<DeviceQueues>(device, *mine_, seed);
  const std::uint64_t trial_ns = queues_->trial_ns();
  lap("memory", sum_of(queues_->connect_ns()) + trial_ns);
  queues_->create_barrier(attempt_.no_barrier);
  lap("barrier_qps", queues_->trial_ns() - trial_ns);
  count_of(result_.setup_ns, "trial_qps") = queues_->trial_ns();
  if (!is_iwarp(*device.context)) return;
  cm_ = std::make_unique<CmEdges>(
      device, plan_.test_case, mine_->rank, queues_->qps_by_peer(),
      CmWatch{.interrupt = &interrupt_,
              .patience = std::min(patience_, std::chrono::milliseconds(kCmTimeout))});
  lap("rdma_cm");
}

/// A line about the device, which many ranks say alike, then the QPs.
std::map<Rank, std::string> RankCase::addresses() const {
  std::map<Rank, QpsWithPeer> by_peer;
  for (const Rank peer : plan_.graph.neighbours[mine_->rank])
    by_peer[peer].graph = queues_->info_for(peer);
  for (const Rank peer : queues_->barrier_partners())
    by_peer[peer].barrier = queues_->barrier_info_for(peer);
  if (cm_)
    for (auto& [peer, qps] : by_peer)
      if (peer > mine_->rank) qps.cm = cm_->invitation(peer);
  const std::string device = message_text<EndpointDevice>(endpoint_info_of(*device_));
  std::map<Rank, std::string> texts;
  for (const auto& [peer, qps] : by_peer) texts.emplace(peer, device + '\n' + message_text(qps));
  return texts;
}

void RankCase::connect(const std::map<Rank, std::string>& received) {
  std::map<Rank, EndpointInfo> graph_peers, barrier_peers, all_peers;
  std::map<Rank, CmInvitation> invitations;
  std::map<std::string_view, EndpointInfo> devices;  // by their lines
  for (const auto& [peer, text] : received) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto [device, is_new] = devices.try_emplace(std::string_view(text).substr(0, end));
    if (is_new) {
      device->second = {read_message_text<EndpointDevice>(device->first), {}};
      // Its other GIDs are not looked at again for each QP.
      if (const auto pair = choose_gid_pair(device_->gids, device->second.gids))
        device->second.gids = {pair->theirs};
    }
    const auto told = read_message_text<QpsWithPeer>(std::string_view(text).substr(end));
    for (const auto& [queues, peers] :
         {std::pair(&told.graph, &graph_peers), std::pair(&told.barrier, &barrier_peers)}) {
      if (!*queues) continue;
      require_queues_of(**queues, (*queues)->qpns.size());
      peers->emplace(peer, EndpointInfo{device->second, **queues});
    }
    all_peers.emplace(peer, device->second);
    if (told.cm) invitations.emplace(peer, *told.cm);
  }
  lap("bootstrap");
  const Pinned pinned{placement_.first(), "--core"};
  if (cm_) {
    cm_->connect(all_peers, invitations);
    lap("rdma_cm");
  }
  refused_.clear();
  std::vector<RefusedEdge>* const refused = plan_.in_rounds() ? &refused_ : nullptr;
  queues_->connect_barrier(barrier_peers, refused);
  lap("barrier_qps");
  queues_->connect(graph_peers, refused);
  start_lap();  // the graph's own QPs: connect_ns tells it
}

void RankCase::set_refused(std::vector<RefusedEdge> of_all) {
  refused_ = std::move(of_all);
  for (const RefusedEdge& edge : refused_)
    if (edge.barrier && edge.rank == mine_->rank) {
      result_.failure = edge.reason;
      result_.no_barrier_with = edge.peer;
    }
  for (const auto& [partner, edge] : cut_off_partners(plan_.graph, mine_->rank, refused_)) {
    const bool direct = edge->rank == mine_->rank && edge->peer == partner;
    const bool planned = std::ranges::find(mine_->pair_turns, partner, &PairTurn::partner) !=
                         mine_->pair_turns.end();
    attempt_.lost.insert(std::minmax(mine_->rank, partner));
    if (direct || planned)
      result_.lost_pairs.push_back(
          {.with = partner,
           .reason =
               direct ? edge->reason
                      : fmt::format("nothing goes from rank {} to rank {}, which is on the way: {}",
                                    edge->rank, edge->peer, edge->reason),
           .waited = !direct});
  }
}

/// Calls it with what the loops of this rank need. What fails there stands in the result: the
/// others find out when their patience ends, or at once where nothing was asked of this rank.
template <class Call>
void RankCase::with_loops(Call call) {
  StopFlag stop;
  const RankLoops& loops = choose_rank_loops(queues_->receive_mode(), yields_, clock_.kind);
  try {
    Watchdog watchdog(queues_->state().progress, patience_, interrupt_, stop);
    const Pinned pinned{placement_.first(), "--core"};  // and not the watchdog
    RankRun run(*queues_, result_, loops, clock_, stop, &watchdog, attempt_);
    call(run);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    result_.failure = error_text(error);
    if (const auto peer = queues_->barrier_failed_towards()) {
      result_.no_barrier_with = *peer;
      result_.failure += fmt::format(". No message of the barrier gets to rank {}", *peer);
    }
  }
}

void RankCase::run() {
  if (std::ranges::any_of(refused_, &RefusedEdge::barrier)) return;
  with_loops([this](RankRun& run) {
    run.begin();
    lap("first_barrier");
    run.run();
    add_facts();
  });
}

void RankCase::add_facts() {
  for (const LoopPlace& place : place_now()) {
    result_.cpu = place.cpu;
    result_.numa_node = place.numa_node;
  }
  result_.device = device_->port.device;
  result_.not_pinned = placement_.reason;
  if (const auto node = placement_.device.numa_node)
    result_.device_numa_node = static_cast<std::uint64_t>(*node);
  result_.connect_ns = queues_->connect_ns();
  result_.kernel = kernel_objects(*device_->context);
  result_.mtu_bytes = queues_->mtu_bytes();
  result_.thread_domain = queues_->has_thread_domain();
  result_.yielding = yields_;
}

void RankCase::run_again(const std::vector<RoundTripStops>& trips) {
  result_ = {};
  with_loops([&](RankRun& run) { result_.matrix_row_ns = run.run_again(trips); });
}

void RankCase::add_device(Outcome& outcome) const {
  const PortInfo& port = device_->port;
  outcome.device_counters = {
      {"initiator", counter_differences(counters_before_, read_counters(port.device, port.number))},
      {"responder", nullptr}};
  outcome.extra.update(queues_->gpu_facts());
}

}  // namespace rdmameter
