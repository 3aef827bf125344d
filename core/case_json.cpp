// SPDX-License-Identifier: Apache-2.0
// Cases as JSON: for people in a result file, and whole for the wire.
#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>

#include "core/case.h"
#include "core/error.h"

namespace rdmameter {
namespace {

using Number = std::uint64_t Case::*;
using Text = std::string Case::*;

// Not axes, yet part of a case on the wire.
constexpr std::string_view kOpcode = "opcode";
constexpr std::string_view kPattern = "pattern";
constexpr std::string_view kPayloadBytes = "payload_bytes";  ///< in hexadecimal, of a file alone
constexpr std::string_view kVerb = "verb";

/// Of iterations and duration only the one that rules is said.
bool silent(const Case& one_case, const Axis& axis) {
  const auto* number = std::get_if<Number>(&axis.field);
  return number != nullptr && (*number == &Case::iterations || *number == &Case::duration_ns) &&
         one_case.**number == 0;
}

nlohmann::ordered_json axis_json(const Case& one_case, const Axis& axis) {
  if (std::holds_alternative<Text>(axis.field)) return axis_text(one_case, axis);
  if (is_switch(axis)) return axis_text(one_case, axis) == "on";
  const std::uint64_t value = one_case.*std::get<Number>(axis.field);
  if (value == kUntilInterrupted) return 0;
  const bool a_word =
      value == kAuto || value == kMax ||
      (axis.kind == AxisKind::choice && axis.field != decltype(axis.field){&Case::mtu_bytes});
  if (a_word) return axis_text(one_case, axis);
  return value;
}

[[noreturn]] void refuse(std::string_view key, const std::string& what) {
  throw UsageError(fmt::format("case: '{}' {}", key, what));
}

std::uint64_t number_at(const nlohmann::json& wire, std::string_view key) {
  const auto found = wire.find(key);
  if (found == wire.end()) refuse(key, "is missing");
  if (!found->is_number_unsigned()) refuse(key, "is not a whole number");
  return found->get<std::uint64_t>();
}

std::string text_at(const nlohmann::json& wire, std::string_view key) {
  const auto found = wire.find(key);
  if (found == wire.end()) refuse(key, "is missing");
  if (!found->is_string()) refuse(key, "is not a text");
  return found->get<std::string>();
}

bool in_range(const Axis& axis, std::uint64_t value) {
  const bool a_word = std::ranges::find(axis.words, value, &Word::value) != axis.words.end();
  if (axis.kind == AxisKind::choice) return a_word;
  return a_word || (value >= axis.least && value <= axis.most);
}

void read_axis(Case& made, const Axis& axis, const nlohmann::json& wire) {
  if (std::holds_alternative<Text>(axis.field)) {
    const std::string name = text_at(wire, axis.key);
    if (!name.empty()) set_axis(made, axis, name);
    return;
  }
  const std::uint64_t value = number_at(wire, axis.key);
  const auto field = std::get<Number>(axis.field);
  const bool gives_way = field == &Case::iterations && value == 0;  // a duration rules
  if (!gives_way && !in_range(axis, value))
    refuse(axis.key, fmt::format("is {}; it takes {}", value, accepts_text(axis)));
  made.*field = value;
}

/// What has no meaning for a test has no effect on it, whatever a peer says.
void unset_inapplicable(Case& made) {
  const Case defaults =
      made.control() ? default_case(made.calls()) : default_case(made.op(), made.shape());
  for (const Axis& axis : axes())
    if (!axis.applies(made))
      std::visit([&](auto field) { made.*field = defaults.*field; }, axis.field);
}

std::string hex_of(const std::string& bytes) {
  std::string text(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                 bytes.size());
  text.pop_back();
  return text;
}

/// A payload that is a file comes with the file's bytes, and no other does.
void read_payload(Case& made, const nlohmann::json& wire) {
  const bool file = made.payload.starts_with(kFileMemory) && !made.atomic();
  if (wire.contains(kPayloadBytes) != file)
    refuse(kPayloadBytes, file ? "is missing" : "goes with a file alone");
  if (!file) return;
  const std::string text = text_at(wire, kPayloadBytes);
  made.payload_bytes.resize(text.size() / 2);
  std::size_t length = 0;
  const bool whole = sodium_hex2bin(reinterpret_cast<unsigned char*>(made.payload_bytes.data()),
                                    made.payload_bytes.size(), text.data(), text.size(), nullptr,
                                    &length, nullptr) == 0;
  if (!whole || length == 0 || length != made.payload_bytes.size() ||
      length > kMostPayloadFileBytes || text.size() % 2 != 0)
    refuse(kPayloadBytes,
           fmt::format("is not 1 to {} bytes in hexadecimal", kMostPayloadFileBytes));
}

/// What brings data back has no pong; and a pong says more than the completion of what a receive
/// awaits. Of control path tests those are on the wire in which a responder takes part; ranks have
/// their cases from their own command lines.
bool known_test(const Case& made) {
  switch (made.shape()) {
    case Pattern::bandwidth:
      return true;
    case Pattern::ping_pong:
      return !made.returns_data();
    case Pattern::completion_latency:
      return made.returns_data() || made.op() == Opcode::rdma_write;
    case Pattern::control:
      return made.needs_responder() && made.calls() <= Verb::cm_connect;
    case Pattern::topology:
      return false;
  }
  return false;
}

}  // namespace

nlohmann::ordered_json case_json(const Case& one_case) {
  // A message has a transport, and a size, also where nobody chooses it.
  auto made = nlohmann::ordered_json::object();
  const auto sized = [&](const Axis& axis) { return axis.option == "size" && !one_case.control(); };
  if (const std::string transport = transport_text(one_case); !transport.empty())
    made["transport"] = transport;
  for (const Axis& axis : axes())
    if (axis.option != "transport" && (axis.applies(one_case) || sized(axis)) &&
        !silent(one_case, axis))
      made[std::string(axis.key)] = axis_json(one_case, axis);
  return made;
}

nlohmann::json case_to_wire(const Case& one_case) {
  nlohmann::json wire{
      {kOpcode, one_case.opcode}, {kPattern, one_case.pattern}, {kVerb, one_case.verb}};
  for (const Axis& axis : axes())
    if (!axis.of_topologies)
      std::visit([&](auto field) { wire[std::string(axis.key)] = one_case.*field; }, axis.field);
  if (!one_case.payload_bytes.empty()) wire[kPayloadBytes] = hex_of(one_case.payload_bytes);
  return wire;
}

Case case_from_wire(const nlohmann::json& wire) {
  if (!wire.is_object()) throw UsageError("case: not an object");
  Case made;
  made.opcode = number_at(wire, kOpcode);
  made.pattern = number_at(wire, kPattern);
  made.verb = number_at(wire, kVerb);
  if (made.op() > Opcode::mcast_send) refuse(kOpcode, "is unknown");
  if (made.shape() > Pattern::control) refuse(kPattern, "is unknown");
  if (!known_test(made)) refuse(kPattern, "does not go with the opcode");
  for (const Axis& axis : axes())
    if (!axis.of_topologies) read_axis(made, axis, wire);
  if ((made.iterations == 0) == (made.duration_ns == 0))
    refuse("iterations", "or 'duration_ns' rules: one is 0, the other not");
  if (made.atomic() && made.size_bytes != kAtomicBytes) refuse("size_bytes", "of an atomic is 8");
  read_payload(made, wire);
  if (made.multicast() && made.service() != Transport::ud)
    refuse("transport", "of a multicast is UD");
  if (made.over_tcp() || made.control()) unset_inapplicable(made);
  for (const auto& item : wire.items()) {
    const auto axis = std::ranges::find(axes(), item.key(), &Axis::key);
    const bool known = item.key() == kOpcode || item.key() == kPattern || item.key() == kVerb ||
                       item.key() == kPayloadBytes ||
                       (axis != axes().end() && !axis->of_topologies);
    if (!known) refuse(item.key(), "is unknown");
  }
  return made;
}

}  // namespace rdmameter
