// SPDX-License-Identifier: Apache-2.0
// Peers that do not let themselves be connected by rdma_cm: each ends in an error that names the
// event, its status and what to do, and never in a hang.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <thread>

#include "core/base/error.h"
#include "core/engine/endpoint.h"
#include "core/wire/auth.h"

namespace rdmameter {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::chrono::milliseconds kShort{700};

TestCase case_over(const char* transport) {
  TestCase test_case = default_case(Opcode::send, Pattern::bandwidth);
  for (const auto& [option, text] : {std::pair{"transport", transport},
                                     {"connect", "cm"},
                                     {"depth", "4"},
                                     {"signal-every", "2"},
                                     {"rx-depth", "4"},
                                     {"size", "64"}})
    set_axis(test_case, *find_axis(option), text);
  return test_case;
}

/// Both ends on one device; what each test spoils is the test's.
struct Ends {
  explicit Ends(const char* transport, CmWatch watch = {.patience = kShort})
      : test_case(case_over(transport)), caller(watch), called(watch) {
    agreed = initiator.negotiate(responder.info());
    responder.negotiate(initiator.info());
    port = called.listen(responder.cm_endpoint(), 1);
  }

  /// The error of connecting; empty: it went well.
  std::string call(const EndpointInfo& peer) {
    try {
      initiator.connect_by_cm(caller, peer, agreed, port, nonce);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }
  std::string call() { return call(responder.info()); }

  /// The same of the other end. @param expected  the nonce that it knows
  std::string answer(const std::string& expected) {
    try {
      responder.connect_by_cm(called, initiator.info(), agreed, port, expected);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  OpenDevice device = open_for_run("", kAuto, kAuto);
  TestCase test_case;
  Endpoint initiator{device, {test_case, device, Role::initiator}},
      responder{device, {test_case, device, Role::responder}};
  CmConnector caller, called;
  Agreed agreed;
  std::uint16_t port = 0;
  const std::string nonce = make_nonce();
};

class CmPeer : public ::testing::TestWithParam<const char*> {};

TEST_P(CmPeer, ThatKnowsTheNonceIsConnected) {
  Ends ends{GetParam()};
  std::string theirs = "not called";
  std::thread other{[&] { theirs = ends.answer(ends.nonce); }};
  const std::string mine = ends.call();
  other.join();
  EXPECT_EQ(mine, "");
  EXPECT_EQ(theirs, "");
  EXPECT_EQ(ends.caller.take_fatal_event(), "");
}

TEST_P(CmPeer, ThatRejectsIsNamedWithItsReason) {
  Ends ends{GetParam()};
  std::string theirs;
  std::thread other{[&] { theirs = ends.answer(make_nonce()); }};
  const std::string mine = ends.call();
  other.join();
  if (ends.test_case.transport == Transport::ud)
    EXPECT_THAT(mine, AllOf(HasSubstr("RDMA_CM_EVENT_UNREACHABLE (status 2: rejected)"),
                            HasSubstr("address belongs to another machine")));
  else
    EXPECT_THAT(mine, AllOf(HasSubstr("RDMA_CM_EVENT_REJECTED (status 28: the consumer's own)"),
                            HasSubstr("which says \"not a connection of this session\""),
                            HasSubstr("is that the responder of this session?")));
  EXPECT_THAT(theirs, HasSubstr("did not get the initiator's connections"));
}

TEST_P(CmPeer, ThatNeverAnswersIsGivenUpAtTheDeadline) {
  Ends ends{GetParam()};  // it listens, and nobody takes what comes
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_THAT(ends.call(), HasSubstr("rdma_cm did not get the responder's answer from"));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 4 * kShort);
}

TEST_P(CmPeer, ThatDoesNotListenIsSaidToBeGone) {
  Ends ends{GetParam()};
  ends.port = ends.port == 65535 ? 65534 : static_cast<std::uint16_t>(ends.port + 1);
  EXPECT_THAT(ends.call(),
              AllOf(HasSubstr(ends.test_case.transport == Transport::ud
                                  ? "RDMA_CM_EVENT_UNREACHABLE (status 1: service ID not supported)"
                                  : "RDMA_CM_EVENT_REJECTED (status 8: invalid service ID)"),
                    HasSubstr("he responder has ended")));
}

TEST_P(CmPeer, ThatGivesUpOverTheSessionIsNotWaitedFor) {
  std::array<int, 2> session{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, session.data()), 0);
  const Descriptor mine{session[0]};
  Descriptor theirs{session[1]};
  Ends ends{GetParam(), {.session = mine.get()}};
  theirs.reset();
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_THAT(ends.call(), HasSubstr("the peer gave up while rdma_cm waited"));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, kCmTimeout / 2);
}

TEST_P(CmPeer, IsNotWaitedForAfterAnInterrupt) {
  InterruptSource interrupt;
  Ends ends{GetParam(), {.interrupt = &interrupt}};
  interrupt.raise();
  EXPECT_EQ(ends.call(), "interrupted");
}

INSTANTIATE_TEST_SUITE_P(Over, CmPeer, ::testing::Values("rc", "uc", "ud"),
                         [](const auto& info) { return std::string(info.param); });

TEST(CmAddress, WithoutAWayIsNamed) {
  Ends ends{"rc", {}};
  EndpointInfo elsewhere = ends.responder.info();
  elsewhere.gid.value = *gid_from_text("::ffff:10.9.0.77");  // nobody has it
  EXPECT_THAT(ends.call(elsewhere),
              AllOf(HasSubstr("10.9.0.77"), HasSubstr("There is no route to the address")));
}

TEST(CmDisconnect, IsSeenByTheOtherEnd) {
  Ends ends{"rc"};
  {
    CmConnector passing{{.patience = kShort}};
    ends.port = passing.listen(ends.responder.cm_endpoint(), 1);
    std::thread other{[&] {
      ends.responder.connect_by_cm(passing, ends.initiator.info(), ends.agreed, ends.port,
                                   ends.nonce);
    }};
    EXPECT_EQ(ends.call(), "");
    other.join();
  }
  std::string event;
  for (int i = 0; i < 300 && event.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
    event = ends.caller.take_fatal_event();
  }
  EXPECT_THAT(event, AllOf(HasSubstr("RDMA_CM_EVENT_DISCONNECTED"), HasSubstr("or died")));
}

}  // namespace
}  // namespace rdmameter
