// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/measurer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <span>

#include "core/base/error.h"
#include "core/base/error_text.h"
#include "core/base/printable.h"
#include "core/engine/open_devices.h"
#include "core/engine/placement/placement.h"
#include "core/session/failure.h"
#include "core/verbs/device.h"
#include "core/verbs/device_events.h"
#include "core/verbs/environment.h"
#include "core/verbs/rdma_netlink.h"
#include "topologies/graphs/routes.h"
#include "topologies/ranks/barrier_qps.h"
#include "topologies/ranks/cm_edges.h"
#include "topologies/ranks/lost_pairs.h"
#include "topologies/ranks/node.h"
#include "topologies/ranks/rank_run.h"
#include "topologies/ranks/watchdog.h"
#include "topologies/stragglers/elimination.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMaxFailureBytes = 4096;

Failure failure_of(const std::exception& error) {
  return {.kind = std::string(failure_kind(error)),
          .reason = std::string(beginning(printable(error.what()), kMaxFailureBytes))};
}

/// What all ranks tell each other before the first case.
struct CoresAndSeed {
  std::vector<std::uint64_t> cores;   ///< that the rank may run on
  std::optional<std::uint32_t> seed;  ///< rank 0's
};

void list_fields(auto& fields, Is<CoresAndSeed> auto& said) {
  fields("cores", said.cores, {.max_size = CPU_SETSIZE});
  fields("seed", said.seed);
}

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

/// What is measured again, to find who is slow.
struct Trips {
  std::vector<RoundTripStops> trips;
};

void list_fields(auto& fields, Is<Trips> auto& again) {
  fields("trips", again.trips);
}

struct ProgramAndOptions {
  std::string version, options;
};

void list_fields(auto& fields, Is<ProgramAndOptions> auto& said) {
  fields.any_text("version", said.version);
  fields.any_text("options", said.options);
}

std::string combined_samples(const std::string& a, const std::string& b) {
  RankSamples samples = rank_samples_from_wire(a);
  merge(samples, rank_samples_from_wire(b));
  return rank_samples_to_wire(samples);
}

/// Measures the time from its making, or from the last lap, on.
class LapTimer {
 public:
  std::uint64_t lap_ns() {
    const auto now = Clock::now();
    const auto passed = now - last_;
    last_ = now;
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(passed).count());
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

class RankMeasurer final : public TopologyMeasurer {
 public:
  RankMeasurer(Ranks& ranks, std::chrono::milliseconds patience, const ClockChoice& clock,
               const InterruptSource& interrupt, const RanksChoice& choice)
      : ranks_(ranks), patience_(patience), clock_(clock), interrupt_(interrupt), choice_(choice) {
    share_cores_and_seed();
  }

  Outcome measure(const TestCase& test_case) override;

  bool usable() const override { return usable_; }
  nlohmann::ordered_json initiator_environment() const override { return nullptr; }
  nlohmann::ordered_json responder_environment() const override { return nullptr; }
  nlohmann::ordered_json ranks_environment(const TestCase& first) override;
  std::uint64_t common_seed() const override { return seed_; }

 private:
  struct Part;
  void share_cores_and_seed();
  PlacementWish wish_of(const Part& part) const;
  void connect_all(Part& part);
  std::vector<RankResult> run_all(Part& part);
  std::vector<RankResult> measure_all(Part& part);
  void create(Part& part);
  void listen(Part& part) const;
  std::map<Rank, std::string> addresses(const Part& part) const;
  void connect(Part& part, const std::map<Rank, std::string>& received);
  std::vector<RefusedEdge> connect_edges(Part& part,
                                         const std::map<Rank, EndpointInfo>& graph_peers,
                                         const std::map<Rank, EndpointInfo>& barrier_peers) const;
  std::vector<RefusedEdge> share(const std::vector<RefusedEdge>& own, Rank ranks);
  void lose_refused(Part& part);
  void run(Part& part);
  template <class Call>
  void with_loops(Part& part, Call call);
  bool can_be_judged(const Part& part) const;
  RankPlaces places_of(const std::vector<RankResult>& results) const;
  std::string trips_to_judge(const Part& part, const std::vector<RankResult>& results,
                             Outcome& outcome) const;
  RankResult run_again(Part& part, const std::vector<RoundTripStops>& trips);
  void judge(Part& part, const std::vector<RankResult>& results, Outcome& outcome);
  const char* path_of(const std::vector<RankResult>& results) const;
  Outcome collect(const Part& part, const std::vector<RankResult>& results);

