// SPDX-License-Identifier: Apache-2.0
#include "core/engine/measurer.h"

namespace rdmameter {
namespace {

LatencyData::Definition definition_of(const TestCase& test_case) {
  switch (test_case.pattern) {
    case Pattern::ping_pong:
      return LatencyData::Definition::round_trip;
    case Pattern::completion_latency:
    case Pattern::bandwidth:
      return LatencyData::Definition::completion;
    case Pattern::open_loop:
      return LatencyData::Definition::response;
    case Pattern::control:
      return completes(test_case.verb) ? LatencyData::Definition::completion
                                       : LatencyData::Definition::call;
    case Pattern::topology:  // its traffic decides
      break;
  }
  return LatencyData::Definition::completion;
}

}  // namespace

LatencyData latency_of(const TestCase& test_case, const Histogram& samples) {
  return {.definition = definition_of(test_case),
          .histogram = snapshot(samples),
          .half_round_trip = test_case.pattern == Pattern::ping_pong};
}

}  // namespace rdmameter
