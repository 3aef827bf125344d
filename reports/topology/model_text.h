// SPDX-License-Identifier: Apache-2.0
// The fitted model in words: costs with their intervals, crossovers, predictions.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "reports/text.h"
#include "reports/topology/crossover.h"
#include "reports/topology/model.h"

namespace rdmameter {

/// A fact of the model, for a line of text or of a page: "alpha", "2.01 µs", "1.98 to 2.05 µs".
struct ModelFact {
  std::string name, value, interval;
};

/// The costs of latency and of each exchange.
/// @param of  empty: of the latency; else the exchange's name
std::vector<ModelFact> cost_facts(const CostFit& fit);

/// What to know of the model before it is believed: sentences.
std::vector<std::string> model_remarks(const TopologyModel& model);

/// "below 24 ranks mesh, from there on ring (95 %: 21 to 28)", or who is ahead throughout.
std::string crossover_text(const Crossover& one);

/// What holds for several numbers stands once: the sentence, and what it is said of: "mean latency
/// (64 B, 4096 B); set-up time".
std::vector<std::pair<std::string, std::string>> crossover_sentences(const TopologyModel& model);

/// "2.01 µs", "1.98 to 2.05 µs" (empty where not known), "64.5 KiB".
std::string time_value(double ns);
std::string time_interval(const Estimate& made);
std::string bytes_value(double bytes);

/// Everything of it.
/// @param predict  numbers of ranks to predict for
std::string model_text(const TopologyModel& model, const std::vector<std::uint64_t>& predict,
                       const TextStyle& style);

}  // namespace rdmameter
