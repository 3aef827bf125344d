// SPDX-License-Identifier: Apache-2.0
#include "core/session/initiator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "core/affinity.h"
#include "core/open_devices.h"
#include "core/payload_file.h"
#include "core/session/channel.h"
#include "core/session/connect_test.h"
#include "core/session/dialogue.h"
#include "core/session/fields.h"
#include "core/session/gate_keeper.h"
#include "core/session/handshake.h"
#include "core/session/loop_thread.h"
#include "core/session/protocol.h"
#include "core/session/pulse.h"
#include "core/session/report.h"
#include "core/session/socket_side.h"
#include "core/session/watcher.h"
#include "core/sides.h"
#include "core/softirq.h"

namespace rdmameter {
namespace {

/// How long a client whose server hangs up before the welcome tries again, and how often.
constexpr std::chrono::seconds kGreetAgainFor{8};
constexpr std::chrono::milliseconds kGreetPause{500};
/// How long a responder that fails along with the initiator has to say so.
constexpr std::chrono::milliseconds kLastWord{500};

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 21) ^ device();  // below 2^53, for JSON readers of every kind
}

/// One repetition of one case, from prepare to done.
class Repetition : public Dialogue {
 public:
  using MakeSides = std::function<Sides(const Case&, std::uint64_t seed)>;

  /// @param one_case  with its SGEs known: both ends lay out memory by it
  Repetition(Channel& channel, MakeSides make_sides, const Case& one_case, const ClockChoice& clock,
             const InterruptSource& interrupt, const IntervalListener& on_interval)
      : Dialogue(channel),
        make_sides_(std::move(make_sides)),
        case_(one_case),
        clock_(clock),
        interrupt_(interrupt),
        on_interval_(on_interval) {}

  /// @param same_host  do both ends run on one machine?
  Outcome run(bool same_host);

 private:
  void decide_wait(const nlohmann::json& ready, bool same_host);
  void establish(Sides& sides);
  void measure(Sides& sides);
  void traffic(Side& side, LoopThread* receiver, GateKeeper& gate, const Wake& attention);
  bool hear(GateKeeper& gate);
  std::uint64_t judge(const Sides& sides) const;
  Outcome outcome(Sides& sides, const nlohmann::json& done) const;

  const MakeSides make_sides_;
  Case case_;
  const ClockChoice& clock_;
  const InterruptSource& interrupt_;
  const IntervalListener& on_interval_;
  std::optional<std::uint64_t> softirq_ns_;
  nlohmann::ordered_json series_;
  nlohmann::json done_;
  Report forward_, backward_;  ///< the responder's
};

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
  const std::string where = side.where();
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
  if (case_.until_interrupted() && side.tally().operations == 0)
    throw Interrupted("interrupted before anything was measured");
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

/// Where the receiver counts: sends whose arrival nothing tells the sender.
bool receiver_counts(const Case& one_case) {
  return one_case.shape() == Pattern::bandwidth &&
         (one_case.over_tcp() || (one_case.takes_receive() && !one_case.reliable()));
}

/// Of one direction.
/// @param sent, received  what the sender's loop counted, and the receiver's
BandwidthTally bandwidth_of(const Case& one_case, const Report& sent, const Report& received) {
  BandwidthTally bandwidth{.traffic_messages = sent.total, .traffic_ns = sent.traffic_ns};
  const bool by_receiver = receiver_counts(one_case);
  bandwidth.messages = by_receiver ? received.operations : sent.operations;
  bandwidth.window_ns = by_receiver ? received.elapsed_ns : sent.elapsed_ns;
  bandwidth.by_receiver = by_receiver;
  const bool traced = leaves_traces(one_case) && received.verdict;
  bandwidth.injected = !by_receiver && !one_case.reliable() && !traced;
  if (by_receiver || traced) {
    bandwidth.sent = sent.total * copies_of(one_case);
    bandwidth.received = by_receiver ? received.total : received.verdict->whole_slots;
  }
  bandwidth.duplicated = received.duplicated;
  bandwidth.reordered = received.reordered;
  return bandwidth;
}

/// What this end's loop counted.
Report report_of(const Side& side, const Case& one_case) {
  const LoopTally& tally = side.tally();
  Report report{.operations = tally.operations,
                .elapsed_ns = tally.elapsed_ns,
                .traffic_ns = tally.traffic_ns,
                .totals = side.totals(),
                .total = tally.total};
  if (numbers_read(one_case) == NumberPlace::none) return report;
  report.duplicated = tally.duplicated;
  report.reordered = tally.reordered;
  return report;
}

/// Both directions: their windows open together and neither end stops before both are closed, so
/// that each rate is one under the load of the other. The window of both is the one in which their
/// messages give the sum of the rates.
BandwidthTally both(const BandwidthTally& forward, const BandwidthTally& backward) {
  const auto rate = [](const BandwidthTally& one) {
    return one.window_ns == 0
               ? 0.0
               : static_cast<double>(one.messages) / static_cast<double>(one.window_ns);
  };
  BandwidthTally sum = forward;
  sum.messages += backward.messages;
  const double rates = rate(forward) + rate(backward);
  sum.window_ns =
      rates == 0
          ? 0
          : static_cast<std::uint64_t>(std::llround(static_cast<double>(sum.messages) / rates));
  sum.traffic_messages += backward.traffic_messages;
  sum.traffic_ns = std::max(forward.traffic_ns, backward.traffic_ns);
  if (sum.sent) *sum.sent += *backward.sent;
  if (sum.received) *sum.received += *backward.received;
  if (sum.duplicated) *sum.duplicated += backward.duplicated.value_or(0);
  if (sum.reordered) *sum.reordered += backward.reordered.value_or(0);
  return sum;
}

