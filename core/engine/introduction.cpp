// SPDX-License-Identifier: Apache-2.0
#include "core/engine/introduction.h"

#include <utility>

#include "core/base/error.h"

namespace rdmameter {

const EndpointInfo& Introduction::endpoint_of(std::uint64_t qps) const {
  if (!endpoint) throw MeasurementError("the peer's message: the key \"endpoint\" is missing");
  if (port_num == 0) throw MeasurementError("the peer's message: port_num is 0, outside 1 to 255");
  require_queues_of(*endpoint, qps);
  return *endpoint;
}

const ListeningAt& Introduction::where_listening() const {
  if (!listening)
    throw MeasurementError("the peer's message: it does not say where it listens (\"listening\")");
  return *listening;
}

ConnectedCase connected_case(TestCase test_case, Introductions local, Introductions remote) {
  if (test_case.path.mtu_bytes == 0) test_case.path.mtu_bytes = kAuto;
  return {std::move(test_case), std::move(local), std::move(remote)};
}

}  // namespace rdmameter
