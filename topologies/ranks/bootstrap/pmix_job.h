// SPDX-License-Identifier: Apache-2.0
// What the launcher's PMIx server is asked for: who this process is, the card of another rank, and
// the end of all.
#pragma once

#include <pmix.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/wire/wait.h"
#include "topologies/graphs/graph.h"

namespace rdmameter {

// At which IP addresses can other machines reach this one?

/// Numeric, as getaddrinfo() reads them, IPv4 first: those of interfaces that are up, no loopback
/// and no link-local ones; at most kMaxOwnAddresses.
/// @param interface  only of this one, then loopback, too; empty: of all
/// @throws UsageError  there is no such interface, or it has no address
std::vector<std::string> own_addresses(const std::string& interface);

inline constexpr std::size_t kMaxOwnAddresses = 16;

/// Uses Init, Put, Commit, Fence, Get, Abort and Finalize alone: what every launcher's server has.
/// Each rank puts one value, its card, once: servers keep all that was ever put, and each Fence
/// that collects sends it again.
class PmixJob {
 public:
  /// @param patience  how long a rank, or the launcher's server, may keep this one waiting
  /// @throws MeasurementError  there is no server, or it does not answer
  PmixJob(std::chrono::milliseconds patience, const InterruptSource& interrupt);
  ~PmixJob();
  PmixJob(PmixJob&&) = delete;

  Rank rank() const { return me_.rank; }
  Rank size() const { return size_; }
  Rank local_rank() const { return local_rank_; }
  Rank local_size() const { return local_size_; }

  /// Lets the others know this rank's card, and waits until each of them has done so.
  /// @throws MeasurementError  ranks that have not, by number and host; Interrupted
  void publish(const std::string& card);

  /// @throws MeasurementError  not within the patience; Interrupted
  std::string card_of(Rank rank) const;

  /// "rank 3 on node1", as far as the launcher knows where it is.
  std::string name_of(Rank rank) const;

  [[noreturn]] void abort(int status);

 private:
  pmix_proc_t process(Rank rank) const;
  Rank number_of(Rank rank, const char* key) const;
  void commit();
  void fence();
  std::string get(Rank rank, std::chrono::milliseconds limit) const;
  bool has_put(Rank rank, Deadline deadline) const;
  std::string who_is_missing() const;

  const std::chrono::milliseconds patience_;
  const InterruptSource& interrupt_;
  pmix_proc_t me_{};
  bool joined_ = false;  ///< and the library answers: it can be left in order
  Rank size_ = 1, local_rank_ = 0, local_size_ = 1;
};

}  // namespace rdmameter
