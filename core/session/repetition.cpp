// SPDX-License-Identifier: Apache-2.0
#include "core/session/repetition.h"

#include <fmt/format.h>

#include <random>

#include "core/affinity.h"
#include "core/session/bandwidth_result.h"
#include "core/session/channel.h"
#include "core/session/fields.h"
#include "core/session/gate_keeper.h"
#include "core/session/loop_thread.h"
#include "core/session/protocol.h"
#include "core/session/pulse.h"
#include "core/session/watcher.h"
#include "core/softirq.h"

namespace rdmameter {
namespace {

/// How long a responder that fails along with the initiator has to say so.
constexpr std::chrono::milliseconds kLastWord{500};

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 21) ^ device();  // below 2^53, for JSON readers of every kind
}

/// Zeros would pass for the best result there is.
void require_any(const Case& one_case, const Outcome& outcome) {
  const std::string_view advice =
      one_case.multicast()
          ? "does the network between the two devices pass multicast, and UDP port 4791?"
          : "is the path between the two devices up, and does it let UDP port 4791 through?";
  if (outcome.lost == outcome.operations)
    throw MeasurementError(fmt::format(
        "none of the {} pings was answered within --loss-timeout: is it shorter than the "
        "round trip? Else {}",
        outcome.operations, advice));
  if (receiver_counts(one_case) && outcome.bandwidth->messages == 0)
    throw MeasurementError(fmt::format(
        "of {} messages {} arrived, and none after the warm-up of {}: {}", *outcome.bandwidth->sent,
        *outcome.bandwidth->received, one_case.warmup, advice));
}

}  // namespace

/// Two spinning ends on one core answer each other once per time slice; so do more threads than
/// there are cores.
void Repetition::decide_wait(const nlohmann::json& ready, bool same_host) {
  if (case_.waiting() != Wait::automatic) return;
  std::optional<std::uint64_t> mine = only_cpu();
  if (case_.core != kAuto) mine = case_.core;
  const nlohmann::json theirs = ready.value("only_cpu", nlohmann::json());
  const bool one_core = same_host && mine && theirs.is_number_unsigned() && theirs == *mine;
  const std::uint64_t threads = case_.threads * (case_.both_ways() ? 2 : 1) * (same_host ? 2 : 1);
  const bool share = one_core || (threads > 2 && threads > allowed_cpus());
  case_.wait = static_cast<std::uint64_t>(share ? Wait::yield : Wait::spin);
}

/// Where the two ends fail together the responder may know why.
void Repetition::establish(Sides& sides) {
  try {
    sides.establish();
  } catch (const MeasurementError&) {
    if (channel_.wait_readable(Deadline::in(kLastWord)) == Waited::ready) expect("running");
    throw;
  }
}

/// Takes what the responder says while the loop runs.
/// @return false: it is about something else
bool Repetition::hear(GateKeeper& gate) {
  nlohmann::json message = channel_.receive(Deadline::in(kTick));
  if (gate.hear(message)) return true;
  heard_ = std::move(message);
  return false;
}

/// All of the traffic, both ways where the responder sends as well.
void Repetition::measure(Sides& sides) {
  const Wake attention;
  GateKeeper gate{channel_, case_, sides.forward.get(), attention};
  std::unique_ptr<LoopThread> receiver;
  if (sides.backward)
    receiver = std::make_unique<LoopThread>(
        *sides.backward, case_.waiting(), core_after(case_.core, case_.threads), clock_, attention);
  traffic(*sides.forward, receiver.get(), gate, attention);
  say({{"sent", sides.forward->totals()}}, "finish");
  done_ = expect("done");
  forward_ = report_from_wire(done_, case_.threads);
  if (!receiver) return;
  backward_ = report_from_wire(require_object(done_, "backward"), case_.threads);
  receiver->finish(backward_.totals, interrupt_);
}

