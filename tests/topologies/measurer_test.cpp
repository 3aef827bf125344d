// SPDX-License-Identifier: Apache-2.0
// What ranks agree on before they measure; threads stand for the processes.
#include "topologies/ranks/measurer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <numeric>
#include <thread>

namespace rdmameter {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

/// Where the threads say and hear.
struct Room {
  explicit Room(std::size_t ranks) : said(ranks), turn(static_cast<std::ptrdiff_t>(ranks)) {}
  std::vector<std::string> said;
  std::barrier<> turn;
};

class ThreadRank final : public Ranks {
 public:
  ThreadRank(Room& room, std::uint32_t rank)
      : room_(room), rank_(rank), hosts_(room.said.size(), "here") {}

  std::uint32_t rank() const override { return rank_; }
  std::uint32_t size() const override { return static_cast<std::uint32_t>(room_.said.size()); }
  std::uint32_t local_rank() const override { return rank_; }
  std::uint32_t local_size() const override { return size(); }
  const std::vector<std::string>& hosts() const override { return hosts_; }
  std::string reduce(const std::string& message, const Combine& combine) override {
    const std::vector<std::string> all = all_messages(message);
    return rank_ == 0 ? std::accumulate(all.begin() + 1, all.end(), all.front(), combine) : "";
  }
  std::string broadcast(const std::string& message) override { return all_messages(message)[0]; }
  std::map<Rank, std::string> exchange(const std::map<Rank, std::string>&) override { return {}; }
  [[noreturn]] void abort(int) override { std::abort(); }

 private:
  std::vector<std::string> all_messages(const std::string& message) {
    room_.said[rank_] = message;
    room_.turn.arrive_and_wait();
    std::vector<std::string> all = room_.said;
    room_.turn.arrive_and_wait();
    return all;
  }

  Room& room_;
  const std::uint32_t rank_;
  const std::vector<std::string> hosts_;
};

struct Started {
  std::string version, options;
};

/// What each rank says of ranks that were started so.
std::vector<std::string> said_of(const std::vector<Started>& ranks) {
  Room room(ranks.size());
  std::vector<std::string> said(ranks.size());
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank)
    threads.emplace_back([&, rank] {
      ThreadRank mine(room, rank);
      said[rank] = check_same(mine, ranks[rank].version, ranks[rank].options);
    });
  threads.clear();  // joins
  return said;
}

TEST(CheckSame, IsContentWithRanksThatWereStartedAlike) {
  EXPECT_THAT(said_of({{"1.0.0", " topo mesh"}, {"1.0.0", " topo mesh"}, {"1.0.0", " topo mesh"}}),
              Each(IsEmpty()));
}

TEST(CheckSame, TakesCommandLinesOfAnyBytesAndShowsThemPrintable) {
  EXPECT_THAT(said_of({{"1.0.0", " -o a\tb\u202e"}, {"1.0.0", " -o a\tb\u202e"}}), Each(IsEmpty()));
  EXPECT_THAT(said_of({{"1.0.0", " -o a\tb"}, {"1.0.0", " -o a\nb"}}),
              Each(HasSubstr("' -o a?b' and ' -o a?b'")));
}

TEST(CheckSame, NamesTheRankOfAnotherVersionAndBothVersions) {
  EXPECT_THAT(said_of({{"1.0.0", " topo mesh"}, {"1.0.0", " topo mesh"}, {"0.9.1", " topo mesh"}}),
              Each(AllOf(HasSubstr("rank 2 has another version than rank 0: '0.9.1' and '1.0.0'"),
                         HasSubstr("start all ranks with one program and one command line"))));
}

TEST(CheckSame, NamesTheRankOfOtherOptionsAndBothCommandLines) {
  EXPECT_THAT(said_of({{"1.0.0", " topo mesh"}, {"1.0.0", " topo ring"}}),
              Each(HasSubstr("rank 1 has another set of options than rank 0: ' topo ring' and ' "
                             "topo mesh'")));
}

}  // namespace
}  // namespace rdmameter
