// SPDX-License-Identifier: Apache-2.0
// The best rate of any stretch, against a look at all pairs of a post and a completion.
#include "core/engine/account/peak.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/test_case/peak_times.h"

namespace rdmameter {
namespace {

double rate(const Stretch& stretch) {
  return static_cast<double>(stretch.messages) / static_cast<double>(stretch.ticks);
}

double best_of_all_pairs(const std::vector<Moment>& posts, const std::vector<Moment>& completions) {
  double best = 0;
  for (const Moment& post : posts)
    for (const Moment& completion : completions)
      if (post.messages < completion.messages && post.time < completion.time)
        best = std::max(best,
                        rate({completion.messages - post.messages, completion.time - post.time}));
  return best;
}

TEST(BestStretch, IsThatOfAllPairs) {
  std::mt19937_64 random{7};
  const auto draw = [&](std::uint64_t most) { return random() % (most + 1); };
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t post_list = 1 + draw(7), signal_every = 1 + draw(7), depth = 16 + draw(40);
    const std::uint64_t most_gap = draw(1) == 0 ? 3 : 1000;
    std::vector<Moment> posts, completions;
    std::uint64_t now = 1, posted = 0, completed = 0;
    while (completed < 200) {
      while (posted + post_list <= completed + depth) {
        posts.push_back({now, posted});
        posted += post_list;
        now += draw(most_gap);
      }
      now += 1 + draw(most_gap);
      for (std::uint64_t batch = 1 + draw(3); batch != 0 && completed + signal_every <= posted;
           --batch)
        completions.push_back({now, completed += signal_every});
    }
    const Stretch found = best_stretch(posts, completions);
    ASSERT_NE(found.messages, 0U);
    EXPECT_NEAR(rate(found) / best_of_all_pairs(posts, completions), 1, 1e-12) << round;
  }
}

TEST(BestStretch, OfOneMessageIsThatMessage) {
  const Stretch found = best_stretch(std::vector<Moment>{{100, 0}}, std::vector<Moment>{{350, 1}});
  EXPECT_EQ(found.messages, 1U);
  EXPECT_EQ(found.ticks, 250U);
}

TEST(BestStretch, IsNothingWithoutACompletion) {
  EXPECT_EQ(best_stretch(std::vector<Moment>{{100, 0}}, {}).messages, 0U);
  EXPECT_EQ(best_stretch(std::vector<Moment>{{100, 0}}, std::vector<Moment>{{100, 1}}).messages,
            0U);
}

TEST(BestStretch, IsNotSlowedByAPauseInTheMiddle) {
  std::vector<Moment> posts, completions;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::uint64_t time = 10 * i + (i < 60 ? 0 : 5000);
    posts.push_back({time, i});
    completions.push_back({time + 10, i + 1});
  }
  const Stretch found = best_stretch(posts, completions);
  EXPECT_NEAR(rate(found), 0.1, 1e-9);
  EXPECT_LE(found.messages, 60U);
}

}  // namespace
}  // namespace rdmameter
