// SPDX-License-Identifier: Apache-2.0
// Cases from text, and back to text. Everything here reads the table of axes.
#include "core/test_case/test_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <vector>

#include "core/base/error.h"
#include "core/base/ip_address.h"
#include "core/base/kernel_files.h"
#include "core/base/lists.h"
#include "core/base/parse_value.h"
#include "core/test_case/flow_label.h"

namespace rdmameter {

std::string or_transport(const TestCase& test_case, std::string_view words) {
  return test_case.ud_alone() ? "" : fmt::format(", or --transport {}", words);
}

std::vector<std::string> split_devices(std::string_view text) {
  const auto names = split(text, {&kDeviceSeparator, 1});
  return {names.begin(), names.end()};
}

namespace {

/// Words are matched in any letter case, as suffixes are.
bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// What ibv_get_device_name() can return: shorter than IBV_SYSFS_NAME_MAX, one path component.
bool device_name(std::string_view text) {
  return text.size() <= kMostDeviceChars &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c != 127 && c != '/'; });
}

/// One name, which may be left out; or several, each once.
bool good_devices(std::string_view text) {
  const std::vector<std::string> names = split_devices(text);
  if (names.size() == 1) return device_name(text);
  std::set<std::string> once;
  return names.size() <= kMostDevices && std::ranges::all_of(names, [&](const std::string& name) {
           return !name.empty() && name != kAllDevices && device_name(name) &&
                  once.insert(name).second;
         });
}

/// What a bandwidth's default becomes where a message is one packet of any usual MTU.
constexpr std::uint64_t kOnePacketBytes = 1024;

bool multicast_address(std::string_view text) {
  const auto address = IpAddress::parse(std::string(text));
  return address && address->multicast();
}

/// "torus2d:2x4", "allreduce-ring"; topologies/ knows which there are.
bool shape_text(std::string_view text) {
  return !text.empty() && text.size() < 64 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ':' || c == '-';
  });
}

/// "file:PATH", short enough for the wire.
bool file_path(std::string_view text) {
  return text.starts_with(kFileMemory) && text.size() > kFileMemory.size() && text.size() <= 1024;
}

/// "dmabuf:NAME": a name, and no path.
bool dmabuf_name(std::string_view text) {
  return text.starts_with(kDmabufMemory) && text.size() > kDmabufMemory.size() &&
         text.size() < 64 &&
         std::ranges::all_of(text.substr(kDmabufMemory.size()), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_';
         });
}

/// As lspci writes it, as nvidia-smi does, and the shorter forms that
/// cuDeviceGetByPCIBusId() takes.
bool is_bus_id(std::string_view text) {
  constexpr std::array<std::string_view, 4> kForms{"xxxx:xx:xx.x", "xxxxxxxx:xx:xx.x", "xxxx:xx:xx",
                                                   "xx:xx.x"};
  return std::ranges::any_of(kForms, [text](std::string_view form) {
    return std::ranges::equal(text, form, [](char c, char expected) {
      return expected == 'x' ? std::isxdigit(static_cast<unsigned char>(c)) != 0 : c == expected;
    });
  });
}

/// "cuda:N", "cuda:BUS_ID", "rocm:N"; and of ranks "cuda:%l", "rocm:%l"
bool gpu_name(std::string_view text) {
  constexpr std::uint64_t kMost = 255;
  if (!is_gpu(text)) return false;
  const std::string_view name = text.substr(kCudaMemory.size());
  if (const auto number = parse_count(name)) return *number <= kMost;
  return name == kLocalRank || (text.starts_with(kCudaMemory) && is_bus_id(name));
}
static_assert(kCudaMemory.size() == kRocmMemory.size());

bool gpu_names(const std::string& text) {
  const std::vector<std::string> names = split_memory(text);
  return names.size() <= kMostDevices && std::ranges::all_of(names, gpu_name);
}

bool good_cpus(const Axis& axis, std::string_view text) {
  if (text.size() >= 256) return false;  // not read: a peer's list of ranges could fill the memory
  const std::vector<unsigned> cpus = cpu_list(text, kCpuSeparator);
  return !cpus.empty() && *std::ranges::max_element(cpus) <= axis.max;
}

