// SPDX-License-Identifier: Apache-2.0
// A way of measuring that could not be set up, so that the result still says so, case by case.
#pragma once

#include <exception>
#include <utility>

#include "core/engine/measurer.h"

namespace rdmameter {

class FailedMeasurer : public Measurer {
 public:
  explicit FailedMeasurer(std::exception_ptr why) : why_(std::move(why)) {}

  Outcome measure(const TestCase&) override { std::rethrow_exception(why_); }
  bool usable() const override { return false; }
  nlohmann::ordered_json initiator_environment() const override { return nullptr; }
  nlohmann::ordered_json responder_environment() const override { return nullptr; }

 private:
  std::exception_ptr why_;
};

}  // namespace rdmameter
