// SPDX-License-Identifier: Apache-2.0
// The devices that a session has opened: opening one is slow, so each stays open until the session
// ends.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "core/endpoint.h"

namespace rdmameter {

class OpenDevices {
 public:
  /// Opens it on first use. Arguments and errors as open_for_run().
  OpenDevice& get(const std::string& device, std::uint64_t port_num, std::uint64_t gid_index) {
    auto& slot = open_[{device, port_num, gid_index}];
    if (!slot) slot = std::make_unique<OpenDevice>(open_for_run(device, port_num, gid_index));
    return *slot;
  }

 private:
  std::map<std::tuple<std::string, std::uint64_t, std::uint64_t>, std::unique_ptr<OpenDevice>>
      open_;
};

}  // namespace rdmameter
