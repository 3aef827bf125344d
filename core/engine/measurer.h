// SPDX-License-Identifier: Apache-2.0
// What measuring a case yields, and the interface behind which the ways of measuring stand: over a
// session with a responder, or on the built-in null device.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/instrument/histogram.h"
#include "core/result/json_text.h"
#include "core/result/row.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

/// One repetition of one case, measured.
struct Outcome : Measurement {
  TestCase effective;  ///< every value as it was in truth: MTU agreed, inline found, wait chosen
  std::uint64_t operations = 0;  ///< measured ones
  bool interrupted = false;      ///< by the user; measured is what came before
  std::uint64_t elapsed_ns = 0;  ///< of the measured operations
  /// When the window of the measured operations closed, or little later; the epoch: not known.
  std::chrono::steady_clock::time_point window_end = {};
  std::uint64_t cpu_ns = 0;  ///< of the measuring thread, over the measured operations
};

/// The samples of a case that is not a topology's, and what they are of.
LatencyData latency_of(const TestCase& test_case, const Histogram& samples);

/// Why an open loop has measured nothing.
inline constexpr const char* kNothingFellDue =
    "no request fell due in the measured time: use a longer --duration or a higher --rate";

/// A way to measure cases, one at a time, from one thread.
class Measurer {
 public:
  virtual ~Measurer() = default;

  /// Runs one repetition, on new QPs and buffers.
  /// @throws Unsupported       the device or the standard cannot do it: a skipped row
  /// @throws MeasurementError, VerbsError   it failed: an errored row
  /// @throws Interrupted       the user ended the run before anything was measured
  virtual Outcome measure(const TestCase& test_case) = 0;

  /// After a MeasurementError: can further cases be measured (is the session still up)?
  virtual bool usable() const { return true; }

  /// Sets the traffic that runs beside the cases measured from here on; null: none. Borrowed. Only
  /// make_background_measurer()'s can have any.
  virtual void set_background(const TestCase*) {}

  /// Tells the responder of a row, which it may show. Does nothing where that is not possible.
  virtual void tell_responder(const Json&) {}
  /// The responder, if there is one, is to wait for the next case. On any thread; during measure()
  /// it does nothing.
  virtual void say_alive() {}

  /// The two ends, as the result file's `initiator` and `responder` (null: there is none).
  virtual Json initiator_environment() const { return nullptr; }
  virtual Json responder_environment() const { return nullptr; }
};

/// Measures by another measurer, which it borrows, and whose answers are its own where it does not
/// override them.
class MeasurerOver : public Measurer {
 public:
  explicit MeasurerOver(Measurer& inner) : inner_(inner) {}

  bool usable() const override { return inner_.usable(); }
  void say_alive() override { inner_.say_alive(); }
  void tell_responder(const Json& row) override { inner_.tell_responder(row); }
  Json initiator_environment() const override { return inner_.initiator_environment(); }
  Json responder_environment() const override { return inner_.responder_environment(); }

 protected:
  Measurer& inner_;
};

}  // namespace rdmameter
