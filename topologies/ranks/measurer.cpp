// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/measurer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <map>
#include <random>
#include <set>
#include <span>
#include <type_traits>

#include "core/base/error.h"
#include "core/base/error_text.h"
#include "core/base/printable.h"
#include "core/engine/open_devices.h"
#include "core/engine/placement/placement.h"
#include "core/session/failure.h"
#include "core/verbs/device.h"
#include "core/verbs/environment.h"
#include "topologies/graphs/routes.h"
#include "topologies/ranks/lost_pairs.h"
#include "topologies/ranks/rank_case.h"
#include "topologies/stragglers/elimination.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMaxFailureBytes = 4096;

/// What all ranks tell each other before the first case.
struct CoresAndSeed {
  std::vector<std::uint64_t> cores;   ///< that the rank may run on
  std::optional<std::uint32_t> seed;  ///< rank 0's
};

void list_fields(auto& fields, Is<CoresAndSeed> auto& said) {
  fields("cores", said.cores, {.max_size = CPU_SETSIZE});
  fields("seed", said.seed);
}

/// What is measured again, to find who is slow.
using Trips = OneField<"trips", std::vector<RoundTripStops>>;

struct ProgramAndOptions {
  std::string version, options;
};

void list_fields(auto& fields, Is<ProgramAndOptions> auto& said) {
  fields.any_text("version", said.version);
  fields.any_text("options", said.options);
}

std::string combined_samples(const std::string& a, const std::string& b) {
  RankSamples samples = read_message_text<RankSamples>(a);
  merge(samples, read_message_text<RankSamples>(b));
  return message_text(samples);
}

/// Late messages of UC and UD would come while others are measured.
bool can_be_judged(const TopologyPlan& plan) {
  constexpr Rank kMinRanks = 3;
  return plan.traffic.entry->reach == Reach::pair && plan.graph.ranks() >= kMinRanks &&
         plan.test_case.transport == Transport::rc;
}

class RankMeasurer final : public TopologyMeasurer {
 public:
  RankMeasurer(Ranks& ranks, const RanksChoice& choice) : ranks_(ranks), choice_(choice) {
    share_cores_and_seed();
  }

  Outcome measure(const TestCase& test_case) override {
    ++cases_;
    TestCase numbered_case = test_case;
    numbered_case.initiator.memory = numbered(test_case.initiator.memory);
    RankCase own(numbered_case, ranks_.rank(), choice_.patience, choice_.clock, choice_.interrupt);
    const std::vector<RankResult> results = measure_all(own);
    Outcome outcome;
    std::exception_ptr failure;  // others wait to hear whether something is measured again
    try {
      if (ranks_.rank() == 0) outcome = collect(own, results);
    } catch (const std::exception&) {
      failure = std::current_exception();
      outcome.topology.reset();
    }
    try {
      if (can_be_judged(own.plan())) judge(own, results, outcome);
    } catch (const std::exception& error) {
      if (ranks_.rank() != 0) throw;
      // What was measured is kept. A rank that is gone fails the next case, and who has interrupted
      // ends the run after this one.
      if (outcome.topology)
        outcome.topology->straggler = {.verdict = Straggler::Verdict::unknown,
                                       .reason = error_text(error)};
    }
    // Who is done ends its connections, and iWARP tells the other ends at once. It is so at all
    // ranks or at none: those of two kinds have not connected.
    if (own.by_cm()) with_all(&Ranks::broadcast, "");
    if (failure) std::rethrow_exception(failure);
    outcome.effective =
        ranks_.rank() == 0 ? as_measured(test_case, results, &own.device()) : test_case;
    return outcome;
  }

