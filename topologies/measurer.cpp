// SPDX-License-Identifier: Apache-2.0
#include "topologies/measurer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <functional>
#include <random>
#include <set>

#include "core/affinity.h"
#include "core/counters.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/kernel_objects.h"
#include "core/open_devices.h"
#include "core/session/fields.h"
#include "topologies/rank_run.h"
#include "topologies/watchdog.h"

namespace rdmameter {
namespace {

using nlohmann::json;

constexpr std::size_t kMostQps = 1U << 24;  ///< QPNs are 24 bits wide

/// How a rank's failure is told to the others, so that all of them give the case the same fate.
constexpr std::string_view kUnsupported = "unsupported", kNoDevice = "no_device", kUsage = "usage",
                           kFailed = "failed";

json failure_json(const std::exception_ptr& thrown) {
  const auto made = [](std::string_view kind, const std::exception& error) {
    return json{{"failure", error.what()}, {"kind", kind}};
  };
  try {
    std::rethrow_exception(thrown);
  } catch (const Unsupported& error) {
    return made(kUnsupported, error);
  } catch (const NoDevice& error) {
    return made(kNoDevice, error);
  } catch (const UsageError& error) {
    return made(kUsage, error);
  } catch (const std::exception& error) {
    return made(kFailed, error);
  }
}

[[noreturn]] void rethrow(const std::string& kind, const std::string& text) {
  if (kind == kUnsupported) throw Unsupported(text);
  if (kind == kNoDevice) throw NoDevice(text);
  if (kind == kUsage) throw UsageError(text);
  throw MeasurementError(text);
}

std::string dump(const json& message) {
  return message.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Measures the time from its making, or from the last lap, on.
class Laps {
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
               const InterruptSource& interrupt)
      : ranks_(ranks), patience_(patience), clock_(clock), interrupt_(interrupt) {
    // All ranks know by this what the messages of every other one hold.
    std::random_device random;
    const std::vector<std::string> seeds = ranks_.exchange(std::to_string(random()));
    seed_ = std::stoull(seeds.front());
    share_cores();
  }

  Outcome measure(const Case& one_case) override;

  bool usable() const override { return usable_; }
  nlohmann::ordered_json initiator_environment() const override { return nullptr; }
  nlohmann::ordered_json responder_environment() const override { return nullptr; }
  nlohmann::ordered_json ranks_environment(const Case& first) override;

 private:
  struct Part;
  void share_cores();
  json create(Part& part);
  void connect(Part& part, const std::vector<json>& heard);
  void run(Part& part);
  const char* path_of(const std::vector<RankResult>& results) const;
  Outcome collect(const Part& part, const std::vector<std::string>& told);

  /// A phase after which the case goes on only if no rank has failed.
  std::vector<json> agree(const json& said);
  std::vector<std::string> exchange(const std::string& said);
  OpenDevice& device_of(const Case& one_case);
  bool yields(const Case& one_case) const;
  std::string device_name(const Case& one_case) const;

  Ranks& ranks_;
  const std::chrono::milliseconds patience_;
  const ClockChoice clock_;
  const InterruptSource& interrupt_;
  OpenDevices devices_;
  std::uint64_t seed_ = 0, cases_ = 0;
  std::size_t cores_ = 0;  ///< of this machine, that its ranks may use
  bool usable_ = true;
};

/// On which cores the ranks of this machine are. A batch system may leave them a few of those that
/// there are, and give each the same ones or its own.
void RankMeasurer::share_cores() {
  constexpr std::size_t kMostCores = CPU_SETSIZE;
  const std::vector<std::string>& hosts = ranks_.hosts();
  const std::vector<std::string> said = ranks_.exchange(dump({{"cores", allowed_cpu_numbers()}}));
  std::set<std::uint64_t> cores;
  for (std::size_t rank = 0; rank < said.size(); ++rank) {
    if (hosts[rank] != hosts[ranks_.rank()]) continue;
    const json heard = json::parse(said[rank], nullptr, false);
    for (const json& core : require_array(heard, "cores", kMostCores))
      cores.insert(core.get<std::uint64_t>());
  }
  cores_ = cores.empty() ? static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN)) : cores.size();
}

std::vector<std::string> RankMeasurer::exchange(const std::string& said) {
  try {
    return ranks_.exchange(said);
  } catch (const MeasurementError&) {
    usable_ = false;  // somebody is gone, and will be for every other case
    throw;
  }
}

