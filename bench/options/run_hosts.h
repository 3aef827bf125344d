// SPDX-License-Identifier: Apache-2.0
// Where `run` measures: HOST on the command line, or one after the other those of a file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/running/measurers.h"

namespace CLI {
class App;
}

namespace rdmameter {

// ssh://[USER@]HOST[:PORT]: where a run starts its server, and the command that does so.

inline constexpr std::string_view kSshScheme = "ssh://";

/// Reads a URL whose parts cannot be taken for anything else by ssh or by a shell.
/// @param ssh      the program and options, in words as a shell would take them apart
/// @param program  rdmameter's name or path there; relative to the home folder if it has a /
/// @throws UsageError
RemoteStart remote_start(std::string_view url, std::string_view ssh, const std::string& program);

/// The options that name hosts.
struct HostOptions {
  bool loopback = false;
  std::string hosts, token_file;
  std::optional<std::uint16_t> port;
  std::optional<std::string> ssh_command, remote_program;
};

/// --port, --ssh-command, --remote-program and --token-file.
void declare_host_options(CLI::App& app, HostOptions& options);

/// The lines of a file, without comments (#) and blank lines.
/// @throws UsageError  it cannot be read, names no host, or one twice
std::vector<std::string> read_host_list(const std::string& path);

/// @param texts  HOST, HOST:PORT or ssh://[USER@]HOST[:PORT] each
/// @throws UsageError  one is malformed, or an option has no meaning for any of them
std::vector<RunTarget> run_hosts(std::span<const std::string> texts, const HostOptions& options);

/// Of a command that measures with one HOST, or by --loopback with none; nothing: neither is said.
/// @throws UsageError  both are, or several are named; as run_hosts()
std::optional<RunTarget> one_host(std::span<const std::string> texts, const HostOptions& options);

}  // namespace rdmameter
