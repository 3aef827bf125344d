// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "core/verbs/link_rate.h"
#include "tests/core/base/fake_tree.h"

namespace rdmameter {
namespace {

/// A machine of two sockets. GPU 17 hangs on the switch of the adapter, 18 on another port of its
/// host bridge, 3a on another host bridge of its node, 9a on the other node.
class PciePath : public testing::Test {
 protected:
  PciePath() {
    add("bus/pci/devices/0000:17:00.0", "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0", "0");
    add("bus/pci/devices/0000:18:00.0", "pci0000:15/0000:15:02.0/0000:18:00.0", "0");
    add("bus/pci/devices/0000:3a:00.0", "pci0000:39/0000:39:01.0/0000:3a:00.0", "0");
    add("bus/pci/devices/0000:9a:00.0", "pci0000:99/0000:99:01.0/0000:9a:00.0", "1");
    add("class/infiniband/mlx5_0/device", "pci0000:15/0000:15:01.0/0000:16:01.0/0000:19:00.0", "0");
  }
  void add(const std::string& link, const std::string& place, const std::string& node) {
    tree.write("devices/" + place + "/numa_node", node + "\n");
    tree.link(link, tree.root() / "devices" / place);
  }
  std::string_view from(const char* gpu) { return pcie_path(gpu, "mlx5_0", tree.root()); }
  const FakeTree tree;
};

TEST_F(PciePath, IsWhatBothHaveAboveThem) {
  EXPECT_EQ(from("0000:17:00.0"), "switch");
  EXPECT_EQ(from("0000:18:00.0"), "root");
  EXPECT_EQ(from("0000:3a:00.0"), "node");
  EXPECT_EQ(from("0000:9a:00.0"), "socket");
}

TEST_F(PciePath, IsNotKnownOfADeviceThatIsNotThereOrHasNoNode) {
  EXPECT_EQ(from("0000:55:00.0"), "unknown");
  EXPECT_EQ(from(""), "unknown");
  EXPECT_EQ(pcie_path("0000:17:00.0", "soft0", tree.root()), "unknown");
  add("bus/pci/devices/0000:77:00.0", "pci0000:76/0000:77:00.0", "-1");
  EXPECT_EQ(from("0000:77:00.0"), "unknown");
}

}  // namespace
}  // namespace rdmameter
