// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/verbs/rdma_netlink.h"
#include "tests/core/base/fake_tree.h"

namespace rdmameter {
namespace {

TEST(PinnedBytes, AreTheKernelsKibibytes) {
  const FakeTree tree;
  tree.write("status", "Name:\tx\nVmLck:\t       8 kB\nVmPin:\t     132 kB\nVmRSS:\t 99 kB\n");
  EXPECT_EQ(pinned_bytes(tree.root()), 132U * 1024);
}

TEST(PinnedBytes, AreNotKnownWhereNothingTellsThem) {
  const FakeTree tree;
  EXPECT_EQ(pinned_bytes(tree.root()), std::nullopt);
  tree.write("status", "Name:\tVmPin: 7 kB\nVmRSS:\t 99 kB\n");
  EXPECT_EQ(pinned_bytes(tree.root()), std::nullopt);
  tree.write("status", "VmPin:\t kB\n");
  EXPECT_EQ(pinned_bytes(tree.root()), std::nullopt);
}

TEST(PinnedBytes, OfThisProcessAreKnown) {
  EXPECT_NE(pinned_bytes(), std::nullopt);
}

}  // namespace
}  // namespace rdmameter
