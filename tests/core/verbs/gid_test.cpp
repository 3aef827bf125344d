// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/gid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/base/error.h"

namespace rdmameter {
namespace {

using ::testing::HasSubstr;

Gid gid(std::uint32_t index, std::string_view text, GidType type) {
  return {.index = index, .value = gid_from_text(text).value(), .type = type, .netdev = "eth0"};
}

/// A RoCE port as mlx5 shows it: each address as v1 and as v2, the link-local one first.
const std::vector<Gid> kRoceGids = {
    gid(0, "fe80::1", GidType::roce_v1),         gid(1, "fe80::1", GidType::roce_v2),
    gid(2, "::ffff:10.9.0.1", GidType::roce_v1), gid(3, "::ffff:10.9.0.1", GidType::roce_v2),
    gid(4, "fd00:9::1", GidType::roce_v1),       gid(5, "fd00:9::1", GidType::roce_v2),
    gid(6, "::ffff:10.9.0.7", GidType::roce_v2)};

std::uint32_t chosen_of(std::vector<std::uint32_t> indices) {
  std::vector<Gid> some;
  for (const std::uint32_t index : indices) some.push_back(kRoceGids[index]);
  return choose_gid(some, IBV_LINK_LAYER_ETHERNET, kAuto, "mlx5_0/1").index;
}

template <class Error, class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(GidText, GoesBothWays) {
  for (const char* text : {"fe80::1", "::ffff:10.9.0.1", "fd00:9::1", "::"})
    EXPECT_EQ(gid_text(gid_from_text(text).value()), text);
  EXPECT_FALSE(gid_from_text("10.9.0.1").has_value());
  EXPECT_FALSE(gid_from_text("fe80::1%eth0").has_value());
  EXPECT_FALSE(gid_from_text("").has_value());
}

TEST(GidType, NamesGoBothWays) {
  for (const GidType type : {GidType::ib, GidType::roce_v1, GidType::roce_v2})
    EXPECT_EQ(gid_type_from_name(gid_type_name(type)), type);
  EXPECT_FALSE(gid_type_from_name("RoCE v2").has_value());
}

TEST(Gid, KnowsIpv4MappedAndLinkLocal) {
  EXPECT_TRUE(is_ipv4_mapped(*gid_from_text("::ffff:10.9.0.1")));
  EXPECT_FALSE(is_ipv4_mapped(*gid_from_text("::10.9.0.1")));
  EXPECT_TRUE(is_link_local(*gid_from_text("fe80::1")));
  EXPECT_TRUE(is_link_local(*gid_from_text("febf::1")));
  EXPECT_FALSE(is_link_local(*gid_from_text("fec0::1")));
}

TEST(ChooseGid, PrefersRoceV2ThenIpv4ThenWhatRoutersPass) {
  EXPECT_EQ(chosen_of({0, 1, 2, 3, 4, 5, 6}), 3U);
  EXPECT_EQ(chosen_of({6, 3}), 3U);  // the lowest index of equals
  EXPECT_EQ(chosen_of({0, 1, 2, 4, 5}), 5U);
  EXPECT_EQ(chosen_of({0, 1, 2, 4}), 1U);  // v2, be it link-local, before any v1
  EXPECT_EQ(chosen_of({0, 2, 4}), 2U);
  EXPECT_EQ(chosen_of({0, 4}), 4U);
  EXPECT_EQ(chosen_of({0}), 0U);
}

TEST(ChooseGid, TakesIndexZeroOnInfiniband) {
  const std::vector<Gid> gids = {gid(0, "fe80::2:c903:1:2", GidType::ib),
                                 gid(1, "fd00::2", GidType::ib)};
  EXPECT_EQ(choose_gid(gids, IBV_LINK_LAYER_INFINIBAND, kAuto, "mlx5_0/1").index, 0U);
  EXPECT_EQ(choose_gid(gids, IBV_LINK_LAYER_INFINIBAND, 1, "mlx5_0/1").index, 1U);
}

TEST(ChooseGid, TakesWhatIsAskedFor) {
  EXPECT_EQ(choose_gid(kRoceGids, IBV_LINK_LAYER_ETHERNET, 4, "mlx5_0/1").index, 4U);
}

TEST(ChooseGid, NamesWhatExistsWhenTheIndexDoesNot) {
  const auto ask_for_9 = [] { choose_gid(kRoceGids, IBV_LINK_LAYER_ETHERNET, 9, "mlx5_0/1"); };
  const std::string text = error_of<UsageError>(ask_for_9);
  EXPECT_THAT(text, HasSubstr("--gid-index 9: mlx5_0/1 has no such GID"));
  EXPECT_THAT(text, HasSubstr("3 (RoCE v2, ::ffff:10.9.0.1)"));
}

TEST(ChooseGid, SaysWhatIsMissingWhenThereIsNone) {
  const auto on = [](int link_layer) {
    return error_of<UnusableDevice>([=] { choose_gid({}, link_layer, kAuto, "mlx5_0/1"); });
  };
  EXPECT_THAT(on(IBV_LINK_LAYER_ETHERNET), HasSubstr("an address"));
  EXPECT_THAT(on(IBV_LINK_LAYER_INFINIBAND), HasSubstr("subnet manager"));
}

TEST(GidMatch, RefusesDifferentTypes) {
  EXPECT_EQ(check_gid_match(kRoceGids[3], kRoceGids[2]),
            "The peer's GID is RoCE v1 and ours RoCE v2: choose --gid-index on either end.");
}

TEST(GidMatch, RefusesDifferentAddressFamiliesOfV2) {
  EXPECT_THAT(check_gid_match(kRoceGids[3], kRoceGids[5]),
              HasSubstr("is an IPv6 address and ours ::ffff:10.9.0.1 an IPv4"));
}

TEST(GidMatch, PassesWhatCanTalk) {
  EXPECT_EQ(check_gid_match(kRoceGids[3], kRoceGids[6]), "");
  EXPECT_EQ(check_gid_match(kRoceGids[1], kRoceGids[5]), "");
  EXPECT_EQ(check_gid_match(kRoceGids[2], kRoceGids[4]), "");  // v1 carries the GID itself, not IP
}

}  // namespace
}  // namespace rdmameter
