// SPDX-License-Identifier: Apache-2.0
// Cases from text, and back to text. Everything here reads the table of axes.
#include "core/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/cm/ip_address.h"
#include "core/error.h"
#include "core/parse_value.h"

namespace rdmameter {
namespace {

/// Words are matched in any letter case, as suffixes are.
bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// What ibv_get_device_name() can return: shorter than IBV_SYSFS_NAME_MAX, one path component.
bool device_name(std::string_view text) {
  return text.size() < 64 &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c != 127 && c != '/'; });
}

/// What a bandwidth's default becomes where a message is one packet of any usual MTU.
constexpr std::uint64_t kMulticastBytes = 1024;

bool multicast_address(std::string_view text) {
  const auto address = IpAddress::parse(std::string(text));
  return address && address->multicast();
}

/// "torus2d:2x4"; whether there is such a one is for topologies/ to say.
bool shape_text(std::string_view text) {
  return !text.empty() && text.size() < 64 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ':';
  });
}

/// "file:PATH", short enough for the wire.
bool file_path(std::string_view text) {
  return text.starts_with(kFileMemory) && text.size() > kFileMemory.size() && text.size() <= 1024;
}

bool good_text(AxisKind kind, std::string_view text) {
  switch (kind) {
    case AxisKind::name:
      return device_name(text);
    case AxisKind::source:
      return file_path(text);
    case AxisKind::group:
      return multicast_address(text);
    case AxisKind::shape:
      return shape_text(text);
    case AxisKind::count:
    case AxisKind::bytes:
    case AxisKind::seconds:
    case AxisKind::choice:
      return false;
  }
  return false;
}

std::optional<std::uint64_t> parse_number(const Axis& axis, std::string_view text) {
  switch (axis.kind) {
    case AxisKind::count:
      return parse_count(text);
    case AxisKind::bytes:
      return parse_bytes(text);
    case AxisKind::seconds:
      return parse_seconds_ns(text);
    case AxisKind::choice:
    case AxisKind::name:
    case AxisKind::source:
    case AxisKind::group:
    case AxisKind::shape:
      return std::nullopt;
  }
  return std::nullopt;
}

std::string number_text(const Axis& axis, std::uint64_t value) {
  return axis.kind == AxisKind::seconds ? seconds_text(value) : std::to_string(value);
}

}  // namespace

const Axis* find_axis(std::string_view option) {
  const auto found = std::ranges::find(axes(), option, &Axis::option);
  return found == axes().end() ? nullptr : &*found;
}

std::string accepts_text(const Axis& axis) {
  std::vector<std::string_view> words;
  for (const Word& word : axis.words) words.push_back(word.text);
  std::string text = fmt::format("{}", fmt::join(words, ", "));
  const std::string_view also = text.empty() ? "" : ", or ";
  switch (axis.kind) {
    case AxisKind::count:
      return fmt::format("{}{}a whole number from {} to {}", text, also, axis.least, axis.most);
    case AxisKind::bytes:
      return fmt::format("{}{}bytes from {} to {} (K, M, G and KiB, MiB, GiB are 1024-based)", text,
                         also, bytes_text(axis.least), bytes_text(axis.most));
    case AxisKind::seconds:
      return fmt::format("{}{}seconds (or a number with ns, us, ms, s) from {} to {}", text, also,
                         seconds_text(axis.least), seconds_text(axis.most));
    case AxisKind::choice:
      return text;
    case AxisKind::name:
      return "auto, or a name of at most 63 characters without spaces or slashes";
    case AxisKind::source:
      return text + ", or file:PATH";
    case AxisKind::group:
      return "auto, or a multicast address: IPv4 (224.0.0.0/4) or IPv6 (ff00::/8)";
    case AxisKind::shape:
      return "a word, its arguments behind colons";
  }
  return text;
}

void set_axis(Case& one_case, const Axis& axis, std::string_view text) {
  const auto refuse = [&] {
    throw UsageError(
        fmt::format("--{} does not take '{}'; it takes {}", axis.option, text, accepts_text(axis)));
  };
  const auto word = std::ranges::find_if(
      axis.words, [&](const Word& known) { return same_word(known.text, text); });
  if (const auto* name = std::get_if<std::string Case::*>(&axis.field)) {
    if (text.empty() || (word == axis.words.end() && !same_word(text, axis.latency_default) &&
                         !good_text(axis.kind, text)))
      refuse();
    const bool by_default = axis.kind != AxisKind::shape && same_word(text, axis.latency_default);
    one_case.** name = by_default                 ? ""
                       : word != axis.words.end() ? std::string(word->text)
                                                  : std::string(text);
    // It has no other transport, so that one is no axis of it.
    if (one_case.graph == kDatagramGraph)
      one_case.transport = static_cast<std::uint64_t>(Transport::ud);
    return;
  }
  const auto field = std::get<std::uint64_t Case::*>(axis.field);
  if (word != axis.words.end()) {
    one_case.*field = word->value;
  } else {
    const auto value = parse_number(axis, text);
    if (!value || *value < axis.least || *value > axis.most) refuse();
    one_case.*field = *value;
  }
  if (field == &Case::iterations) one_case.duration_ns = 0;
  if (field == &Case::duration_ns && one_case.duration_ns != 0) one_case.iterations = 0;
}

std::string axis_text(const Case& one_case, const Axis& axis) {
  if (const auto* name = std::get_if<std::string Case::*>(&axis.field))
    return (one_case.**name).empty() ? std::string(axis.latency_default) : one_case.**name;
  const std::uint64_t value = one_case.*std::get<std::uint64_t Case::*>(axis.field);
  const auto word = std::ranges::find(axis.words, value, &Word::value);
  return word == axis.words.end() ? number_text(axis, value) : std::string(word->text);
}

std::string transport_text(const Case& one_case) {
  if (one_case.over_tcp()) return "tcp";
  if (one_case.multicast()) return "ud";
  const Axis& transport = *find_axis("transport");
  const bool has_one = transport.applies(one_case) || one_case.topology();
  return has_one ? axis_text(one_case, transport) : std::string();
}

Case default_case(Opcode opcode, Pattern pattern) {
  Case made;
  made.opcode = static_cast<std::uint64_t>(opcode);
  made.pattern = static_cast<std::uint64_t>(pattern);
  for (const Axis& axis : axes())
    if (!axis.of_topologies)
      set_axis(made, axis,
               pattern == Pattern::bandwidth ? axis.bandwidth_default : axis.latency_default);
  if (made.atomic()) made.size_bytes = kAtomicBytes;
  if (made.multicast()) {
    made.transport = static_cast<std::uint64_t>(Transport::ud);
    made.size_bytes = std::min(made.size_bytes, kMulticastBytes);
  }
  return made;
}

Case default_case(Verb verb) {
  Case made = default_case(Opcode::send, Pattern::bandwidth);
  made.pattern = static_cast<std::uint64_t>(Pattern::control);
  made.verb = static_cast<std::uint64_t>(verb);
  return made;
}

Case default_topology_case() {
  Case made = default_case(Opcode::send, Pattern::ping_pong);
  made.pattern = static_cast<std::uint64_t>(Pattern::topology);
  for (const Axis& axis : axes())
    if (axis.of_topologies) set_axis(made, axis, axis.latency_default);
  made.depth = 16;
  made.iterations = 1000;  // of each pair of ranks
  made.warmup = 10;
  return made;
}

}  // namespace rdmameter
