// SPDX-License-Identifier: Apache-2.0
#include "core/session/initiator.h"

#include <fmt/format.h>

#include "core/engine/open_devices.h"
#include "core/engine/payload_file.h"
#include "core/session/connect_test.h"
#include "core/session/end_choice.h"
#include "core/session/entry.h"
#include "core/session/messages.h"
#include "core/session/repetition.h"
#include "core/session/socket_runner.h"
#include "core/wire/channel.h"

namespace rdmameter {
namespace {

class Initiator final : public Measurer {
 public:
  Initiator(const SessionOptions& options, const TestCase& first, const ClockChoice& clock,
            const InterruptSource& interrupt)
      : clock_(clock),
        interrupt_(interrupt),
        on_interval_(options.on_interval),
        on_connected_(options.on_connected),
        devices_({.files = options.files,
                  .gpus = true,
                  .cancel_check = [this] { require_wanted(channel_.fd(), interrupt_); }}),
        ends_(options.on_choice),
        first_(usable_before(first)),
        channel_(enter_server(
            options, [this, &first](Channel& channel) { return described(first, channel); },
            interrupt, responder_environment_)) {
    initiator_environment_ = environment_with(clock_, first_);
  }

  ~Initiator() override {
    try {
      if (channel_.usable() && !interrupt_.requested())
        channel_.send_last(make_message("bye"), Deadline::in(kTick));
    } catch (const std::exception&) {  // the responder sees the connection close as well
    }
  }

  Outcome measure(const TestCase& planned) override {
    if (const std::string why = why_impossible(planned); !why.empty()) throw Unsupported(why);
    const TestCase test_case = planned.over_tcp() ? planned : ends_.settled(planned, channel_);
    TestCase asked = with_payload(test_case);
    asked.registration.relaxed_ordering = asked.relaxes_ordering() ? 1 : 0;
    std::vector<OpenDevice*> devices;
    if (!test_case.over_tcp()) devices = devices_.get_each(test_case.initiator, true);
    std::vector<GidsOfDevice> gids;
    for (const OpenDevice* device : devices) {
      asked = known_on(std::move(asked), *device);
      gids.push_back({device->gids});
    }
    Placement placement = place_end(asked, Role::initiator, same_host(), {}, claims_);
    if (test_case.control())
      return measure_connects(channel_, *devices.front(), asked, placement, same_host(), clock_,
                              interrupt_);
    const auto make_end = [&](const TestCase& new_case, std::uint64_t seed,
                              const Placement& where) {
      if (devices.empty())
        return make_socket_end(channel_.fd(), interrupt_, new_case, Role::initiator, seed, where);
      return make_verbs_end(devices, new_case, Role::initiator, seed, {&interrupt_, channel_.fd()},
                            where);
    };
    Repetition repetition{channel_, make_end,   asked,        std::move(placement), std::move(gids),
                          clock_,   interrupt_, on_interval_, on_connected_};
    return repetition.conduct([&] {
      Outcome outcome = repetition.run(same_host());
      outcome.extra["path"] = path(outcome.effective);
      return outcome;
    });
  }

  void tell_responder(const nlohmann::json& row) override {
    if (!channel_.usable()) return;
    try {
      channel_.send(make_message("row", RowMessage{row}), Deadline::in(kSetupTimeout));
    } catch (const ChannelError&) {  // the next case says so, if there is one
    }
  }

  bool usable() const override { return channel_.usable(); }
  nlohmann::ordered_json initiator_environment() const override { return initiator_environment_; }
  nlohmann::ordered_json responder_environment() const override { return responder_environment_; }

 private:
  /// What this end's device leaves to be decided.
  static TestCase known_on(TestCase asked, const OpenDevice& device) {
    asked.queues.sge = with_known_sges(asked, device.limits).queues.sge;
    asked = with_known_connect(std::move(asked), device);
    if (asked.control()) return asked;
    asked = with_known_pkey(std::move(asked), *device.context, device.port);
    return with_known_signals(std::move(asked), device.limits, device.port.where());
  }

  /// Before the responder is asked for anything, this end says what it lacks.
  /// @return the devices, where they need not be chosen
  std::vector<OpenDevice*> usable_before(const TestCase& first) {
    if (first.over_tcp()) return devices_.find_each(first.initiator);
    if (ends_.usable_here(first.initiator, first.transport)) return {};
    return devices_.get_each(first.initiator);
  }

  /// What both environments describe: of cases that cannot be connected, what the user has named.
  EndSettings described(const TestCase& first, Channel& channel) {
    ends_.forget_peer();
    TestCase chosen = first;
    if (!first.over_tcp()) try {
        chosen = ends_.settled(first, channel);
      } catch (const Unsupported&) {  // each such case will say so
      }
    if (first_.empty() && !first.over_tcp()) first_ = devices_.get_each(chosen.initiator);
    return chosen.responder;
  }

  bool same_host() const {
    const auto& mine = initiator_environment_.at("boot_id");
    return mine.is_string() && responder_environment_.contains("boot_id") &&
           responder_environment_.at("boot_id") == mine;
  }

  /// Traffic within one device never sees its netdev or cable.
  std::string path(const TestCase& effective) const {
    if (!same_host()) return "network";
    if (effective.over_tcp()) return "loopback";
    return effective.initiator.device == effective.responder.device ? "same_device" : "netdev";
  }

  const ClockChoice clock_;
  const InterruptSource& interrupt_;
  const IntervalListener on_interval_;
  const ConnectedListener on_connected_;
  OpenDevices devices_;
  CpuClaims claims_;
  EndChoice ends_;
  nlohmann::ordered_json initiator_environment_, responder_environment_;
  std::vector<OpenDevice*> first_;  ///< empty: this machine has none
  Channel channel_;
};

}  // namespace

std::unique_ptr<Measurer> make_initiator(const SessionOptions& options, const TestCase& first,
                                         const ClockChoice& clock,
                                         const InterruptSource& interrupt) {
  return std::make_unique<Initiator>(options, first, clock, interrupt);
}

}  // namespace rdmameter