  /// After this the case goes on only if no rank has failed.
  /// @param failure  empty: this rank has not
  void agree(const std::optional<Failure>& failure);
  template <class Call>
  auto with_all(Call call);
  OpenDevice& device_of(const TestCase& test_case);
  bool yields(const TestCase& test_case) const;
  std::string numbered(std::string name) const;

  Ranks& ranks_;
  const std::chrono::milliseconds patience_;
  const ClockChoice clock_;
  const InterruptSource& interrupt_;
  const RanksChoice choice_;
  LoneChoice lone_{choice_.on_choice};
  CpuClaims claims_;
  OpenDevices devices_{{.files = FileMemory::devices, .gpus = true, .cancel_check = [this] {
                          if (interrupt_.requested()) throw Interrupted("interrupted");
                        }}};
  std::uint64_t seed_ = 0, cases_ = 0;
  std::size_t cores_ = 0;  ///< of this machine, that its ranks may use
  bool usable_ = true;
  RankPairs no_barrier_;  ///< whose barrier QPs have failed
};

/// On which cores the ranks of this machine are. A batch system may leave them a few of those that
/// there are, and give each the same ones or its own. And rank 0's seed, by which all ranks know
/// what the messages of every other one hold.
void RankMeasurer::share_cores_and_seed() {
  const std::vector<std::string>& hosts = ranks_.hosts();
  CoresAndSeed own;
  for (const auto cpu : allowed_cpu_numbers()) own.cores.push_back(cpu);
  if (ranks_.rank() == 0) own.seed = std::random_device()();
  const std::vector<std::string> said = all_gather(ranks_, message_text(own));
  const auto seed = read_message_text<CoresAndSeed>(said.front()).seed;
  if (!seed) throw MeasurementError("the peer's message: rank 0 has told no `seed`");
  seed_ = *seed;
  std::set<std::uint64_t> cores;
  std::set<std::string_view> heard;  // most say the same
  for (std::size_t rank = 0; rank < said.size(); ++rank) {
    if (hosts[rank] != hosts[ranks_.rank()] || !heard.insert(said[rank]).second) continue;
    const auto received = read_message_text<CoresAndSeed>(said[rank]);
    cores.insert(received.cores.begin(), received.cores.end());
  }
  cores_ = cores.empty() ? static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN)) : cores.size();
}

/// What all ranks do together.
template <class Call>
auto RankMeasurer::with_all(Call call) {
  try {
    return call();
  } catch (const MeasurementError&) {
    usable_ = false;  // a rank is gone, and will be for every other case
    throw;
  }
}

void RankMeasurer::agree(const std::optional<Failure>& failure) {
  Failure first;
  std::uint64_t more = 0;
  const std::string own = failure ? message_text(*failure) : "";
  const std::vector<std::string> failures = with_all([&] { return ranks_.gather(own); });
  for (std::size_t rank = 0; rank < failures.size(); ++rank) {
    if (failures[rank].empty()) continue;
    if (!first.reason.empty()) {
      ++more;
      continue;
    }
    first = read_message_text<Failure>(failures[rank]);
    first.reason = fmt::format("rank {} on {}: {}", rank, ranks_.hosts()[rank], first.reason);
  }
  if (more > 0) first.reason += fmt::format(" (and {} more rank{})", more, more == 1 ? "" : "s");
  const std::string of_all =
      with_all([&] { return ranks_.broadcast(first.reason.empty() ? "" : message_text(first)); });
  if (of_all.empty()) return;
  first = read_message_text<Failure>(of_all);
  throw_failure(first.kind, first.reason);
}

