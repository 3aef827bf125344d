// SPDX-License-Identifier: Apache-2.0
#include "core/engine/introduction.h"

#include <utility>

#include "core/base/error.h"

namespace rdmameter {

const EndpointInfo& Introduction::endpoint_of(std::uint64_t qps) const {
  if (!endpoint) throw MeasurementError("the peer's message: it has no `endpoint`");
  require_queues_of(*endpoint, qps);
  return *endpoint;
}

const ListeningAt& Introduction::where_listening() const {
  if (!listening) throw MeasurementError("the peer's message: it says not where it is `listening`");
  return *listening;
}

ConnectedCase connected_case(TestCase test_case, Introductions local, Introductions remote) {
  if (test_case.path.mtu_bytes == 0) test_case.path.mtu_bytes = kAuto;
  return {std::move(test_case), std::move(local), std::move(remote)};
}

}  // namespace rdmameter
