// SPDX-License-Identifier: Apache-2.0
// One repetition of one case as the initiator runs it, from prepare to done.
#pragma once

#include <functional>
#include <optional>

#include "core/interval_thread.h"
#include "core/measurer.h"
#include "core/session/dialogue.h"
#include "core/session/report.h"
#include "core/sides.h"

namespace rdmameter {

class GateKeeper;
class LoopThread;
class Pulse;
class Wake;

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
  void require_end(const LoopEnd& end, const StopWord& stop, const Pulse& pulse,
                   const GateKeeper& gate, LoopThread* receiver, const std::string& where);
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

}  // namespace rdmameter
