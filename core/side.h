// SPDX-License-Identifier: Apache-2.0
// One end's part in one repetition of a case, the same code for initiator and responder: create,
// connect, run the measured loop, verify, tell.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/case.h"
#include "core/clock.h"
#include "core/counters.h"
#include "core/endpoint.h"
#include "core/loop/table.h"
#include "core/verify.h"
#include "core/work.h"

namespace rdmameter {

class Side {
 public:
  /// Creates the endpoint. @param seed  of both ends' payload patterns
  Side(OpenDevice& device, const Case& one_case, Role role, std::uint64_t seed);
  Side(Side&&) = delete;

  const EndpointInfo& info() const { return endpoint_.info(); }

  /// Builds and posts the receives, then brings the QPs to RTS: in this order, so that a peer that
  /// is ready may send at once.
  Agreed connect(const EndpointInfo& peer);

  /// Runs this end's measured loop on the calling thread, pinned to `core` [kAuto: left where it
  /// is]. Returns at once where this end takes no part.
  /// @param wait  not Wait::automatic
  LoopEnd run(const LoopPlan& plan, Wait wait, std::uint64_t core, const ClockChoice& clock,
              const StopWord& stop);

  /// Cuts this end off from its peer; see Endpoint::silence().
  void silence() noexcept { endpoint_.silence(); }

  const LoopTally& tally() const { return tally_; }
  LoopTally& tally() { return tally_; }
  bool has_loop() const { return has_loop_; }
  std::uint64_t cpu_ns() const { return cpu_ns_; }  ///< of the whole loop, warm-up included
  std::unique_ptr<Histogram> take_latency() { return std::move(latency_); }

  /// Checks what arrived here. @param peer_total  messages the peer sent over the whole traffic
  /// @return nothing where no data comes to this end
  std::optional<Verdict> verify(std::uint64_t peer_total) const;

  /// Device counters since this object was made.
  nlohmann::ordered_json counters() const;
  nlohmann::ordered_json resources() const { return endpoint_.resources(); }
  bool inlined() const { return work_->inlined(); }
  bool data_in_order() const { return endpoint_.data_in_order(); }
  std::uint32_t inline_bytes() const { return endpoint_.view().inline_bytes; }
  const Case& one_case() const { return case_; }  ///< with its SGEs known

 private:
  Verdict verify_atomics(std::uint64_t total) const;

  OpenDevice& device_;
  const Case case_;
  const Role role_;
  const std::uint64_t seed_;
  const Counters counters_before_;
  std::unique_ptr<Histogram> latency_, scratch_;
  LoopTally tally_;
  bool has_loop_ = false;
  std::uint64_t cpu_ns_ = 0;
  mutable Endpoint endpoint_;
  std::unique_ptr<Work> work_;
};

/// How long a case goes on, as its loops want it.
void fill_plan(LoopPlan& plan, const Case& one_case);

/// "ibv_poll_cq...: cause. hint": what ended a loop, for people. Empty for Why::done.
std::string loop_end_text(const LoopEnd& end, const std::string& where);

}  // namespace rdmameter
