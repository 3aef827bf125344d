// SPDX-License-Identifier: Apache-2.0
#include "bench/remote/ready_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/ip_address.h"
#include "core/session/protocol.h"
#include "core/wire/message.h"

namespace rdmameter {
namespace {

constexpr std::string_view kMark = "rdmameter serve: ";
constexpr std::size_t kMaxAddressBytes = 64;  ///< a numeric address with its scope

}  // namespace

void list_fields(auto& fields, Is<ReadyLine> auto& line) {
  fields("version", line.version, {.min_size = 1, .max_size = kMaxVersionBytes});
  fields("protocol", line.protocol);
  fields("address", line.address.host, {.min_size = 1, .max_size = kMaxAddressBytes});
  fields("port", line.address.port, {.min = 1});
}

std::string ReadyLine::text() const {
  return std::string(kMark) + write_fields(*this, FieldForm::message).dump();
}

std::optional<ReadyLine> ReadyLine::parse(std::string_view line) {
  if (!line.starts_with(kMark)) return std::nullopt;
  return read_message_text<ReadyLine>(line.substr(kMark.size()));
}

void require_address_of(const ReadyLine& line, std::string_view host,
                        const std::vector<std::string>& known) {
  const auto address = IpAddress::parse(without_scope(line.address.host));
  const auto is_it = [&](const std::string& text) {
    return without_scope(text) == address->host();
  };
  std::string why;
  if (!address || address->multicast())
    why = "that is no address of a host";
  else if (!known.empty() && std::ranges::none_of(known, is_it))
    why = fmt::format(
        "here that name has {}. If ssh reaches it at another address, put that into ssh://",
        fmt::join(known, ", "));
  else if (known.empty() && (address->loopback() || address->link_local()))
    why = "that would be this machine, or one beside it";
  if (!why.empty())
    throw MeasurementError("{} says that its server listens on `{}`, to which nothing is sent: {}",
                           host, line.address.host, why);
}

void require_our_protocol(const ReadyLine& line, std::string_view host) {
  if (line.protocol == kProtocolVersion) return;
  throw MeasurementError(
      "{} has rdmameter {} with protocol {}, this end runs rdmameter {} with protocol {}: use the "
      "same release at both ends",
      host, line.version, line.protocol, RDMAMETER_VERSION, kProtocolVersion);
}

}  // namespace rdmameter
