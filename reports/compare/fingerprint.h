// SPDX-License-Identifier: Apache-2.0
// Was it measured on the same ground? Numbers of different devices, kernels or links
// cannot be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/summary/facts.h"

namespace rdmameter {

/// The differences between two contexts, in facts of both ends that numbers depend on: "responder:
/// kernel: Linux 6.1.0 in BASE, Linux 6.6.13 in NEW". Empty: there are none. A fact that only one
/// of them knows is a difference: it may not be the same.
/// @param all_measured  no: an end of which nothing is known may be one that never answered, whose
///                      cases have failed. That is the verdict on them, and no other environment.
std::vector<std::string> environment_changes(const Json& base, const Json& other,
                                             bool all_measured = true);

/// As environment_changes(), of all runs of two results: each against BASE's first. What a merged
/// result was allowed to mix (its `environment_changes`) is not told again.
std::vector<std::string> changes_among_runs(const Json& base, const Json& other,
                                            bool all_measured = true);

/// The hardware of both ends, as one text: equal where it is the same, whatever kernel and driver
/// ran on it. @param environments  {"initiator": ..., "responder": ...}, and of several hosts
///                              "responders", of which the one counts that the case's name has;
///                              of topologies "ranks"
std::string machine_of(const Json& environments, std::string_view case_name);

/// The context of each run of a result.
std::vector<Json> run_contexts(const Json& context);

/// The differences that a merged result was allowed to mix; empty: none.
std::vector<std::string> merged_changes(const Json& context);

// ---- Which runs of a file belong to one batch: what a machine does differently from boot to boot
// and from hour to hour they have in common.

/// Runs of one boot with a longer pause between them are of two batches.
inline constexpr std::int64_t kBatchPauseSeconds = 3600;

/// The batch of each run of a result, numbered from 0 in the order of the runs. Runs of one boot
/// of both ends, each less than an hour after the one before, are of one batch; so are runs of
/// which neither is known.
/// @param context  a result's; its runs, or itself where it holds one run
std::vector<std::size_t> batches_of(const Json& context);

}  // namespace rdmameter