constexpr std::string_view kBurst = "burst:";

/// Longer than any good value, and short enough that a peer's costs little to take apart.
constexpr std::size_t kMostText = std::size_t{1} << 16;

/// @return  the number that the text is, in no certain range; of an axis that has a text 0; nothing:
///          the text is none of its kind
std::optional<std::uint64_t> parse(const Axis& axis, std::string_view text) {
  if (text.size() > kMostText) return std::nullopt;
  const auto if_good = [](bool good) {
    return good ? std::optional<std::uint64_t>(0) : std::nullopt;
  };
  switch (axis.kind) {
    case AxisKind::count:
      return parse_count(text);
    case AxisKind::hex:
      return parse_hex(text);
    case AxisKind::bytes:
      return parse_bytes(text);
    case AxisKind::seconds:
      return parse_seconds_ns(text);
    case AxisKind::rate:
      return parse_rate(text);
    case AxisKind::arrivals:
      return text.starts_with(kBurst) ? parse_count(text.substr(kBurst.size())) : std::nullopt;
    case AxisKind::name:
      return if_good(good_devices(text));
    case AxisKind::source:
      return if_good(file_path(text));
    case AxisKind::memory:
      return if_good(file_path(text) || dmabuf_name(text) || gpu_names(std::string(text)));
    case AxisKind::group:
      return if_good(multicast_address(text));
    case AxisKind::shape:
      return if_good(shape_text(text));
    case AxisKind::labels:
      return if_good(parse_flow_labels(text).has_value());
    case AxisKind::mix:
      return if_good(parse_mix(text).has_value());
    case AxisKind::cpus:
      return if_good(good_cpus(axis, text));
    case AxisKind::choice:
      break;
  }
  return std::nullopt;
}

std::string number_text(const Axis& axis, std::uint64_t value) {
  if (axis.kind == AxisKind::hex) return hex_text(value);
  if (axis.kind == AxisKind::rate) return rate_text(value);
  if (axis.kind == AxisKind::arrivals) return fmt::format("{}{}", kBurst, value);
  return axis.kind == AxisKind::seconds ? seconds_text(value) : std::to_string(value);
}

TestCase axis_defaults(std::string_view Axis::*text) {
  TestCase test_case;
  for (const Axis& axis : axes()) set_axis(test_case, axis, axis.*text);
  return test_case;
}

}  // namespace

const Axis* find_axis(std::string_view option, std::span<const Axis> among) {
  const auto found = std::ranges::find(among, option, &Axis::option);
  return found == among.end() ? nullptr : &*found;
}

std::string accepts_text(const Axis& axis) {
  std::string text = fmt::format("{}", fmt::join(mapped(axis.words, &Word::text), ", "));
  const std::string_view also = text.empty() ? "" : ", or ";
  switch (axis.kind) {
    case AxisKind::count:
      return fmt::format("{}{}a whole number from {} to {}", text, also, axis.min, axis.max);
    case AxisKind::hex:
      return fmt::format("{}{}a hexadecimal number from {} to {}", text, also, hex_text(axis.min),
                         hex_text(axis.max));
    case AxisKind::bytes:
      return fmt::format("{}{}bytes from {} to {} (K, M, G and KiB, MiB, GiB are 1024-based)", text,
                         also, bytes_text(axis.min), bytes_text(axis.max));
    case AxisKind::seconds:
      return fmt::format("{}{}seconds (or a number with ns, us, ms, s) from {} to {}", text, also,
                         seconds_text(axis.min), seconds_text(axis.max));
    case AxisKind::rate:
      return "messages per second (k and M are 1000-based) up to 1000M, or bits per second with "
             "kb/s, Mb/s, Gb/s";
    case AxisKind::arrivals:
      return fmt::format("{}{}{}N, N from {} to {}", text, also, kBurst, axis.min, axis.max);
    case AxisKind::choice:
      return text;
    case AxisKind::name:
      return "auto, all, or names of at most 63 characters without spaces or slashes: NAME, or "
             "NAME+NAME+... for a case over several devices";
    case AxisKind::source:
      return text + ", or file:PATH";
    case AxisKind::memory:
      return text +
             ", file:PATH, dmabuf:NAME (of a DMA heap, or udmabuf), or of a GPU cuda:N, "
             "cuda:BUS_ID (0000:17:00.0) or rocm:N (N from 0); cuda:0+cuda:1 is one for each device";
    case AxisKind::group:
      return "auto, or a multicast address: IPv4 (224.0.0.0/4) or IPv6 (ff00::/8)";
    case AxisKind::labels:
      return fmt::format("a whole number from 0 to {}, {}, or {}A,B,... with one for each QP",
                         axis.max, text, kLabelsPerQp);
    case AxisKind::mix:
      return fmt::format(
          "OPERATION:WEIGHT or OPERATION:SIZE:WEIGHT, up to {} parts (A,B,...), each once, of "
          "read, write, send (of one size), fetch_add and cmp_swap (without a size), with weights "
          "from 1 to {}",
          kMaxMixParts, kMaxMixWeight);
    case AxisKind::cpus:
      return fmt::format("auto, {}, or CPUs from 0 to {}: N, or a list such as 0-3+8", text,
                         axis.max);
    case AxisKind::shape:
      return "a name, and its arguments after a colon";
  }
  return text;
}

