// SPDX-License-Identifier: Apache-2.0
// The way from a port of this machine to a peer's, for connections and address handles.
#pragma once

#include "core/endpoint.h"

namespace rdmameter {

/// @param agreed  the path's MTU and outstanding reads
QpPath path_between(const OpenDevice& device, const Case& one_case, const EndpointInfo& peer,
                    const Agreed& agreed);

}  // namespace rdmameter
