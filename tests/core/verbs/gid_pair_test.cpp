// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/gid_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/wire/message.h"
#include "tests/core/base/fake_tree.h"

namespace rdmameter {
namespace {

using ::testing::Pair;

Gid of(std::uint32_t index, std::string_view text, GidType type = GidType::roce_v2,
       std::uint8_t subnet_bits = 0) {
  return {.index = index,
          .value = gid_from_text(text).value(),
          .type = type,
          .netdev = {},
          .subnet_bits = subnet_bits};
}

/// Indices of the pair; held to be the same from the other end.
std::pair<std::uint32_t, std::uint32_t> pair_of(const std::vector<Gid>& mine,
                                                const std::vector<Gid>& theirs) {
  const auto pair = choose_gid_pair(mine, theirs), mirrored = choose_gid_pair(theirs, mine);
  EXPECT_EQ(pair.has_value(), mirrored.has_value());
  if (!pair || !mirrored) return {999, 999};
  EXPECT_EQ(pair->mine.index, mirrored->theirs.index);
  EXPECT_EQ(pair->theirs.index, mirrored->mine.index);
  return {pair->mine.index, pair->theirs.index};
}

TEST(GidPair, IsOfOneSubnetWhereTheFirstAddressesAreOfVlansApart) {
  const std::vector<Gid> here = {of(1, "::ffff:198.51.100.2"), of(3, "::ffff:10.0.0.1")};
  const std::vector<Gid> there = {of(1, "::ffff:203.0.113.3"), of(5, "::ffff:10.0.0.2")};
  EXPECT_THAT(pair_of(here, there), Pair(3, 5));
}

TEST(GidPair, OfIpv6IsTakenWhereNoIpv4AddressesShareASubnet) {
  const std::vector<Gid> here = {of(1, "::ffff:198.51.100.2"), of(3, "fd00::1")};
  const std::vector<Gid> there = {of(1, "::ffff:203.0.113.3"), of(5, "fd00::2")};
  EXPECT_THAT(pair_of(here, there), Pair(3, 5));
}

TEST(GidPair, GoesByTheLengthOfTheSubnetWhereItIsKnown) {
  // 10.1.0.1/16 and 10.1.200.2/16 are neighbours, 10.2.0.1/30 and 10.2.0.6/30 are not.
  const std::vector<Gid> here = {of(1, "::ffff:10.2.0.1", GidType::roce_v2, 30),
                                 of(2, "::ffff:10.1.0.1", GidType::roce_v2, 16)};
  const std::vector<Gid> there = {of(1, "::ffff:10.2.0.6", GidType::roce_v2, 30),
                                  of(2, "::ffff:10.1.200.2", GidType::roce_v2, 16)};
  EXPECT_THAT(pair_of(here, there), Pair(2, 2));
}

TEST(GidPair, OfRoutedAddressesHasTheLongestCommonPrefix) {
  const std::vector<Gid> here = {of(1, "::ffff:192.168.7.1"), of(2, "::ffff:10.0.1.1")};
  const std::vector<Gid> there = {of(1, "::ffff:10.0.2.1"), of(2, "::ffff:172.16.0.1")};
  EXPECT_THAT(pair_of(here, there), Pair(2, 1));
}

TEST(GidPair, PrefersARouteToLinkLocalAddressesAndVersion2ToVersion1) {
  const std::vector<Gid> here = {of(0, "::ffff:10.0.0.1", GidType::roce_v1), of(1, "fe80::1"),
                                 of(2, "::ffff:10.0.0.1")};
  const std::vector<Gid> there = {of(0, "::ffff:10.0.0.2", GidType::roce_v1), of(1, "fe80::2"),
                                  of(2, "::ffff:10.9.0.2")};
  EXPECT_THAT(pair_of(here, there), Pair(2, 2));
  EXPECT_THAT(pair_of({here[0], here[1]}, there), Pair(1, 1));
  EXPECT_THAT(pair_of({here[0]}, there), Pair(0, 0));
}

TEST(GidPair, OfOnePortIsAnAddressWithItself) {
  const std::vector<Gid> port = {of(0, "fe80::1"), of(1, "::ffff:10.0.0.1"),
                                 of(2, "::ffff:10.0.0.7"), of(3, "fd00::1")};
  EXPECT_THAT(pair_of(port, port), Pair(1, 1));
}

TEST(GidPair, AvoidsAddressesOfOtherNetworkNamespaces) {
  const std::vector<Gid> here = {
      of(1, "::ffff:10.244.2.7"), of(3, "::ffff:10.244.1.5", GidType::roce_v1, 24),
      of(4, "::ffff:10.244.1.5", GidType::roce_v2, 24), of(5, "fe80::5", GidType::roce_v2, 64)};
  const std::vector<Gid> there = {of(1, "::ffff:10.244.2.8"),
                                  of(3, "::ffff:10.244.2.9", GidType::roce_v2, 24)};
  EXPECT_THAT(pair_of(here, there), Pair(4, 3));
  EXPECT_EQ(choose_gid(here, IBV_LINK_LAYER_ETHERNET, kAuto, "soft0/1").index, 4U);
  EXPECT_EQ(gids_to_offer(here, kAuto).back().index, 1U);
}

TEST(GidPair, OfInfinibandIsTheFirstOfOneSubnet) {
  const auto ib = [](std::uint32_t index, std::string_view text) {
    return of(index, text, GidType::ib);
  };
  EXPECT_THAT(pair_of({ib(0, "fe80::1"), ib(1, "fe80::9")}, {ib(0, "fe80::2")}), Pair(0, 0));
  EXPECT_THAT(pair_of({ib(0, "fe80::1"), ib(1, "fec0::1:0:0:0:1")}, {ib(0, "fec0::1:0:0:0:2")}),
              Pair(1, 0));
}

TEST(GidPair, IsNoneWhereNoTwoCanTalk) {
  EXPECT_FALSE(
      choose_gid_pair(std::vector{of(0, "::ffff:10.0.0.1")}, std::vector{of(0, "fd00::1")}));
  EXPECT_FALSE(choose_gid_pair(std::vector{of(0, "fd00::1")},
                               std::vector{of(0, "fd00::2", GidType::roce_v1)}));
  EXPECT_FALSE(choose_gid_pair({}, std::vector{of(0, "fd00::1")}));
}

TEST(GidsToOffer, AreTheBestOfATableOrTheOneAskedFor) {
  std::vector<Gid> table;
  for (std::uint32_t index = 0; index < 40; ++index)
    table.push_back(of(index, index < 38 ? "fe80::1" : "::ffff:10.0.0.1"));
  table.push_back(of(300, "::ffff:10.0.0.1"));  // an address handle has 8 bits for it
  const std::vector<Gid> best = gids_to_offer(table, kAuto);
  ASSERT_EQ(best.size(), kMostGidsOffered);
  EXPECT_EQ(best[0].index, 38U);
  EXPECT_EQ(best[1].index, 39U);
  const std::vector<Gid> one = gids_to_offer(table, 5);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].index, 5U);
}

