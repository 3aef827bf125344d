// SPDX-License-Identifier: Apache-2.0
#include "core/engine/introduction.h"

#include "core/base/error.h"

namespace rdmameter {

const EndpointInfo& Introduction::endpoint_of(std::uint64_t qps) const {
  if (!endpoint) throw MeasurementError("the peer's message: the key \"endpoint\" is missing");
  if (!threads.empty())
    throw MeasurementError("the peer's message: threads has {} elements within one thread",
                           threads.size());
  if (port_num == 0) throw MeasurementError("the peer's message: port_num is 0, outside 1 to 255");
  require_queues_of(*endpoint, qps);
  return *endpoint;
}

const ListeningAt& Introduction::where_listening() const {
  if (!listening)
    throw MeasurementError("the peer's message: it does not say where it listens (\"listening\")");
  return *listening;
}

}  // namespace rdmameter
