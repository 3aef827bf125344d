// SPDX-License-Identifier: Apache-2.0
#include "bench/options/ssh_url.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/options/arguments.h"
#include "bench/options/words.h"
#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "core/base/printable.h"
#include "core/wire/socket.h"

namespace rdmameter {
namespace {

/// ssh never asks for a password, does not wait long, and starts the server whatever else a
/// configuration file asks for.
constexpr std::string_view kSshOptions[]{
    "-T", "-x", "-a", "-oBatchMode=yes", "-oConnectTimeout=20", "-oClearAllForwardings=yes"};

/// @param others  that it may have besides letters and digits
bool safe(std::string_view text, std::string_view others) {
  const auto harmless = [others](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           others.find(c) != others.npos;
  };
  return !text.empty() && text.front() != '-' && std::ranges::all_of(text, harmless);
}

UsageError bad_url(std::string_view url) {
  return invalid_value("HOST", url,
                       "ssh://HOST, ssh://USER@HOST, ssh://HOST:PORT; a HOST has letters, digits, "
                       "'.', '-' and '_', an IPv6 address stands in brackets");
}

std::vector<std::string> ssh_words(std::string_view ssh) {
  std::vector<std::string> words;
  for (const ShellWord& word : split_words(ssh)) {
    if (word.open_quote != '\0')
      throw UsageError(fmt::format("--ssh-command: a quote ({}) is not closed", word.open_quote));
    words.push_back(word.text);
  }
  if (words.empty()) throw UsageError("--ssh-command takes ssh's name and options: 'ssh -i KEY'");
  return words;
}

void check_program(const std::string& program) {
  if (program.empty() || program.front() == '-' || program.front() == '~' || !is_printable(program))
    throw UsageError(fmt::format(
        "--remote-program {}: give a name in PATH or a path; a relative one begins at the home "
        "folder there (no ~)",
        excerpt(program)));
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

}  // namespace rdmameter