void set_axis(TestCase& test_case, const Axis& axis, std::string_view text) {
  const auto refuse = [&] {
    throw invalid_value("--" + std::string(axis.option), text, accepts_text(axis));
  };
  const auto word = std::ranges::find_if(
      axis.words, [&](const Word& known) { return same_word(known.text, text); });
  if (const auto* name = std::get_if<TextField>(&axis.field)) {
    if (text.empty() ||
        (word == axis.words.end() && !same_word(text, axis.latency_default) && !parse(axis, text)))
      refuse();
    std::string canonical(word != axis.words.end() ? word->text : text);
    if (axis.kind == AxisKind::labels && word == axis.words.end())
      canonical = flow_labels_text(*parse_flow_labels(text));
    if (axis.kind == AxisKind::mix) canonical = mix_text(*parse_mix(text));
    const bool by_default =
        axis.kind != AxisKind::shape && same_word(canonical, axis.latency_default);
    name->set(test_case, by_default ? "" : std::move(canonical));
    return;
  }
  const auto field = std::get<NumberField>(axis.field);
  if (word != axis.words.end()) {
    field.set(test_case, word->value);
  } else {
    const auto value = parse(axis, text);
    if (!value || *value < axis.min || *value > axis.max) refuse();
    field.set(test_case, *value);
  }
  if (axis.option == kIterationsOption) test_case.duration_ns = 0;
  if (axis.option == kDurationOption && test_case.duration_ns != 0) test_case.iterations = 0;
}

std::string axis_text(const TestCase& test_case, const Axis& axis) {
  if (const auto* name = std::get_if<TextField>(&axis.field)) {
    const std::string& text = name->get(test_case);
    return text.empty() ? std::string(axis.latency_default) : text;
  }
  const std::uint64_t value = std::get<NumberField>(axis.field).get(test_case);
  const auto word = std::ranges::find(axis.words, value, &Word::value);
  return word == axis.words.end() ? number_text(axis, value) : std::string(word->text);
}

std::string transport_text(const TestCase& test_case) {
  if (test_case.over_tcp()) return "tcp";
  if (test_case.ud_alone()) return "ud";
  const Axis& transport = *find_axis("transport");
  const bool has_one = transport.applies(test_case) || test_case.topology();
  return has_one ? axis_text(test_case, transport) : std::string();
}

double mean_message(const TestCase& test_case) {
  double bytes = 0, weights = 0;
  for (const MixPart& part : mix_of(test_case)) {
    bytes += static_cast<double>(part.weight) * static_cast<double>(part.size_bytes);
    weights += static_cast<double>(part.weight);
  }
  return bytes / weights;
}

