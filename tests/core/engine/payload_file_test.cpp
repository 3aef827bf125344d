// SPDX-License-Identifier: Apache-2.0
#include "core/engine/payload_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "tests/core/base/fake_tree.h"

namespace rdmameter {
namespace {

using testing::HasSubstr;

TestCase of_file(const std::string& path) {
  TestCase test_case = default_case(Opcode::send, Pattern::ping_pong);
  set_axis(test_case, *find_axis("payload"), "file:" + path);
  return test_case;
}

struct PayloadFile : ::testing::Test {
  FakeTree tree;
  std::string path(const std::string& name) const { return (tree.root() / name).string(); }
};

TEST_F(PayloadFile, IsReadAsFarAsItGoesOverTheWireAndArrivesThere) {
  const std::string bytes("one\0two\xff", 8);
  tree.write("some", bytes);
  const TestCase test_case = with_payload(of_file(path("some")));
  EXPECT_EQ(test_case.payload_bytes, bytes);
  EXPECT_EQ(case_from_wire(case_to_wire(test_case)).payload_bytes, bytes);
  tree.write("large", std::string(3 * kMaxPayloadFileBytes, 'x'));
  EXPECT_EQ(with_payload(of_file(path("large"))).payload_bytes.size(), kMaxPayloadFileBytes);
}

TEST_F(PayloadFile, ThatIsNotThereOrEmptyIsNamed) {
  tree.write("empty", "");
  EXPECT_THROW(with_payload(of_file(path("none"))), VerbsError);
  try {
    with_payload(of_file(path("empty")));
    FAIL() << "it was taken";
  } catch (const Unsupported& error) {
    EXPECT_THAT(error.what(), HasSubstr("empty: the file is empty"));
  }
}

TEST_F(PayloadFile, OnTheWireComesWithItsBytesAndNoOtherPayloadDoes) {
  const nlohmann::json plain = case_to_wire(default_case(Opcode::send, Pattern::ping_pong));
  TestCase file = of_file("/x");
  file.payload_bytes = "abc";
  const nlohmann::json good = case_to_wire(file);
  EXPECT_EQ(case_from_wire(good).payload_bytes, "abc");
  const auto refused = [](nlohmann::json wire, const nlohmann::json& bytes) {
    wire["payload_bytes"] = bytes;
    EXPECT_THROW(case_from_wire(wire), UsageError) << bytes;
  };
  refused(plain, "6162");
  for (const nlohmann::json& bytes :
       {nlohmann::json(""), nlohmann::json("6"), nlohmann::json("6g"), nlohmann::json(7),
        nlohmann::json("61 62"), nlohmann::json(std::string(2 * kMaxPayloadFileBytes + 2, '6'))})
    refused(good, bytes);
  nlohmann::json without = good;
  without.erase("payload_bytes");
  EXPECT_THROW(case_from_wire(without), UsageError);
}

}  // namespace
}  // namespace rdmameter
