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

std::string why_not_followed(const std::string& address, const std::vector<std::string>& known) {
  ReadyLine line = kReady;
  line.address.host = address;
  try {
    require_address_of(line, "node7", known);
  } catch (const MeasurementError& error) {
    return error.what();
  }
  return {};
}

TEST(ReadyLine, IsFollowedToANumericAddressOfThatHostAlone) {
  const std::vector<std::string> known{"192.0.2.7", "2001:db8::7", "fe80::7%eth0"};
  for (const char* address : {"192.0.2.7", "2001:db8::7", "2001:db8:0::7", "fe80::7%ib1"})
    EXPECT_EQ(why_not_followed(address, known), "") << address;
  for (const char* address : {"192.0.2.8", "127.0.0.1", "::1", "2001:db8::8"})
    EXPECT_THAT(why_not_followed(address, known),
                AllOf(HasSubstr("node7 says that its server listens on `"), HasSubstr(address),
                      HasSubstr("here that name has 192.0.2.7, 2001:db8::7")));
  for (const char* address : {"localhost", "node7", "evil.example", "192.0.2.7 ", "239.1.1.1"})
    EXPECT_THAT(why_not_followed(address, known), HasSubstr("that is no address of a host"))
        << address;
}

TEST(ReadyLine, OfAHostThatSshAloneKnowsLeadsToNothingOnThisMachine) {
  EXPECT_EQ(why_not_followed("192.0.2.7", {}), "");
  EXPECT_EQ(why_not_followed("2001:db8::7", {}), "");
  for (const char* address : {"127.0.0.1", "127.0.0.9", "::1", "fe80::1", "fe80::1%eth0"})
    EXPECT_THAT(why_not_followed(address, {}), HasSubstr("this machine")) << address;
  EXPECT_THAT(why_not_followed("node7", {}), HasSubstr("that is no address of a host"));
}

}  // namespace
}  // namespace rdmameter
