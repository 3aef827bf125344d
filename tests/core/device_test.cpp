// SPDX-License-Identifier: Apache-2.0
// What of core/device.h needs no device; the rest is tested on one, in tests/device.
#include "core/device.h"

#include <gtest/gtest.h>

namespace rdmameter {
namespace {

TEST(Mtu, GoesBothWays) {
  for (const std::uint32_t size_bytes : {256, 512, 1024, 2048, 4096})
    EXPECT_EQ(mtu_bytes(mtu_from_bytes(size_bytes).value()), size_bytes);
  for (const std::uint64_t no_mtu :
       {std::uint64_t{0}, std::uint64_t{128}, std::uint64_t{1500}, std::uint64_t{8192}, kAuto})
    EXPECT_FALSE(mtu_from_bytes(no_mtu).has_value()) << no_mtu;
  EXPECT_EQ(mtu_bytes(static_cast<ibv_mtu>(0)), 0U);
  EXPECT_EQ(mtu_bytes(static_cast<ibv_mtu>(6)), 0U);
}

TEST(PortInfo, SaysWhereItIs) {
  EXPECT_EQ((PortInfo{.device = "rxe0", .number = 1}.where()), "rxe0/1");
}

TEST(DevicesText, ShowsADeviceThatCannotBeOpened) {
  const nlohmann::ordered_json devices = {
      {"devices", {{{"name", "mlx5_0"}, {"error", "Permission denied"}}}}};
  EXPECT_NE(devices_text(devices).find("mlx5_0\n  cannot be opened: Permission denied"),
            std::string::npos);
}

}  // namespace
}  // namespace rdmameter
