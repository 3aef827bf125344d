// SPDX-License-Identifier: Apache-2.0
// A measurer whose every repetition goes as the test says.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "core/engine/measurer.h"

namespace rdmameter {

class FakeMeasurer : public Measurer {
 public:
  using Script = std::function<Outcome(const TestCase&)>;
  explicit FakeMeasurer(Script script) : script_(std::move(script)) {}

  Outcome measure(const TestCase& test_case) override {
    measured.push_back(test_case);
    return script_(test_case);
  }
  bool usable() const override { return still_usable; }
  nlohmann::ordered_json initiator_environment() const override { return {{"fake", true}}; }
  nlohmann::ordered_json responder_environment() const override { return nullptr; }

  std::vector<TestCase> measured;
  bool still_usable = true;

 private:
  Script script_;
};

/// Four round trips of 1000, 2000, 3000 and 4000 ns.
inline Outcome four_round_trips(const TestCase& test_case) {
  Outcome outcome;
  outcome.effective = test_case;
  outcome.effective.path.mtu_bytes = 1024;
  const auto samples = std::make_unique<Histogram>();
  for (const std::uint64_t sample_ns : {1000, 2000, 3000, 4000}) samples->record(sample_ns);
  outcome.latency = latency_of(test_case, *samples);
  outcome.operations = 4;
  outcome.elapsed_ns = 10'000;
  outcome.cpu_ns = 8'000;
  return outcome;
}

}  // namespace rdmameter