/// With this rank's number on its machine in the place of "%l".
std::string RankMeasurer::numbered(std::string name) const {
  if (const auto at = name.find(kLocalRank); at != std::string::npos)
    name.replace(at, kLocalRank.size(), std::to_string(ranks_.local_rank()));
  return name;
}

OpenDevice& RankMeasurer::device_of(const TestCase& test_case) {
  EndSettings wanted = test_case.initiator;
  wanted.device = numbered(wanted.device);
  const EndSettings& end = lone_.settled(wanted, test_case.transport);
  return devices_.get_anew(end.device, end.port_num, end.gid_index);
}

/// Where ranks outnumber cores, one that spins keeps another from answering until its time
/// slice is over.
bool RankMeasurer::yields(const TestCase& test_case) const {
  if (test_case.wait != Wait::automatic) return test_case.wait == Wait::yield;
  return ranks_.local_size() > cores_;
}

/// What a rank has of a case between its steps.
struct RankMeasurer::Part {
  Part(const TestCase& asked, Rank rank)
      : test_case(asked), plan(plan_topology(asked)), taken(rank < asked.ranks) {
    if (taken) mine = plan_rank(plan, asked, rank);
  }
  /// The time since the last lap belongs to this step.
  /// @param apart_ns  of that time what is told elsewhere
  void lap(const char* step, std::uint64_t apart_ns = 0) {
    count_of(result.setup_ns, step) += laps.lap_ns() - apart_ns;
  }

  const TestCase& test_case;
  const TopologyPlan plan;
  const bool taken;  ///< else it only keeps the others company
  RankPlan mine;
  PairAttempt attempt;  ///< of a traffic in rounds; more pairs are lost where edges are refused
  std::vector<RefusedEdge> refused;  ///< of this rank; once all are connected, of all
  OpenDevice* device = nullptr;
  Counters counters_before;
  std::unique_ptr<BarrierQps> barrier;
  std::unique_ptr<Node> node;
  std::unique_ptr<CmEdges> cm;  ///< of iWARP
  RankResult result;
  LapTimer laps;
  Placement placement;
};

/// A CPU for each rank of this machine, or for none of them: their devices may be near one node.
PlacementWish RankMeasurer::wish_of(const Part& part) const {
  return {.core = part.test_case.initiator.core,
          .device = part.device->port.device,
          .needed = ranks_.local_size(),
          .first = ranks_.local_rank()};
}

void RankMeasurer::create(Part& part) {
  const TestCase& test_case = part.test_case;
  part.device = &device_of(test_case);
  if (part.counters_before.empty())
    part.counters_before = read_counters(part.device->port.device, part.device->port.number);
  part.placement = choose_placement(wish_of(part), claims_);
  const Pinned pinned = pinned_to_make(part.placement, "--core");
  if (is_iwarp(*part.device->context)) require_iwarp_carries(*part.device, test_case, part.plan);
  part.laps.lap_ns();  // opening the device and choosing a CPU are no part of a case
  TestCase own = test_case;
  own.initiator.memory = numbered(own.initiator.memory);
  part.node = std::make_unique<Node>(*part.device, own, part.plan, part.mine, ranks_.rank(),
                                     seed_ + cases_);
  part.lap("memory", sum_of(part.node->connect_ns()) + part.node->trial_ns());
  part.barrier = std::make_unique<BarrierQps>(*part.device, test_case, ranks_.rank(),
                                              static_cast<Rank>(test_case.ranks), no_barrier_);
  part.lap("barrier_qps", part.barrier->trial_ns());
  count_of(part.result.setup_ns, "trial_qps") = part.node->trial_ns() + part.barrier->trial_ns();
  if (is_iwarp(*part.device->context)) listen(part);
}

