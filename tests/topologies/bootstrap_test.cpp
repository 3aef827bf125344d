// SPDX-License-Identifier: Apache-2.0
// What ranks exchange over TCP, as far as it takes no launcher.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <future>

#include "core/base/error.h"
#include "core/wire/wait.h"
#include "topologies/ranks/bootstrap/pmix_job.h"
#include "topologies/ranks/bootstrap/rank_links.h"
#include "topologies/ranks/bootstrap/ranks.h"

namespace rdmameter {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

TEST(RankMessages, SurviveThereAndBack) {
  const std::vector<RankMessage> messages = {
      {.from = 0, .to = 2, .text = std::string("a\0b\xff", 4)},
      {.from = 2, .to = 1, .text = ""},
      {.from = 1, .to = 0, .text = std::string(100'000, 'x')}};
  EXPECT_EQ(unpack(pack(messages), 3), messages);
  EXPECT_TRUE(unpack(pack({}), 3).empty());
}

TEST(RankMessages, ThatAreCutOffOrOfUnknownRanksAreRefused) {
  const std::string packed = pack({{.from = 1, .to = 2, .text = "text"}});
  for (std::size_t bytes = 1; bytes < packed.size(); ++bytes)
    EXPECT_THROW(unpack(packed.substr(0, bytes), 3), MeasurementError) << bytes;
  EXPECT_THROW(unpack(packed, 2), MeasurementError);
  EXPECT_THROW(unpack(packed + "more", 3), MeasurementError);
}

TEST(OwnAddresses, OfLoopbackAreTakenOnlyWhereItIsNamed) {
  EXPECT_THAT(own_addresses("lo"), Contains("127.0.0.1"));
  EXPECT_THAT(own_addresses(""), testing::Not(Contains("127.0.0.1")));
}

TEST(OwnAddresses, OfAnUnknownInterfaceAreAnErrorThatNamesTheOthers) {
  try {
    own_addresses("nowhere0");
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_THAT(
        error.what(),
        AllOf(HasSubstr("--bootstrap-if nowhere0: there is no such interface"), HasSubstr("lo")));
  }
}

std::array<Descriptor, 2> connected_sockets() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0)
    ADD_FAILURE() << "socketpair";
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

OpenedLinks links_with(const std::string& name, Descriptor ahead, Descriptor behind) {
  OpenedLinks links;
  links.ahead.push_back({name, std::move(ahead), SealKeys{}});
  links.behind.push_back({name, std::move(behind), SealKeys{}});
  return links;
}

/// Of a wait for a message from the rank ahead that ends otherwise.
std::string why_nothing_came(RankLinks& links) {
  try {
    return "received: " + links.receive_from_ahead(0);
  } catch (const MeasurementError& error) {
    return error.what();
  }
}

/// The one ahead of the other, and behind it.
struct TwoRanks {
  explicit TwoRanks(std::chrono::milliseconds patience,
                    std::array<Descriptor, 2> there = connected_sockets(),
                    std::array<Descriptor, 2> back = connected_sockets())
      : first(links_with("rank 1", std::move(there[0]), std::move(back[1])), patience, calm),
        second(links_with("rank 0", std::move(back[0]), std::move(there[1])), patience, calm) {}
  const InterruptSource calm;
  RankLinks first, second;
};

// Each hears that the other one waits, so neither is silent. The shortest patience that
// --patience takes.
TEST(RankLinks, RanksThatWaitForEachOtherEndAfterThreePatiences) {
  constexpr std::chrono::seconds kPatience{1};
  TwoRanks ranks(kPatience);
  const auto begun = std::chrono::steady_clock::now();
  auto seconds = std::async(std::launch::async, [&] { return why_nothing_came(ranks.second); });
  // Whichever ends first tells the other one.
  const auto ended = testing::MatchesRegex(
      "no progress for [0-9]+ s, though rank [01] answers; the run ends on all ranks");
  EXPECT_THAT(why_nothing_came(ranks.first), ended);
  EXPECT_THAT(seconds.get(), ended);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, 3 * kPatience);
}

TEST(RankLinks, WaitLongerForThoseThatMeasure) {
  constexpr std::chrono::milliseconds kPatience{200};
  TwoRanks ranks(kPatience);
  ranks.first.let_others_measure(true);
  auto result = std::async(std::launch::async, [&] { return why_nothing_came(ranks.first); });
  std::this_thread::sleep_for(4 * kPatience);
  ranks.second.send_behind(0, "done");
  EXPECT_EQ(result.get(), "received: done");
}

TEST(RankLinks, AreSealedAndAChangedByteEndsTheRun) {
  constexpr std::chrono::seconds kPatience{20};
  const InterruptSource calm;
  auto [first_ahead, to_first] = connected_sockets();
  auto [first_behind, other] = connected_sockets();
  RankLinks first(links_with("rank 1", std::move(first_ahead), std::move(first_behind)), kPatience,
                  calm);
  const std::string secret = "0xdeadbeef, an rkey";
  first.send_ahead(0, secret);
  std::array<char, 4096> wire{};
  const ssize_t got = recv(to_first.get(), wire.data(), wire.size(), 0);
  ASSERT_GT(got, static_cast<ssize_t>(secret.size()));
  EXPECT_EQ(std::string_view(wire.data(), static_cast<std::size_t>(got)).find(secret),
            std::string_view::npos);

  Sealer sealer{SealKey{}};
  std::string sealed = sealer.seal("m" + secret, false);
  sealed.back() ^= 1;
  const std::string frame = std::string(3, '\0') + static_cast<char>(sealed.size()) + sealed;
  ASSERT_EQ(send(to_first.get(), frame.data(), frame.size(), 0),
            static_cast<ssize_t>(frame.size()));
  EXPECT_THAT(why_nothing_came(first), HasSubstr("what came is not what rank 1 sent"));
}

TEST(RankLinks, HearOfARankThatGaveUpBeforeItHadItsLinks) {
  constexpr std::chrono::seconds kPatience{20};
  const InterruptSource calm;
  auto [first_ahead, to_first] = connected_sockets();
  auto [first_behind, other] = connected_sockets();
  RankLinks first(links_with("rank 1", std::move(first_ahead), std::move(first_behind)), kPatience,
                  calm);
  const std::string frame = frame_that_it_is_over(SealKeys{}, "no answer from rank 2");
  ASSERT_EQ(send(to_first.get(), frame.data(), frame.size(), 0),
            static_cast<ssize_t>(frame.size()));
  EXPECT_EQ(why_nothing_came(first), "no answer from rank 2");
}

}  // namespace
}  // namespace rdmameter
