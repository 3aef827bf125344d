// SPDX-License-Identifier: Apache-2.0
// On which hosts the ranks of a result are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result/row.h"
#include "reports/summary/facts.h"
#include "topologies/graphs/routes.h"

namespace rdmameter {

/// Which way its messages went: "network", "same_device", "simulated"... Empty: not told.
std::string row_path(const Row& row);

/// The hosts, as the context of a result has them.
RankPlaces hosts_of(const Json& context);

/// Of the ranks of a row: those of the result, or of a simulated row those of its network. No NUMA
/// nodes. Empty: not known.
RankPlaces hosts_of(const Row& row, const RankPlaces& of_result);

/// The number k, if ranks 0 to k - 1, k to 2 k - 1 and so on share a host; the last host may have
/// fewer. Nothing: not so.
std::optional<std::uint64_t> equal_ranks_per_host(const RankPlaces& places);

/// The hosts on which so many ranks would be: each with as many ranks as measured, one after the
/// other; of a single host, all on it. Empty: the measured ones are not placed so.
/// @param measured  hosts alone
RankPlaces places_at(const RankPlaces& measured, std::uint64_t ranks);

// ---- Where the ranks of a result are: on which host, and on which NUMA node of it.

/// Of the ranks of each row; of a simulated one as in its network. NUMA nodes are those of the row.
/// A rank that was not pinned, and that rows saw on different nodes, has none. If no row has two
/// ranks on different nodes of a host, no rank has one.
/// @param of_result  hosts_of() its context
std::vector<RankPlaces> places_of(std::span<const Row* const> rows, const RankPlaces& of_result);

}  // namespace rdmameter
