// SPDX-License-Identifier: Apache-2.0
#include "core/server/waiting_connections.h"

#include <gtest/gtest.h>

#include <string>

namespace rdmameter {
namespace {

Connection from(std::string peer) {
  return {Descriptor{}, std::move(peer)};
}

const auto kAll = [](std::string_view) { return true; };

std::string next(WaitingConnections& accepted,
                 const std::function<bool(std::string_view)>& may = kAll) {
  const auto taken = accepted.take(may);
  return taken ? taken->peer : "";
}

TEST(WaitingConnections, GoOnInTheOrderInWhichTheyCame) {
  WaitingConnections accepted;
  for (const char* peer : {"192.0.2.1:1", "192.0.2.2:1", "192.0.2.1:2"}) accepted.add(from(peer));
  EXPECT_EQ(next(accepted), "192.0.2.1:1");
  EXPECT_EQ(next(accepted), "192.0.2.2:1");
  EXPECT_EQ(next(accepted), "192.0.2.1:2");
  EXPECT_TRUE(accepted.empty());
  EXPECT_EQ(next(accepted), "");
}

TEST(WaitingConnections, OneWhoseAddressHasToWaitKeepsNobodyElseWaiting) {
  WaitingConnections accepted;
  for (const char* peer : {"192.0.2.1:1", "192.0.2.1:2", "192.0.2.2:1"}) accepted.add(from(peer));
  const auto others = [](std::string_view source) { return source != "192.0.2.1"; };
  EXPECT_EQ(next(accepted, others), "192.0.2.2:1");
  EXPECT_EQ(next(accepted, others), "");
  EXPECT_TRUE(accepted.any_of("192.0.2.1"));
  EXPECT_FALSE(accepted.any_of("192.0.2.2"));
}

TEST(WaitingConnections, AFloodFromOneAddressReplacesItsOwnConnectionsAndNobodyElses) {
  WaitingConnections accepted;
  accepted.add(from("192.0.2.2:1"));
  accepted.add(from("[2001:db8::1]:1"));
  const std::size_t flood = 3 * WaitingConnections::kMax;
  for (std::size_t i = 1; i <= flood; ++i) accepted.add(from("192.0.2.1:" + std::to_string(i)));
  EXPECT_EQ(next(accepted), "192.0.2.2:1");
  EXPECT_EQ(next(accepted), "[2001:db8::1]:1");
  for (std::size_t i = flood - (WaitingConnections::kMax - 2) + 1; i <= flood; ++i)
    EXPECT_EQ(next(accepted), "192.0.2.1:" + std::to_string(i));
  EXPECT_TRUE(accepted.empty());
}

}  // namespace
}  // namespace rdmameter
