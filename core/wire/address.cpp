// SPDX-License-Identifier: Apache-2.0
// Addresses as people write them.
#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/ip_address.h"
#include "core/base/parse_value.h"
#include "core/wire/socket.h"

namespace rdmameter {
namespace {

[[noreturn]] void throw_bad_address(std::string_view text, std::string_view why) {
  throw UsageError(
      "`{}` is not an address: {}. Give NAME, 192.0.2.1 or 2001:db8::1; with a port "
      "NAME:PORT, 192.0.2.1:PORT or [2001:db8::1]:PORT.",
      text, why);
}

std::uint16_t parse_port(std::string_view whole, std::string_view digits) {
  const auto port = parse_count(digits);
  if (!port || *port == 0 || *port > 65535)
    throw_bad_address(whole, "a port is a number from 1 to 65535");
  return static_cast<std::uint16_t>(*port);
}

/// Looks at a host that must be an IPv6 address, with or without %INTERFACE.
void check_ipv6(std::string_view whole, std::string_view host) {
  const std::size_t percent = host.find('%');
  const std::string address = without_scope(host);
  const auto parsed = IpAddress::parse(address);
  if (!parsed || parsed->family() != AF_INET6) {
    const std::size_t colon = host.rfind(':');
    const auto before = IpAddress::parse(std::string(host.substr(0, colon)));
    if (before && before->family() == AF_INET6 && parse_count(host.substr(colon + 1)))
      throw_bad_address(whole, fmt::format("an IPv6 address with a port stands in brackets, [{}]{}",
                                           host.substr(0, colon), host.substr(colon)));
    throw_bad_address(whole, "it has colons as an IPv6 address, and is none");
  }
  if (percent == host.npos ? parsed->link_local() : percent + 1 == host.size())
    throw_bad_address(whole, fmt::format("a link-local address needs its interface, as in {}%eth0 "
                                         "(`ip -6 address` lists both)",
                                         address));
}

}  // namespace

std::string Address::text() const {
  const bool ipv6 = host.find(':') != std::string::npos;
  return ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Address parse_address(std::string_view text, std::uint16_t default_port) {
  std::string_view host = text;
  std::string_view rest;  // ":PORT" or nothing
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) throw_bad_address(text, "the bracket is not closed");
    host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':')
      throw_bad_address(text, "after the bracket comes :PORT or nothing");
    if (host.find(':') == std::string_view::npos)
      throw_bad_address(text, "brackets are for IPv6 addresses");
  } else if (const std::size_t colon = text.find(':');
             colon != std::string_view::npos && text.find(':', colon + 1) == text.npos) {
    host = text.substr(0, colon);  // one colon: a port follows; more: a bare IPv6 address
    rest = text.substr(colon);
  }
  if (host.empty()) throw_bad_address(text, "the host is missing");
  // An embedded NUL would cut the name short on its way through the C library.
  for (const char each : host) {
    if (static_cast<unsigned char>(each) <= ' ')
      throw_bad_address(text, "a host has no spaces or control characters");
  }
  if (host.find(':') != host.npos) check_ipv6(text, host);
  return {std::string(host), rest.empty() ? default_port : parse_port(text, rest.substr(1))};
}

}  // namespace rdmameter
