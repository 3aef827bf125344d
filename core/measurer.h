// SPDX-License-Identifier: Apache-2.0
// What measuring a case yields, and the interface behind which the ways of measuring stand: over a
// session with a responder, or on the built-in null device.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/case.h"
#include "core/histogram.h"
#include "core/topology_tally.h"

namespace rdmameter {

/// What a bandwidth loop counted.
struct BandwidthTally {
  std::uint64_t messages = 0;  ///< retired (or arrived) in the window
  std::uint64_t window_ns = 0;
  bool by_receiver = false;                            ///< else by the initiator
  bool injected = false;                               ///< plain UC write: delivery is unknown
  std::uint64_t traffic_messages = 0, traffic_ns = 0;  ///< all of it, first post to last completion
  std::optional<std::uint64_t> sent, received;  ///< the whole traffic, where the receiver counts
  std::optional<std::uint64_t> duplicated, reordered;  ///< of those received, where numbers tell
};

/// One repetition of one case, measured.
struct Outcome {
  Case effective;  ///< every value as it was in truth: MTU agreed, inline found, wait chosen
  std::unique_ptr<Histogram> latency;  ///< round trips or completions [ns]; null: none
  std::optional<BandwidthTally> bandwidth;
  std::optional<TopologyTally> topology;  ///< with a latency of its own
  std::optional<std::uint64_t> lost;      ///< pings without a pong (UC, UD)
  std::uint64_t operations = 0;           ///< measured ones
  std::uint64_t elapsed_ns = 0;           ///< of the measured operations
  std::uint64_t cpu_ns = 0;               ///< of the measuring thread, over the measured operations
  nlohmann::ordered_json device_counters;  ///< {"initiator": {...}, "responder": {...}} differences
  nlohmann::ordered_json work;             ///< {"wrs","doorbells","cqes","polls"}, initiator's
  nlohmann::ordered_json resources;        ///< {"qps","buffer_bytes",...}
  nlohmann::ordered_json more;             ///< further facts for the row: "path", "inlined"...
};

/// A way to measure cases, one at a time, from one thread.
class Measurer {
 public:
  virtual ~Measurer() = default;

  /// Runs one repetition, on new QPs and buffers.
  /// @throws Unsupported       the device or the standard cannot do it: a skipped row
  /// @throws MeasurementError, VerbsError   it failed: an errored row
  /// @throws Interrupted       the user ended the run
  virtual Outcome measure(const Case& one_case) = 0;

  /// After a MeasurementError: can further cases be measured (is the session still up)?
  virtual bool usable() const = 0;

  /// The two ends, as the result file's `initiator` and `responder` (null: there is none).
  virtual nlohmann::ordered_json initiator_environment() const = 0;
  virtual nlohmann::ordered_json responder_environment() const = 0;
};

}  // namespace rdmameter
