// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/bootstrap/messages.h"

#include <cstdint>

#include "core/base/error.h"

namespace rdmameter {
namespace {

void append_number(std::string& to, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(number >> shift);
}

[[noreturn]] void refuse() {
  throw MeasurementError("a rank sent an unexpected message");
}

/// @throws MeasurementError  there is not so much left
std::string_view take(std::string_view& from, std::size_t bytes) {
  if (from.size() < bytes) refuse();
  const std::string_view taken = from.substr(0, bytes);
  from.remove_prefix(bytes);
  return taken;
}

std::uint32_t take_number(std::string_view& from) {
  std::uint32_t number = 0;
  for (const char byte : take(from, sizeof(number)))
    number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

}  // namespace

std::string pack(const std::vector<RankMessage>& messages) {
  std::string packed;
  for (const RankMessage& message : messages) {
    append_number(packed, message.from);
    append_number(packed, message.to);
    append_number(packed, static_cast<std::uint32_t>(message.text.size()));
    packed += message.text;
  }
  return packed;
}

std::vector<RankMessage> unpack(std::string_view packed, Rank ranks) {
  std::vector<RankMessage> messages;
  while (!packed.empty()) {
    RankMessage& message = messages.emplace_back();
    message.from = take_number(packed);
    message.to = take_number(packed);
    if (message.from >= ranks || message.to >= ranks) refuse();
    message.text = take(packed, take_number(packed));
  }
  return messages;
}

}  // namespace rdmameter
