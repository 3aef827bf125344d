// SPDX-License-Identifier: Apache-2.0
// A measurer whose every repetition goes as the test says.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "core/measurer.h"

namespace rdmameter {

class FakeMeasurer : public Measurer {
 public:
  using Script = std::function<Outcome(const Case&)>;
  explicit FakeMeasurer(Script script) : script_(std::move(script)) {}

  Outcome measure(const Case& one_case) override {
    measured.push_back(one_case);
    return script_(one_case);
  }
  bool usable() const override { return still_usable; }
  nlohmann::ordered_json initiator_environment() const override { return {{"fake", true}}; }
  nlohmann::ordered_json responder_environment() const override { return nullptr; }

  std::vector<Case> measured;
  bool still_usable = true;

 private:
  Script script_;
};

/// Four round trips of 1000, 2000, 3000 and 4000 ns.
inline Outcome four_round_trips(const Case& one_case) {
  Outcome outcome;
  outcome.effective = one_case;
  outcome.effective.mtu_bytes = 1024;
  outcome.latency = std::make_unique<Histogram>();
  for (const std::uint64_t sample_ns : {1000, 2000, 3000, 4000}) outcome.latency->record(sample_ns);
  outcome.operations = 4;
  outcome.elapsed_ns = 10'000;
  outcome.cpu_ns = 8'000;
  return outcome;
}

}  // namespace rdmameter
