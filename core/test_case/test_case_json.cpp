// SPDX-License-Identifier: Apache-2.0
// Cases as JSON: for people in a result file, and whole for the wire.
#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "core/base/printable.h"
#include "core/result/json_text.h"
#include "core/test_case/catalog.h"
#include "core/test_case/test_case.h"

namespace rdmameter {
namespace {

// Not axes, yet part of a case on the wire.
constexpr std::string_view kOpcode = "opcode";
constexpr std::string_view kPattern = "pattern";
constexpr std::string_view kPayloadBytes = "payload_bytes";  ///< in hexadecimal, of a file alone
constexpr std::string_view kVerb = "verb";

constexpr std::string_view kSloOption = "slo";

/// A sweep is the initiator's: its responder sees one measurement after the other.
bool on_wire(const Axis& axis) {
  return axis.option != kSloOption;
}

}  // namespace

Json axis_json(const TestCase& test_case, const Axis& axis) {
  if ((axis.option == kIterationsOption && test_case.iterations == 0) ||
      (axis.option == kDurationOption && test_case.duration_ns == 0))
    return nullptr;  // the one that rules is said alone
  if (std::holds_alternative<TextField>(axis.field)) {
    // One of them is a number, as in results that know no lists.
    if (axis.kind == AxisKind::cpus || axis.kind == AxisKind::labels)
      if (const auto number = parse_count(axis_text(test_case, axis))) return *number;
    return axis_text(test_case, axis);
  }
  const std::uint64_t value = std::get<NumberField>(axis.field).get(test_case);
  if (is_switch(axis) && value != kAuto) return value == 1;
  if (value == kUntilInterrupted) return 0;
  const bool bits = axis.kind == AxisKind::rate && (value & kBitRate) != 0;
  const bool times = axis.option == kSloOption && (value & kTimesUnloaded) != 0;
  const bool a_word = times || value == kAuto || value == kDeviceMax ||
                      axis.kind == AxisKind::hex || bits || axis.kind == AxisKind::arrivals ||
                      (axis.kind == AxisKind::choice && axis.option != "mtu");
  if (a_word) return axis_text(test_case, axis);
  return value;
}

namespace {

[[noreturn]] void refuse(std::string_view key, const std::string& what) {
  throw UsageError("case: '{}' {}", excerpt(key), what);
}

std::uint64_t number_at(const Json& wire, std::string_view key) {
  const auto found = wire.find(key);
  if (found == wire.end()) refuse(key, "is missing");
  if (!found->is_number_unsigned()) refuse(key, "is not a whole number");
  return found->get<std::uint64_t>();
}

std::string text_at(const Json& wire, std::string_view key) {
  const auto found = wire.find(key);
  if (found == wire.end()) refuse(key, "is missing");
  if (!found->is_string()) refuse(key, "is not a text");
  return found->get<std::string>();
}

bool in_range(const Axis& axis, std::uint64_t value) {
  const bool a_word = std::ranges::find(axis.words, value, &Word::value) != axis.words.end();
  return a_word || (axis.kind != AxisKind::choice && value >= axis.min && value <= axis.max);
}

void read_axis(TestCase& test_case, const Axis& axis, const Json& wire) {
  if (std::holds_alternative<TextField>(axis.field)) {
    const std::string name = text_at(wire, axis.key);
    if (!name.empty()) set_axis(test_case, axis, name);
    return;
  }
  const std::uint64_t value = number_at(wire, axis.key);
  const bool gives_way = axis.option == kIterationsOption && value == 0;  // a duration rules
  if (!gives_way && !in_range(axis, value))
    refuse(axis.key, fmt::format("is {}; it takes {}", value, accepts_text(axis)));
  std::get<NumberField>(axis.field).set(test_case, value);
}

/// A value that does not apply to a test has no effect on it, whatever a peer says.
void unset_inapplicable(TestCase& test_case, const TestCase& defaults) {
  for (const Axis& axis : axes())
    if (!axis.applies(test_case))
      std::visit([&](auto field) { field.set(test_case, field.get(defaults)); }, axis.field);
}

std::string hex_of(const std::string& bytes) {
  std::string text(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                 bytes.size());
  text.pop_back();
  return text;
}

/// A payload that is a file comes with the file's bytes, and no other does.
void read_payload(TestCase& test_case, const Json& wire) {
  const bool file = test_case.payload.starts_with(kFileMemory) && !test_case.of_one_word();
  if (wire.contains(kPayloadBytes) != file)
    refuse(kPayloadBytes, file ? "is missing" : "goes with a file alone");
  if (!file) return;
  const std::string text = text_at(wire, kPayloadBytes);
  test_case.payload_bytes.resize(text.size() / 2);
  std::size_t length = 0;
  const bool whole =
      sodium_hex2bin(reinterpret_cast<unsigned char*>(test_case.payload_bytes.data()),
                     test_case.payload_bytes.size(), text.data(), text.size(), nullptr, &length,
                     nullptr) == 0;
  if (!whole || length == 0 || length != test_case.payload_bytes.size() ||
      length > kMaxPayloadFileBytes || text.size() % 2 != 0)
    refuse(kPayloadBytes, fmt::format("is not 1 to {} bytes in hexadecimal", kMaxPayloadFileBytes));
}

}  // namespace

Json case_json(const TestCase& test_case, std::span<const Axis> among) {
  // A message has a transport, and a size, also where they were not specified.
  auto result = Json::object();
  const auto sized = [&](const Axis& axis) {
    return axis.option == "size" && !test_case.control();
  };
  if (!test_case.test.empty()) result["test"] = test_case.test;
  if (const std::string transport = transport_text(test_case); !transport.empty())
    result["transport"] = transport;
  for (const Axis& axis : among)
    if (axis.option != "transport" && (axis.applies(test_case) || sized(axis)))
      if (auto value = axis_json(test_case, axis); !value.is_null())
        result[std::string(axis.key)] = std::move(value);
  return result;
}

Json case_to_wire(const TestCase& test_case) {
  Json wire{{kOpcode, static_cast<std::uint64_t>(test_case.opcode)},
            {kPattern, static_cast<std::uint64_t>(test_case.pattern)},
            {kVerb, static_cast<std::uint64_t>(test_case.verb)}};
  for (const Axis& axis : axes())
    if (on_wire(axis))
      std::visit([&](auto field) { wire[std::string(axis.key)] = field.get(test_case); },
                 axis.field);
  if (!test_case.payload_bytes.empty()) wire[kPayloadBytes] = hex_of(test_case.payload_bytes);
  return wire;
}

TestCase case_from_wire(const Json& wire) {
  if (!wire.is_object()) throw UsageError("case: not an object");
  TestCase test_case;
  test_case.opcode = static_cast<Opcode>(number_at(wire, kOpcode));
  test_case.pattern = static_cast<Pattern>(number_at(wire, kPattern));
  test_case.verb = static_cast<Verb>(number_at(wire, kVerb));
  const Test* const test = find_test(test_case);
  if (test == nullptr || !test_case.needs_responder())
    refuse(kOpcode, "with its 'pattern' and 'verb' is no test that a responder takes part in");
  for (const Axis& axis : axes())
    if (on_wire(axis)) read_axis(test_case, axis, wire);
  if (test_case.rate == kSweep) refuse("rate", "of one measurement is a number");
  if ((test_case.iterations == 0) == (test_case.duration_ns == 0))
    refuse("iterations", "or 'duration_ns' rules: one is 0, the other not");
  if (test_case.of_one_word() && test_case.size_bytes != kAtomicBytes)
    refuse("size_bytes", "of an atomic is 8");
  read_payload(test_case, wire);
  if (test_case.ud_alone() && test_case.transport != Transport::ud)
    refuse("transport", "of this test is UD");
  if (test_case.over_tcp() || test_case.control())
    unset_inapplicable(test_case, test->default_case());
  for (const auto& item : wire.items()) {
    const auto axis = std::ranges::find(axes(), item.key(), &Axis::key);
    const bool known = item.key() == kOpcode || item.key() == kPattern || item.key() == kVerb ||
                       item.key() == kPayloadBytes || (axis != axes().end() && on_wire(*axis));
    if (!known) refuse(item.key(), "is unknown");
  }
  return test_case;
}

}  // namespace rdmameter
