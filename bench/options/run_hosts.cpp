// SPDX-License-Identifier: Apache-2.0
#include "bench/options/run_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "bench/cases/words.h"
#include "bench/options/command.h"
#include "bench/options/token.h"
#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/parse_value.h"
#include "core/base/printable.h"
#include "core/wire/socket.h"
#include "reports/stats/sample.h"
#include "reports/summary/facts.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

/// ssh never asks for a password, does not wait long, and starts the server whatever else a
/// configuration file asks for.
constexpr std::string_view kSshOptions[]{
    "-T", "-x", "-a", "-oBatchMode=yes", "-oConnectTimeout=20", "-oClearAllForwardings=yes"};

/// @param others  that it may have besides letters and digits
bool safe(std::string_view text, std::string_view others) {
  return !text.empty() && text.front() != '-' &&
         std::ranges::all_of(text, [others](char c) { return is_word_character(c, others); });
}

UsageError bad_url(std::string_view url) {
  return invalid_value("HOST", url,
                       "ssh://HOST, ssh://USER@HOST, ssh://HOST:PORT; a HOST has letters, digits, "
                       "'.', '-' and '_', an IPv6 address stands in brackets");
}

std::vector<std::string> ssh_words(std::string_view ssh) {
  const std::vector<ShellWord> words = split_words(ssh);
  if (words.empty()) throw UsageError("--ssh-command takes ssh's name and options: 'ssh -i KEY'");
  if (const char quote = words.back().open_quote; quote != '\0')
    throw UsageError("--ssh-command: a quote ({}) is not closed", quote);
  return mapped(words, &ShellWord::text);
}

void check_program(const std::string& program) {
  if (program.empty() || program.front() == '-' || program.front() == '~' || !is_printable(program))
    throw UsageError(
        "--remote-program {}: give a name in PATH or a path; a relative one begins at the home "
        "folder there (no ~)",
        excerpt(program));
}

}  // namespace

RemoteStart remote_start(std::string_view url, std::string_view ssh, const std::string& program) {
  std::string_view rest = url.substr(kSshScheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);  // as a URL may
  const std::size_t at = rest.rfind('@');
  const std::string_view user = rest.substr(0, at == rest.npos ? 0 : at);
  const std::string_view place = rest.substr(at == rest.npos ? 0 : at + 1);
  const bool bracketed = place.starts_with('[');
  // A bare IPv6 address would swallow a port.
  if (!bracketed && std::ranges::count(place, ':') > 1) throw bad_url(url);
  Address address;
  try {
    address = parse_address(place, 0);
  } catch (const UsageError&) {
    throw bad_url(url);
  }
  if ((at != rest.npos && !safe(user, "._+-@")) || !safe(address.host, bracketed ? ".:%-_" : ".-_"))
    throw bad_url(url);
  check_program(program);
  RemoteStart start{.words = ssh_words(ssh), .host = address.host, .program = program};
  start.words.insert(start.words.end(), std::begin(kSshOptions), std::end(kSshOptions));
  if (!user.empty()) start.words.insert(start.words.end(), {"-l", std::string(user)});
  if (address.port != 0)
    start.words.insert(start.words.end(), {"-p", std::to_string(address.port)});
  start.words.insert(
      start.words.end(),
      {"--", address.host, "exec " + shell_text({program, "serve", "--token-stdin"})});
  return start;
}

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

RunTarget run_host(const std::string& text, const HostOptions& options) {
  if (text.starts_with(fmt::format("{}=", kTokenVariable)))
    throw UsageError(
        "{0} must not be an argument, which other users could read: put it into the "
        "environment, as in `{0}=... rdmameter run HOST TEST`",
        kTokenVariable);
  RunTarget host{.kind = RunTarget::Kind::host};
  if (by_ssh(text)) {
    host.remote = remote_start(text, options.ssh_command.value_or("ssh"),
                               options.remote_program.value_or("rdmameter"));
    return host;
  }
  host.session.server = parse_address(text, options.port.value_or(kDefaultPort));
  host.session.token = read_token(options.token_file);
  return host;
}

}  // namespace

std::vector<std::string> read_host_list(const std::string& path) {
  const std::string text = read_input(path, {.max_bytes = kMaxListBytes});
  std::vector<std::string> hosts;
  for (const std::string_view line : text_lines(text)) {
    const std::string host(host_in(line));
    if (host.empty()) continue;
    if (host.find_first_of(kBlanks) != host.npos)
      throw UsageError("{}: {}: a line has one host", path, excerpt(host));
    if (!add_once(hosts, host)) throw UsageError("{}: {} is there twice", path, excerpt(host));
  }
  if (hosts.empty()) throw UsageError(path + ": names no host: one on each line");
  return hosts;
}

std::vector<RunTarget> run_hosts(std::span<const std::string> texts, const HostOptions& options) {
  check_options(texts, options);
  std::vector<RunTarget> hosts;
  for (const std::string& text : texts) {
    try {
      hosts.push_back(run_host(text, options));
    } catch (const UsageError& error) {
      if (options.hosts.empty()) throw;
      throw UsageError("{}: {}", options.hosts, error.what());
    }
    if (!options.hosts.empty()) hosts.back().name = text;
  }
  return hosts;
}

std::optional<RunTarget> one_host(std::span<const std::string> texts, const HostOptions& options) {
  if (texts.size() > 1) throw UsageError("name one HOST, where `rdmameter serve` runs");
  if (options.loopback && !texts.empty()) throw UsageError("--loopback: with it there is no HOST");
  const std::vector<RunTarget> hosts = run_hosts(texts, options);
  if (options.loopback) return RunTarget{.kind = RunTarget::Kind::loopback};
  return hosts.empty() ? std::nullopt : std::optional(hosts.front());
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
