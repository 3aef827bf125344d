// SPDX-License-Identifier: Apache-2.0
// rdmameter serve: the resident responder.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>

#include "bench/command.h"
#include "bench/help_text.h"
#include "bench/measurers.h"
#include "bench/token.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/session/auth.h"
#include "core/session/server.h"

namespace rdmameter {
namespace {

struct Options {
  std::string bind = "localhost", port, token_file;
  bool no_auth = false;
};

constexpr const char* kFooter =
    "It stays and serves clients; what each measures, on which device and with what\n"
    "parameters, is in the client's plan. Ctrl-C ends it.\n\n"
    "Bound to anything but loopback it lets in only clients that know its token: that\n"
    "of --token-file or RDMAMETER_TOKEN, or else a random one, which it prints.\n"
    "Nothing is encrypted.\n\n"
    "Examples:\n"
    "  rdmameter serve                          then, in another terminal:\n"
    "  rdmameter run localhost write_lat --size 2..4K\n\n"
    "  rdmameter serve --bind 192.0.2.1         prints the command to use elsewhere";

std::string this_host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "HOST";
}

/// How a client would type this server's address.
std::string client_address(const Address& bind) {
  const bool any = bind.host == "0.0.0.0" || bind.host == "::";
  const Address address{any ? this_host() : bind.host, bind.port};
  return address.port == kDefaultPort && address.host.find(':') == std::string::npos
             ? address.host
             : address.text();
}

/// Loopback needs no token; elsewhere there is one unless the caller says aloud that there is not.
std::string choose_token(const Options& options, bool loopback_only) {
  if (options.no_auth && !options.token_file.empty())
    throw UsageError("--no-auth and --token-file: give one");
  if (options.no_auth) return {};
  std::string token = read_token(options.token_file);
  return token.empty() && !loopback_only ? make_token() : token;
}

void announce(const Server& server, const Options& options) {
  const Address bound{options.bind, server.port()};
  const std::string& token = server.token();
  const std::string secret = token.empty() ? "" : fmt::format("{}={} ", kTokenVariable, token);
  fmt::print(stderr,
             "rdmameter: listening on {}; measure from {} with\n  {}rdmameter run {} write_lat\n",
             bound.text(), server.loopback_only() ? "this machine" : "another machine", secret,
             client_address(bound));
  if (token.empty() && !server.loopback_only())
    fmt::print(stderr,
               "rdmameter: --no-auth: whoever reaches this port can use this machine's device "
               "and memory\n");
}

ExitStatus serve(const Options& options, const Invocation& invocation) {
  const std::uint64_t port =
      options.port.empty() ? kDefaultPort : read_option("--port", options.port, 0, 65535);
  const auto log = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  const ClockChoice clock = choose_clock();
  Server server({.bind = {options.bind, static_cast<std::uint16_t>(port)},
                 .choose_token = [&](bool loopback) { return choose_token(options, loopback); },
                 .log = log},
                clock, invocation.interrupt);
  announce(server, options);
  server.serve();
  return ExitStatus::pass;  // being ended is how a server ends well
}

}  // namespace

Action declare_serve(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("--bind", options->bind, help_text("address to listen on. Default: localhost"))
      ->type_name("ADDRESS");
  app.add_option("--port", options->port,
                 help_text(fmt::format("TCP port to listen on; 0: any free one. Default: {}",
                                       kDefaultPort)))
      ->type_name("N");
  app.add_option("--token-file", options->token_file, help_text(kTokenFileHelp))->type_name("FILE");
  app.add_flag("--no-auth", options->no_auth, help_text("let everybody in, wherever bound"));
  app.footer(kFooter);
  return [options](const Invocation& invocation) { return serve(*options, invocation); };
}

}  // namespace rdmameter
