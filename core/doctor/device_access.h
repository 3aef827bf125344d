// SPDX-License-Identifier: Apache-2.0
// Which devices this process gets at, as libibverbs has it: what the kernel shows in sysfs may be
// out of its reach.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rdmameter {

/// Objects of one type that all processes have made on a device.
struct ObjectUse {
  std::string type;  ///< as `rdma resource show` has it: "qp"
  std::uint64_t used = 0;
  std::uint64_t most = 0;  ///< that the device tells; 0: not known
};

struct DeviceAccess {
  struct Device {
    std::string name;
    std::string failure;  ///< of ibv_open_device(); empty: it opens
    std::string remedy;   ///< of that failure
    std::vector<ObjectUse> objects;
  };
  std::vector<Device> devices;  ///< that libibverbs lists
  std::string hidden;           ///< what may hide others: see what_hides_devices()
};

/// Opens each device that libibverbs lists, and closes it.
DeviceAccess try_devices();

}  // namespace rdmameter
