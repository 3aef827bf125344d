// SPDX-License-Identifier: Apache-2.0
// The processes of a topology run, as a launcher has started them: who is who, and how they tell
// each other what they must know before anything goes over RDMA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace rdmameter
