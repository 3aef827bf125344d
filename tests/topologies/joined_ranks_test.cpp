// SPDX-License-Identifier: Apache-2.0
// Ranks that find each other, as threads of this process, and exchange messages over TCP: what
// goes over their links, and what they say of one that cannot be reached.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <latch>
#include <thread>

#include "core/base/error.h"
#include "core/base/kernel_files.h"
#include "core/wire/channel.h"
#include "tests/topologies/fake_pmix.h"
#include "topologies/ranks/bootstrap/open_links.h"
#include "topologies/ranks/bootstrap/pmix_job.h"
#include "topologies/ranks/bootstrap/ranks.h"

namespace {

thread_local std::uint64_t sent_frames = 0, sent_bytes = 0;

/// Of frames as RankLinks has them: 4 bytes of length, and so many that are sealed. One by which a
/// rank says that it waits does not count: how many there are is a matter of time. It is a byte, 17
/// of the seal, and if it is the first one the 24 of the seal's header.
void count_frames(std::string_view frames) {
  constexpr std::size_t kHead = 4, kWaiting = kHead + 1 + 17 + 24;
  while (frames.size() >= kHead) {
    std::size_t length = kHead;
    for (std::size_t i = 0; i < 4; ++i)
      length += static_cast<std::size_t>(static_cast<unsigned char>(frames[i])) << (24 - 8 * i);
    if (length > kWaiting) {
      ++sent_frames;
      sent_bytes += length;
    }
    frames.remove_prefix(std::min(length, frames.size()));
  }
}

}  // namespace

/// In place of libc's: what a thread sends, it counts.
extern "C" ssize_t send(int socket, const void* data, size_t size, int flags) {
  const ssize_t sent = sendto(socket, data, size, flags, nullptr, 0);
  if (sent > 0) count_frames({static_cast<const char*>(data), static_cast<std::size_t>(sent)});
  return sent;
}

namespace rdmameter {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr std::chrono::seconds kPatience{60};

struct Sent {
  std::uint64_t frames, bytes;
  bool operator==(const Sent&) const = default;
};

void PrintTo(const Sent& sent, std::ostream* out) {
  *out << sent.frames << " frames, " << sent.bytes << " bytes";
}

/// What ranks say to each other in a row: addresses with their neighbours, then what they have
/// measured, and what is next.
void talk_as_in_a_row(Ranks& ranks) {
  const Rank me = ranks.rank(), n = ranks.size();
  std::map<Rank, std::string> addresses;
  for (const Rank to : {(me + 1) % n, (me + n - 1) % n}) addresses[to] = std::string(300 + me, 'a');
  EXPECT_EQ(ranks.exchange(addresses).size(), addresses.size());
  ranks.gather(std::string(1000 + me, 'g'));
  ranks.reduce(std::string(200, 'r'),
               [](const std::string& one, const std::string&) { return one; });
  ranks.broadcast(std::string(50, 'b'));
}

/// @return  by rank and row
std::vector<std::vector<Sent>> sent_in_rows(Rank n, int rows) {
  fake_pmix::begin(n, n);
  std::vector<std::vector<Sent>> sent(n);
  std::latch joined(n);
  std::uint64_t calls = 0;
  std::vector<std::jthread> threads;
  for (Rank rank = 0; rank < n; ++rank)
    threads.emplace_back([&, rank] {
      const InterruptSource calm;
      fake_pmix::be(rank);
      const std::unique_ptr<Ranks> ranks = join_ranks({.patience = kPatience}, calm);
      joined.arrive_and_wait();
      if (rank == 0) calls = fake_pmix::calls();
      for (int row = 0; row < rows; ++row) {
        const Sent before{sent_frames, sent_bytes};
        talk_as_in_a_row(*ranks);
        sent[rank].push_back({sent_frames - before.frames, sent_bytes - before.bytes});
      }
    });
  threads.clear();
  EXPECT_EQ(fake_pmix::calls(), calls) << "once ranks are connected, PMIx is asked for nothing";
  return sent;
}

TEST(JoinedRanks, SendAsMuchInEachOfManyRows) {
  for (const Rank n : {2U, 4U, 7U})
    for (const std::vector<Sent>& rows : sent_in_rows(n, 100)) {
      ASSERT_EQ(rows.size(), 100U);
      EXPECT_GT(rows.front().bytes, 350U);
      EXPECT_THAT(rows, Each(rows.front()));
    }
}

/// Of rank 0 that cannot connect with rank 1, which another machine has.
std::string why_not_reached(const std::string& addresses) {
  fake_pmix::begin(2, 1);
  fake_pmix::be(0);
  fake_pmix::put_card(1, R"({"host": "far", "secret": ")" + std::string(64, 's') +
                             R"(", "port": 1, "addresses": [)" + addresses + "]}");
  const InterruptSource calm;
  constexpr std::chrono::milliseconds kShort{50};
  PmixJob job(kShort, calm);
  try {
    open_links(job, {.patience = kShort, .interface = "lo"}, calm);
  } catch (const MeasurementError& error) {
    return error.what();
  }
  return "it was reached";
}