std::vector<json> RankMeasurer::agree(const json& said) {
  std::vector<json> heard;
  std::string text, kind;
  std::uint64_t more = 0;
  for (const std::string& each : exchange(dump(said))) {
    heard.push_back(json::parse(each, nullptr, false));
    if (!heard.back().is_object())
      throw MeasurementError(
          fmt::format("rank {} said something else than expected", heard.size() - 1));
    if (!heard.back().contains("failure")) continue;
    if (!text.empty()) {
      ++more;
      continue;
    }
    const std::size_t rank = heard.size() - 1;
    text = fmt::format("rank {} on {}: {}", rank, ranks_.hosts()[rank],
                       require_string(heard.back(), "failure", 4096));
    kind = require_string(heard.back(), "kind", 32);
  }
  if (text.empty()) return heard;
  if (more > 0) text += fmt::format(" (and {} more rank{})", more, more == 1 ? "" : "s");
  rethrow(kind, text);
}

std::string RankMeasurer::device_name(const Case& one_case) const {
  std::string name = one_case.device;
  if (const auto at = name.find("%l"); at != std::string::npos)
    name.replace(at, 2, std::to_string(ranks_.local_rank()));
  return name;
}

OpenDevice& RankMeasurer::device_of(const Case& one_case) {
  return devices_.get(device_name(one_case), one_case.port_num, one_case.gid_index);
}

/// Where ranks outnumber cores, one that spins keeps another from answering until its time slice is
/// over.
bool RankMeasurer::yields(const Case& one_case) const {
  if (one_case.waiting() != Wait::automatic) return one_case.waiting() == Wait::yield;
  return ranks_.local_size() > cores_;
}

/// What a rank has of a case between its steps.
struct RankMeasurer::Part {
  Part(const Case& asked, Rank rank)
      : one_case(asked), plan(plan_topology(asked)), taken(rank < asked.ranks) {
    if (taken) mine = plan_rank(plan, asked, rank);
  }
  void lap(const char* step) { result.setup_ns.emplace_back(step, laps.lap_ns()); }

  const Case& one_case;
  const TopologyPlan plan;
  const bool taken;  ///< else it only keeps the others company
  RankPlan mine;
  OpenDevice* device = nullptr;
  Counters counters_before;
  std::unique_ptr<BarrierQps> barrier;
  std::unique_ptr<Node> node;
  RankResult result;
  Laps laps;
};

/// @return  what the others must know to connect with it
json RankMeasurer::create(Part& part) {
  const Case& one_case = part.one_case;
  part.device = &device_of(one_case);
  part.counters_before = read_counters(part.device->port.device, part.device->port.number);
  part.laps.lap_ns();  // opening the device is no part of a case
  part.node = std::make_unique<Node>(*part.device, one_case, part.plan, part.mine, ranks_.rank(),
                                     seed_ + cases_);
  part.barrier = std::make_unique<BarrierQps>(*part.device, one_case, ranks_.rank(),
                                              static_cast<Rank>(one_case.ranks));
  return {{"graph", endpoint_info_to_wire(part.node->info())},
          {"barrier", endpoint_info_to_wire(part.barrier->info())}};
}

/// @param heard  what each rank has said of itself
void RankMeasurer::connect(Part& part, const std::vector<json>& heard) {
  const Rank rank = ranks_.rank(), ranks = static_cast<Rank>(part.one_case.ranks);
  const auto read = [&heard](Rank peer, const char* key) {
    const json& info = require_object(heard[peer], key);
    const std::size_t qps = require_array(info, "qpns", kMostQps).size();
    return endpoint_info_from_wire(info, static_cast<std::uint32_t>(qps));
  };
  std::vector<EndpointInfo> graph_peers(ranks), barrier_peers(ranks);
  for (const Rank peer : part.plan.graph.neighbours[rank]) graph_peers[peer] = read(peer, "graph");
  for (const Rank peer : barrier_partners(rank, ranks)) barrier_peers[peer] = read(peer, "barrier");
  part.barrier->connect(barrier_peers);
  part.node->connect(graph_peers);
}

/// What fails here stands in the result: the others find out when their patience ends, or at once
/// where nothing was asked of this rank.
void RankMeasurer::run(Part& part) {
  StopWord stop;
  RankTally tally;
  const bool yielding = yields(part.one_case);
  const RankLoops& loops = choose_rank_loops(part.node->inbox(), yielding, clock_.kind);
  try {
    const Watchdog watchdog(tally.progress, patience_, interrupt_, stop);
    RankRun run(*part.node, *part.barrier, part.one_case, part.plan, part.mine, ranks_.rank(),
                loops, clock_, stop, tally);
    run.begin();
    part.lap("barrier");
    run.run(part.result);
    part.result.device = part.device->port.device;
    part.result.qps = part.node->qp_count();
    part.result.barrier_qps = part.barrier->count();
    part.result.memory_bytes = part.node->memory_bytes();
    part.result.kernel = kernel_objects(*part.device->context);
    part.result.mtu_bytes = part.node->mtu_bytes();
    part.result.yielding = yielding;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    part.result.failure = error.what();
  }
}

