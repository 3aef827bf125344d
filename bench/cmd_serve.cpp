// SPDX-License-Identifier: Apache-2.0
// rdmameter serve: the resident responder.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "bench/client_address.h"
#include "bench/command.h"
#include "bench/help_text.h"
#include "bench/measurers.h"
#include "bench/token.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/parse_value.h"
#include "core/session/auth.h"
#include "core/session/protocol.h"
#include "core/session/server.h"

namespace rdmameter {
namespace {

struct ServeArguments {
  std::string bind = "localhost", port, token_file, max_clients, max_memory;
  bool no_auth = false, exclusive = false;
};

constexpr std::uint32_t kDefaultClients = 64;
constexpr std::uint32_t kMostClients = 1024;

constexpr const char* kServeFooter =
    "It stays and serves clients; what each measures, on which device and with what\n"
    "parameters, is in the client's plan. Ctrl-C ends it.\n\n"
    "Bound to anything but loopback it lets in only clients that know its token: that\n"
    "of --token-file or RDMAMETER_TOKEN, or else a random one, which it prints.\n"
    "Nothing is encrypted.\n\n"
    "Examples:\n"
    "  rdmameter serve                          then, in another terminal:\n"
    "  rdmameter run localhost write_lat --size 2..4K\n\n"
    "  rdmameter serve --bind 192.0.2.1         prints the command to use elsewhere";

/// How a client would type this server's address.
std::string client_address(const Address& bind) {
  const bool any = bind.host == "0.0.0.0" || bind.host == "::";
  const Address address{any ? reachable_name() : bind.host, bind.port};
  return address.port == kDefaultPort && address.host.find(':') == std::string::npos
             ? address.host
             : address.text();
}

/// Loopback needs no token; elsewhere there is one unless the caller says aloud that there is not.
std::string choose_token(const ServeArguments& options, bool loopback_only) {
  if (options.no_auth && !options.token_file.empty())
    throw UsageError("--no-auth and --token-file: give one");
  if (options.no_auth) return {};
  std::string token = read_token(options.token_file);
  return token.empty() && !loopback_only ? make_token() : token;
}

void announce(const Server& server, const ServeArguments& options) {
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

std::uint32_t most_clients(const ServeArguments& options) {
  if (options.exclusive && !options.max_clients.empty())
    throw UsageError("--exclusive and --max-clients: give one");
  if (options.exclusive) return 1;
  if (options.max_clients.empty()) return kDefaultClients;
  return static_cast<std::uint32_t>(
      read_option("--max-clients", options.max_clients, 1, kMostClients));
}

/// Half of the machine's memory is left to those who live there.
std::uint64_t most_memory_bytes(const ServeArguments& options) {
  const auto machine = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (options.max_memory.empty()) return machine / 2;
  const auto bytes = parse_bytes(options.max_memory);
  if (!bytes || *bytes == 0 || *bytes > machine)
    throw UsageError(fmt::format(
        "--max-memory does not take '{}'; it takes bytes up to the {} MiB of this machine (K, M, G "
        "and KiB, MiB, GiB are 1024-based)",
        options.max_memory, machine >> 20));
  return *bytes;
}

ExitStatus serve(const ServeArguments& options, const Invocation& invocation) {
  const std::uint64_t port =
      options.port.empty() ? kDefaultPort : read_option("--port", options.port, 0, 65535);
  const auto log = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  const ClockChoice clock = choose_clock();
  Server server({.bind = {options.bind, static_cast<std::uint16_t>(port)},
                 .choose_token = [&](bool loopback) { return choose_token(options, loopback); },
                 .most_clients = most_clients(options),
                 .most_memory_bytes = most_memory_bytes(options),
                 .log = log},
                clock, invocation.interrupt);
  announce(server, options);
  server.serve();
  return ExitStatus::pass;  // being ended is how a server ends well
}

}  // namespace

Action declare_serve(CLI::App& app) {
  const auto options = std::make_shared<ServeArguments>();
  app.add_option("--bind", options->bind, help_text("address to listen on. Default: localhost"))
      ->type_name("ADDRESS");
  app.add_option("--port", options->port,
                 help_text(fmt::format("TCP port to listen on; 0: any free one. Default: {}",
                                       kDefaultPort)))
      ->type_name("N");
  app.add_option("--token-file", options->token_file, help_text(kTokenFileHelp))->type_name("FILE");
  app.add_flag("--no-auth", options->no_auth, help_text("let everybody in, wherever bound"));
  app.add_flag("--exclusive", options->exclusive,
               help_text("serve one client at a time; the others wait"));
  app.add_option(
         "--max-clients", options->max_clients,
         help_text(fmt::format("serve so many clients at a time; others wait for {} s, then "
                               "are refused. Default: {}",
                               kPlaceTimeout.count(), kDefaultClients)))
      ->type_name("N");
  app.add_option("--max-memory", options->max_memory,
                 help_text("memory that all clients' cases together may take [bytes]. Default: "
                           "half of this machine's"))
      ->type_name("SIZE");
  app.footer(kServeFooter);
  return [options](const Invocation& invocation) { return serve(*options, invocation); };
}

}  // namespace rdmameter
