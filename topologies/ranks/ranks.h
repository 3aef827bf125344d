// SPDX-License-Identifier: Apache-2.0
// The processes of a topology run, as a launcher has started them: who is who, and how they tell
// each other what they must know before anything goes over RDMA.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/wire/wait.h"

namespace rdmameter {

class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t size() const = 0;
  virtual std::uint32_t local_rank() const = 0;  ///< among those of this machine
  virtual std::uint32_t local_size() const = 0;
  virtual const std::vector<std::string>& hosts() const = 0;  ///< of all ranks, by rank

  /// One phase: every rank says something, and hears what all have said (by rank). All ranks call
  /// it the same number of times.
  /// @throws MeasurementError  ranks that do not answer, by number and host: the run is over
  /// @throws Interrupted
  virtual std::vector<std::string> exchange(const std::string& said) = 0;

  /// Ends the processes of all ranks, this one included. Called once a rank has gone silent, since
  /// an orderly end would wait for it.
  [[noreturn]] virtual void abort(int status) = 0;
};

/// Has a launcher that speaks PMIx (pmix.github.io/pmix-standard) started this process?
bool started_by_pmix();

/// @param patience  how long a rank may keep the others waiting
/// @throws MeasurementError  the launcher's server does not answer
std::unique_ptr<Ranks> join_pmix(std::chrono::milliseconds patience,
                                 const InterruptSource& interrupt);

}  // namespace rdmameter