nlohmann::ordered_json direction_json(const BandwidthTally& one) {
  nlohmann::ordered_json made = {{"messages", one.messages}, {"window_ns", one.window_ns}};
  if (one.sent) made["sent"] = *one.sent;
  if (one.received) made["received"] = *one.received;
  return made;
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

/// A connection that the responder has welcomed. A crowded server hangs up on those that are not
/// quick enough to prove themselves, so that is no reason to give up at once.
/// @param environment  out: the responder's
Channel greeted(const SessionOptions& options, const Case& first, const InterruptSource& interrupt,
                nlohmann::ordered_json& environment) {
  const Deadline deadline = Deadline::in(kGreetAgainFor);
  for (;;) {
    Channel channel{connect_to(options.server, Deadline::in(options.connect_for), interrupt),
                    interrupt};
    try {
      environment = greet_responder(channel, options.token,
                                    {{"device", first.peer_device},
                                     {"port_num", first.peer_port_num},
                                     {"gid_index", first.peer_gid_index}});
      return channel;
    } catch (const ChannelError& error) {
      const bool hung_up =
          error.cause == ChannelError::Cause::closed || error.cause == ChannelError::Cause::reset;
      if (!hung_up || deadline.passed()) throw;
    }
    if (wait_for(-1, 0, Deadline::in(kGreetPause), interrupt) == Waited::interrupted)
      throw Interrupted("interrupted while connecting");
  }
}

class Initiator final : public Measurer {
 public:
  Initiator(const SessionOptions& options, const Case& first, const ClockChoice& clock,
            const InterruptSource& interrupt)
      : clock_(clock),
        interrupt_(interrupt),
        on_interval_(options.on_interval),
        first_(first.over_tcp() ? devices_.find(first.device, first.port_num, first.gid_index)
                                : &devices_.get(first.device, first.port_num, first.gid_index)),
        channel_(greeted(options, first, interrupt, responder_environment_)) {
    initiator_environment_ = environment_with(clock_, first_);
  }

  ~Initiator() override {
    try {
      if (channel_.usable() && !interrupt_.requested())
        channel_.send({{"type", "bye"}}, Deadline::in(kTick));
    } catch (const std::exception&) {  // the responder sees the connection close as well
    }
  }

  Outcome measure(const Case& one_case) override {
    if (const std::string why = why_impossible(one_case); !why.empty()) throw Unsupported(why);
    Case asked = with_payload(one_case);
    OpenDevice* device = nullptr;
    if (!one_case.over_tcp()) {
      device = &devices_.get(one_case.device, one_case.port_num, one_case.gid_index);
      asked.sge = with_known_sges(one_case, device->limits).sge;
    }
    if (one_case.control())
      return measure_connects(channel_, *device, one_case, clock_, interrupt_);
    const auto make_sides = [&](const Case& made, std::uint64_t seed) -> Sides {
      if (device != nullptr)
        return make_verbs_sides(*device, made, Role::initiator, seed, {&interrupt_, channel_.fd()});
      return {std::make_unique<SocketSide>(channel_.fd(), interrupt_, made, Role::initiator, seed),
              nullptr};
    };
    Repetition repetition{channel_, make_sides, asked, clock_, interrupt_, on_interval_};
    try {
      Outcome outcome = repetition.run(same_host());
      outcome.more["path"] = path(outcome.effective);
      return outcome;
    } catch (const ChannelError&) {
      throw;  // nobody is left to be told
    } catch (const Interrupted&) {
      throw;  // the session ends, and with it all that the responder holds for us
    } catch (const std::exception&) {
      repetition.abandon();
      throw;
    }
  }

  bool usable() const override { return channel_.usable(); }
  nlohmann::ordered_json initiator_environment() const override { return initiator_environment_; }
  nlohmann::ordered_json responder_environment() const override { return responder_environment_; }

 private:
  bool same_host() const {
    const auto& mine = initiator_environment_["boot_id"];
    return mine.is_string() && responder_environment_.contains("boot_id") &&
           responder_environment_["boot_id"] == mine;
  }

  /// Traffic within one device never sees its netdev or cable.
  std::string path(const Case& effective) const {
    if (!same_host()) return "network";
    if (effective.over_tcp()) return "loopback";
    return effective.device == effective.peer_device ? "same_device" : "netdev";
  }

  const ClockChoice clock_;
  const InterruptSource& interrupt_;
  const IntervalListener on_interval_;
  OpenDevices devices_;
  const OpenDevice* const first_;  ///< null: this machine has none
  nlohmann::ordered_json initiator_environment_, responder_environment_;
  Channel channel_;
};

}  // namespace

std::unique_ptr<Measurer> make_initiator(const SessionOptions& options, const Case& first,
                                         const ClockChoice& clock,
                                         const InterruptSource& interrupt) {
  return std::make_unique<Initiator>(options, first, clock, interrupt);
}

}  // namespace rdmameter
