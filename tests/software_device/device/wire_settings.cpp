// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/device/wire_settings.h"

#include <optional>

#include "tests/software_device/device/words.h"

namespace rdmameter::software {
namespace {

/// @return false: there is no such setting of a path
bool set_of_path(Path& path, const Word& word) {
  constexpr double kBitsPerByte = 8, kNanoseconds = 1e9;
  if (word.name == "latency")
    path.latency_ns = nanoseconds_of(word);
  else if (word.name == "jitter")
    path.jitter_ns = nanoseconds_of(word);
  else if (word.name == "rate")
    path.ns_per_byte = kBitsPerByte * kNanoseconds / bits_per_second_of(word);
  else if (word.name == "loss")
    path.loss = share_of(word);
  else if (word.name == "duplicate")
    path.duplicates = share_of(word);
  else if (word.name == "torn")
    path.torn = share_of(word);
  else if (word.name == "reorder")
    path.overtaken = share_of(word);
  else
    return false;
  return true;
}

/// @return false: there is no such setting of all ports
bool set_of_ports(WireSettings& wire, const Word& word) {
  if (word.name == "seed")
    wire.seed = count_of(word);
  else if (word.name == "message")
    wire.message_ns = nanoseconds_of(word);
  else if (word.name == "qp-cache")
    wire.qp_cache = count_of(word);
  else if (word.name == "qp-miss")
    wire.qp_miss_ns = nanoseconds_of(word);
  else
    return false;
  if (wire.qp_cache > kMostCachedQps) reject(word, "at most 4096 QPs");
  return true;
}

/// "0-1:" in front of a setting.
struct Direction {
  std::uint32_t from, to;
};
std::optional<Direction> cut_direction(Word& word) {
  const std::string& name = word.name;
  const bool has_one = name.size() > 4 && name[1] == '-' && name[3] == ':' &&
                       (name[0] == '0' || name[0] == '1') && (name[2] == '0' || name[2] == '1');
  if (!has_one) return std::nullopt;
  const Direction direction{static_cast<std::uint32_t>(name[0] - '0'),
                            static_cast<std::uint32_t>(name[2] - '0')};
  word.name.erase(0, 4);
  return direction;
}

void set_one(WireSettings& wire, Word word) {
  constexpr std::string_view kAccepted =
      "latency, jitter, rate, loss, duplicate, reorder and torn, each for all ways or as in "
      "0-1:latency=2ms from soft0 to soft1; and seed, message, qp-cache and qp-miss";
  const Word whole = word;
  if (const auto direction = cut_direction(word)) {
    if (!set_of_path(wire.paths[direction->from][direction->to], word)) reject(whole, kAccepted);
    return;
  }
  if (set_of_ports(wire, word)) return;
  for (auto& from : wire.paths)
    for (Path& path : from)
      if (!set_of_path(path, word)) reject(whole, kAccepted);
}

}  // namespace

WireSettings wire_settings() {
  WireSettings made;
  for (const Word& word : words_of("RDMAMETER_DEVICE_WIRE")) {
    set_one(made, word);
    made.instant = false;
  }
  return made;
}

}  // namespace rdmameter::software
