// SPDX-License-Identifier: Apache-2.0
#include "core/session/entry.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>

#include "core/session/handshake.h"
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
      return TokenError(fmt::format(
          "{}. The token here is that of {}, which a server of yours left. If that server has "
          "ended, remove the file",
          error.what(), found_->path));
    if (!local_) return error;
    return TokenError(
        fmt::format("{}. No server of yours has left a token for port {} in {}: is it another "
                    "user's server, or was it started with a token?",
                    error.what(), port_, folders_.text()));
  }

 private:
  const TokenFolders folders_ = TokenFolders::of_this_user();
  const std::uint16_t port_;
  const bool local_;
  std::optional<TokenFolders::Found> found_;
};

/// Says hello, with the token that was given or found.
nlohmann::ordered_json greet(Channel& channel, const SessionOptions& options,
                             const ChooseDescribed& described) {
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

}  // namespace

Channel enter_server(const SessionOptions& options, const ChooseDescribed& described,
                     const InterruptSource& interrupt, nlohmann::ordered_json& environment) {
  const Deadline deadline = Deadline::in(kGreetAgainFor);
  for (;;) {
    Channel channel{connect_to(options.server, Deadline::in(options.connect_for), interrupt),
                    interrupt};
    try {
      environment = greet(channel, options, described);
      return channel;
    } catch (const ChannelError& error) {
      const bool hung_up =
          error.cause == ChannelError::Cause::closed || error.cause == ChannelError::Cause::reset;
      if (!hung_up || !options.server.awaited || deadline.passed()) throw;
    }
    if (wait_for(-1, 0, Deadline::in(kGreetPause), interrupt) == Waited::interrupted)
      throw Interrupted("interrupted while connecting");
  }
}

}  // namespace rdmameter
