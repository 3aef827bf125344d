// SPDX-License-Identifier: Apache-2.0
// A verb of the control path as it is called again and again: what it needs before, the call
// itself, what puts things back. One small file per group of verbs implements it; table.cpp picks.
#pragma once

#include <memory>
#include <string>

#include "core/engine/endpoint.h"
#include "core/result/json_text.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

class ControlCall {
 public:
  virtual ~ControlCall() = default;

  /// Adds an object of the verb's kind that stays for as long as this one does; of a step of a QP,
  /// a QP that has taken it.
  /// @throws Unsupported, VerbsError
  virtual void hold() = 0;

  /// Before the clock is read: makes what the verb is called for.
  /// @throws Unsupported, VerbsError
  virtual void prepare() = 0;

  /// The verb and nothing else, or where completes() says so its completion too. The caller has
  /// cleared errno, which a verb that fails need not set. @return 0 or the errno value
  virtual int call() noexcept = 0;

  /// Throws why a call failed, with the verb (and its step) and its object.
  /// @param error  what it returned, not 0
  [[noreturn]] virtual void fail(int error) const = 0;

  /// After the clock was read: frees what prepare() and call() made.
  virtual void undo() noexcept = 0;

  /// Puts into the row what of this call the case does not say.
  virtual void add_to(Json& /*row*/) const {}
};

/// The timed call of the case's verb, on this device. `device` is borrowed. Not for verbs that
/// need a responder.
/// @throws Unsupported  the device cannot: so many objects, such memory...
/// @throws VerbsError
std::unique_ptr<ControlCall> make_control_call(OpenDevice& device, const TestCase& test_case);

// What make_control_call() picks from.
std::unique_ptr<ControlCall> make_memory_call(OpenDevice& device, const TestCase& test_case);
std::unique_ptr<ControlCall> make_cq_call(OpenDevice& device, const TestCase& test_case);
std::unique_ptr<ControlCall> make_qp_call(OpenDevice& device, const TestCase& test_case);
std::unique_ptr<ControlCall> make_ah_call(OpenDevice& device, const TestCase& test_case);
std::unique_ptr<ControlCall> make_window_call(OpenDevice& device, const TestCase& test_case);

/// @param max  of these objects on the device
/// @throws Unsupported  it has not so many as `test_case` holds and calls for
void require_objects(const TestCase& test_case, std::string_view kind, std::uint64_t max,
                     const std::string& where);

/// @throws Unsupported  the device has no queues of --depth or --rx-depth WRs
void require_depths(const TestCase& test_case, const DeviceLimits& limits,
                    const std::string& where);

/// @throws VerbsError
Pd make_pd(const OpenDevice& device);
/// Of one entry. @throws VerbsError
Cq make_cq(const OpenDevice& device);

/// The way from the device's port to itself.
QpPath path_to_itself(const OpenDevice& device);

}  // namespace rdmameter
