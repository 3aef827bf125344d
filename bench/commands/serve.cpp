// SPDX-License-Identifier: Apache-2.0
// rdmameter serve: the resident responder.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "bench/options/command.h"
#include "bench/options/server_terms.h"
#include "bench/options/token.h"
#include "bench/remote/ready_line.h"
#include "bench/remote/stdin_owner.h"
#include "bench/running/measurers.h"
#include "core/base/error.h"
#include "core/base/kernel_files.h"
#include "core/base/parse_value.h"
#include "core/base/printable.h"
#include "core/instrument/clock.h"
#include "core/log/print.h"
#include "core/log/server_log.h"
#include "core/server/server.h"
#include "core/server/session_process.h"
#include "core/session/protocol.h"
#include "core/wire/auth.h"
#include "core/wire/token_file.h"
#include "core/wire/watcher.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

struct ServeArguments {
  std::optional<std::string> bind;
  std::optional<std::uint16_t> port;
  std::string token_file;
  std::optional<std::uint32_t> max_clients;
  std::uint64_t max_memory_bytes = default_max_memory_bytes(), max_threads = default_max_threads();
  SandboxOptions sandbox;
  bool gpu = false, no_auth = false, exclusive = false, token_stdin = false;
};

constexpr std::uint32_t kDefaultClients = 64;
constexpr std::uint32_t kMaxClients = 1024;
static_assert(kMinThreads == 2 * kDefaultClients,
              "both directions of a one-thread case for each of the default's clients");

constexpr const char* kServeFooter =
    "It runs until it is interrupted (Ctrl-C). Each client decides what is measured,\n"
    "on which device and with which parameters.\n\n"
    "Only clients that know its token are accepted. The token is that of\n"
    "--token-file or RDMAMETER_TOKEN; without them it is random, and the server\n"
    "writes it to a file that clients of the same user read (on loopback) or prints\n"
    "it (on any other address). Messages between client and server are then\n"
    "encrypted; the traffic that is measured is not.\n\n"
    "Examples:\n"
    "  rdmameter serve                          then, in another terminal:\n"
    "  rdmameter run localhost write_lat --size 2..4K\n\n"
    "  rdmameter serve --bind 192.0.2.1         prints the command to use elsewhere";

/// How a client would type this server's address.
std::string client_address(const Address& bind) {
  const bool any = bind.host == "0.0.0.0" || bind.host == "::";
  const Address address{any ? own_host_name().value_or("localhost") : bind.host, bind.port};
  return address.port == kDefaultPort && address.host.find(':') == std::string::npos
             ? address.host
             : address.text();
}

/// What the caller has said; empty: nothing.
std::string given_token(const ServeArguments& options, const InterruptSource& interrupt) {
  if (options.token_stdin && (options.no_auth || !options.token_file.empty()))
    throw UsageError("--token-stdin, --token-file and --no-auth: give one");
  if (options.token_stdin) return token_from_stdin(interrupt);
  if (options.no_auth && !options.token_file.empty())
    throw UsageError("--no-auth and --token-file: give one");
  return options.no_auth ? "" : read_token(options.token_file);
}

/// How a client is started that is let in. A token that was given is not repeated: a log
/// would keep it.
std::string client_command(const std::string& address, const std::string& token,
                           const std::string& given, const std::string& token_file, bool left) {
  const std::string command = fmt::format("rdmameter run {} write_lat", address);
  if (left || token.empty()) return "with\n  " + command;
  if (token != given) return fmt::format("with\n  {}={} {}", kTokenVariable, token, command);
  if (token_file.empty())
    return fmt::format("with the same {} as here:\n  {}", kTokenVariable, command);
  return fmt::format("with\n  {} {}", command, shell_text({"--token-file", token_file}));
}

/// A token that was drawn for this machine's own clients, where they find it while this lives.
class LeftToken {
 public:
  /// @param server  borrowed
  /// @throws UsageError  there is no place that other users cannot reach
  LeftToken(const Server& server, const std::string& given) : server_(server) {
    if (server.loopback_only() && server.token() != given)
      path_ = folders_.leave(server.port(), server.token());
    else if (server.loopback_only())
      folders_.remove(server.port());  // of one that was killed
  }
  LeftToken(LeftToken&&) = delete;
  ~LeftToken() {
    if (left()) folders_.remove(server_.port());
  }

  /// Else the user has given it, or other machines may come.
  bool left() const { return !path_.empty(); }

  /// Leaves it anew where it has gone: /tmp is swept of what is old, and a runtime folder goes when
  /// its user logs out.
  void keep() noexcept {
    if (!left() || access(path_.c_str(), F_OK) == 0) return;
    try {
      path_ = folders_.leave(server_.port(), server_.token());
    } catch (const std::exception&) {  // its clients are told that there is none
    }
  }

 private:
  const TokenFolders folders_ = TokenFolders::of_this_user();
  const Server& server_;
  std::string path_;  ///< empty: it is not left
};

/// Where to listen. One that ssh has started is of no use but to those who came by ssh.
Address bind_address(const ServeArguments& options) {
  const std::uint16_t port = options.port.value_or(options.token_stdin ? 0 : kDefaultPort);
  if (!options.bind) return {options.token_stdin ? ssh_server_address() : "localhost", port};
  const Address bind = parse_address(*options.bind, 0);
  if (bind.port != 0 && options.port && bind.port != port)
    throw UsageError("--bind {} and --port {} name two ports: give one", printable(*options.bind),
                     port);
  return {bind.host, bind.port != 0 ? bind.port : port};
}

