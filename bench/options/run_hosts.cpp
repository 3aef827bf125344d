// SPDX-License-Identifier: Apache-2.0
#include "bench/options/run_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "bench/options/command.h"
#include "bench/options/ssh_url.h"
#include "bench/options/token.h"
#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/parse_value.h"
#include "core/base/printable.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMaxListBytes = 1 << 20;
constexpr std::string_view kBlanks = " \t\r";

bool by_ssh(std::string_view host) {
  return host.starts_with(kSshScheme);
}

/// Without its comment and the blanks around it.
std::string_view host_in(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const std::size_t begin = line.find_first_not_of(kBlanks);
  if (begin == line.npos) return {};
  return line.substr(begin, line.find_last_not_of(kBlanks) - begin + 1);
}

/// Of servers elsewhere, and of those that are started.
void check_options(std::span<const std::string> texts, const HostOptions& options) {
  const bool any_by_ssh = std::ranges::any_of(texts, by_ssh);
  const bool all_by_ssh = !texts.empty() && std::ranges::all_of(texts, by_ssh);
  if (!any_by_ssh && options.ssh_command)
    throw UsageError("--ssh-command is for a HOST that begins with ssh://");
  if (!any_by_ssh && options.remote_program)
    throw UsageError("--remote-program is for a HOST that begins with ssh://");
  if (all_by_ssh && options.port)
    throw UsageError(
        "--port: a server that ssh starts chooses its port; that of ssh is in ssh://HOST:PORT");
  if (all_by_ssh && !options.token_file.empty())
    throw UsageError("--token-file: a server that ssh starts has a token of its own");
}

RunHost run_host(const std::string& text, const HostOptions& options) {
  if (text.starts_with(fmt::format("{}=", kTokenVariable)))
    throw UsageError(
        fmt::format("{0} must not be an argument, which other users could read: put it into the "
                    "environment, as in `{0}=... rdmameter run HOST TEST`",
                    kTokenVariable));
  RunHost host{.target = {.kind = RunTarget::Kind::host}};
  if (by_ssh(text)) {
    host.remote = remote_start(text, options.ssh_command.value_or("ssh"),
                               options.remote_program.value_or("rdmameter"));
    return host;
  }
  host.target.server = parse_address(text, options.port.value_or(kDefaultPort));
  host.target.token = read_token(options.token_file);
  return host;
}

}  // namespace

std::vector<std::string> read_host_list(const std::string& path) {
  const std::string text = read_input(path, {.max_bytes = kMaxListBytes});
  std::vector<std::string> hosts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string host(host_in(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
    if (host.empty()) continue;
    if (host.find_first_of(kBlanks) != host.npos)
      throw UsageError(fmt::format("{}: {}: a line has one host", path, excerpt(host)));
    if (std::ranges::find(hosts, host) != hosts.end())
      throw UsageError(fmt::format("{}: {} is there twice", path, excerpt(host)));
    hosts.push_back(host);
  }
  if (hosts.empty()) throw UsageError(path + ": names no host: one on each line");
  return hosts;
}

std::vector<RunHost> run_hosts(std::span<const std::string> texts, const HostOptions& options) {
  check_options(texts, options);
  std::vector<RunHost> hosts;
  for (const std::string& text : texts) {
    try {
      hosts.push_back(run_host(text, options));
    } catch (const UsageError& error) {
      if (options.hosts.empty()) throw;
      throw UsageError(fmt::format("{}: {}", options.hosts, error.what()));
    }
    if (!options.hosts.empty()) hosts.back().name = text;
  }
  return hosts;
}

void declare_host_options(CLI::App& app, HostOptions& options) {
  add_count(app, "--port", options.port, fmt::format("TCP port of HOST. Default: {}", kDefaultPort),
            1, UINT16_MAX);
  add_option(app, "--ssh-command", options.ssh_command, "WORDS",
             "for ssh://: ssh's name and options, as in 'ssh -i KEY'. Default: ssh");
  add_option(app, "--remote-program", options.remote_program, "PATH",
             "for ssh://: rdmameter's name or path on HOST. Default: rdmameter");
  add_option(app, "--token-file", options.token_file, "FILE", kTokenFileHelp);
}

}  // namespace rdmameter
