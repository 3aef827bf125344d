// SPDX-License-Identifier: Apache-2.0
// Which axes a test among ranks has.
#include "topologies/axes/rank_axes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.h"
#include "topologies/ranks/rank_plan.h"

namespace rdmameter {
namespace {

using testing::HasSubstr;

TestCase with(TestCase test_case, const char* option, const char* text) {
  set_axis(test_case, *find_axis(option, topology_axes()), text);
  return test_case;
}

bool applies(const char* option, const TestCase& test_case) {
  return find_axis(option, topology_axes())->applies(test_case);
}

TEST(TopologyAxes, HaveDistinctOptionsAndKeysAndHoldCoresToo) {
  std::set<std::string_view> options, keys;
  for (const Axis& axis : topology_axes()) {
    EXPECT_TRUE(options.insert(axis.option).second) << axis.option;
    EXPECT_TRUE(keys.insert(axis.key).second) << axis.key;
  }
  for (const Axis& axis : axes()) EXPECT_TRUE(options.contains(axis.option)) << axis.option;
}

TEST(RankAxesOf, GraphsAndTrafficsAreTheirOwn) {
  TestCase test_case = default_topology_case();
  const auto applies = [&](const char* option) { return rdmameter::applies(option, test_case); };
  for (const char* option :
       {"graph", "traffic", "ranks", "transport", "size", "depth", "recv", "mtu", "verify", "wait",
        "qps-per-edge", "iterations", "memory", "cq-sharing", "pairs", "seed", "thread-domain"})
    EXPECT_TRUE(applies(option)) << option;
  for (const char* option : {"qps", "rx-depth", "sge", "inline", "api", "cq", "duration", "core",
                             "peer-device", "schedule", "loss-timeout", "objects"})
    EXPECT_FALSE(applies(option)) << option;
  test_case.traffic = "alltoall";
  EXPECT_TRUE(applies("schedule"));
  EXPECT_FALSE(applies("seed"));
  test_case = with(test_case, "transport", "uc");
  EXPECT_TRUE(applies("loss-timeout"));
  test_case = with(test_case, "graph", "random:3");
  EXPECT_TRUE(applies("seed"));
  EXPECT_FALSE(applies("inflate"));
  test_case = with(test_case, "graph", "mesh");
  EXPECT_FALSE(applies("active"));
  test_case = with(test_case, "inflate", "64");
  EXPECT_TRUE(applies("active"));
  EXPECT_FALSE(applies("qps-per-edge"));
}

TEST(RankAxesOf, DatagramsHaveNoOtherTransport) {
  const TestCase test_case = with(default_topology_case(), "graph", "udmesh");
  EXPECT_EQ(test_case.transport, Transport::ud);
  for (const char* option : {"transport", "recv", "qps-per-edge", "cq-sharing"})
    EXPECT_FALSE(applies(option, test_case)) << option;
  EXPECT_EQ(case_json(test_case)["transport"], "ud");
  EXPECT_EQ(why_impossible(test_case), "");
  EXPECT_EQ(why_no_topology(test_case), "");
  EXPECT_THAT(why_impossible(with(test_case, "size", "8K")), HasSubstr("one packet"));
}

TEST(RankAxesOf, StreamsHaveAnOpcodeAndNoSchedule) {
  for (const char* traffic : {"incast:1", "bisection", "flood", "random"}) {
    const TestCase test_case = with(default_topology_case(), "traffic", traffic);
    EXPECT_TRUE(applies("opcode", test_case)) << traffic;
    EXPECT_FALSE(applies("schedule", test_case)) << traffic;
    EXPECT_EQ(applies("seed", test_case), test_case.traffic == "random");
    EXPECT_FALSE(applies("pairs", test_case)) << traffic;
  }
  for (const char* traffic : {"pairs", "token", "neighbours", "alltoall", "allgather", "nosuch"})
    EXPECT_FALSE(applies("opcode", with(default_topology_case(), "traffic", traffic))) << traffic;
}

TEST(RankAxesOf, WhatRanksCannotDoIsToldWithTheWayOut) {
  const TestCase test_case = default_topology_case();
  EXPECT_EQ(why_impossible(test_case), "");
  EXPECT_THAT(why_no_topology(with(test_case, "transport", "ud")), HasSubstr("udmesh"));
  EXPECT_THAT(why_impossible(with(test_case, "wait", "event")), HasSubstr("spin or yield"));
  EXPECT_EQ(why_impossible(with(test_case, "device", "a+b")),
            "each rank has one device: use --device NAME");
}

TEST(RankAxesOf, MemoryThatTheCpuDoesNotReachCarriesWhatTheCpuNeedNotSee) {
  for (const char* memory : {"device", "cuda:%l", "rocm:1"}) {
    const TestCase test_case = with(default_topology_case(), "memory", memory);
    EXPECT_EQ(why_impossible(test_case), "");
    EXPECT_EQ(why_no_topology(with(test_case, "traffic", "alltoall")), "");
    EXPECT_THAT(why_impossible(with(test_case, "verify", "on")), HasSubstr("--verify off"));
    EXPECT_THAT(why_impossible(with(test_case, "opcode", "write")), HasSubstr("--opcode send"));
    EXPECT_THAT(why_no_topology(with(test_case, "traffic", "allreduce-ring")),
                HasSubstr("with the CPU"));
    EXPECT_THAT(why_no_topology(with(test_case, "transport", "uc")), HasSubstr("--transport rc"));
  }
}

TEST(RankAxesOf, AreNeverOnTheWire) {
  const TestCase two_ends = default_case(Opcode::rdma_write, Pattern::ping_pong);
  nlohmann::ordered_json wire = case_to_wire(two_ends);
  EXPECT_FALSE(wire.contains("graph"));
  wire["graph"] = "ring";
  EXPECT_THROW(case_from_wire(wire), UsageError);
  EXPECT_THROW(case_from_wire(case_to_wire(default_topology_case())), UsageError);
}

}  // namespace
}  // namespace rdmameter
