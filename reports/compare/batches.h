// SPDX-License-Identifier: Apache-2.0
// Which runs of a file belong to one batch: what a machine does differently from boot to boot and
// from hour to hour they have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

namespace rdmameter {

/// Runs of one boot with a longer pause between them are of two batches.
inline constexpr std::int64_t kBatchPauseSeconds = 3600;

/// The batch of each run of a result, numbered from 0 in the order of the runs. Runs of one boot
/// of both ends, each less than an hour after the one before, are of one batch; so are runs of
/// which neither is known.
/// @param context  a result's; its runs, or itself where it holds one run
std::vector<std::size_t> batches_of(const nlohmann::ordered_json& context);

}  // namespace rdmameter
