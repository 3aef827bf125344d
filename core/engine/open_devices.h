// SPDX-License-Identifier: Apache-2.0
// The devices that a run, or a session, has opened: opening one is slow, so each stays open until
// the end.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/engine/endpoint.h"
#include "core/verbs/environment.h"

namespace rdmameter {

/// An end's environment. @param device  null: it has none
inline Json environment_with(const ClockChoice& clock, const OpenDevice* device) {
  if (device == nullptr) return environment_json(clock, nullptr);
  const DeviceInUse in_use{*device->context, device->port, device->gid};
  return environment_json(clock, &in_use);
}

/// An end's environment with several devices: `device` is the first, and `devices` has all.
inline Json environment_with(const ClockChoice& clock, std::span<OpenDevice* const> devices) {
  Json environment = environment_with(clock, devices.empty() ? nullptr : devices.front());
  if (devices.size() > 1)
    for (const OpenDevice* device : devices)
      environment["devices"].push_back(environment_with(clock, device).at("device"));
  return environment;
}

class OpenDevices {
 public:
  /// @param memory  what memory for each device is made under
  explicit OpenDevices(MemoryTerms memory) : memory_(std::move(memory)) {}

  /// Opens it on first use. Arguments and errors as open_for_run().
  /// @param anew  for a new repetition: if it is open already, its port and GIDs are queried anew
  /// @throws as look_again(), too, where it is to look anew
  OpenDevice& get(const std::string& device, std::uint64_t port_num, std::uint64_t gid_index,
                  bool anew = false) {
    auto& slot = open_[{device, port_num, gid_index}];
    if (slot && anew) look_again(*slot, gid_index);
    if (slot) return *slot;
    slot = std::make_unique<OpenDevice>(open_for_run(device, port_num, gid_index));
    slot->memory = memory_;
    return *slot;
  }

  /// All devices of an end, in order. @param anew  as get(). @throws as that
  std::vector<OpenDevice*> get_each(const EndSettings& end, bool anew = false) {
    std::vector<OpenDevice*> devices;
    for (const std::string& name : split_devices(end.device))
      devices.push_back(&get(name, end.port_num, end.gid_index, anew));
    return devices;
  }

  /// As get_each(); empty where there is no device: each case that needs one then says so.
  std::vector<OpenDevice*> find_each(const EndSettings& end) {
    try {
      return get_each(end);
    } catch (const NoDevice&) {
      return {};
    }
  }

 private:
  const MemoryTerms memory_;
  std::map<std::tuple<std::string, std::uint64_t, std::uint64_t>, std::unique_ptr<OpenDevice>>
      open_;
};

}  // namespace rdmameter
