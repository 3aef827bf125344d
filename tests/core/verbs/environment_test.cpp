// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/core/base/fake_tree.h"

namespace rdmameter {
namespace {

using nlohmann::ordered_json;

TEST(HostEnvironment, ReadsWhatTheKernelShows) {
  const FakeTree tree;
  tree.write("proc/sys/kernel/random/boot_id", "6b1f\n");
  tree.write("proc/cpuinfo",
             "processor\t: 0\nmodel\t\t: 85\nmodel name of board\t: no CPU\nmodel name\t: Some CPU "
             "@ 2.60GHz\n"
             "flags\t\t: fpu tsc hypervisor sse\n");
  for (const char* cpu : {"cpu0", "cpu1", "cpu2", "cpu3"})  // the test runs on any of the first few
    tree.write(std::string("sys/devices/system/cpu/") + cpu + "/cpufreq/scaling_governor",
               "powersave\n");
  tree.write("proc/self/maps",
             "7f00-7f01 r--p 00000000 08:01 7 /usr/lib/libc.so.6\n"
             "7f02-7f03 r-xp 00000000 08:01 9 /usr/lib/libibverbs.so.1.14.44.12\n"
             "7f04-7f05 r-xp 00000000 08:01 9 /usr/lib/libibverbs/librxe-rdmav34.so\n"
             "7f06-7f07 r-xp 00000000 08:01 9 /usr/lib/libmlx5.so.1.24.44.0\n"
             "7f08-7f09 rw-p 00000000 08:01 9 /usr/lib/libmlx5.so.1.24.44.0\n");
  tree.write("sys/devices/system/node/node0/cpulist", "0-3\n");
  tree.write("sys/devices/system/node/node1/cpulist", "4-7\n");
  tree.write("sys/devices/system/node/possible", "0-1\n");
  const ordered_json host = host_json({.proc = tree.root() / "proc", .sysfs = tree.root() / "sys"});
  EXPECT_EQ(host["version"], RDMAMETER_VERSION);
  EXPECT_EQ(host["boot_id"], "6b1f");
  EXPECT_EQ(host["libibverbs"], "1.14.44.12");
  EXPECT_EQ(rdma_core_version(tree.root() / "proc"), (RdmaCoreVersion{44, 12}));
  EXPECT_EQ(host["providers"], "libmlx5.so.1.24.44.0, librxe-rdmav34.so");
  EXPECT_THAT(host["build"], testing::AnyOf("optimised", "not optimised", "sanitized"));
  EXPECT_EQ(host["cpu_model"], "Some CPU @ 2.60GHz");
  EXPECT_EQ(host["numa_nodes"], 2);
  EXPECT_EQ(host["virtualized"], true);
  if (sysconf(_SC_NPROCESSORS_ONLN) <= 4) {
    EXPECT_EQ(host["cpu_governor"], "powersave");
  }
}

TEST(HostEnvironment, IsNullWhereTheKernelShowsNothing) {
  const FakeTree tree;
  const ordered_json host = host_json({.proc = tree.root(), .sysfs = tree.root()});
  for (const char* key : {"boot_id", "libibverbs", "providers", "cpu_model", "cpu_governor",
                          "numa_nodes", "virtualized"}) {
    ASSERT_TRUE(host.contains(key)) << key;
    EXPECT_TRUE(host[key].is_null()) << key;
  }
  EXPECT_EQ(rdma_core_version(tree.root()), std::nullopt);
  EXPECT_GT(host["cpu_count"], 0);
}

TEST(HostEnvironment, SeesARealMachineWhenTheFlagIsMissing) {
  const FakeTree tree;
  tree.write("cpuinfo", "flags\t\t: fpu tsc hypervisorless\n");
  EXPECT_EQ(host_json({.proc = tree.root(), .sysfs = tree.root()})["virtualized"], false);
}

TEST(DeviceSlot, ReadsDriverNodeAndLink) {
  const FakeTree tree;
  const std::filesystem::path slot = "class/infiniband/mlx5_0/device";
  tree.write(slot / "numa_node", "1\n");
  tree.write(slot / "current_link_speed", "16.0 GT/s PCIe\n");
  tree.write(slot / "current_link_width", "16\n");
  tree.write(slot / "uevent", "DRIVER=mlx5_core\nPCI_SLOT_NAME=0000:1a:00.1\n");
  tree.link(slot / "driver", "../../../bus/pci/drivers/mlx5_core");
  tree.write("module/mlx5_core/version", "24.10-1.1.4\n");  // OFED's
  EXPECT_EQ(device_slot_json("mlx5_0", tree.root()),
            (ordered_json{{"driver", "mlx5_core"},
                          {"driver_version", "24.10-1.1.4"},
                          {"numa_node", 1},
                          {"pcie_speed", "16.0 GT/s PCIe"},
                          {"pcie_width", 16},
                          {"pcie_address", "0000:1a:00.1"},
                          {"virtual_function", false}}));
  tree.link(slot / "physfn", "../0000:1a:00.0");
  EXPECT_EQ(device_slot_json("mlx5_0", tree.root())["virtual_function"], true);
}

/// Linux, drivers/net/ethernet/mellanox/mlx5/core/sf/dev: it is on the auxiliary bus, beneath its
/// function.
TEST(DeviceSlot, OfASubFunctionIsThatOfItsFunction) {
  const FakeTree tree;
  const std::filesystem::path function = "devices/pci0000:00/0000:03:00.0";
  tree.write(function / "numa_node", "1\n");
  tree.write(function / "current_link_width", "16\n");
  tree.write(function / "uevent", "PCI_SLOT_NAME=0000:03:00.0\n");
  tree.write(function / "mlx5_core.sf.2/sfnum", "88\n");
  tree.link(function / "mlx5_core.sf.2/subsystem", "../../../../bus/auxiliary");
  tree.link(function / "mlx5_core.sf.2/driver", "../../../../bus/auxiliary/drivers/mlx5_core.sf");
  tree.link("class/infiniband/mlx5_2/device", tree.root() / function / "mlx5_core.sf.2");
  const ordered_json slot = device_slot_json("mlx5_2", tree.root());
  EXPECT_EQ(slot["driver"], "mlx5_core");
  EXPECT_EQ(slot["numa_node"], 1);
  EXPECT_EQ(slot["pcie_width"], 16);
  EXPECT_EQ(slot["pcie_address"], "0000:03:00.0");
  EXPECT_EQ(slot["virtual_function"], true);
}

TEST(DeviceSlot, OfRxeHasADriverAndNoSlot) {
  const FakeTree tree;
  tree.write("class/infiniband/rxe0/node_desc", "rxe\n");
  EXPECT_EQ(device_slot_json("rxe0", tree.root()), (ordered_json{{"driver", "rdma_rxe"},
                                                                 {"driver_version", nullptr},
                                                                 {"numa_node", nullptr},
                                                                 {"pcie_speed", nullptr},
                                                                 {"pcie_width", nullptr},
                                                                 {"pcie_address", nullptr},
                                                                 {"virtual_function", nullptr}}));
}

TEST(DeviceSlot, WithoutANodeIsNullAndNotMinusOne) {
  const FakeTree tree;
  tree.write("class/infiniband/mlx5_0/device/numa_node", "-1\n");
  EXPECT_TRUE(device_slot_json("mlx5_0", tree.root())["numa_node"].is_null());
  EXPECT_TRUE(device_slot_json("mlx5_0", tree.root())["driver"].is_null());
}

TEST(Environment, HoldsTheClockAndNoDeviceWhereThereIsNone) {
  ClockChoice clock;
  clock.kind = ClockChoice::Kind::counter;
  clock.ticks_per_ns = 2.5;
  clock.error_ppm = 3;
  clock.reason = "tested";
  const ordered_json environment = environment_json(clock, nullptr);
  EXPECT_EQ(environment["clock"]["kind"], "counter");
  EXPECT_EQ(environment["clock"]["error_ppm"], 3);
  EXPECT_EQ(environment["clock"]["resolution_ns"], 0.4);
  EXPECT_TRUE(environment["clock"]["warning"].is_null());
  EXPECT_EQ(environment["clock"]["reason"], "tested");
  EXPECT_TRUE(environment["device"].is_null());
}

}  // namespace
}  // namespace rdmameter
