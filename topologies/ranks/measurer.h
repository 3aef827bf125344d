// SPDX-License-Identifier: Apache-2.0
// Measures topologies: what each rank does for a case, in step with all others.
#pragma once

#include <chrono>
#include <memory>

#include "core/engine/measurer.h"
#include "core/instrument/clock.h"
#include "core/verbs/port_choice.h"
#include "core/wire/wait.h"
#include "topologies/ranks/bootstrap/ranks.h"

namespace rdmameter {

class TopologyMeasurer : public Measurer {
 public:
  /// Environments of all ranks, by rank: {"rank", "host", "device"...}; at rank 0 alone.
  /// Collective: every rank asks for it once, before the first case.
  virtual Json ranks_environment(const TestCase& first) = 0;

  /// A number that rank 0 has drawn, the same at all ranks; below 2^32.
  virtual std::uint64_t common_seed() const = 0;
};

/// The settings that are the same for all cases of a run.
struct RanksChoice {
  /// How long a rank may keep the others waiting without any progress.
  std::chrono::milliseconds patience;
  ClockChoice clock;
  const InterruptSource& interrupt;  ///< outlives the measurer
  bool judge_shared = false;         ///< look for a straggler even where ranks share cores
  ChoiceListener on_choice = {};     ///< called with what this rank chose among its devices
};

/// Every rank makes one and measures the same cases in the same order. Outcomes are whole at
/// rank 0 alone.
std::unique_ptr<TopologyMeasurer> make_topology_measurer(Ranks& ranks, const RanksChoice& choice);

/// All ranks are of one version and were given the same options.
/// @param options  the command line, as far as it must be the same
/// @return  empty: they are; else who differs from rank 0, and in what
std::string check_same(Ranks& ranks, const std::string& version, const std::string& options);

}  // namespace rdmameter