/// What the initiator sends, with an eye on everything else.
/// @param receiver  the loop that takes what the responder sends; null: it sends nothing
void Repetition::traffic(Side& side, LoopThread* receiver, GateKeeper& gate,
                         const Wake& attention) {
  StopWord stop;
  Pulse pulse{channel_, side, case_};
  const SoftirqTime softirq;
  LoopEnd end;
  Tick tick{.every = pulse.every(),
            .act = [&] { return pulse.beat() && !gate.overdue(); },
            .hear = [&] { return hear(gate); },
            .attention = &attention,
            .attend =
                [&] {
                  if (receiver != nullptr && receiver->failed()) return false;
                  gate.pass_on();
                  return true;
                },
            .stopped = [&] { side.silence(); }};
  std::optional<EnoughEnds> enough_ends;
  if (case_.until_interrupted()) {
    enough_ends.emplace(interrupt_);
    tick.asked = &interrupt_.enough();
    tick.on_asked = [&] { side.end_now(); };
  }
  {
    const IntervalThread lines{case_, [&] { return side.progress(); }, on_interval_};
    const Watcher watcher{channel_.fd(), Deadline::never(), interrupt_,
                          stop,          StopReason::peer,  std::move(tick)};
    end = side.run(case_.waiting(), case_.core, clock_, stop);
  }
  enough_ends.reset();
  // A loop that is the last to close its window ends at once, maybe before the watcher has told.
  if (end.why == LoopEnd::Why::done) gate.pass_on();
  pulse.close();
  softirq_ns_ = softirq.elapsed_ns();
  if (case_.shape() == Pattern::bandwidth) series_ = pulse.series().json();
  require_end(end, stop, pulse, gate, receiver, side.where());
  if (case_.until_interrupted() && side.tally().operations == 0)
    throw Interrupted("interrupted before anything was measured");
}

/// @throws MeasurementError, Interrupted  why the traffic has not come to its end, by whoever knows
/// most: the device, the peer, a deadline, the loop itself
void Repetition::require_end(const LoopEnd& end, const StopWord& stop, const Pulse& pulse,
                             const GateKeeper& gate, LoopThread* receiver,
                             const std::string& where) {
  // A QP that failed flushes all its requests, more than the CQ must hold: that is no cause.
  const bool flushed =
      end.why == LoopEnd::Why::completion_failed && pulse.event().starts_with("IBV_EVENT_CQ_ERR");
  if (!pulse.event().empty() && !flushed && stop.reason() != StopReason::interrupted)
    throw MeasurementError(fmt::format("{} reports {}", where, pulse.event()));
  switch (stop.reason()) {
    case StopReason::interrupted:
      throw Interrupted("interrupted");
    case StopReason::peer:
      expect("failed");  // throws what the responder says, or how it went away
      break;
    case StopReason::deadline:
      if (gate.overdue())
        throw MeasurementError(
            "the responder's own messages do not get on: it has not kept pace with this end by "
            "far; "
            "is the path from it up?");
      throw MeasurementError(
          fmt::format("no message got through on {} for {} s: is the peer alive, and the "
                      "path between the two devices up?",
                      where, pulse.patience().count()));
    case StopReason::sibling:
      if (receiver != nullptr && receiver->failed()) receiver->join(interrupt_);  // throws why
      break;
    case StopReason::finish:
    case StopReason::none:
      break;
  }
  if (end.why != LoopEnd::Why::done) throw MeasurementError(loop_end_text(end, where));
}

