// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/device/settings.h"

#include <functional>
#include <list>
#include <mutex>
#include <string>

#include "tests/software_device/device/words.h"
#include "tests/software_device/segment/process.h"

namespace rdmameter::software {
namespace {

constexpr const char* kPersonality = "RDMAMETER_DEVICE_PERSONALITY";

std::string session_name() {
  const std::string name = variable("RDMAMETER_DEVICE_SESSION");
  if (name.find('/') != std::string::npos)
    die("RDMAMETER_DEVICE_SESSION is part of a file name and must not contain '/'");
  return name.empty() ? "default" : name;
}

/// Texts of settings stay as long as the process.
std::string_view kept(std::string text) {
  static auto* const all = new std::list<std::string>;
  return all->emplace_back(std::move(text));
}

ibv_mtu mtu_of(const Word& word, const std::string& bytes) {
  for (int code = IBV_MTU_256; code <= IBV_MTU_4096; ++code)
    if (bytes == std::to_string(128 << code)) return static_cast<ibv_mtu>(code);
  reject(word, "256, 512, 1024, 2048 or 4096 behind mtu:");
}

/// "rate:10", "slot:2.5x4", "pcie:0000:1a:00.0", "mtu:1024". @return  false: it is nothing of a port's link
bool set_of_link(Personality& says, const Word& word) {
  const std::size_t colon = word.value.find(':');
  if (colon == word.value.npos) return false;
  const std::string what = word.value.substr(0, colon), value = word.value.substr(colon + 1);
  if (what == "rate") {
    says.sysfs_rate = kept(value + " Gb/sec (4X EDR)");
  } else if (what == "slot") {
    const std::size_t lanes = value.find('x');
    if (lanes == value.npos) return false;
    says.pcie_speed = kept(value.substr(0, lanes) + " GT/s PCIe");
    says.pcie_width = kept(value.substr(lanes + 1));
  } else if (what == "pcie") {
    says.pcie_events = kept("PCI_SLOT_NAME=" + value);
  } else if (what == "mtu") {
    says.active_mtu = mtu_of(word, value);
  } else {
    return false;
  }
  return true;
}

std::uint32_t count_of_devices() {
  const std::vector<Word> words = words_of("RDMAMETER_DEVICE_DEVICES");
  if (words.empty()) return 2;
  const std::string& text = words[0].name;
  const auto count = text.size() == 1 ? static_cast<std::uint32_t>(text[0] - '0') : 0U;
  if (count < 1 || count > kDevices) reject(words[0], "a number of devices, from 1 to 8");
  return count;
}

/// One name is all devices', two are soft0's and soft1's...
std::array<Personality, kDevices> personalities() {
  std::array<Personality, kDevices> made;
  const std::vector<Word> words = words_of(kPersonality);
  if (words.size() > kDevices)
    reject(words[kDevices], "the names of soft0's and soft1's personality");
  for (std::uint32_t device = 0; device < kDevices && !words.empty(); ++device) {
    const Word& word = words[device < words.size() ? device : 0];
    const Personality* const named = personality_named(word.name);
    if (named == nullptr) reject(word, personality_names());
    made[device] = *named;
  }
  for (const Word& word : words_of("RDMAMETER_DEVICE_PORTS")) {
    std::uint32_t device = 0;
    while (device < kDevices && word.name != "soft" + std::to_string(device)) ++device;
    bool known = device < kDevices;
    Personality& says = made[known ? device : 0];
    if (word.value == "DOWN")
      says.port_state = IBV_PORT_DOWN;
    else if (word.value == "no-gid")
      says.has_gids = false;
    else if (word.value == "no-open")
      says.opens = false;
    else
      known = known && set_of_link(says, word);
    if (!known)
      reject(word,
             "soft0, soft1..., =, and DOWN, no-gid, no-open, or of its link rate:10 [Gb/s], "
             "slot:2.5x4 [GT/s, lanes], pcie:0000:1a:00.0, mtu:1024; as in soft1=DOWN");
  }
  return made;
}

/// soft0, soft1..., unless all are named.
std::array<std::string, kDevices> device_names(std::uint32_t count) {
  std::array<std::string, kDevices> names;
  for (std::uint32_t device = 0; device < kDevices; ++device)
    names[device] = "soft" + std::to_string(device);
  const std::vector<Word> words = words_of("RDMAMETER_DEVICE_NAMES");
  if (words.empty()) return names;
  if (words.size() != count) reject(words[0], "the names of all devices");
  for (std::uint32_t device = 0; device < count; ++device) names[device] = words[device].name;
  return names;
}

bool is_strict() {
  const std::vector<Word> words = words_of("RDMAMETER_DEVICE_STRICT");
  if (words.empty()) return false;
  if (words[0].name != "0" && words[0].name != "1") reject(words[0], "0 or 1");
  return words[0].name == "1";
}

std::uint64_t agreement_of_session() {
  const std::string agreed = variable(kPersonality) + ";" + variable("RDMAMETER_DEVICE_WIRE") +
                             ";" + variable("RDMAMETER_DEVICE_DEVICES");
  return std::hash<std::string>{}(agreed) | 1;  // 0: a segment that nobody uses
}

}  // namespace

const Settings& read_settings() {
  static std::mutex one_at_a_time;
  const std::lock_guard locked(one_at_a_time);
  if (const Settings* const read = settings_read.load(); read != nullptr) return *read;
  static auto* const all = new std::list<Settings>;  // others may still look at earlier ones
  const WireSettings wire = wire_settings();
  const std::uint32_t count = count_of_devices();
  all->push_back({.session = session_name(),
                  .agreement = agreement_of_session(),
                  .count = count,
                  .devices = personalities(),
                  .names = device_names(count),
                  .wire = wire,
                  .costs = costs_of_verbs(),
                  .delays = delays_of_qps(wire.instant),
                  .faults = faults_of_verbs(),
                  .log = variable("RDMAMETER_DEVICE_LOG"),
                  .strict = is_strict()});
  settings_read.store(&all->back(), std::memory_order_release);
  return all->back();
}

void misuse(std::string_view what) {
  if (settings().strict) die("strict: " + std::string(what));
}

void reread_settings() {
  settings_read.store(nullptr);
}

}  // namespace rdmameter::software