void announce(const Server& server, const Address& bound, const ServeArguments& options,
              const std::string& given, bool left) {
  const std::string& token = server.token();
  tell_lines("rdmameter: listening on {}; measure from {}{} {}\n", bound.text(),
             server.loopback_only() ? "this machine" : "another machine",
             left ? ", as this user," : "",
             client_command(client_address(bound), token, given, options.token_file, left));
  if (token.empty() && !server.loopback_only())
    tell_lines(
        "rdmameter: --no-auth: whoever reaches this port can use this machine's device "
        "and memory\n");
  if (options.sandbox.mode == Sandboxing::on) tell_missing_sandbox("--sandbox off");
}

std::uint32_t max_clients(const ServeArguments& options) {
  if (options.exclusive && options.max_clients)
    throw UsageError("--exclusive and --max-clients: give one");
  return options.exclusive ? 1 : options.max_clients.value_or(kDefaultClients);
}

std::uint64_t read_max_memory(const std::string& text) {
  const std::uint64_t machine = machine_memory_bytes();
  const auto bytes = parse_bytes(text);
  if (!bytes || *bytes == 0 || *bytes > machine)
    throw invalid_value(
        "--max-memory", text,
        fmt::format(
            "bytes up to the {} MiB of this machine (K, M, G and KiB, MiB, GiB are 1024-based)",
            machine >> 20));
  return *bytes;
}

ExitStatus serve(const ServeArguments& options, const Invocation& invocation) {
  const Address bind = bind_address(options);
  const std::uint32_t clients = max_clients(options);
  check_sandbox(options.sandbox);
  allow_open_files(clients);
  ServerLog log{STDERR_FILENO};
  const auto line = [&log](const ClientLine& said) {
    log.line(said.peer, said.text, speaker_of(said.event));
  };
  const ClockChoice clock = choose_clock();
  const std::string given = given_token(options, invocation.interrupt);
  forget_token_variable();
  Server server({.bind = bind,
                 // Another user of this machine is a stranger, too.
                 .token = given.empty() && !options.no_auth ? make_token() : given,
                 .max_clients = clients,
                 .limits = {options.max_memory_bytes, options.max_threads},
                 // A server that ssh starts is the client's own.
                 .serve = in_own_process({.clock = clock,
                                          .sandbox = options.sandbox,
                                          .gpus = options.gpu || options.token_stdin}),
                 .log = line},
                invocation.interrupt);
  LeftToken left{server, given};
  const Address bound{bind.host, server.port()};
  if (!options.token_stdin) announce(server, bound, options, given, left.left());
  std::optional<WatchThread> owner;
  if (options.token_stdin) {  // the program that has started us by ssh waits for this line
    print_now(ReadyLine{RDMAMETER_VERSION, kProtocolVersion, bound}.text() + "\n");
    owner.emplace([&](const EventFd& done) { end_with_stdin(server, invocation.interrupt, done); });
  }
  server.serve([&left] { left.keep(); });
  return ExitStatus::pass;  // being ended is how a server ends well
}

}  // namespace

Action declare_serve(CLI::App& app) {
  const auto options = std::make_shared<ServeArguments>();
  add_option(app, "--bind", options->bind, "ADDRESS",
             "address to listen on, with or without :PORT. Default: localhost");
  add_count(app, "--port", options->port,
            fmt::format("TCP port to listen on; 0: any free one. Default: {}", kDefaultPort), 0,
            UINT16_MAX);
  add_option(app, "--token-file", options->token_file, "FILE",
             "a file whose first line is the token. Without it: RDMAMETER_TOKEN; without that: a "
             "random one");
  add_flag(app, "--token-stdin", options->token_stdin,
           "as `run ssh://HOST` starts it: the first line of stdin is the token, the "
           "server listens on the address of SSH_CONNECTION and any free port, "
           "prints both on stdout, lets its client use GPUs, and ends when stdin does");
  add_flag(app, "--no-auth", options->no_auth,
           "accept every client that reaches the port, without a token");
  add_flag(app, "--exclusive", options->exclusive, "serve one client at a time; the others wait");
  add_count(app, "--max-clients", options->max_clients,
            fmt::format("clients that are served at the same time; more wait for up to {} s, and "
                        "are then refused. Default: {}",
                        kPlaceTimeout.count(), kDefaultClients),
            1, kMaxClients);
  add_option(app, "--max-memory", options->max_memory_bytes, "SIZE",
             "memory that all clients' cases together may take [bytes]. Default: half "
             "of this machine's",
             read_max_memory);
  add_count(app, "--max-threads", options->max_threads,
            fmt::format("threads that all clients' cases together may run. Default: {}, or {} for "
                        "each CPU if that is more",
                        kMinThreads, kThreadsPerCpu),
            1, kMaxThreads);
  add_flag(app, "--gpu", options->gpu,
           "let clients measure in memory of this machine's GPUs (--peer-memory "
           "cuda:N, rocm:N): the process of a client then opens their drivers");
  add_option(app, "--sandbox", options->sandbox.mode, "WHAT",
             "limit what the process of a client may open: off, on (as far as this kernel can) or "
             "required (else do not start). Default: on",
             [](const std::string& text) { return sandboxing_from_text("--sandbox", text); });
  add_option(app, "--sandbox-allow", options->sandbox.allowed, "PATH",
             "a further file or folder that the process of a client may read and write; may be "
             "given several times");
  app.footer(kServeFooter);
  return [options](const Invocation& invocation) { return serve(*options, invocation); };
}

}  // namespace rdmameter
