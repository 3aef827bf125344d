// SPDX-License-Identifier: Apache-2.0
// What either end of perftest mode has: its device, its connection, its use of CPUs.
#pragma once

#include <fstream>
#include <optional>
#include <string>

#include "bench/perftest/report.h"
#include "bench/perftest/translate.h"
#include "core/engine/device/open_device.h"
#include "core/engine/introduction.h"
#include "core/instrument/clock.h"
#include "core/result/json_text.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

// The device of the end that was started: an error in its own options is told there, and at once.

/// Is there what -d, -i and -x name, and is the port active? perftest's lines come first.
/// @return the environment of this end with that device
/// @throws NoDevice, UsageError, Unsupported, VerbsError
Json require_own_device(const PerftestPlan& plan, const ClockChoice& clock);

/// @throws UsageError  without rdma_cm --force-link is not what the port has
void require_link(const PerftestPlan& plan, const Json& environment);

/// With -R and --bind_source_ip, rdma_cm's QPs are bound to that address, too: takes the device,
/// port and GID of this end that have it, among what -d and -i leave open. Where there are none, or
/// -x names a GID, the plan stays as it is.
void bind_to_source(PerftestPlan& plan);

/// What perftest calls the device's transport: "IB", "IW", "Unknown".
/// @param environment  of this end; without a device: "IB"
std::string perftest_transport(const Json& environment);

/// perftest's lines where there is no such device, or where its port cannot be used.
void tell_no_device(const PerftestPlan& plan);

// A case whose QPs are connected, as both ends of perftest mode show it.

/// perftest's last lines on stderr where its ends do not meet.
inline constexpr const char* kPerftestNoConnection =
    "Unable to open file descriptor for socket connection\n"
    " Unable to init the socket connection\n";

struct PerftestConnection {
  TestCase test_case;                         ///< as it is in truth
  std::optional<EndpointInfo> local, remote;  ///< nothing: the null device has none
  std::optional<ibv_gid> group;               ///< of a multicast
};

/// @param server  is this end the server, which receives a multicast?
/// @throws MeasurementError  a peer's QPs are not those of the case
PerftestConnection perftest_connection(const ConnectedCase& connected, bool server);

/// perftest's lines about the GPU whose memory this end has; empty: it has none.
std::string perftest_gpu(const PerftestConnection& connection, bool server);

/// perftest's lines "local address: ..." and "remote address: ...", of each QP; of a bidirectional
/// case those of the QPs that the client sends by.
std::string perftest_addresses(const PerftestReport& report, const PerftestConnection& connection);

/// --cpu_util: user time over user and idle time of the whole machine, as perftest computes it.
class CpuUse {
 public:
  void begin() { before_ = read(); }
  double percent() const {
    const Times now = read();
    const double user = now.user - before_.user, idle = now.idle - before_.idle;
    return user + idle > 0 ? user / (user + idle) * 100 : 0;
  }

 private:
  struct Times {
    double user = 0, idle = 0;
  };
  static Times read() {  // proc(5): "cpu user nice system idle ..."
    std::ifstream stat("/proc/stat");
    std::string cpu;
    double nice = 0, system = 0;
    Times times;
    stat >> cpu >> times.user >> nice >> system >> times.idle;
    return times;
  }
  Times before_;
};

}  // namespace rdmameter
