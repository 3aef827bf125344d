// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/base/kernel_files.h"
#include "tests/core/base/fake_tree.h"

namespace rdmameter {
namespace {

TEST(ControlGroup, TellsTheLimitsOfItsOwnGroup) {
  FakeTree tree;
  tree.write("membership", "0::/job\n");
  tree.write("job/rdma.max",
             "rxe0 hca_handle=max hca_object=100\nrxe1 hca_handle=2 hca_object=max\n");
  EXPECT_EQ(verbs_object_limits(tree.root() / "membership", tree.root()),
            (tree.root() / "job/rdma.max").string() +
                ": rxe0 hca_handle=max hca_object=100; rxe1 hca_handle=2 hca_object=max");
}

TEST(ControlGroup, LooksAtThoseAroundIt) {
  FakeTree tree;
  tree.write("membership", "0::/job/step/task\n");
  tree.write("job/step/rdma.max", "rxe0 hca_handle=max hca_object=max\n");
  tree.write("job/rdma.max", "rxe0 hca_handle=max hca_object=7\n");
  EXPECT_EQ(verbs_object_limits(tree.root() / "membership", tree.root()),
            (tree.root() / "job/rdma.max").string() + ": rxe0 hca_handle=max hca_object=7");
}

TEST(ControlGroup, OfVersionOneHaveATreeOfTheirOwn) {
  FakeTree tree;
  tree.write("membership", "3:memory:/other\n2:rdma:/job\n");
  tree.write("rdma/job/rdma.max", "mlx5_0 hca_handle=4 hca_object=max\n");
  EXPECT_EQ(verbs_object_limits(tree.root() / "membership", tree.root()),
            (tree.root() / "rdma/job/rdma.max").string() + ": mlx5_0 hca_handle=4 hca_object=max");
}

TEST(ControlGroup, SaysNothingWhereThereIsNoLimit) {
  FakeTree tree;
  tree.write("unlimited", "0::/job\n");
  tree.write("job/rdma.max", "mlx5_0 hca_handle=max hca_object=max\n");
  tree.write("rdma.max", "mlx5_0 hca_handle=3 hca_object=3\n");  // a root group has no limits
  tree.write("outside", "0::/\n");
  tree.write("nonsense", "0\n::\n:\n");
  for (const char* membership : {"unlimited", "outside", "nonsense", "missing"})
    EXPECT_EQ(verbs_object_limits(tree.root() / membership, tree.root()), "") << membership;
}

}  // namespace
}  // namespace rdmameter
