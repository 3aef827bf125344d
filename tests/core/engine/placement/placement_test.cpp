// SPDX-License-Identifier: Apache-2.0
// On which CPUs an end measures, on machines that are made of files.
#include "core/engine/placement/placement.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <numeric>

#include "core/base/error.h"
#include "tests/core/base/fake_tree.h"

namespace rdmameter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Names of this process and test alone: tests run side by side.
std::string own_prefix() {
  static int number = 0;
  return fmt::format("rdmameter-test-{}-{}-", getpid(), number++);
}

/// Two sockets of four cores, two hardware threads each: 0-3 and 8-11 are node 0. mlx5_0 is at node
/// 0, mlx5_1 at node 1, rxe0 at none.
class PlacementTest : public ::testing::Test {
 protected:
  PlacementTest() {
    device("mlx5_0", "0", "0-3,8-11");
    device("mlx5_1", "1", "4-7,12-15");
    device("mlx5_2", "-1", "0-15");
    tree_.write("class/infiniband/rxe0/node_type", "1: CA\n");
    for (unsigned cpu = 0; cpu < 16; ++cpu)
      tree_.write(fmt::format("devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu),
                  fmt::format("{},{}\n", cpu % 8, cpu % 8 + 8));
    host_.sysfs = tree_.root();
    host_.allowed.resize(16);
    std::iota(host_.allowed.begin(), host_.allowed.end(), 0U);
  }

  void device(const std::string& name, const std::string& node, const std::string& cpus) {
    tree_.write("class/infiniband/" + name + "/device/numa_node", node + "\n");
    tree_.write("class/infiniband/" + name + "/device/local_cpulist", cpus + "\n");
  }

  Placement choose(const PlacementWish& wish) { return choose(wish, claims_); }
  Placement choose(const PlacementWish& wish, CpuClaims& claims) const {
    return choose_placement(wish, claims, host_);
  }

  template <class Error>
  std::string refusal(const PlacementWish& wish) {
    try {
      choose(wish);
    } catch (const Error& error) {
      return error.what();
    }
    ADD_FAILURE() << "not refused";
    return {};
  }

  FakeTree tree_;
  HostCpus host_;
  const std::string prefix_ = own_prefix();
  CpuClaims claims_{prefix_};
};

TEST_F(PlacementTest, IsOnCoresOfTheDevicesNodeBeforeTheirSiblings) {
  EXPECT_THAT(choose({.device = "mlx5_0", .loops = 6}).cpus, ElementsAre(0, 1, 2, 3, 8, 9));
  EXPECT_THAT(choose({.core = "numa", .device = "mlx5_1", .loops = 2}).cpus, ElementsAre(4, 5));
  const Placement placement = choose({.device = "mlx5_1"});
  EXPECT_EQ(placement.device.numa_node, 1);
  EXPECT_EQ(placement.reason, "");
  EXPECT_EQ(placement.only(), 4U);
}

TEST_F(PlacementTest, StaysWithinTheAffinityOfTheProcess) {
  host_.allowed = {2, 9, 10, 11, 12};
  // 9 and 11 are alone on their cores here; 10 is the second of core 2.
  EXPECT_THAT(choose({.device = "mlx5_0", .loops = 4}).cpus, ElementsAre(2, 9, 11, 10));
  EXPECT_THAT(choose({.device = "mlx5_1"}).cpus, ElementsAre(12));
}

TEST_F(PlacementTest, IsLeftToTheKernelWithAReasonWhereNoCpuNearTheDeviceMayBeUsed) {
  host_.allowed = {4, 5};
  const Placement placement = choose({.device = "mlx5_0"});
  EXPECT_THAT(placement.cpus, IsEmpty());
  EXPECT_EQ(placement.reason,
            "of the CPUs of NUMA node 0, that of mlx5_0, this process may use 0, and 1 is needed");
  EXPECT_EQ(placement.only(), std::nullopt);
}

TEST_F(PlacementTest, IsLeftToTheKernelWithAReasonWhereCpusAreTooFew) {
  EXPECT_THAT(choose({.device = "mlx5_0", .loops = 9}).reason, HasSubstr("9 are needed"));
  // Both ends are here, and five threads of each do not fit.
  EXPECT_THAT(choose({.device = "mlx5_0", .loops = 5, .needed = 10}).reason,
              HasSubstr("may use 8, and 10 are needed"));
}

TEST_F(PlacementTest, OfSeveralDevicesIsNearEachOfThem) {
  TestCase test_case = default_case(Opcode::rdma_write, Pattern::bandwidth);
  test_case.initiator.device = test_case.responder.device = "mlx5_1+mlx5_0";
  test_case.threads = 2;
  const auto cpus = [&](Role role, bool same_host, std::span<const unsigned> avoid = {}) {
    CpuClaims claims{prefix_};
    return place_end(test_case, role, same_host, avoid, claims, host_).cpus;
  };
  EXPECT_THAT(cpus(Role::initiator, false), ElementsAre(4, 5, 0, 1));
  EXPECT_THAT(cpus(Role::responder, true, std::array{4U, 5U, 0U, 1U}), ElementsAre(6, 7, 2, 3));
  test_case.bidirectional = true;  // backward loops come behind all forward ones
  EXPECT_THAT(cpus(Role::initiator, false), ElementsAre(4, 5, 0, 1, 6, 7, 2, 3));
  test_case.initiator.core = "0-7";
  EXPECT_THAT(cpus(Role::initiator, false), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  test_case.initiator.core = "";
  test_case.initiator.device = "mlx5_1+mlx5_2";
  CpuClaims claims{prefix_};
  EXPECT_EQ(place_end(test_case, Role::initiator, false, {}, claims, host_).reason,
            "the kernel names no NUMA node of mlx5_2");
}

TEST_F(PlacementTest, IsLeftToTheKernelWithAReasonWhereThereIsNoNode) {
  for (const char* none : {"rxe0", "mlx5_2", "gone"}) {
    const Placement placement = choose({.device = none});
    EXPECT_THAT(placement.cpus, IsEmpty()) << none;
    EXPECT_EQ(placement.reason, fmt::format("the kernel names no NUMA node of {}", none));
  }
  EXPECT_EQ(choose({}).reason, "the test uses no verbs device");
}

TEST_F(PlacementTest, IsRefusedWhereNumaIsAskedForAndCannotBe) {
  EXPECT_EQ(refusal<Unsupported>({.core = "numa", .device = "rxe0"}),
            "--core numa: the kernel names no NUMA node of rxe0");
}

TEST_F(PlacementTest, SharesNoCpuWithOthersOfThisMachine) {
  CpuClaims peers{prefix_}, others{prefix_};
  const Placement mine = choose({.device = "mlx5_0", .loops = 2});
  const Placement theirs = choose({.device = "mlx5_0", .loops = 2}, peers);
  EXPECT_THAT(mine.cpus, ElementsAre(0, 1));
  EXPECT_THAT(theirs.cpus, ElementsAre(2, 3));
  const Placement none = choose({.device = "mlx5_0", .loops = 5}, others);
  EXPECT_THAT(none.cpus, IsEmpty());
  EXPECT_THAT(none.reason, HasSubstr("fewer than 5 are free"));
  EXPECT_THAT(choose({.device = "mlx5_0", .loops = 4}, others).cpus, ElementsAre(8, 9, 10, 11));
}

TEST_F(PlacementTest, AvoidsTheCpusOfTheOtherEnd) {
  const std::array theirs{0U, 2U};
  EXPECT_THAT(choose({.device = "mlx5_0", .loops = 2, .needed = 4, .avoid = theirs}).cpus,
              ElementsAre(1, 3));
  EXPECT_THAT(choose({.device = "mlx5_1", .loops = 2, .needed = 4, .avoid = theirs}).cpus,
              ElementsAre(4, 5));
}

TEST_F(PlacementTest, IsTheSameAgainWhenCpusBeforeItHaveBecomeFree) {
  CpuClaims peers{prefix_};
  {
    const Placement mine = choose({.device = "mlx5_0"});
    EXPECT_THAT(choose({.device = "mlx5_0"}, peers).cpus, ElementsAre(1));
  }
  EXPECT_THAT(choose({.device = "mlx5_0"}, peers).cpus, ElementsAre(1));
  EXPECT_THAT(choose({.device = "mlx5_0", .loops = 2}, peers).cpus, ElementsAre(0, 1));
}

TEST_F(PlacementTest, OfARankBeginsAtItsNumber) {
  EXPECT_THAT(choose({.device = "mlx5_0", .needed = 8, .first = 3}).cpus, ElementsAre(3));
  CpuClaims others{prefix_};
  EXPECT_THAT(choose({.device = "mlx5_0", .needed = 8, .first = 5}, others).cpus, ElementsAre(9));
  EXPECT_THAT(choose({.device = "mlx5_0", .needed = 9, .first = 5}, others).reason,
              HasSubstr("9 are needed"));
}

TEST_F(PlacementTest, IsAsTheUserSays) {
  EXPECT_THAT(choose({.core = "6", .device = "mlx5_0"}).cpus, ElementsAre(6));
  EXPECT_THAT(choose({.core = "6", .device = "mlx5_0", .loops = 3}).cpus, ElementsAre(6, 7, 8));
  EXPECT_THAT(choose({.core = "8+0-1", .device = "rxe0", .loops = 3}).cpus, ElementsAre(8, 0, 1));
  EXPECT_THAT(choose({.core = "8+0-1", .loops = 2}).cpus, ElementsAre(8, 0));
  const Placement off = choose({.core = "off", .device = "mlx5_0"});
  EXPECT_THAT(off.cpus, IsEmpty());
  EXPECT_EQ(off.reason, "--core off");
  const Placement mine = choose({.core = "0", .device = "mlx5_0"});
  CpuClaims peers{prefix_};
  EXPECT_THAT(choose({.device = "mlx5_0"}, peers).cpus, ElementsAre(1)) << "0 has a user";
  EXPECT_THAT(choose({.core = "0"}, peers).cpus, ElementsAre(0)) << "as two users said";
}

TEST_F(PlacementTest, IsRefusedOnCpusThatMayNotBeUsedOrAreTooFew) {
  host_.allowed = {0, 1, 2, 3, 8};
  EXPECT_EQ(
      refusal<UsageError>({.option = "--peer-core", .core = "4"}),
      "--peer-core 4: there is no such CPU here, or this process may not use it; it may run on "
      "0-3,8");
  EXPECT_THAT(refusal<UsageError>({.core = "3", .loops = 2}), HasSubstr("--core 4: there is no"));
  EXPECT_EQ(refusal<UsageError>({.core = "0+2", .loops = 4}),
            "--core 0+2: 4 threads measure at this end, and the list has 2 CPUs");
}

TEST_F(PlacementTest, OfACaseCountsBothWaysAndBothEnds) {
  TestCase test_case = default_case(Opcode::rdma_write, Pattern::bandwidth);
  test_case.threads = 3;
  test_case.bidirectional = true;
  test_case.responder.core = "2";
  const PlacementWish wish = wish_of(test_case, Role::responder, "mlx5_0", true);
  EXPECT_EQ(wish.option, "--peer-core");
  EXPECT_EQ(wish.core, "2");
  EXPECT_EQ(wish.loops, 6U);
  EXPECT_EQ(wish.needed, 12U);
  EXPECT_EQ(wish_of(test_case, Role::initiator, "mlx5_0", false).needed, 6U);
}

TEST_F(PlacementTest, OfEachThreadIsKnown) {
  const Placement placement = choose({.core = "0-5", .loops = 6});
  EXPECT_THAT(placement.of_loops(0, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(placement.of_loops(3, 3), ElementsAre(3, 4, 5));
  EXPECT_THAT(choose({}).of_loops(3, 3), IsEmpty());
}

TEST_F(PlacementTest, IsInTheRow) {
  const std::vector<LoopPlace> places{{.cpu = 4, .numa_node = 1}, {.cpu = 5, .numa_node = 1}};
  EXPECT_EQ(placement_json(placement_data(choose({.device = "mlx5_1", .loops = 2}), places)).dump(),
            R"({"pinned":true,"reason":null,"cpus":[4,5],"numa_nodes":[1,1],)"
            R"("device_numa_node":1,"device_cpus":"4-7,12-15"})");
  EXPECT_EQ(placement_json(placement_data(choose({.device = "rxe0"}), {})).dump(),
            R"({"pinned":false,"reason":"the kernel names no NUMA node of rxe0","cpus":[],)"
            R"("numa_nodes":[],"device_numa_node":null,"device_cpus":null})");
}

}  // namespace
}  // namespace rdmameter