TEST(Subnets, AreThoseOfTheInterfaces) {
  std::vector<Gid> gids = {of(0, "::ffff:127.0.0.1"), of(1, "::ffff:192.0.2.77")};
  find_subnets(gids);
  EXPECT_EQ(gids[0].subnet_bits, 8);
  EXPECT_EQ(gids[1].subnet_bits, 0);
}

struct Gids {
  std::vector<Gid> gids;
};

void list_fields(auto& fields, Is<Gids> auto& message) {
  fields("gids", message.gids, {.max_size = kMostGidsOffered});
}

TEST(GidsOnTheWire, ComeAsTheyWereOrAreRefused) {
  const std::vector<Gid> sent = {of(3, "::ffff:10.0.0.1", GidType::roce_v2, 24)};
  const nlohmann::ordered_json message = make_message("", Gids{sent});
  const std::vector<Gid> come = read_message<Gids>(message).gids;
  ASSERT_EQ(come.size(), 1U);
  EXPECT_EQ(come[0].index, 3U);
  EXPECT_EQ(gid_text(come[0].value), "::ffff:10.0.0.1");
  EXPECT_EQ(come[0].type, GidType::roce_v2);
  EXPECT_EQ(come[0].subnet_bits, 24);
  for (const auto& [key, value] :
       {std::pair<const char*, nlohmann::ordered_json>{"gid", "10.0.0.1"},
        {"gid_type", "roce_v3"},
        {"index", 256},
        {"subnet_bits", 129}}) {
    nlohmann::ordered_json wrong = message;
    wrong["gids"][0][key] = value;
    EXPECT_THROW(read_message<Gids>(wrong), MeasurementError) << key;
  }
  nlohmann::ordered_json many = message;
  while (many["gids"].size() <= kMostGidsOffered) many["gids"].push_back(many["gids"][0]);
  EXPECT_THROW(read_message<Gids>(many), MeasurementError);
}

TEST(OneSubnet, HasAMachineAnswerForEachAddressByBothInterfaces) {
  const FakeTree tree;
  const auto on = [](const char* netdev, std::string_view address, std::uint8_t bits = 24) {
    Gid gid = of(1, address, GidType::roce_v2, bits);
    gid.netdev = netdev;
    return gid;
  };
  const auto answers = [&](const Gid& a, const Gid& b) {
    EXPECT_EQ(answers_for_each_other(a, b, tree.root()), answers_for_each_other(b, a, tree.root()));
    return answers_for_each_other(a, b, tree.root());
  };
  const Gid one = on("eth0", "::ffff:10.9.0.1"), other = on("eth1", "::ffff:10.9.0.2");
  EXPECT_TRUE(answers(one, other));
  EXPECT_FALSE(answers(one, on("eth0", "::ffff:10.9.0.2"))) << "one interface";
  EXPECT_FALSE(answers(one, on("eth1", "::ffff:10.9.1.2"))) << "two subnets";
  EXPECT_FALSE(answers(one, on("", "::ffff:10.9.0.2"))) << "not known";
  EXPECT_FALSE(answers(on("eth0", "fd00::1", 64), on("eth1", "fd00::2", 64)));
  const std::string conf = "sys/net/ipv4/conf/";
  tree.write(conf + "all/arp_ignore", "0\n");
  tree.write(conf + "eth0/arp_ignore", "1\n");
  EXPECT_TRUE(answers(one, other)) << "one of both suffices";
  tree.write(conf + "eth1/arp_ignore", "2\n");
  EXPECT_FALSE(answers(one, other));
  tree.write(conf + "eth1/arp_ignore", "0\n");
  tree.write(conf + "all/arp_ignore", "1\n");
  EXPECT_FALSE(answers(one, other));
}

}  // namespace
}  // namespace rdmameter
