// SPDX-License-Identifier: Apache-2.0
#include "core/session/initiator.h"

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "core/doctor/examination.h"
#include "core/engine/open_devices.h"
#include "core/session/connect_test.h"
#include "core/session/end_choice.h"
#include "core/session/handshake.h"
#include "core/session/message_exchange.h"
#include "core/session/messages.h"
#include "core/session/repetition.h"
#include "core/wire/channel.h"
#include "core/wire/token_file.h"

namespace rdmameter {
namespace {

/// How long a client whose server hangs up before the welcome tries again, and how often.
constexpr std::chrono::seconds kGreetAgainFor{8};
constexpr std::chrono::milliseconds kGreetPause{500};

/// The token for a server that the user named none for: what a server of the same user has left.
class FoundToken {
 public:
  FoundToken(int socket, std::uint16_t port) : port_(port), local_(over_loopback(socket)) {
    if (local_) found_ = folders_.find(port);
  }

  std::string text() const { return found_ ? found_->token : std::string(); }

  /// @return the error, and what this end had to do with it
  TokenError explain(const TokenError& error) const {
    if (found_)
      return TokenError(
          "{}. The token here is that of {}, which a server of yours left. If that server has "
          "ended, remove the file",
          error.what(), found_->path);
    if (!local_) return error;
    return TokenError(
        "{}. No server of yours has left a token for port {} in {}: is it another "
        "user's server, or was it started with a token?",
        error.what(), port_, folders_.text());
  }

 private:
  const TokenFolders folders_ = TokenFolders::of_this_user();
  const std::uint16_t port_;
  const bool local_;
  std::optional<TokenFolders::Found> found_;
};

using ChooseDescribed = std::function<std::optional<EndSettings>(Channel&)>;

/// Says hello, with the token that was given or found.
Json greet(Channel& channel, const SessionOptions& options, const ChooseDescribed& described) {
  std::optional<FoundToken> found;
  const auto ask_token = [&] {
    if (!options.token.empty()) return options.token;
    // Not before the server answers: then it has left its token, even if it has only just begun.
    found.emplace(channel.fd(), options.server.port);
    return found->text();
  };
  try {
    return greet_responder(channel, ask_token, [&] { return described(channel); });
  } catch (const TokenError& error) {
    throw found ? found->explain(error) : error;
  }
}

/// A connection that the responder has welcomed. A crowded server hangs up on those that are not
/// quick enough to prove themselves, so that is no reason to give up at once.
/// @param described    chooses the device, port and GID of the responder that its environment
///                     describes, for which it may ask the responder; nothing: none is opened there
/// @param environment  out: the responder's
/// @throws UsageError, MeasurementError, Interrupted
Channel enter_server(const SessionOptions& options, const ChooseDescribed& described,
                     const InterruptSource& interrupt, Json& environment) {
  const Deadline deadline = Deadline::in(kGreetAgainFor);
  for (;;) {
    Channel channel{connect_to(options.server, Deadline::in(options.connect_for), interrupt),
                    interrupt};
    try {
      environment = greet(channel, options, described);
      return channel;
    } catch (const ChannelError& error) {
      if (!error.hung_up() || !options.server.awaited || deadline.passed()) throw;
    }
    if (wait_for(-1, 0, Deadline::in(kGreetPause), interrupt) == Waited::interrupted)
      throw Interrupted("interrupted while connecting");
  }
}

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
    const std::scoped_lock lock{speaks_};
    if (const std::string why = why_impossible(planned); !why.empty()) throw Unsupported(why);
    const TestCase asked = ends_.settled(planned, channel_);
    std::vector<OpenDevice*> devices;
    if (!asked.over_tcp()) devices = devices_.get_each(asked.initiator, true);
    const DeviceCase test_case{asked, devices, Role::initiator};
    Placement placement = place_end(test_case, Role::initiator, same_host(), {}, claims_);
    if (asked.control())
      return measure_connects(channel_, *devices.front(), test_case, placement, same_host(), clock_,
                              interrupt_);
    Repetition repetition{channel_, std::move(devices), test_case,    std::move(placement),
                          clock_,   interrupt_,         on_interval_, on_connected_};
    Outcome outcome = repetition.run(same_host());
    outcome.extra["path"] = path(outcome.effective);
    return outcome;
  }

  void say_alive() override {
    const std::unique_lock lock{speaks_, std::try_to_lock};
    if (!lock.owns_lock() || !channel_.usable()) return;
    try {
      channel_.send(make_message("alive"), Deadline::in(kTick));
    } catch (const std::exception&) {  // the next case says what is wrong
    }
  }

  void tell_responder(const Json& row) override {
    const std::scoped_lock lock{speaks_};
    if (!channel_.usable()) return;
    try {
      channel_.send(make_message("row", RowMessage{row}), Deadline::in(kSetupTimeout));
    } catch (const ChannelError&) {  // the next case says so, if there is one
    } catch (const Unsupported&) {   // the row is longer than a message
    }
  }

  bool usable() const override {
    const std::scoped_lock lock{speaks_};
    return channel_.usable();
  }
  Json initiator_environment() const override { return initiator_environment_; }
  Json responder_environment() const override { return responder_environment_; }

 private:
  mutable std::mutex speaks_;  ///< through the channel
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
    const TestCase chosen = [&] {
      try {
        return ends_.settled(first, channel);
      } catch (const Unsupported&) {  // each such case will say so
        return first;
      }
    }();
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
  Json initiator_environment_, responder_environment_;
  std::vector<OpenDevice*> first_;  ///< empty: this machine has none
  Channel channel_;
};

}  // namespace

std::unique_ptr<Measurer> make_initiator(const SessionOptions& options, const TestCase& first,
                                         const ClockChoice& clock,
                                         const InterruptSource& interrupt) {
  return std::make_unique<Initiator>(options, first, clock, interrupt);
}

Json examine_peer(const SessionOptions& options, const InterruptSource& interrupt) {
  Json environment;  // the examination says more
  // No device is opened: that it cannot be opened may be what is looked for.
  Channel channel = enter_server(
      options, [](Channel&) { return std::nullopt; }, interrupt, environment);
  MessageExchange messages{channel};
  messages.send(make_message("examine"));
  const Json examination =
      checked_examination(messages.expect<ExaminationMessage>("examination").value);
  channel.send_last(make_message("bye"), Deadline::in(kTick));
  return examination;
}

}  // namespace rdmameter
