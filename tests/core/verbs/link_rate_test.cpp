// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/link_rate.h"

#include <gtest/gtest.h>

#include "core/verbs/device.h"

namespace rdmameter {
namespace {

constexpr std::uint8_t k1x = 1, k4x = 2, k8x = 4;
constexpr std::uint8_t kSdr = 1, kEdr = 32, kHdr = 64, kNdr = 128;
constexpr std::uint32_t kXdr = 256;

TEST(LinkRate, IsThatOfTheFirstSourceThatTells) {
  LinkRateFacts facts{.active_width = k4x, .active_speed = kNdr};
  EXPECT_EQ(link_rate_gbps(facts), 400);
  facts.netdev_mbps = 200'000;
  EXPECT_EQ(link_rate_gbps(facts), 200);
  facts.sysfs_rate = "800 Gb/sec (4X XDR)";
  EXPECT_EQ(link_rate_gbps(facts), 800);
  facts.active_speed_ex = kEdr;
  EXPECT_EQ(link_rate_gbps(facts), 100);
  facts.port_speed_100_mbps = 255;
  EXPECT_EQ(link_rate_gbps(facts), 25.5);
}

TEST(LinkRate, KnowsXdrThatTheFieldOf8BitsShowsAsNdr) {
  EXPECT_EQ(link_rate_gbps({.active_width = k4x, .active_speed = kNdr, .active_speed_ex = kXdr}),
            800);
  EXPECT_EQ(link_rate_gbps(
                {.active_width = k4x, .active_speed = kNdr, .sysfs_rate = "800 Gb/sec (4X XDR)"}),
            800);
}

TEST(LinkRate, IsNotToldBySdrOnAnEthernet) {
  LinkRateFacts facts{.active_width = k1x,
                      .active_speed = kSdr,
                      .active_speed_ex = kSdr,
                      .sysfs_rate = "2.5 Gb/sec (1X SDR)",
                      .ethernet = true};
  EXPECT_EQ(link_rate_gbps(facts), std::nullopt);
  facts.netdev_mbps = 1000;
  EXPECT_EQ(link_rate_gbps(facts), 1);
  facts.ethernet = false;
  EXPECT_EQ(link_rate_gbps(facts), 2.5);
}

TEST(LinkRate, IsNotToldBySdrOfSysfsForASpeedWithoutAName) {
  EXPECT_EQ(link_rate_gbps({.active_width = k4x, .sysfs_rate = "10 Gb/sec (4X SDR)"}),
            std::nullopt);
}

TEST(LinkRate, OfADriverWithAConstantIsThePortsSpeedOrNone) {
  LinkRateFacts facts{.active_width = k4x,
                      .active_speed = kEdr,
                      .active_speed_ex = kEdr,
                      .sysfs_rate = "100 Gb/sec (4X EDR)",
                      .netdev_mbps = 100'000,
                      .driver = "mana"};
  EXPECT_EQ(link_rate_gbps(facts), std::nullopt);
  facts.driver = "mlx5_core";
  EXPECT_EQ(link_rate_gbps(facts), 100);
  facts.vendor_id = kAmazon;
  EXPECT_EQ(link_rate_gbps(facts), std::nullopt);
  facts.port_speed_100_mbps = 2000;
  EXPECT_EQ(link_rate_gbps(facts), 200);
}

TEST(LinkRate, OfEfaIsKnownWhereItIsNotTheConstantOfOlderKernels) {
  LinkRateFacts facts{.active_width = k4x, .active_speed = kHdr, .vendor_id = kAmazon};
  EXPECT_EQ(link_rate_gbps(facts), 200);
  facts.active_width = k8x;
  EXPECT_EQ(link_rate_gbps(facts), 400);
}

TEST(LinkRate, IsNotMadeOfWhatIsNoRate) {
  for (const char* rate : {"", "error", "0 Gb/sec (4X SDR)", "400", "-1 Gb/sec (4X NDR)"})
    EXPECT_EQ(link_rate_gbps(
                  {.active_width = 3, .active_speed = 3, .sysfs_rate = rate, .netdev_mbps = -1}),
              std::nullopt)
        << rate;
}

}  // namespace
}  // namespace rdmameter
