// SPDX-License-Identifier: Apache-2.0
#include "core/log/log_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/ip_address.h"

namespace rdmameter {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const LogLimit::Clock::time_point kBegin{1000s};

std::uint32_t admitted(LogLimit& limit, std::string_view source, std::uint32_t lines) {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < lines; ++i) count += limit.admits(source, kBegin) ? 1 : 0;
  return count;
}

TEST(LogLimit, OfOneSourceCountsWhatItDropsAndSaysSoWhenTheSecondIsOver) {
  LogLimit limit;
  EXPECT_EQ(limit.due(), std::nullopt);
  EXPECT_EQ(admitted(limit, "192.0.2.7", LogLimit::kLinesOfSource + 231), LogLimit::kLinesOfSource);
  EXPECT_EQ(admitted(limit, "192.0.2.8", 3), 3U);
  EXPECT_EQ(limit.due(), kBegin + 1s);
  EXPECT_THAT(limit.notes(kBegin + 999ms), IsEmpty());
  EXPECT_THAT(limit.notes(kBegin + 1s),
              ElementsAre(StartsWith("231 lines from 192.0.2.7 dropped")));
  EXPECT_EQ(limit.due(), std::nullopt);
  EXPECT_TRUE(limit.admits("192.0.2.7", kBegin + 1s));
}

TEST(LogLimit, OfManySourcesAdmitsNoMoreThanAllMayHave) {
  LogLimit limit;
  std::uint32_t count = 0;
  for (int source = 0; source < 100'000; ++source)
    count += limit.admits(std::to_string(source), kBegin) ? 1 : 0;
  EXPECT_EQ(count, LogLimit::kLines);
  const auto notes = limit.notes(kBegin + 1s);
  ASSERT_EQ(notes.size(), LogLimit::kNotes + 1);
  const std::uint64_t named = LogLimit::kNotes;  // a line of each
  EXPECT_THAT(notes.back(), StartsWith(std::to_string(100'000 - LogLimit::kLines - named) +
                                       " lines from other addresses dropped"));
}

TEST(LogLimit, OfASessionThatFloodsTheLogHidesNothingThatTheServerSays) {
  LogLimit limit;
  for (std::uint32_t i = 0; i < LogLimit::kLines; ++i)
    for (const auto* source : {"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5"})
      limit.admits(source, kBegin, Speaker::client);
  EXPECT_FALSE(limit.admits("192.0.2.1", kBegin));
  EXPECT_TRUE(limit.admits("192.0.2.1", kBegin, Speaker::server));
  EXPECT_TRUE(limit.admits("192.0.2.9", kBegin, Speaker::server));
}

TEST(LogLimit, NamesTheWorstFirst) {
  LogLimit limit;
  admitted(limit, "192.0.2.1", LogLimit::kLinesOfSource + 1);
  admitted(limit, "192.0.2.2", LogLimit::kLinesOfSource + 2);
  EXPECT_THAT(limit.last_notes(), ElementsAre(StartsWith("2 lines from 192.0.2.2 dropped"),
                                              StartsWith("1 line from 192.0.2.1 dropped")));
}

TEST(SourceOf, IsTheAddressWithoutThePort) {
  EXPECT_EQ(source_of("192.0.2.1:4711"), "192.0.2.1");
  EXPECT_EQ(source_of("[2001:db8::1]:4711"), "[2001:db8::1]");
  EXPECT_EQ(source_of("a vanished peer"), "a vanished peer");
  EXPECT_EQ(source_of(""), "");
}

}  // namespace
}  // namespace rdmameter
