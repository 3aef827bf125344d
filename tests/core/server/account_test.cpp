// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/base/error.h"
#include "core/server/server_host.h"

namespace rdmameter {
namespace {

using ::testing::HasSubstr;

template <class Error>
std::string refusal(Account& account, const CaseNeeds& needs) {
  try {
    account.take(needs);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Account, GivesWhatThereIsAndTakesItBack) {
  Account account{{.memory_bytes = 1000, .threads = 8}};
  account.take({1000, 4});
  account.take({0, 4});
  account.give_back({1000, 4});
  account.take({999, 4});
  EXPECT_THAT(refusal<MeasurementError>(account, {2, 0}), HasSubstr("of other clients"));
  account.take({1, 0});
}

TEST(Account, ACaseThatWouldNeverFitIsUnsupportedAndTheTextNamesTheOptionsOfBothEnds) {
  Account account{{.memory_bytes = 1 << 20, .threads = 8}};
  const std::string memory = refusal<Unsupported>(account, {(1 << 20) + 1, 1});
  EXPECT_THAT(memory, HasSubstr("--size"));
  EXPECT_THAT(memory, HasSubstr("--max-memory"));
  const std::string threads = refusal<Unsupported>(account, {1, 9});
  EXPECT_THAT(threads, HasSubstr("9 threads, while the server gives its clients 8"));
  EXPECT_THAT(threads, HasSubstr("--threads"));
  EXPECT_THAT(threads, HasSubstr("--max-threads"));
}

TEST(Account, ACaseThatFitsOnlyWhenOthersHaveGoneFailsAndTakesNothing) {
  Account account{{.memory_bytes = 1000, .threads = 8}};
  account.take({100, 6});
  EXPECT_THAT(refusal<MeasurementError>(account, {100, 3}),
              HasSubstr("3 threads beside the 6 of other clients, while the server gives 8"));
  account.take({900, 2});
}

TEST(Account, ItsSumsDoNotWrap) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  Account account{{.memory_bytes = kMost, .threads = kMost}};
  account.take({kMost, 1});
  EXPECT_NE(refusal<MeasurementError>(account, {1, 0}), "");
  EXPECT_NE(refusal<MeasurementError>(account, {0, kMost}), "");
}

}  // namespace
}  // namespace rdmameter