  bool usable() const override { return usable_; }
  Json ranks_environment(const TestCase& first) override {
    Json said{{"rank", ranks_.rank()}, {"host", ranks_.hosts()[ranks_.rank()]}};
    try {
      const OpenDevice& device = device_of(first);
      said["max_qp"] = device.limits.max_qp;
      said.update(environment_with(choice_.clock, &device));
    } catch (const std::exception&) {  // each case will say why
      said.update(environment_with(choice_.clock, nullptr));
    }
    auto result = Json::array();
    for (const std::string& each : with_all(&Ranks::gather, said.dump())) {
      const auto received = Json::parse(each, nullptr, false);
      if (received.is_object()) result.push_back(received);
    }
    return result;
  }
  std::uint64_t common_seed() const override { return seed_; }

 private:
  /// On which cores the ranks of this machine are. A batch system may leave them a few of those
  /// that there are, and give each the same ones or its own. And rank 0's seed, by which all ranks
  /// know what the messages of every other one hold.
  void share_cores_and_seed() {
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

  /// What all ranks do together: a function of Ranks.
  template <class Result, class... Parameters>
  Result with_all(Result (Ranks::*function)(Parameters...),
                  std::type_identity_t<Parameters>... arguments) {
    try {
      return (ranks_.*function)(arguments...);
    } catch (const MeasurementError&) {
      usable_ = false;  // a rank is gone, and will be for every other case
      throw;
    }
  }

  std::string failure_of_rank(Rank rank, const std::string& why) const {
    return fmt::format("rank {} on {}: {}", rank, ranks_.hosts()[rank], why);
  }

  /// A step of this rank's own, after which the case goes on only if no rank has failed.
  template <class Step>
  void take_step(const RankCase& own, Step step) {
    std::string failure;
    try {
      if (own.taken()) step();
    } catch (const std::exception& error) {
      failure = message_text(Failure{
          .kind = std::string(failure_kind(error)),
          .reason = std::string(beginning(printable(error_text(error)), kMaxFailureBytes))});
    }
    Failure first;
    std::uint64_t more = 0;
    const std::vector<std::string> failures = with_all(&Ranks::gather, failure);
    for (std::size_t rank = 0; rank < failures.size(); ++rank) {
      if (failures[rank].empty()) continue;
      if (!first.reason.empty()) {
        ++more;
        continue;
      }
      first = read_message_text<Failure>(failures[rank]);
      first.reason = failure_of_rank(static_cast<Rank>(rank), first.reason);
    }
    if (more > 0) first.reason += fmt::format(" (and {} more rank{})", more, more == 1 ? "" : "s");
    const std::string of_all =
        with_all(&Ranks::broadcast, first.reason.empty() ? "" : message_text(first));
    ranks_.let_others_measure(false);  // rank 0 has said something since
    if (of_all.empty()) return;
    first = read_message_text<Failure>(of_all);
    throw_failure(first.kind, first.reason);
  }

  /// With this rank's number on its machine in the place of "%l".
  std::string numbered(std::string name) const {
    if (const auto at = name.find(kLocalRank); at != std::string::npos)
      name.replace(at, kLocalRank.size(), std::to_string(ranks_.local_rank()));
    return name;
  }

  OpenDevice& device_of(const TestCase& test_case) {
    EndSettings wanted = test_case.initiator;
    wanted.device = numbered(wanted.device);
    const EndSettings& end = lone_.settled(wanted, test_case.transport);
    return devices_.get(end.device, end.port_num, end.gid_index, true);
  }

  void create(RankCase& own) {
    const TestCase& test_case = own.plan().test_case;
    OpenDevice& device = device_of(test_case);
    // A CPU for each rank of this machine, or for none of them: their devices may be near one node.
    const PlacementWish wish{.core = test_case.initiator.core,
                             .device = device.port.device,
                             .needed = ranks_.local_size(),
                             .first = ranks_.local_rank()};
    // Where ranks outnumber cores, one that spins keeps another from answering until its time slice
    // is over.
    const bool yields = test_case.wait == Wait::automatic ? ranks_.local_size() > cores_
                                                          : test_case.wait == Wait::yield;
    own.create(device, choose_placement(wish, claims_), seed_ + cases_, yields);
  }

  /// @return  the edges that were refused at any rank of the case
  std::vector<RefusedEdge> share_refused(const RankCase& own) {
    RefusedEdges of_all;
    const std::string mine = own.refused().empty() ? "" : message_text(RefusedEdges{own.refused()});
    for (const std::string& text : with_all(&Ranks::gather, mine))
      if (!text.empty())
        std::ranges::move(read_message_text<RefusedEdges>(text).value,
                          std::back_inserter(of_all.value));
    const std::string told =
        with_all(&Ranks::broadcast, of_all.value.empty() ? "" : message_text(of_all));
    if (told.empty()) return {};
    of_all = read_message_text<RefusedEdges>(told);
    require_edges_of(of_all, own.plan().graph.ranks());
    return std::move(of_all.value);
  }

  RankPlaces places_of(const std::vector<RankResult>& results) const {
    RankPlaces places = places_on(std::span(ranks_.hosts()).first(results.size()));
    for (std::size_t rank = 0; rank < results.size(); ++rank)
      if (const auto node = results[rank].numa_node)
        places[rank].numa_node = static_cast<std::uint32_t>(*node);
    return places;
  }

  /// At rank 0: writes a verdict that needs nothing more.
  /// @return  the round trips it needs; empty: none
  std::string trips_to_judge(const RankCase& own, const std::vector<RankResult>& results,
                             Outcome& outcome) const {
    TopologyData& topology = *outcome.topology;
    if (!topology.failed_pairs.empty()) return {};
    if (topology.matrix_ns.empty() || (topology.yielding && !choice_.judge_shared)) return {};
    const RankPlaces places = places_of(results);
    const Straggler suspect = find_straggler(topology.matrix_ns, topology.edges, places);
    topology.straggler.emplace();
    const std::vector<RoundTripStops> trips = elimination_trips(
        suspect, topology.matrix_ns, own.plan().graph, places, own.plan().test_case.seed);
    return trips.empty() ? std::string() : message_text(Trips{trips});
  }

  /// @param results  at rank 0, of all ranks
  /// @param outcome  elsewhere than at rank 0, and where it failed, without a topology
  void judge(RankCase& own, const std::vector<RankResult>& results, Outcome& outcome) {
    const std::string wanted = outcome.topology ? trips_to_judge(own, results, outcome) : "";
    const std::string asked = with_all(&Ranks::broadcast, wanted);
    if (asked.empty()) return;
    const std::vector<RoundTripStops> trips = read_message_text<Trips>(asked).value;
    if (own.taken()) own.run_again(trips);
    const std::vector<RankResult> again = gather_results(own);
    if (!outcome.topology) return;
    std::vector<double> times_ns(trips.size());
    std::string failure;
    for (Rank rank = 0; rank < again.size(); ++rank) {
      const RankResult& result = again[rank];
      if (failure.empty() && !result.failure.empty())
        failure = failure_of_rank(rank, result.failure);
      for (std::size_t i = 0; i < std::min(trips.size(), result.matrix_row_ns.size()); ++i)
        times_ns[i] += result.matrix_row_ns[i];
    }
    outcome.topology->straggler =
        failure.empty() ? judge_elimination(trips, times_ns)
                        : Straggler{.verdict = Straggler::Verdict::unknown, .reason = failure};
  }

  /// The path of the data, as a row between two ends has it.
  const char* path_of(const std::vector<RankResult>& results) const {
    bool one_host = true, one_device = true;
    for (std::size_t rank = 1; rank < results.size(); ++rank) {
      one_host &= ranks_.hosts()[rank] == ranks_.hosts()[0];
      one_device &= results[rank].device == results[0].device;
    }
    return !one_host ? "network" : one_device ? "same_device" : "netdev";
  }

  /// At rank 0: merges the results of all ranks. @throws MeasurementError  what has failed
  Outcome collect(const RankCase& own, const std::vector<RankResult>& results) const {
    // A rank that only waited in vain knows least of what went wrong.
    for (const bool waited : {false, true})
      for (Rank rank = 0; rank < results.size(); ++rank)
        if (const std::string& why = results[rank].failure;
            !why.empty() && (why == kOutOfPatience) == waited)
          throw MeasurementError(failure_of_rank(rank, why));
    Outcome outcome = merge_results(own.plan(), results);
    const std::uint64_t measured =
        outcome.latency ? outcome.latency->histogram.count : outcome.bandwidth->messages;
    if (const auto& lost = outcome.topology->failed_pairs; !lost.empty() && measured == 0)
      throw MeasurementError("no pair could be measured; rank {} and rank {}: {}",
                             lost.front().from, lost.front().to, lost.front().reason);
    outcome.extra["path"] = path_of(results);
    own.add_device(outcome);
    return outcome;
  }

  void connect_all(RankCase& own) {
    take_step(own, [&] { create(own); });
    const auto received =
        with_all(&Ranks::exchange, own.taken() ? own.addresses() : std::map<Rank, std::string>());
    own.lap("bootstrap");
    take_step(own, [&] { own.connect(received); });
    if (own.plan().in_rounds()) {
      std::vector<RefusedEdge> refused = share_refused(own);
      if (own.taken()) own.set_refused(std::move(refused));
    }
    own.lap("wait");
  }

  /// @return  at rank 0 what each rank of the case has measured, without samples; elsewhere nothing
  std::vector<RankResult> gather_results(const RankCase& own) {
    std::vector<RankResult> results;
    const std::vector<std::string> reports =
        with_all(&Ranks::gather, own.taken() ? message_text(own.result()) : "");
    if (ranks_.rank() != 0) return results;
    for (Rank rank = 0; rank < own.plan().graph.ranks(); ++rank)
      results.push_back(read_message_text<RankResult>(reports[rank]));
    return results;
  }

  /// @return  at rank 0 the results of all ranks; all samples are in the first
  std::vector<RankResult> run_all(RankCase& own) {
    if (own.taken()) own.run();
    const std::string samples =
        with_all(&Ranks::reduce, message_text(own.result().samples), combined_samples);
    std::vector<RankResult> results = gather_results(own);
    if (!results.empty()) results.front().samples = read_message_text<RankSamples>(samples);
    return results;
  }

  /// Connects and runs: of pairs as often as pairs fail, and others are left.
  std::vector<RankResult> measure_all(RankCase& own) {
    std::vector<RankResult> results;
    PairAttempt attempt{.no_barrier = no_barrier_};
    for (;;) {
      own.begin(attempt);
      connect_all(own);
      ranks_.let_others_measure(!own.taken());
      std::vector<RankResult> latest = run_all(own);
      if (!own.plan().in_rounds()) return latest;
      const bool again =
          ranks_.rank() == 0 && next_attempt(attempt, results, std::move(latest), 2 * own.rounds());
      const std::string next = with_all(&Ranks::broadcast, again ? message_text(attempt) : "");
      if (next.empty()) return results;
      attempt = read_message_text<PairAttempt>(next);
      no_barrier_ = attempt.no_barrier;
    }
  }

  Ranks& ranks_;
  const RanksChoice choice_;
  LoneChoice lone_{choice_.on_choice};
  CpuClaims claims_;
  OpenDevices devices_{{.files = FileMemory::devices, .gpus = true, .cancel_check = [this] {
                          if (choice_.interrupt.requested()) throw Interrupted("interrupted");
                        }}};
  std::uint64_t seed_ = 0, cases_ = 0;
  std::size_t cores_ = 0;  ///< of this machine, that its ranks may use
  bool usable_ = true;
  RankPairs no_barrier_;  ///< whose barrier QPs have failed
};

}  // namespace

std::unique_ptr<TopologyMeasurer> make_topology_measurer(Ranks& ranks, const RanksChoice& choice) {
  return std::make_unique<RankMeasurer>(ranks, choice);
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