/// @return payload bytes compared, at both ends and of both directions
/// @throws MeasurementError  what arrived is not what was sent
std::uint64_t Repetition::judge(const Sides& sides) const {
  std::uint64_t checked_bytes = 0;
  const auto require_clean = [&](const std::optional<Verdict>& found, std::string_view end) {
    if (!found) return;
    const Verdict& verdict = *found;
    checked_bytes += verdict.checked_bytes;
    const bool lost = verdict.missing_bytes != 0 && case_.reliable();
    if (verdict.wrong_bytes == 0 && verdict.guard_bytes_hit == 0 && !lost) return;
    throw MeasurementError(fmt::format(
        "verification failed at the {}: {}; of {} bytes {} wrong, {} missing, {} beyond a message",
        end, verdict.first_fault, verdict.checked_bytes, verdict.wrong_bytes, verdict.missing_bytes,
        verdict.guard_bytes_hit));
  };
  require_clean(
      sides.forward->verify(case_.returns_data() ? sides.forward->totals() : forward_.totals),
      "initiator");
  require_clean(forward_.verdict, "responder");
  if (!sides.backward) return checked_bytes;
  const Side& receiver = *sides.backward;
  require_clean(receiver.verify(receiver.has_loop() ? receiver.totals() : backward_.totals),
                "initiator");
  require_clean(backward_.verdict, "responder");
  return checked_bytes;
}

Outcome Repetition::outcome(Sides& sides, const nlohmann::json& done) const {
  Side& side = *sides.forward;
  const LoopTally& tally = side.tally();
  Outcome outcome;
  outcome.effective = case_;
  outcome.operations = tally.operations;
  outcome.elapsed_ns = tally.elapsed_ns;
  outcome.cpu_ns = tally.total == 0 ? 0 : side.cpu_ns() * tally.operations / tally.total;
  outcome.more = side.facts();
  if (case_.shape() == Pattern::bandwidth) {
    outcome.bandwidth = bandwidth_of(case_, report_of(side, case_), forward_);
    if (sides.backward) {
      const BandwidthTally backward =
          bandwidth_of(case_, backward_, report_of(*sides.backward, case_));
      outcome.more["directions"] = {{"forward", direction_json(*outcome.bandwidth)},
                                    {"backward", direction_json(backward)}};
      outcome.bandwidth = both(*outcome.bandwidth, backward);
    }
    outcome.operations = outcome.bandwidth->messages;
    outcome.elapsed_ns = outcome.bandwidth->window_ns;
  } else if (!case_.reliable()) {
    outcome.lost = tally.lost;
  }
  require_any(case_, outcome);
  outcome.device_counters = {{"initiator", side.counters()},
                             {"responder", nlohmann::ordered_json::parse(
                                               done.value("counters", nlohmann::json{}).dump())}};
  outcome.work = {{"wrs", tally.total}, {"polls", tally.polls}};
  if (tally.doorbells != 0) outcome.work["doorbells"] = tally.doorbells;
  if (tally.cqes != 0) outcome.work["cqes"] = tally.cqes;
  outcome.resources = side.resources();
  outcome.more["cpu"] = {{"thread_ns", side.cpu_ns()}, {"softirq_ns", nullptr}};
  if (softirq_ns_) outcome.more["cpu"]["softirq_ns"] = *softirq_ns_;
  if (!series_.is_null()) outcome.more["series"] = series_;
  if (!forward_.arrivals.empty()) outcome.more["arrivals"] = forward_.arrivals;
  if (case_.verify != 0) outcome.more["verified_bytes"] = judge(sides);
  if (done.value("shared_responder", false)) outcome.more["shared_responder"] = true;
  outcome.latency = side.take_latency();
  return outcome;
}

Outcome Repetition::run(bool same_host) {
  const std::uint64_t seed = random_seed();
  say({{"case", case_to_wire(case_)}, {"seed", seed}}, "prepare");
  Sides sides;
  std::exception_ptr mine;
  try {  // both ends create their objects at the same time
    sides = make_sides_(case_, seed);
  } catch (const std::exception&) {
    mine = std::current_exception();
  }
  const nlohmann::json ready = expect("ready");
  if (mine) std::rethrow_exception(mine);
  decide_wait(ready, same_host);
  sides.connect(ready);
  sides.forward->settle(case_, ready);
  nlohmann::json connect = sides.introduction();
  connect["wait"] = case_.wait;
  say(std::move(connect), "connect");
  establish(sides);
  expect("running");
  measure(sides);
  return outcome(sides, done_);
}

}  // namespace rdmameter
