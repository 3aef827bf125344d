// SPDX-License-Identifier: Apache-2.0
// A case whose QPs are connected, as both ends of perftest mode show it.
#pragma once

#include <optional>
#include <string>

#include "bench/perftest/report.h"
#include "core/engine/device/open_device.h"
#include "core/engine/introduction.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

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

}  // namespace rdmameter
