// SPDX-License-Identifier: Apache-2.0
#include "core/wire/waiting_room.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "tests/core/wire/pair.h"

namespace rdmameter {
namespace {

Connection from(std::string peer) {
  return {Descriptor{}, std::move(peer)};
}

/// Who enters next, and leaves at once.
std::string next(WaitingRoom& room) {
  const auto guest = room.enter();
  if (!guest) return "";
  room.leave(guest->place);
  return guest->connection.peer;
}

std::string port(std::size_t number) {
  return ":" + std::to_string(number);
}

/// @return  their places
std::vector<std::uint64_t> fill(WaitingRoom& room, const std::string& source, std::size_t count) {
  std::vector<std::uint64_t> places;
  for (std::size_t i = 0; i < count; ++i) {
    room.add(from(source + port(i)));
    if (const auto guest = room.enter()) places.push_back(guest->place);
  }
  return places;
}

TEST(WaitingRoom, IsEnteredInTheOrderInWhichTheyCame) {
  WaitingRoom room;
  for (const char* peer : {"192.0.2.1:1", "192.0.2.2:1", "192.0.2.1:2"}) room.add(from(peer));
  EXPECT_EQ(next(room), "192.0.2.1:1");
  EXPECT_EQ(next(room), "192.0.2.2:1");
  EXPECT_EQ(next(room), "192.0.2.1:2");
  EXPECT_EQ(next(room), "");
}

TEST(WaitingRoom, OneWhoseAddressHasToWaitKeepsNobodyElseWaiting) {
  WaitingRoom room;
  const auto places = fill(room, "192.0.2.1", WaitingRoom::kMaxPlacesOfSource);
  EXPECT_EQ(places.size(), WaitingRoom::kMaxPlacesOfSource);
  for (const char* peer : {"192.0.2.1:100", "192.0.2.2:1"}) room.add(from(peer));
  EXPECT_EQ(next(room), "192.0.2.2:1");
  EXPECT_EQ(next(room), "");
  room.leave(places.front());
  room.leave(places.front());
  EXPECT_EQ(next(room), "192.0.2.1:100");
}

TEST(WaitingRoom, HasSoManyPlaces) {
  WaitingRoom room;
  std::size_t entered = 0;
  for (std::size_t source = 0; source < 10; ++source)
    entered += fill(room, "192.0.2." + std::to_string(source), 10).size();
  EXPECT_EQ(entered, WaitingRoom::kMaxPlaces);
}

TEST(WaitingRoom, AFloodFromOneAddressReplacesItsOwnConnectionsAndNobodyElses) {
  WaitingRoom room;
  room.add(from("192.0.2.2:1"));
  room.add(from("[2001:db8::1]:1"));
  const std::size_t flood = 3 * WaitingRoom::kMaxWaiting;
  for (std::size_t i = 1; i <= flood; ++i) room.add(from("192.0.2.1" + port(i)));
  EXPECT_EQ(next(room), "192.0.2.2:1");
  EXPECT_EQ(next(room), "[2001:db8::1]:1");
  for (std::size_t i = flood - (WaitingRoom::kMaxWaiting - 2) + 1; i <= flood; ++i)
    EXPECT_EQ(next(room), "192.0.2.1" + port(i));
  EXPECT_EQ(next(room), "");
}

TEST(WaitingRoom, ASilentConnectionGivesWayToOneThatWaitsAndOneThatSpeaksDoesNot) {
  WaitingRoom room;
  auto [silent, silent_end] = socket_pair();
  auto [speaking, speaking_end] = socket_pair();
  room.add({std::move(speaking), "192.0.2.1:1"});
  const auto speaks = room.enter();
  room.spoken(speaks->place);
  room.add({std::move(silent), "192.0.2.1:2"});
  const auto says_nothing = room.enter();
  fill(room, "192.0.2.1", WaitingRoom::kMaxPlacesOfSource - 2);
  EXPECT_TRUE(room.hang_up().is_never()) << "nobody waits";
  room.add(from("192.0.2.1:100"));
  EXPECT_FALSE(room.enter());
  const Deadline first = room.hang_up();
  EXPECT_FALSE(first.is_never());
  EXPECT_LE(first.remaining(), WaitingRoom::kSilenceInCrowd);
  while (!first.passed()) {
  }
  room.hang_up();
  char byte = 0;
  EXPECT_EQ(recv(silent_end.get(), &byte, 1, MSG_DONTWAIT), 0) << "its end";
  EXPECT_LT(recv(speaking_end.get(), &byte, 1, MSG_DONTWAIT), 0);
  EXPECT_EQ(next(room), "192.0.2.1:100");
}

}  // namespace
}  // namespace rdmameter
