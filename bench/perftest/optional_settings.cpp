// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/optional_settings.h"

#include <fmt/format.h>

#include "bench/perftest/notes.h"
#include "core/base/error.h"

namespace rdmameter {
namespace {

class OptionalSettingsMeasurer final : public Measurer {
 public:
  OptionalSettingsMeasurer(Measurer& inner, OptionalSettings settings)
      : inner_(inner), may_give_up_(settings) {}

  Outcome measure(const TestCase& asked) override {
    try {
      return inner_.measure(without(asked, given_up_));
    } catch (const Unsupported& error) {
      return measure_with_less(asked, error.what());
    }
  }
  bool usable() const override { return inner_.usable(); }
  void tell_responder(const nlohmann::json& row) override { inner_.tell_responder(row); }
  nlohmann::ordered_json initiator_environment() const override {
    return inner_.initiator_environment();
  }
  nlohmann::ordered_json responder_environment() const override {
    return inner_.responder_environment();
  }

 private:
  static TestCase without(TestCase test_case, OptionalSettings given_up) {
    if (given_up.inline_bytes && test_case.queues.inline_bytes != 0)
      test_case.queues.inline_bytes = kDeviceMax;
    if (given_up.extended_api) test_case.queues.api = Interface::classic;
    return test_case;
  }

  /// With less inline, then without ibv_wr_*, then so in both.
  Outcome measure_with_less(const TestCase& asked, const std::string& why) {
    const OptionalSettings before = given_up_;
    constexpr OptionalSettings kAttempts[] = {{true, false}, {false, true}, {true, true}};
    for (const OptionalSettings& attempt : kAttempts) {
      const OptionalSettings less{
          before.inline_bytes || (attempt.inline_bytes && may_give_up_.inline_bytes),
          before.extended_api || (attempt.extended_api && may_give_up_.extended_api)};
      if (same(less, before)) continue;
      try {
        Outcome outcome = inner_.measure(without(asked, less));
        given_up_ = less;
        tell_note(fmt::format("measured {}: {}", name_of(less, before), why));
        return outcome;
      } catch (const Unsupported&) {  // the first reason is the one to be told
      }
    }
    throw Unsupported(why);
  }

  static bool same(const OptionalSettings& a, const OptionalSettings& b) {
    return a.inline_bytes == b.inline_bytes && a.extended_api == b.extended_api;
  }
  static const char* name_of(const OptionalSettings& less, const OptionalSettings& before) {
    const bool no_inline = less.inline_bytes && !before.inline_bytes;
    const bool no_api = less.extended_api && !before.extended_api;
    return no_inline && no_api ? "with as much inline data as the device takes, by ibv_post_send"
           : no_inline         ? "with as much inline data as the device takes"
                               : "by ibv_post_send";
  }

  Measurer& inner_;
  const OptionalSettings may_give_up_;
  OptionalSettings given_up_;
};

}  // namespace

std::unique_ptr<Measurer> with_optional_settings(Measurer& inner, OptionalSettings settings) {
  return std::make_unique<OptionalSettingsMeasurer>(inner, settings);
}

}  // namespace rdmameter
