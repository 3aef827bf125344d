// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/compare/pairing.h"
#include "tests/reports/samples.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

/// As a result states them that has two axes.
Json context_with(std::uint64_t depth, std::uint64_t qps) {
  Json context = sample_context();
  context["rdmameter"]["defaults"] = {{"latency", {{"depth", 1}, {"qps", qps}}},
                                      {"bandwidth", {{"depth", depth}}},
                                      {"load", Json::object()},
                                      {"ranks", Json::object()}};
  return context;
}

Json without_defaults() {
  Json context = sample_context();
  context["rdmameter"].erase("defaults");
  return context;
}

/// Of one case.
Comparable file(const Json& context, Json test_case) {
  Comparable one;
  one.context = context;
  one.sides[0].push_back({.name = "write_bw/rc", .axes = std::move(test_case)});
  return one;
}

TEST(Defaults, AreThoseThatTheResultStates) {
  Row latency, bandwidth;
  bandwidth.bandwidth.emplace();
  const Defaults stated(context_with(64, 2)), older(without_defaults());
  EXPECT_TRUE(stated.has(bandwidth, "depth", 64));
  EXPECT_TRUE(stated.has(latency, "depth", 1));
  EXPECT_TRUE(stated.has(bandwidth, "qps", 2));
  EXPECT_FALSE(stated.has(bandwidth, "sge", 1)) << "which it does not know";
  EXPECT_TRUE(older.has(bandwidth, "depth", 128));
  EXPECT_TRUE(older.has(bandwidth, "sge", 1));
  EXPECT_TRUE(older.has(Defaults::Kind::ranks, "depth", 16));
}

TEST(Defaults, NameWhatWasMeasuredByWhatWasChosen) {
  const Defaults defaults(context_with(64, 2));
  EXPECT_EQ(defaults.identity("write_bw", {{"qps", 2}}), defaults.identity("write_bw", {}));
  EXPECT_NE(defaults.identity("write_bw", {{"qps", 1}}), defaults.identity("write_bw", {}));
  EXPECT_NE(defaults.identity("write_bw", {{"depth", 1}}), defaults.identity("write_bw", {}))
      << "a default of one kind of tests alone";
}

TEST(Defaults, OfAnAxisThatOneFileLacksAreThoseOfTheOther) {
  Json newer = without_defaults();
  Json& stated = newer["rdmameter"]["defaults"] = Defaults(newer).stated();
  stated["latency"]["colour"] = "blue";
  const Comparable old = file(without_defaults(), {{"transport", "rc"}});
  const auto pairs = [&old](const Comparable& other) {
    return pair_cases(old, other).pairs.size() + pair_cases(other, old).pairs.size();
  };
  Comparable same = file(newer, {{"transport", "rc"}, {"colour", "blue"}});
  Comparable other = file(newer, {{"transport", "rc"}, {"colour", "red"}});
  for (Comparable* each : {&same, &other}) each->sides[0].front().name += "/of-another-name";
  EXPECT_EQ(pairs(same), 2U);
  EXPECT_EQ(pairs(other), 0U);
}

TEST(Defaults, ThatDifferPairNothingWhateverTheOrderOfTheFiles) {
  // Two QPs, which nobody chose, and one, of a file that does not say so.
  const Comparable two = file(context_with(128, 2), {{"qps", 2}});
  Comparable one = file(without_defaults(), Json::object());
  one.sides[0].front().name = "write_bw/rc/of-another-name";
  EXPECT_EQ(pair_cases(two, one).pairs.size(), 0U);
  EXPECT_EQ(pair_cases(one, two).pairs.size(), 0U);
  one.sides[0].front().axes = {{"qps", 2}};
  EXPECT_EQ(pair_cases(two, one).pairs.size(), 1U);
  EXPECT_EQ(pair_cases(one, two).pairs.size(), 1U);
}

TEST(Defaults, OfRanksStayWhereOthersAreAdded) {
  Json context = context_with(128, 1);
  context["rdmameter"]["defaults"]["ranks"] = {{"seed", 7}};
  Defaults defaults(context);
  defaults.complete(Defaults(without_defaults()));
  EXPECT_TRUE(defaults.has(Defaults::Kind::ranks, "seed", 7));
  EXPECT_TRUE(defaults.has(Defaults::Kind::ranks, "graph", "mesh"));
}

TEST(Defaults, ThatDifferAreNamed) {
  EXPECT_THAT(Defaults(context_with(64, 2)).differences(Defaults(context_with(64, 2))),
              testing::IsEmpty());
  EXPECT_THAT(Defaults(context_with(64, 2)).differences(Defaults(without_defaults())),
              testing::ElementsAre("qps of latency is 2 there and 1 here",
                                   "depth of bandwidth is 64 there and 128 here",
                                   "depth of load is 1 there and 128 here",
                                   "depth of ranks is 1 there and 16 here"));
}

}  // namespace
}  // namespace rdmameter
