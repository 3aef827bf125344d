// SPDX-License-Identifier: Apache-2.0
// What tells one set of topologies of a page from another.
#pragma once

#include <span>
#include <string>

#include "reports/html/page_cases.h"
#include "reports/topology/model/model.h"

namespace rdmameter {

/// "RC · base · recv srq": transport, the result where there are several, and what differs among
/// the models of the result.
std::string topology_title(const PageCases& page, std::size_t file,
                           std::span<const TopologyModel> models, std::size_t model);

}  // namespace rdmameter
