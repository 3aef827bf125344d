// SPDX-License-Identifier: Apache-2.0
// A measurer whose every repetition goes as the test says.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

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

  std::vector<TestCase> measured;
  bool still_usable = true;

 private:
  Script script_;
};

inline Outcome round_trips(const TestCase& test_case, std::span<const std::uint64_t> samples_ns) {
  Outcome outcome;
  outcome.effective = test_case;
  outcome.effective.path.mtu_bytes = 1024;
  const auto samples = std::make_unique<Histogram>();
  for (const std::uint64_t sample_ns : samples_ns) samples->record(sample_ns);
  outcome.latency = latency_of(test_case, *samples);
  outcome.operations = samples_ns.size();
  outcome.elapsed_ns = 10'000;
  outcome.cpu_ns = 8'000;
  return outcome;
}

inline Outcome four_round_trips(const TestCase& test_case) {
  return round_trips(test_case, std::array<std::uint64_t, 4>{1000, 2000, 3000, 4000});
}

/// As many as a median takes.
inline Outcome twenty_round_trips(const TestCase& test_case) {
  return round_trips(test_case, std::vector<std::uint64_t>(20, 1000));
}

}  // namespace rdmameter
