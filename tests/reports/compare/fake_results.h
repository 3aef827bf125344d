// SPDX-License-Identifier: Apache-2.0
// Results to compare, as a test wants them.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "reports/compare/comparable.h"
#include "tests/reports/samples.h"

namespace rdmameter {

/// A latency case whose p50 [ns] is `value(run, repetition)`.
inline ComparableCase latency_case(
    const std::string& name, std::uint64_t runs, std::uint64_t repetitions,
    const std::function<double(std::uint64_t, std::uint64_t)>& value) {
  ComparableCase comparable_case{.name = name};
  for (std::uint64_t run = 0; run < runs; ++run)
    for (std::uint64_t repetition = 0; repetition < repetitions; ++repetition) {
      Replicate replicate{.run = run, .repetition = repetition};
      replicate.value[static_cast<std::size_t>(Metric::p50)] = value(run, repetition);
      comparable_case.replicates.push_back(replicate);
    }
  return comparable_case;
}

inline Comparable file_of(std::vector<ComparableCase> cases,
                          const std::string& path = "file.json") {
  Comparable comparable{.path = path, .context = sample_context()};
  comparable.sides[0] = std::move(cases);
  return comparable;
}

}  // namespace rdmameter
