// SPDX-License-Identifier: Apache-2.0
// What changes at a port while the program has it open reaches the program: for each repetition the
// port is asked anew, and events of changes are told apart.
#include <string>
#include <vector>

#include "core/engine/open_devices.h"
#include "core/verbs/device_events.h"
#include "tests/software_device/device/faults.h"
#include "tests/software_device/tests/ends.h"

namespace rdmameter {
namespace {

using software::testing::WithSettings;

/// A call of a verb, the first one, that raises the event.
void let_happen(OpenDevice& device, const char* event) {
  const WithSettings faults("RDMAMETER_DEVICE_FAULTS",
                            (std::string("alloc_pd@1=") + event).c_str());
  software::forget_calls();
  const Pd pd{ibv_alloc_pd(device.context.get())};
  ASSERT_NE(pd, nullptr);
}

TEST(PortChanges, ALidIsAskedForAnewInEachRepetition) {
  const WithSettings infiniband("RDMAMETER_DEVICE_PERSONALITY", "mlx5-ib");
  OpenDevices devices{{}};
  OpenDevice& device = devices.get("soft0", kAuto, kAuto);
  const std::uint16_t before = device.port.lid;
  let_happen(device, "LID_CHANGE");
  EXPECT_EQ(devices.get("soft0", kAuto, kAuto).port.lid, before);
  EXPECT_NE(devices.get("soft0", kAuto, kAuto, true).port.lid, before);
  EXPECT_EQ(&devices.get("soft0", kAuto, kAuto), &device);

  // The event that waited was of before the repetition.
  std::vector<std::string> noted;
  EXPECT_EQ(take_fatal_event(*device.context, device.port.number, noted), "");
  let_happen(device, "LID_CHANGE");
  EXPECT_NE(take_fatal_event(*device.context, device.port.number, noted).find("LID_CHANGE"),
            std::string::npos);
}

TEST(PortChanges, ThatTrafficOutlivesAreNotedOnce) {
  OpenDevices devices{{}};
  OpenDevice& device = devices.get("soft0", kAuto, kAuto);
  for (const char* event : {"GID_CHANGE", "PKEY_CHANGE", "GID_CHANGE", "SM_CHANGE"})
    let_happen(device, event);
  std::vector<std::string> noted;
  EXPECT_EQ(take_fatal_event(*device.context, device.port.number, noted), "");
  EXPECT_EQ(noted, (std::vector<std::string>{"IBV_EVENT_GID_CHANGE", "IBV_EVENT_PKEY_CHANGE",
                                             "IBV_EVENT_SM_CHANGE"}));
  EXPECT_EQ(take_fatal_event(*device.context, 2, noted), "");
}

}  // namespace
}  // namespace rdmameter
