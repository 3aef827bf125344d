// SPDX-License-Identifier: Apache-2.0
// How much do a machine's batches differ? A history of results that were measured on many days
// knows.
#pragma once

#include <map>

#include "reports/history/history_file.h"
#include "reports/stats/batch_change.h"
#include "reports/summary/metric.h"

namespace rdmameter {

/// From differences between results that follow each other in batches of their own (an hour
/// between them) on the newest result's machine, in one environment. A change of the code is one
/// difference among many, and medians do not see it.
/// @return  of each metric that judges; none where there are fewer than five differences
std::map<Metric, LearntBatches> batch_noise(const History& history);

}  // namespace rdmameter
