// SPDX-License-Identifier: Apache-2.0
// The ways of measuring, chosen by where a run measures.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "bench/cases/cases.h"
#include "bench/remote/remote_server.h"
#include "bench/running/status_line.h"
#include "core/engine/measurer.h"
#include "core/instrument/clock.h"
#include "core/session/initiator.h"
#include "core/wire/wait.h"

namespace rdmameter {

inline constexpr std::uint16_t kDefaultPort = 18620;  ///< TCP; not assigned by IANA

/// One place to measure with: where the responder is.
struct RunTarget {
  enum class Kind {
    host,         ///< a server elsewhere, or in another process
    loopback,     ///< started by ourselves, in this process, for this run
    null_device,  ///< there is none: the built-in device that completes at once
  };
  Kind kind = Kind::loopback;
  /// Its server and token are those of a host.
  SessionOptions session = {.on_interval = interval_printer(),
                            .on_choice = choice_printer(),
                            .files = FileMemory::devices};
  std::optional<RemoteStart> remote;  ///< how the server of a host is to be started
  std::string name;                   ///< that its cases have; empty: they need none
};

/// What the cases need and no more: a run of control path tests alone has no responder, so that no
/// server is started for it, and where all cases are skipped nothing is opened. A server that is
/// started ends with the measurer.
/// @param cases  of those that are to be tried, the first one's devices, ports and GIDs are the
///               ones that both environments describe
/// @throws NoDevice, UsageError, VerbsError, MeasurementError (no server is listening there, or it
/// cannot be started), Interrupted
std::unique_ptr<Measurer> make_measurer(const RunTarget& target, std::span<const PlannedCase> cases,
                                        const ClockChoice& clock, InterruptSource& interrupt);

}  // namespace rdmameter
