// SPDX-License-Identifier: Apache-2.0
// The processes of a topology run, as a launcher has started them: which there are, and the
// messages that they exchange apart from what is measured.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/wire/wait.h"
#include "topologies/graphs/graph.h"

namespace rdmameter {

/// Combines two messages into one. The order in which several are combined is not known.
using Combine = std::function<std::string(const std::string&, const std::string&)>;

/// All ranks call gather(), reduce(), broadcast() and exchange() in the same order. Each of
/// them throws
///   MeasurementError  ranks that do not answer or are gone, by number and host: the run is over
///   Interrupted       by the user
class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual Rank rank() const = 0;
  virtual Rank size() const = 0;
  virtual Rank local_rank() const = 0;  ///< among those of this machine
  virtual Rank local_size() const = 0;
  virtual const std::vector<std::string>& hosts() const = 0;  ///< of all ranks, by rank

  /// @return  at rank 0 the message of each rank, by rank; elsewhere nothing
  std::vector<std::string> gather(const std::string& message);

  /// Messages are combined on the way, so that no rank gets more than its neighbours' in a tree.
  /// @return  at rank 0 what all messages make together; elsewhere nothing
  virtual std::string reduce(const std::string& message, const Combine& combine) = 0;

  /// @param message  of rank 0; those of others are ignored
  /// @return  rank 0's
  virtual std::string broadcast(const std::string& message) = 0;

  /// @param messages  by the rank that is to get it
  /// @return  by the rank that has sent it
  virtual std::map<Rank, std::string> exchange(const std::map<Rank, std::string>& messages) = 0;

  /// From now on others measure, for as long as that takes, and this rank does not: that its
  /// neighbours are silent meanwhile is no failure. (A rank that hangs while it measures ends the
  /// others' loops, and they say so. One that does not measure is missed once they have ended.)
  virtual void let_others_measure(bool) {}

  /// Ends the processes of all ranks, this one included. Called once a rank is silent, since
  /// an orderly end would wait for it.
  [[noreturn]] virtual void abort(int status) = 0;
};

/// @return  the message of each rank, by rank, at all ranks. Its time and memory grow with the
///          number of ranks: for what is said once in a run, and is short.
std::vector<std::string> all_gather(Ranks& ranks, const std::string& message);

/// Has a launcher that speaks PMIx (pmix.github.io/pmix-standard) started this process?
bool started_by_pmix();

struct BootstrapOptions {
  std::chrono::milliseconds patience;  ///< how long a rank may keep the others waiting
  std::string interface = {};          ///< through which ranks connect; empty: any that leads there
};

/// Finds the other ranks by PMIx and connects with some of them by TCP.
/// @throws UsageError        there is no such interface, or it has no address
/// @throws MeasurementError  the launcher's server or a rank does not answer, or cannot be reached
std::unique_ptr<Ranks> join_ranks(const BootstrapOptions& options,
                                  const InterruptSource& interrupt);

/// As four bytes, big-endian.
void append_number(std::string& to, std::uint32_t number);
/// @throws MeasurementError  there are no four bytes left
std::uint32_t take_number(std::string_view& from);

// Messages that ranks pass on for each other, several in one.

struct RankMessage {
  Rank from = 0, to = 0;
  std::string text;
  bool operator==(const RankMessage&) const = default;
};

std::string pack(const std::vector<RankMessage>& messages);
/// @param ranks  each message is from and to one of so many
/// @throws MeasurementError  this is not what pack() has made
std::vector<RankMessage> unpack(std::string_view packed, Rank ranks);

}  // namespace rdmameter
