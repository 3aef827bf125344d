// SPDX-License-Identifier: Apache-2.0
#include "bench/remote/ready_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/session/protocol.h"

namespace rdmameter {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const ReadyLine kReady{"1.2.3", 7, {"2001:db8::1", 40123}};

TEST(ReadyLine, IsReadAsItWasWritten) {
  const auto line = ReadyLine::parse(kReady.text());
  ASSERT_TRUE(line);
  EXPECT_EQ(line->version, "1.2.3");
  EXPECT_EQ(line->protocol, 7U);
  EXPECT_EQ(line->address.text(), "[2001:db8::1]:40123");
}

TEST(ReadyLine, IsNotWhatALoginShellPrints) {
  for (const char* line : {"", "Welcome!", "{\"port\": 1}", " rdmameter serve: {}"})
    EXPECT_FALSE(ReadyLine::parse(line)) << line;
}

TEST(ReadyLine, MustHaveItsFieldsInTheirRanges) {
  const std::string mark = "rdmameter serve: ";
  for (const char* fields : {"", "{", "[]", "{}", R"({"version":"1","protocol":1,"address":"h"})",
                             R"({"version":"1","protocol":1,"address":"h","port":0})",
                             R"({"version":"1","protocol":1,"address":"h","port":65536})",
                             R"({"version":"1","protocol":-1,"address":"h","port":1})",
                             R"({"version":"1","protocol":1,"address":"","port":1})",
                             R"({"version":"1\n2","protocol":1,"address":"h","port":1})"})
    EXPECT_THROW(ReadyLine::parse(mark + fields), MeasurementError) << fields;
}

TEST(ReadyLine, OfAnotherProtocolIsRefusedWithBothReleasesAndNumbers) {
  ReadyLine line = kReady;
  line.protocol = kProtocolVersion;
  EXPECT_NO_THROW(require_our_protocol(line, "node7"));
  line.protocol = kProtocolVersion + 1;
  try {
    require_our_protocol(line, "node7");
    FAIL();
  } catch (const MeasurementError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("node7"), HasSubstr("1.2.3"), HasSubstr(RDMAMETER_VERSION),
                      HasSubstr(std::to_string(kProtocolVersion)),
                      HasSubstr(std::to_string(kProtocolVersion + 1))));
  }
}

}  // namespace
}  // namespace rdmameter