double messages_per_s(const TestCase& test_case) {
  const auto amount = static_cast<double>(test_case.rate & ~kBitRate);
  return (test_case.rate & kBitRate) == 0 ? amount : amount / (8.0 * mean_message(test_case));
}

std::vector<MixPart> mix_of(const TestCase& test_case) {
  if (!test_case.mixed()) return {{test_case.opcode, test_case.size_bytes}};
  const std::string text = axis_text(test_case, *find_axis("mix"));
  std::vector<MixPart> parts = parse_mix(text).value_or(std::vector<MixPart>{});
  for (MixPart& part : parts)
    if (part.size_bytes == 0)
      part.size_bytes = traits(part.opcode).atomic ? kAtomicBytes : test_case.size_bytes;
  return parts;
}

std::uint64_t TestCase::wanted_inline() const {
  constexpr std::uint64_t kMostByDefault = 220;
  if (queues.inline_bytes != kAuto) return queues.inline_bytes;
  if (!closed_loop() && !open_loop()) return 0;
  std::uint64_t wanted = 0;
  for (const MixPart& part : mix_of(*this))
    if (const OpcodeTraits& of = traits(part.opcode);
        !of.returns_data && !of.by_value && part.size_bytes <= kMostByDefault)
      wanted = std::max(wanted, part.size_bytes);
  return wanted;
}

TestCase case_of_part(const TestCase& test_case, const MixPart& part) {
  TestCase alike = test_case;
  alike.opcode = part.opcode;
  alike.size_bytes = part.size_bytes;
  alike.mix.clear();
  return alike;
}

std::uint64_t largest_message(const TestCase& test_case) {
  return std::ranges::max(mix_of(test_case), {}, &MixPart::size_bytes).size_bytes;
}

bool has_part(const TestCase& test_case, bool OpcodeTraits::*trait) {
  return std::ranges::any_of(mix_of(test_case),
                             [trait](const MixPart& part) { return traits(part.opcode).*trait; });
}

bool names_device(std::string_view list, std::string_view device) {
  return list.empty() || list == kAllDevices ||
         std::ranges::any_of(split_devices(list), [&](const auto& name) { return name == device; });
}

bool names_several(const EndSettings& end) {
  return end.device == kAllDevices || end.device.find(kDeviceSeparator) != std::string::npos;
}

std::vector<std::string> split_memory(const std::string& memory) {
  return is_gpu(memory) ? split_devices(memory) : std::vector{memory};
}

void take_memory_of_device(TestCase& test_case, std::size_t i) {
  for (EndSettings* const end : {&test_case.initiator, &test_case.responder})
    if (const auto all = split_memory(end->memory); all.size() > 1 && i < all.size())
      end->memory = all[i];
}

TestCase of_device(TestCase test_case, std::size_t i) {
  take_memory_of_device(test_case, i);
  for (EndSettings* const end : {&test_case.initiator, &test_case.responder}) {
    const std::vector<std::string> names = split_devices(end->device);
    if (i < names.size()) end->device = names[i];
  }
  return test_case;
}

TestCase default_case(Opcode opcode, Pattern pattern) {
  // Made once, for the command line asks for each test and axis.
  static const TestCase kLatency = axis_defaults(&Axis::latency_default);
  static const TestCase kBandwidth = axis_defaults(&Axis::bandwidth_default);
  TestCase test_case = pattern == Pattern::bandwidth ? kBandwidth : kLatency;
  test_case.opcode = opcode;
  test_case.pattern = pattern;
  if (test_case.of_one_word()) test_case.size_bytes = kAtomicBytes;
  if (test_case.by_extended_alone()) test_case.queues.api = Interface::extended;
  if (test_case.open_loop()) test_case.queues.depth = kBandwidth.queues.depth;
  if (test_case.ud_alone()) {
    test_case.transport = Transport::ud;
    test_case.size_bytes = std::min(test_case.size_bytes, kOnePacketBytes);
  }
  return test_case;
}

TestCase default_case(Verb verb) {
  TestCase test_case = default_case(Opcode::send, Pattern::bandwidth);
  test_case.pattern = Pattern::control;
  test_case.verb = verb;
  return test_case;
}

}  // namespace rdmameter
