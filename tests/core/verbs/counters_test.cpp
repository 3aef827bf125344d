// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/base/kernel_files.h"
#include "core/verbs/device_events.h"
#include "tests/core/base/fake_tree.h"

namespace rdmameter {
namespace {

using nlohmann::ordered_json;

TEST(Sysfs, ReadsOneValueOrNothing) {
  const FakeTree tree;
  tree.write("number", "42\n");
  tree.write("below", "-1\n");
  tree.write("great", "18446744073709551615\n");
  tree.write("unit", "16.0 GT/s PCIe\n");
  tree.write("empty", "\n");
  EXPECT_EQ(read_number(tree.root() / "number"), 42);
  EXPECT_EQ(read_number(tree.root() / "below"), -1);
  EXPECT_EQ(read_count(tree.root() / "great"), UINT64_MAX);
  EXPECT_EQ(read_line(tree.root() / "unit"), "16.0 GT/s PCIe");
  EXPECT_FALSE(read_number(tree.root() / "unit").has_value());
  EXPECT_FALSE(read_count(tree.root() / "below").has_value());
  EXPECT_FALSE(read_number(tree.root() / "great").has_value());
  EXPECT_FALSE(read_line(tree.root() / "empty").has_value());
  EXPECT_FALSE(read_line(tree.root() / "missing").has_value());
}

TEST(Counters, AreThoseOfThePortAndItsDevice) {
  const FakeTree tree;
  const std::filesystem::path device = "class/infiniband/mlx5_0";
  tree.write(device / "ports/1/hw_counters/out_of_sequence", "3\n");
  tree.write(device / "ports/1/hw_counters/lifespan", "10\n");
  tree.write(device / "ports/1/counters/port_xmit_data", "4096\n");
  tree.write(device / "ports/1/counters/unreadable", "N/A\n");
  tree.write(device / "ports/2/counters/port_xmit_data", "7\n");
  tree.write(device / "hw_counters/device_wide", "1\n");
  const Counters expected = {{"device_wide", 1}, {"out_of_sequence", 3}, {"port_xmit_data", 4096}};
  EXPECT_EQ(read_counters("mlx5_0", 1, tree.root()), expected);
}

TEST(Counters, OfADeviceWithoutAnyAreNone) {
  const FakeTree tree;
  EXPECT_TRUE(read_counters("mlx5_0", 1, tree.root()).empty());
}

TEST(CounterDifferences, NameWhatRose) {
  const Counters before = {{"rnr_nak_retry_err", 5}, {"sent_pkts", 100}, {"wrapped", 9}};
  const Counters after = {
      {"rnr_nak_retry_err", 5}, {"sent_pkts", 350}, {"wrapped", 2}, {"late", 4}};
  EXPECT_EQ(counter_differences(before, after), (ordered_json{{"sent_pkts", 250}}));
}

TEST(CounterDifferences, TellNothingChangedFromNothingKnown) {
  const Counters same = {{"sent_pkts", 100}};
  EXPECT_EQ(counter_differences(same, same), ordered_json::object());
  EXPECT_EQ(counter_differences({}, {}), ordered_json(nullptr));
}

}  // namespace
}  // namespace rdmameter