/// The way of the data, as a row between two ends has it.
const char* RankMeasurer::path_of(const std::vector<RankResult>& results) const {
  bool one_host = true, one_device = true;
  for (std::size_t rank = 1; rank < results.size(); ++rank) {
    one_host &= ranks_.hosts()[rank] == ranks_.hosts()[0];
    one_device &= results[rank].device == results[0].device;
  }
  return !one_host ? "network" : one_device ? "same_device" : "netdev";
}

/// At rank 0: what all have told. @throws MeasurementError  what has failed
Outcome RankMeasurer::collect(const Part& part, const std::vector<std::string>& told) {
  std::vector<RankResult> results;
  std::string failure;
  bool only_waited = true;
  for (Rank rank = 0; rank < part.one_case.ranks; ++rank) {
    results.push_back(rank_result_from_wire(told[rank]));
    const std::string& why = results.back().failure;
    if (why.empty()) continue;
    // Whoever waited in vain knows least of what went wrong.
    const bool waited = why == kOutOfPatience;
    if (failure.empty() || (only_waited && !waited))
      failure = fmt::format("rank {} on {}: {}", rank, ranks_.hosts()[rank], why);
    only_waited &= waited;
  }
  if (!failure.empty()) throw MeasurementError(failure);
  Outcome outcome = merge_results(part.one_case, part.plan, results);
  const PortInfo& port = part.device->port;
  outcome.device_counters = {
      {"initiator",
       counter_differences(part.counters_before, read_counters(port.device, port.number))},
      {"responder", nullptr}};
  if (part.one_case.device.find('%') == std::string::npos) outcome.effective.device = port.device;
  outcome.more["path"] = path_of(results);
  outcome.effective.port_num = port.number;
  outcome.effective.gid_index = part.device->gid.index;
  outcome.effective.wait =
      static_cast<std::uint64_t>(outcome.topology->yielding ? Wait::yield : Wait::spin);
  return outcome;
}

Outcome RankMeasurer::measure(const Case& one_case) {
  ++cases_;
  Part part(one_case, ranks_.rank());
  // A step of this rank's own, whose failure all ranks hear of.
  const auto step = [&part](const std::function<json()>& own) -> json {
    if (!part.taken) return json::object();
    try {
      return own();
    } catch (...) {
      return failure_json(std::current_exception());
    }
  };
  const json created = step([&] { return create(part); });
  part.lap("resources");
  const std::vector<json> heard = agree(created);
  part.lap("exchange");
  const json connected = step([&] {
    connect(part, heard);
    return json::object();
  });
  part.lap("connect");
  agree(connected);
  part.lap("fence");
  if (part.taken) run(part);
  const std::vector<std::string> told =
      exchange(part.taken ? rank_result_to_wire(part.result) : std::string());
  if (ranks_.rank() == 0) return collect(part, told);
  Outcome outcome;
  outcome.effective = one_case;
  return outcome;
}

nlohmann::ordered_json RankMeasurer::ranks_environment(const Case& first) {
  nlohmann::ordered_json said{{"rank", ranks_.rank()}, {"host", ranks_.hosts()[ranks_.rank()]}};
  try {
    const OpenDevice& device = device_of(first);
    said.update(environment_with(clock_, &device));
  } catch (const std::exception&) {  // each case will say why
    said.update(environment_with(clock_, nullptr));
  }
  auto made = nlohmann::ordered_json::array();
  for (const std::string& each : exchange(said.dump())) {
    const auto heard = nlohmann::ordered_json::parse(each, nullptr, false);
    if (heard.is_object()) made.push_back(heard);
  }
  return made;
}

}  // namespace

std::unique_ptr<TopologyMeasurer> make_topology_measurer(Ranks& ranks,
                                                         std::chrono::milliseconds patience,
                                                         const ClockChoice& clock,
                                                         const InterruptSource& interrupt) {
  return std::make_unique<RankMeasurer>(ranks, patience, clock, interrupt);
}

std::string check_same(Ranks& ranks, const std::string& version, const std::string& options) {
  const json mine{{"version", version}, {"options", options}};
  const std::vector<std::string> heard = ranks.exchange(dump(mine));
  const json first = json::parse(heard.front(), nullptr, false);
  for (std::size_t rank = 0; rank < heard.size(); ++rank) {
    const json other = json::parse(heard[rank], nullptr, false);
    for (const char* what : {"version", "options"})
      if (!other.is_object() || !first.is_object() ||
          other.value(what, "") != first.value(what, ""))
        return fmt::format(
            "rank {} has another {} than rank 0: '{}' and '{}'; start all ranks with "
            "one program and one command line",
            rank, std::string(what) == "version" ? "version" : "set of options",
            other.is_object() ? other.value(what, "") : "",
            first.is_object() ? first.value(what, "") : "");
  }
  return {};
}

}  // namespace rdmameter
