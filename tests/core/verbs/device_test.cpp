// SPDX-License-Identifier: Apache-2.0
// What of core/verbs/device.h needs no device; the rest is tested on one, in tests/device.
#include "core/verbs/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/base/fake_tree.h"

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

TEST(HiddenDevices, AreToldByWhatHidesThem) {
  using ::testing::HasSubstr;
  const FakeTree tree;
  const auto told = [&] { return what_hides_devices(tree.root() / "sys", tree.root() / "dev"); };
  EXPECT_EQ(told(), "");  // there is none
  tree.write("dev/infiniband/uverbs0", "");
  EXPECT_THAT(told(), HasSubstr("in another network namespace"));
  tree.write("sys/class/infiniband/mlx5_7/fw_ver", "1\n");
  EXPECT_THAT(
      told(),
      HasSubstr("The kernel has mlx5_7 (/sys/class/infiniband), but libibverbs finds no device"));
  EXPECT_THAT(told(), HasSubstr("so a provider is missing"));
  std::filesystem::remove(tree.root() / "dev/infiniband/uverbs0");
  EXPECT_THAT(told(), HasSubstr("--device /dev/infiniband"));
}

TEST(DevicesText, ShowsADeviceThatCannotBeOpened) {
  const nlohmann::ordered_json devices = {
      {"devices", {{{"name", "mlx5_0"}, {"error", "Permission denied"}}}}};
  EXPECT_NE(devices_text(devices).find("mlx5_0\n  cannot be opened: Permission denied"),
            std::string::npos);
}

nlohmann::ordered_json device_json(const char* name, const char* state) {
  return {{"name", name},
          {"firmware", "1"},
          {"vendor_id", 0},
          {"vendor_part_id", 0},
          {"driver", "mlx5_core"},
          {"driver_version", "24.10-1.1.4"},
          {"numa_node", nullptr},
          {"pcie_speed", nullptr},
          {"pcie_width", nullptr},
          {"ports", nlohmann::ordered_json::array({{{"port_num", 1},
                                                    {"state", state},
                                                    {"link_layer", "Ethernet"},
                                                    {"rate_gbps", 100.0},
                                                    {"lanes", 4},
                                                    {"active_mtu_bytes", 4096},
                                                    {"max_mtu_bytes", 4096},
                                                    {"gids", nlohmann::ordered_json::array()},
                                                    {"chosen_gid_index", nullptr}}})},
          {"transports", nlohmann::ordered_json::object()},
          {"features",
           {{"atomics", "none"},
            {"atomic_write", false},
            {"flush", false},
            {"memory_window_1", false},
            {"memory_window_2b", false},
            {"completion_timestamps", false},
            {"device_memory", false},
            {"on_demand_paging", {{"supported", false}}}}},
          {"limits", nlohmann::ordered_json::object()}};
}

TEST(DevicesText, BeginsWithHowManyThereAreAndWhichIsTaken) {
  const auto devices = nlohmann::ordered_json::array(
      {device_json("mlx5_0", "DOWN"), device_json("mlx5_1", "ACTIVE")});
  const std::string text = devices_text({{"devices", devices}});
  EXPECT_TRUE(
      text.starts_with("2 devices, 1 of 2 ports ACTIVE; mlx5_1 is taken unless --device says "
                       "otherwise\n\nmlx5_0  driver "
                       "mlx5_core 24.10-1.1.4, "))
      << text;
  const std::string down =
      devices_text({{"devices", nlohmann::ordered_json::array({device_json("mlx5_0", "DOWN")})}});
  EXPECT_TRUE(down.starts_with("1 device, 0 of 1 port ACTIVE; none can be measured on\n")) << down;
}

TEST(DevicesText, NamesTheDeviceWhoseAddressIsNotLinkLocal) {
  const auto with_gid = [](const char* name, const char* gid) {
    auto result = device_json(name, "ACTIVE");
    result["ports"][0]["chosen_gid_index"] = 0;
    result["ports"][0]["gids"] = nlohmann::ordered_json::array(
        {{{"index", 0}, {"gid", gid}, {"type", "roce_v2"}, {"netdev", "eth0"}}});
    return result;
  };
  for (const char* link_local : {"fe80::1", "fe90::1", "febf::1"}) {
    const auto devices = nlohmann::ordered_json::array(
        {with_gid("mlx5_0", link_local), with_gid("mlx5_1", "2001:db8::1")});
    EXPECT_THAT(devices_text({{"devices", devices}}), testing::HasSubstr("mlx5_1 is taken"))
        << link_local;
  }
}

}  // namespace
}  // namespace rdmameter