TEST(JoinedRanks, NameOneThatCannotBeReachedWithEachOfItsAddressesAndWhatToDo) {
  const auto refused = [](const std::string& address) {
    return "no server is listening on " + address +
           ":1 (Connection refused): has that rank ended, or another machine this address? ";
  };
  EXPECT_EQ(why_not_reached(R"("127.0.0.2", "127.0.0.3")"),
            "rank 1 on far cannot be reached by TCP from " + own_host_name().value_or("") +
                ", which ranks need to exchange addresses: " + refused("127.0.0.2") +
                refused("127.0.0.3") + "Name the network that leads there: --bootstrap-if");
  // This machine has that one, too, so that it does not lead to another.
  EXPECT_THAT(why_not_reached(R"("127.0.0.1")"), HasSubstr("addresses: it has no address. Name"));
  const std::string longest = "2001:db8:1234:5678:9abc:def0:1234:5678";
  EXPECT_THAT(why_not_reached('"' + longest + '"'), HasSubstr("[" + longest + "]:1"));
}

/// A card as a rank publishes it.
std::string card_of(const std::string& secret, std::uint16_t port) {
  return fmt::format(R"({{"host": "far", "secret": "{}", "port": {}, "addresses": ["127.0.0.9"]}})",
                     secret, port);
}

TEST(JoinedRanks, QuoteWhatAnUnprovedEndSaysInARanksPlace) {
  const InterruptSource calm;
  Listener imposter({"127.0.0.9", 0});
  fake_pmix::begin(2, 1);
  fake_pmix::be(0);
  fake_pmix::put_card(1, card_of(std::string(64, 's'), imposter.port()));
  std::jthread answer([&] {
    auto connection = imposter.accept(Deadline::in(std::chrono::seconds(10)), calm);
    ASSERT_TRUE(connection);
    Channel channel(std::move(*connection), calm);
    channel.receive(Deadline::in(std::chrono::seconds(10)));
    channel.send({{"nonce", nullptr}, {"proof", nullptr}, {"over", "rank 7 on node9 has died"}},
                 Deadline::in(std::chrono::seconds(10)));
  });
  PmixJob job(kPatience, calm);
  try {
    open_links(job, {.patience = kPatience, .interface = "lo"}, calm);
    FAIL();
  } catch (const MeasurementError& error) {
    EXPECT_STREQ(error.what(),
                 "what answers for rank 1 on far ended the run before it proved that it is a rank "
                 "of this job: \"rank 7 on node9 has died\"");
  }
}

/// The ports on which this process listens on 127.0.0.1.
std::vector<std::uint16_t> listening_ports() {
  std::vector<std::uint16_t> ports;
  for (int fd = 3; fd < 1024; ++fd) {
    int listens = 0;
    socklen_t bytes = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0 || listens == 0) continue;
    sockaddr_in own{};
    bytes = sizeof own;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &bytes) == 0 &&
        own.sin_family == AF_INET)
      ports.push_back(ntohs(own.sin_port));
  }
  return ports;
}

/// Begins to connect, and says nothing.
Descriptor silent_connection(const std::string& source, std::uint16_t port) {
  Descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  sockaddr_in from{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
  inet_pton(AF_INET, source.c_str(), &from.sin_addr);
  sockaddr_in to{.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {}, .sin_zero = {}};
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(bind(socket.get(), reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
  const int connected = ::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof to);
  EXPECT_TRUE(connected == 0 || errno == EINPROGRESS);
  return socket;
}

// As many as fill the places of a waiting room three times, at a rank that waits for the last one.
// Each took two seconds once. How long it takes is measured in tests/device/topo_trouble_test.py,
// by a clock that this machine's load does not move.
TEST(JoinedRanks, AreNotStoppedByTwoHundredSilentConnectionsOfSixAddresses) {
  constexpr Rank kRanks = 8;
  fake_pmix::begin(kRanks, kRanks);
  std::vector<std::jthread> ranks;
  std::vector<Deadline::Clock::time_point> joined(kRanks);
  std::latch all_have_joined(kRanks);
  const auto join = [&](Rank rank) {
    const InterruptSource calm;
    fake_pmix::be(rank);
    const std::unique_ptr<Ranks> one = join_ranks({.patience = kPatience}, calm);
    joined[rank] = Deadline::Clock::now();
    all_have_joined.arrive_and_wait();
  };
  for (Rank rank = 0; rank + 1 < kRanks; ++rank) ranks.emplace_back(join, rank);
  // Each listens before it publishes; the last one is awaited by all.
  std::vector<std::uint16_t> ports;
  while ((ports = listening_ports()).size() + 1 < kRanks)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::vector<Descriptor> silent;
  for (int i = 0; i < 200; ++i)
    silent.push_back(silent_connection(fmt::format("127.0.0.{}", 2 + i % 6), ports.front()));
  const auto begun = Deadline::Clock::now();
  ranks.emplace_back(join, kRanks - 1);
  ranks.clear();
  for (Rank rank = 0; rank < kRanks; ++rank)
    EXPECT_LT(joined[rank] - begun, std::chrono::seconds(20)) << rank;
}

}  // namespace
}  // namespace rdmameter