void RankMeasurer::listen(Part& part) const {
  std::map<Rank, std::vector<ibv_qp*>> qps;
  for (const Rank peer : part.barrier->partners()) qps[peer] = {part.barrier->qp_with(peer)};
  for (const Rank peer : part.plan.graph.neighbours[ranks_.rank()])
    for (ibv_qp* const qp : part.node->qps_with(peer)) qps[peer].push_back(qp);
  part.cm = std::make_unique<CmEdges>(
      *part.device, part.test_case, ranks_.rank(), std::move(qps),
      CmWatch{.interrupt = &interrupt_,
              .patience = std::min(patience_, std::chrono::milliseconds(kCmTimeout))});
  part.lap("rdma_cm");
}

/// What each rank that is to have QPs with this one must know of them: a line about the device,
/// which many ranks say alike, then the QPs.
std::map<Rank, std::string> RankMeasurer::addresses(const Part& part) const {
  std::map<Rank, QpsWithPeer> by_peer;
  for (const Rank peer : part.plan.graph.neighbours[ranks_.rank()])
    by_peer[peer].graph = part.node->info_for(peer);
  for (const Rank peer : part.barrier->partners())
    by_peer[peer].barrier = part.barrier->info_for(peer);
  if (part.cm)
    for (auto& [peer, qps] : by_peer)
      if (peer > ranks_.rank()) qps.cm = part.cm->invitation(peer);
  const std::string device = message_text<EndpointDevice>(endpoint_info_of(*part.device));
  std::map<Rank, std::string> texts;
  for (const auto& [peer, qps] : by_peer) texts.emplace(peer, device + '\n' + message_text(qps));
  return texts;
}

