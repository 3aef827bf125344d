// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <optional>

#include "core/base/kernel_files.h"
#include "tests/core/base/fake_tree.h"

namespace rdmameter {
namespace {

TEST(Softirq, IsTheSeventhNumberOfTheFirstLine) {
  FakeTree tree;
  tree.write("stat", "cpu  10 20 30 40 50 60 70 0 0 0\ncpu0 1 1 1 1 1 1 1\n");
  EXPECT_EQ(softirq_ns(tree.root()), 700'000'000U);
  tree.write("stat", "nonsense\n");
  EXPECT_EQ(softirq_ns(tree.root()), std::nullopt);
}

}  // namespace
}  // namespace rdmameter
