// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/device_access.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/base/error_text.h"
#include "core/verbs/check.h"
#include "core/verbs/device.h"
#include "core/verbs/rdma_netlink.h"

namespace rdmameter {
namespace {

std::vector<ObjectUse> objects_of(ibv_context& context) {
  const DeviceLimits limits = query_limits(context);
  const std::pair<std::string_view, std::uint64_t> most[] = {{"pd", limits.max_pd},
                                                             {"cq", limits.max_cq},
                                                             {"qp", limits.max_qp},
                                                             {"mr", limits.max_mr},
                                                             {"srq", limits.max_srq}};
  std::vector<ObjectUse> objects;
  for (const auto& [type, used] : device_objects(context)) {
    const auto* const known =
        std::ranges::find(most, type, [](const auto& pair) { return pair.first; });
    objects.push_back({type, used, known == std::end(most) ? 0 : known->second});
  }
  return objects;
}

DeviceAccess::Device try_device(const std::string& name) {
  DeviceAccess::Device device{.name = name, .failure = {}, .remedy = {}, .objects = {}};
  try {
    device.objects = objects_of(*open_device(name));
  } catch (const VerbsError& error) {
    device.failure = std::generic_category().message(error.error_number);
    device.remedy = remedy("ibv_open_device", error.error_number);
  } catch (const std::exception& error) {
    device.failure = error_text(error);
  }
  return device;
}

}  // namespace

DeviceAccess try_devices() {
  DeviceAccess access;
  for (const std::string& name : list_devices()) access.devices.push_back(try_device(name));
  access.hidden = what_hides_devices();
  return access;
}

}  // namespace rdmameter
