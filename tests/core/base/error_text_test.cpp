// SPDX-License-Identifier: Apache-2.0
#include "core/base/error_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "core/base/error.h"

namespace rdmameter {
namespace {

/// What is told of what `fail` throws.
std::string told(void (*fail)()) {
  try {
    fail();
  } catch (const std::exception& error) {
    return error_text(error);
  }
  return "nothing was thrown";
}

TEST(ErrorText, SaysWhatTheJsonLibraryMissesWithoutItsNumbers) {
  EXPECT_EQ(told([] { nlohmann::json("text").get<int>(); }),
            "a value in JSON is not as it must be: type must be number, but is string");
  EXPECT_EQ(told([] { nlohmann::json::object().at("key"); }),
            "a value in JSON is not as it must be: key 'key' not found");
}

TEST(ErrorText, SaysHowMuchMemoryWasAskedForAndByWhom) {
  set_memory_user("rdmameter report");
  EXPECT_EQ(told([] { throw OutOfMemory((std::size_t{512} << 20) - 5); }),
            "out of memory: 512 MiB were asked for by rdmameter report");
  set_memory_user(std::string(500, 'x'));
  EXPECT_EQ(told([] { throw OutOfMemory(1); }),
            "out of memory: 1 MiB were asked for by " + std::string(60, 'x'));
  EXPECT_EQ(told([] { throw std::bad_alloc(); }), "out of memory");
  EXPECT_EQ(told([] { std::string().reserve(~std::size_t{0}); }),
            "out of memory: more was asked for than there can be");
}

TEST(ErrorText, OfOurOwnErrorsIsTheirText) {
  EXPECT_EQ(told([] { throw UsageError("[text] of ours"); }), "[text] of ours");
}

}  // namespace
}  // namespace rdmameter
