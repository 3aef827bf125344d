// SPDX-License-Identifier: Apache-2.0
#include "core/session/initiator.h"

#include "core/open_devices.h"
#include "core/payload_file.h"
#include "core/session/channel.h"
#include "core/session/connect_test.h"
#include "core/session/handshake.h"
#include "core/session/protocol.h"
#include "core/session/repetition.h"
#include "core/session/socket_side.h"

namespace rdmameter {
namespace {

/// How long a client whose server hangs up before the welcome tries again, and how often.
constexpr std::chrono::seconds kGreetAgainFor{8};
constexpr std::chrono::milliseconds kGreetPause{500};

/// A connection that the responder has welcomed. A crowded server hangs up on those that are not
/// quick enough to prove themselves, so that is no reason to give up at once.
/// @param environment  out: the responder's
Channel greeted(const SessionOptions& options, const Case& first, const InterruptSource& interrupt,
                nlohmann::ordered_json& environment) {
  const Deadline deadline = Deadline::in(kGreetAgainFor);
  for (;;) {
    Channel channel{connect_to(options.server, Deadline::in(options.connect_for), interrupt),
                    interrupt};
    try {
      environment = greet_responder(channel, options.token,
                                    {{"device", first.peer_device},
                                     {"port_num", first.peer_port_num},
                                     {"gid_index", first.peer_gid_index}});
      return channel;
    } catch (const ChannelError& error) {
      const bool hung_up =
          error.cause == ChannelError::Cause::closed || error.cause == ChannelError::Cause::reset;
      if (!hung_up || deadline.passed()) throw;
    }
    if (wait_for(-1, 0, Deadline::in(kGreetPause), interrupt) == Waited::interrupted)
      throw Interrupted("interrupted while connecting");
  }
}

class Initiator final : public Measurer {
 public:
  Initiator(const SessionOptions& options, const Case& first, const ClockChoice& clock,
            const InterruptSource& interrupt)
      : clock_(clock),
        interrupt_(interrupt),
        on_interval_(options.on_interval),
        first_(first.over_tcp() ? devices_.find(first.device, first.port_num, first.gid_index)
                                : &devices_.get(first.device, first.port_num, first.gid_index)),
        channel_(greeted(options, first, interrupt, responder_environment_)) {
    initiator_environment_ = environment_with(clock_, first_);
  }

  ~Initiator() override {
    try {
      if (channel_.usable() && !interrupt_.requested())
        channel_.send({{"type", "bye"}}, Deadline::in(kTick));
    } catch (const std::exception&) {  // the responder sees the connection close as well
    }
  }

  Outcome measure(const Case& one_case) override {
    if (const std::string why = why_impossible(one_case); !why.empty()) throw Unsupported(why);
    Case asked = with_payload(one_case);
    OpenDevice* device = nullptr;
    if (!one_case.over_tcp()) {
      device = &devices_.get(one_case.device, one_case.port_num, one_case.gid_index);
      asked.sge = with_known_sges(one_case, device->limits).sge;
    }
    if (one_case.control())
      return measure_connects(channel_, *device, one_case, clock_, interrupt_);
    const auto make_sides = [&](const Case& made, std::uint64_t seed) -> Sides {
      if (device != nullptr)
        return make_verbs_sides(*device, made, Role::initiator, seed, {&interrupt_, channel_.fd()});
      return {std::make_unique<SocketSide>(channel_.fd(), interrupt_, made, Role::initiator, seed),
              nullptr};
    };
    Repetition repetition{channel_, make_sides, asked, clock_, interrupt_, on_interval_};
    try {
      Outcome outcome = repetition.run(same_host());
      outcome.more["path"] = path(outcome.effective);
      return outcome;
    } catch (const ChannelError&) {
      throw;  // nobody is left to be told
    } catch (const Interrupted&) {
      throw;  // the session ends, and with it all that the responder holds for us
    } catch (const std::exception&) {
      repetition.abandon();
      throw;
    }
  }

  bool usable() const override { return channel_.usable(); }
  nlohmann::ordered_json initiator_environment() const override { return initiator_environment_; }
  nlohmann::ordered_json responder_environment() const override { return responder_environment_; }

 private:
  bool same_host() const {
    const auto& mine = initiator_environment_["boot_id"];
    return mine.is_string() && responder_environment_.contains("boot_id") &&
           responder_environment_["boot_id"] == mine;
  }

  /// Traffic within one device never sees its netdev or cable.
  std::string path(const Case& effective) const {
    if (!same_host()) return "network";
    if (effective.over_tcp()) return "loopback";
    return effective.device == effective.peer_device ? "same_device" : "netdev";
  }

  const ClockChoice clock_;
  const InterruptSource& interrupt_;
  const IntervalListener on_interval_;
  OpenDevices devices_;
  const OpenDevice* const first_;  ///< null: this machine has none
  nlohmann::ordered_json initiator_environment_, responder_environment_;
  Channel channel_;
};

}  // namespace

std::unique_ptr<Measurer> make_initiator(const SessionOptions& options, const Case& first,
                                         const ClockChoice& clock,
                                         const InterruptSource& interrupt) {
  return std::make_unique<Initiator>(options, first, clock, interrupt);
}

}  // namespace rdmameter