/// @param received  addresses() of other ranks for this one
void RankMeasurer::connect(Part& part, const std::map<Rank, std::string>& received) {
  std::map<Rank, EndpointInfo> graph_peers, barrier_peers, all_peers;
  std::map<Rank, CmInvitation> invitations;
  std::map<std::string_view, EndpointInfo> devices;  // by their lines
  for (const auto& [peer, text] : received) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto [device, is_new] = devices.try_emplace(std::string_view(text).substr(0, end));
    if (is_new) {
      device->second = {read_message_text<EndpointDevice>(device->first), {}};
      // Its other GIDs are not looked at again for each QP.
      if (const auto pair = choose_gid_pair(part.device->gids, device->second.gids))
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
  part.lap("bootstrap");
  const Pinned pinned{part.placement.first(), "--core"};
  if (part.cm) {
    part.cm->connect(all_peers, invitations);
    part.lap("rdma_cm");
  }
  part.refused = connect_edges(part, graph_peers, barrier_peers);
}

/// @return  what could not be connected; of a traffic without rounds that is an exception
std::vector<RefusedEdge> RankMeasurer::connect_edges(
    Part& part, const std::map<Rank, EndpointInfo>& graph_peers,
    const std::map<Rank, EndpointInfo>& barrier_peers) const {
  RefusedPeers of_barrier, of_graph;
  const auto keep = [&part](RefusedPeers& peers) {
    return part.plan.in_rounds() ? &peers : nullptr;
  };
  part.barrier->connect(barrier_peers, keep(of_barrier));
  part.lap("barrier_qps");
  part.node->connect(graph_peers, keep(of_graph));
  std::vector<RefusedEdge> refused;
  for (const bool barrier : {true, false})
    for (const auto& [peer, reason] : barrier ? of_barrier : of_graph)
      refused.push_back({.rank = ranks_.rank(),
                         .peer = peer,
                         .reason = std::string(beginning(printable(reason), kMaxEdgeReasonBytes)),
                         .barrier = barrier});
  return refused;
}

/// @return  those of all ranks
std::vector<RefusedEdge> RankMeasurer::share(const std::vector<RefusedEdge>& own, Rank ranks) {
  const std::string mine = own.empty() ? "" : message_text(RefusedEdges{own});
  RefusedEdges of_all;
  for (const std::string& text : with_all([&] { return ranks_.gather(mine); }))
    if (!text.empty())
      std::ranges::move(read_message_text<RefusedEdges>(text).edges,
                        std::back_inserter(of_all.edges));
  const std::string told =
      with_all([&] { return ranks_.broadcast(of_all.edges.empty() ? "" : message_text(of_all)); });
  if (told.empty()) return {};
  auto refused = read_message_text<RefusedEdges>(told);
  require_edges_of(refused, ranks);
  return std::move(refused.edges);
}

/// Pairs that would need a refused edge are lost. Where the barrier needs one, this attempt is
/// over: the next one's barrier goes around it.
void RankMeasurer::lose_refused(Part& part) {
  for (const RefusedEdge& edge : part.refused)
    if (edge.barrier && edge.rank == ranks_.rank()) {
      part.result.failure = edge.reason;
      part.result.no_barrier_with = edge.peer;
    }
  for (const auto& [partner, edge] :
       cut_off_partners(part.plan.graph, ranks_.rank(), part.refused)) {
    const bool direct = edge->rank == ranks_.rank() && edge->peer == partner;
    const bool planned = std::ranges::find(part.mine.pair_turns, partner, &PairTurn::partner) !=
                         part.mine.pair_turns.end();
    part.attempt.lost.insert(std::minmax(ranks_.rank(), partner));
    if (direct || planned)
      part.result.lost_pairs.push_back({.with = partner,
                                        .reason = cut_off_reason(*edge, ranks_.rank(), partner),
                                        .waited = !direct});
  }
}

/// Calls it with what the loops of this rank need. What fails there stands in the result: the
/// others find out when their patience ends, or at once where nothing was asked of this rank.
template <class Call>
void RankMeasurer::with_loops(Part& part, Call call) {
  StopFlag stop;
  RankTally tally;
  const RankLoops& loops =
      choose_rank_loops(part.node->receive_mode(), yields(part.test_case), clock_.kind);
  try {
    Watchdog watchdog(tally.progress, patience_, interrupt_, stop);
    const Pinned pinned{part.placement.first(), "--core"};  // and not the watchdog
    RankRun run({part.node->work(), part.barrier->barrier(), part.test_case, part.plan, part.mine,
                 ranks_.rank(), loops, clock_, stop, tally, &watchdog, patience_ / 2,
                 part.attempt});
    call(run);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    part.result.failure = error_text(error);
    if (const auto peer = part.barrier->failed_towards()) {
      part.result.no_barrier_with = *peer;
      part.result.failure += fmt::format(". No message of the barrier gets to rank {}", *peer);
    }
  }
}

void RankMeasurer::run(Part& part) {
  with_loops(part, [&](RankRun& run) {
    run.begin();
    part.lap("first_barrier");
    run.run(part.result);
    for (const LoopPlace& place : place_now()) {
      part.result.cpu = place.cpu;
      part.result.numa_node = place.numa_node;
    }
    part.result.device = part.device->port.device;
    part.result.not_pinned = part.placement.reason;
    if (const auto node = part.placement.device.numa_node)
      part.result.device_numa_node = static_cast<std::uint64_t>(*node);
    part.result.connect_ns = part.node->connect_ns();
    part.result.qps = part.node->qp_count();
    part.result.barrier_qps = part.barrier->count();
    part.result.connection_bytes = part.node->connection_bytes();
    part.result.relay_bytes = part.node->relay_bytes();
    part.result.kernel = kernel_objects(*part.device->context);
    part.result.mtu_bytes = part.node->mtu_bytes();
    part.result.thread_domain = part.node->has_thread_domain() && part.barrier->has_thread_domain();
    part.result.yielding = yields(part.test_case);
  });
}

/// Late messages of UC and UD would come while others are measured.
bool RankMeasurer::can_be_judged(const Part& part) const {
  constexpr std::uint64_t kMinRanks = 3;
  return part.plan.traffic.entry->reach == Reach::pair && part.test_case.ranks >= kMinRanks &&
         part.test_case.transport == Transport::rc;
}

RankPlaces RankMeasurer::places_of(const std::vector<RankResult>& results) const {
  RankPlaces places = places_on(std::span(ranks_.hosts()).first(results.size()));
  for (std::size_t rank = 0; rank < results.size(); ++rank)
    if (const auto node = results[rank].numa_node)
      places[rank].numa_node = static_cast<std::uint32_t>(*node);
  return places;
}

/// At rank 0: writes a verdict that needs nothing more. @return  the round trips it
/// needs; empty: none
std::string RankMeasurer::trips_to_judge(const Part& part, const std::vector<RankResult>& results,
                                         Outcome& outcome) const {
  TopologyData& topology = *outcome.topology;
  if (!topology.failed_pairs.empty()) return {};
  if (topology.matrix_ns.empty() || (topology.yielding && !choice_.judge_shared)) return {};
  const RankPlaces places = places_of(results);
  const Straggler suspect = find_straggler(topology.matrix_ns, topology.edges, places);
  topology.straggler.emplace();
  const std::vector<RoundTripStops> trips =
      elimination_trips(suspect, topology.matrix_ns, part.plan.graph, places, part.test_case.seed);
  return trips.empty() ? std::string() : message_text(Trips{trips});
}

RankResult RankMeasurer::run_again(Part& part, const std::vector<RoundTripStops>& trips) {
  part.result = {};
  with_loops(part, [&](RankRun& run) { part.result.matrix_row_ns = run.run_again(trips); });
  return part.result;
}

/// @param results  at rank 0, of all ranks
/// @param outcome  elsewhere than at rank 0, and where it failed, without a topology
void RankMeasurer::judge(Part& part, const std::vector<RankResult>& results, Outcome& outcome) {
  const std::string own = outcome.topology ? trips_to_judge(part, results, outcome) : std::string();
  const std::string asked = with_all([&] { return ranks_.broadcast(own); });
  if (asked.empty()) return;
  const std::vector<RoundTripStops> trips = read_message_text<Trips>(asked).trips;
  const std::string result =
      part.taken ? rank_result_to_wire(run_again(part, trips)) : std::string();
  const std::vector<std::string> reports = with_all([&] { return ranks_.gather(result); });
  if (!outcome.topology) return;
  std::vector<double> times_ns(trips.size());
  std::string failure;
  for (Rank rank = 0; rank < part.test_case.ranks; ++rank) {
    const RankResult received = rank_result_from_wire(reports[rank]);
    if (failure.empty() && !received.failure.empty())
      failure = fmt::format("rank {} on {}: {}", rank, ranks_.hosts()[rank], received.failure);
    for (std::size_t i = 0; i < std::min(trips.size(), received.matrix_row_ns.size()); ++i)
      times_ns[i] += received.matrix_row_ns[i];
  }
  Straggler& straggler = outcome.topology->straggler.emplace();
  if (failure.empty())
    straggler = judge_elimination(trips, times_ns);
  else
    straggler = {.verdict = Straggler::Verdict::unknown, .reason = failure};
}

/// The path of the data, as a row between two ends has it.
const char* RankMeasurer::path_of(const std::vector<RankResult>& results) const {
  bool one_host = true, one_device = true;
  for (std::size_t rank = 1; rank < results.size(); ++rank) {
    one_host &= ranks_.hosts()[rank] == ranks_.hosts()[0];
    one_device &= results[rank].device == results[0].device;
  }
  return !one_host ? "network" : one_device ? "same_device" : "netdev";
}

/// At rank 0: merges the results of all ranks. @throws MeasurementError  what has failed
Outcome RankMeasurer::collect(const Part& part, const std::vector<RankResult>& results) {
  std::string failure;
  bool only_waited = true;
  for (Rank rank = 0; rank < part.test_case.ranks; ++rank) {
    const std::string& why = results[rank].failure;
    if (why.empty()) continue;
    // A rank that only waited in vain knows least of what went wrong.
    const bool waited = why == kOutOfPatience;
    if (failure.empty() || (only_waited && !waited))
      failure = fmt::format("rank {} on {}: {}", rank, ranks_.hosts()[rank], why);
    only_waited &= waited;
  }
  if (!failure.empty()) throw MeasurementError(failure);
  Outcome outcome = merge_results(part.test_case, part.plan, results);
  const std::uint64_t measured =
      outcome.latency ? outcome.latency->histogram.count : outcome.bandwidth->messages;
  if (const auto& lost = outcome.topology->failed_pairs; !lost.empty() && measured == 0)
    throw MeasurementError(fmt::format("no pair could be measured; rank {} and rank {}: {}",
                                       lost.front().from, lost.front().to, lost.front().reason));
  const PortInfo& port = part.device->port;
  outcome.device_counters = {
      {"initiator",
       counter_differences(part.counters_before, read_counters(port.device, port.number))},
      {"responder", nullptr}};
  if (part.test_case.initiator.device.find('%') == std::string::npos)
    outcome.effective.initiator.device = port.device;
  outcome.extra["path"] = path_of(results);
  outcome.extra.update(part.node->gpu_facts());
  if (part.cm) outcome.effective.path.mtu_bytes = 0;  // TCP has segments
  outcome.effective.initiator.port_num = port.number;
  outcome.effective.initiator.gid_index = part.device->gid.index;
  outcome.effective.wait = outcome.topology->yielding ? Wait::yield : Wait::spin;
  return outcome;
}

void RankMeasurer::connect_all(Part& part) {
  // A step of this rank's own, whose failure all ranks hear of.
  const auto step = [&part](const std::function<void()>& own) -> std::optional<Failure> {
    if (!part.taken) return {};
    try {
      own();
      return {};
    } catch (const std::exception& error) {
      return failure_of(error);
    }
  };
  agree(step([&] { create(part); }));
  const std::map<Rank, std::string> own =
      part.taken ? addresses(part) : std::map<Rank, std::string>();
  const std::map<Rank, std::string> received = with_all([&] { return ranks_.exchange(own); });
  part.lap("bootstrap");
  const std::optional<Failure> connected = step([&] { connect(part, received); });
  part.laps.lap_ns();  // the graph's own QPs: connect_ns tells it
  agree(connected);
  if (part.plan.in_rounds()) {
    part.refused = share(part.refused, static_cast<Rank>(part.test_case.ranks));
    if (part.taken) lose_refused(part);
  }
  part.lap("wait");
}

/// @return  at rank 0 the results of all ranks; all samples are in the first
std::vector<RankResult> RankMeasurer::run_all(Part& part) {
  if (part.taken && std::ranges::none_of(part.refused, &RefusedEdge::barrier)) run(part);
  const std::string own = part.taken ? rank_result_to_wire(part.result) : std::string();
  const std::vector<std::string> reports = with_all([&] { return ranks_.gather(own); });
  const std::string samples = with_all(
      [&] { return ranks_.reduce(rank_samples_to_wire(part.result.samples), combined_samples); });
  std::vector<RankResult> results;
  if (ranks_.rank() != 0) return results;
  for (Rank rank = 0; rank < part.test_case.ranks; ++rank)
    results.push_back(rank_result_from_wire(reports[rank]));
  results.front().samples = rank_samples_from_wire(samples);
  return results;
}

/// Connects and runs. Of pairs as often as pairs fail, and others are left: all QPs are made anew,
/// since it is not known what of the old ones is still under way.
std::vector<RankResult> RankMeasurer::measure_all(Part& part) {
  std::vector<RankResult> results;
  PairAttempt attempt{.no_barrier = no_barrier_};
  for (;;) {
    part.attempt = attempt;
    connect_all(part);
    std::vector<RankResult> latest = run_all(part);
    if (!part.plan.in_rounds()) return latest;
    const bool again = ranks_.rank() == 0 && next_attempt(attempt, results, std::move(latest),
                                                          2 * part.mine.pair_turns.size());
    const std::string next =
        with_all([&] { return ranks_.broadcast(again ? message_text(attempt) : ""); });
    if (next.empty()) return results;
    attempt = read_message_text<PairAttempt>(next);
    no_barrier_ = attempt.no_barrier;
    part.cm.reset();
    part.barrier.reset();
    part.node.reset();
    part.result = {};
  }
}

Outcome RankMeasurer::measure(const TestCase& test_case) {
  ++cases_;
  Part part(test_case, ranks_.rank());
  const std::vector<RankResult> results = measure_all(part);
  Outcome outcome;
  outcome.effective = test_case;
  std::exception_ptr failure;  // others wait to hear whether something is measured again
  try {
    if (ranks_.rank() == 0) outcome = collect(part, results);
  } catch (const std::exception&) {
    failure = std::current_exception();
    outcome.topology.reset();
  }
  try {
    if (can_be_judged(part)) judge(part, results, outcome);
  } catch (const std::exception& error) {
    if (ranks_.rank() != 0) throw;
    // What was measured is kept. A rank that is gone fails the next case, and who has interrupted
    // ends the run after this one.
    if (outcome.topology)
      outcome.topology->straggler = {.verdict = Straggler::Verdict::unknown,
                                     .reason = error_text(error)};
  }
  // Who is done ends its connections, and iWARP tells the other ends at once. It is so at all ranks
  // or at none: those of two kinds have not connected.
  if (part.cm) with_all([&] { return ranks_.broadcast(""); });
  if (failure) std::rethrow_exception(failure);
  return outcome;
}

nlohmann::ordered_json RankMeasurer::ranks_environment(const TestCase& first) {
  nlohmann::ordered_json said{{"rank", ranks_.rank()}, {"host", ranks_.hosts()[ranks_.rank()]}};
  try {
    const OpenDevice& device = device_of(first);
    said["max_qp"] = device.limits.max_qp;
    said.update(environment_with(clock_, &device));
  } catch (const std::exception&) {  // each case will say why
    said.update(environment_with(clock_, nullptr));
  }
  auto result = nlohmann::ordered_json::array();
  for (const std::string& each : with_all([&] { return ranks_.gather(said.dump()); })) {
    const auto received = nlohmann::ordered_json::parse(each, nullptr, false);
    if (received.is_object()) result.push_back(received);
  }
  return result;
}

}  // namespace

std::unique_ptr<TopologyMeasurer> make_topology_measurer(Ranks& ranks,
                                                         std::chrono::milliseconds patience,
                                                         const ClockChoice& clock,
                                                         const InterruptSource& interrupt,
                                                         const RanksChoice& choice) {
  return std::make_unique<RankMeasurer>(ranks, patience, clock, interrupt, choice);
}

std::string check_same(Ranks& ranks, const std::string& version, const std::string& options) {
  const std::vector<std::string> received =
      all_gather(ranks, message_text(ProgramAndOptions{version, options}));
  const auto first = read_message_text<ProgramAndOptions>(received.front());
  for (std::size_t rank = 0; rank < received.size(); ++rank) {
    const auto other = read_message_text<ProgramAndOptions>(received[rank]);
    for (const auto& [what, part] : {std::pair("version", &ProgramAndOptions::version),
                                     std::pair("set of options", &ProgramAndOptions::options)})
      if (other.*part != first.*part)
        return fmt::format(
            "rank {} has another {} than rank 0: '{}' and '{}'; start all ranks with "
            "one program and one command line",
            rank, what, printable(other.*part), printable(first.*part));
  }
  return {};
}

}  // namespace rdmameter
