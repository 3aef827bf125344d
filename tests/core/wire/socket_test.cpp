// SPDX-License-Identifier: Apache-2.0
#include "core/wire/socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/core/wire/pair.h"

namespace rdmameter {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ParseAddress, TakesEveryFormThatPeopleWrite) {
  const auto text = [](std::string_view given) { return parse_address(given, 7000).text(); };
  EXPECT_EQ(text("node1"), "node1:7000");
  EXPECT_EQ(text("node1.example.org:81"), "node1.example.org:81");
  EXPECT_EQ(text("192.0.2.1"), "192.0.2.1:7000");
  EXPECT_EQ(text("192.0.2.1:65535"), "192.0.2.1:65535");
  EXPECT_EQ(text("2001:db8::1"), "[2001:db8::1]:7000");
  EXPECT_EQ(text("::1"), "[::1]:7000");
  EXPECT_EQ(text("[::1]"), "[::1]:7000");
  EXPECT_EQ(text("[fe80::1%eth0]:81"), "[fe80::1%eth0]:81");
}

TEST(ParseAddress, RefusesTheRestAndSaysWhatItTakes) {
  for (const std::string_view bad :
       {"",          ":81",     "node1:", "node1:0",     "node1:65536",   "node1:+1",  "node1:8x",
        "[::1",      "[::1]81", "[]:81",  "[node1]:81",  "two words",     "a\nb",      "::1 ",
        "[fe80::1]", "[a:b]",   "a:b:c",  "[192.0.2.1]", "[fe80::1%]:81", "[::1%lo]x", "::1]"}) {
    EXPECT_THROW(parse_address(bad, 7000), UsageError) << bad;
  }
  EXPECT_THROW(parse_address(std::string_view("a\0b", 3), 7000), UsageError);
  try {
    parse_address("node1:99999", 7000);
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), StartsWith("`node1:99999` is not an address: a port is a number"));
    EXPECT_THAT(error.what(), HasSubstr("[2001:db8::1]:PORT"));
  }
}

std::string address_refusal(std::string_view address) {
  try {
    parse_address(address, 7000);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(ParseAddress, SaysThatALinkLocalAddressNeedsItsInterface) {
  for (const char* address : {"fe80::ff:fe09:1", "[fe80::ff:fe09:1]", "[fe80::ff:fe09:1]:81"})
    EXPECT_THAT(address_refusal(address),
                HasSubstr("a link-local address needs its interface, as in "
                          "fe80::ff:fe09:1%eth0"));
  EXPECT_EQ(address_refusal("fe80::1%eth0"), "");
  EXPECT_EQ(address_refusal("169.254.1.1"), "") << "of IPv4 the route says it";
}

TEST(ParseAddress, SaysThatAnIPv6AddressWithAPortStandsInBrackets) {
  EXPECT_THAT(address_refusal("fd00:9::1:18620"), HasSubstr("[fd00:9::1]:18620"));
  EXPECT_THAT(address_refusal("fd00::9::1"),
              HasSubstr("it has colons as an IPv6 address, and is none"));
}

TEST(ConnectTo, NamesAnInterfaceThatIsNotThere) {
  InterruptSource interrupt;
  try {
    connect_to({"fe80::1%no-such-if", 7000}, soon(), interrupt);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no network interface no-such-if"));
  }
}

TEST(Loopback, OfLocalhostBothAddressesAreTried) {
  InterruptSource interrupt;
  for (const std::string host : {"127.0.0.1", "::1"}) try {
      Listener listener({host, 0});
      EXPECT_NO_THROW(connect_to({"localhost", listener.port()}, soon(), interrupt)) << host;
    } catch (const UsageError&) {  // this machine has it not
    }
  EXPECT_TRUE(Listener({loopback_host(), 0}).loopback_only());
  EXPECT_THAT(addresses_of("127.0.0.1"), ::testing::ElementsAre("127.0.0.1"));
  EXPECT_THAT(addresses_of("no.such.host.invalid"), ::testing::IsEmpty());
}

/// A port on which no server is listening.
std::uint16_t free_port() {
  return Listener({"127.0.0.1", 0}).port();
}

TEST(Listener, AcceptsAndNamesItsClient) {
  InterruptSource interrupt;
  Listener listener({"127.0.0.1", 0});
  const Connection client = connect_to({"127.0.0.1", listener.port()}, soon(), interrupt);
  const auto server = listener.accept(soon(), interrupt);
  ASSERT_TRUE(server);
  EXPECT_THAT(server->peer, StartsWith("127.0.0.1:"));
  EXPECT_EQ(client.peer, Address({"127.0.0.1", listener.port()}).text());
  EXPECT_EQ(peer_text(client.socket.get()), client.peer);
}

TEST(Listener, OfEveryAddressHasASocketForEachFamily) {
  InterruptSource interrupt;
  const std::uint16_t port = free_port();
  Listener listener({"", port});
  EXPECT_EQ(listener.port(), port);
  EXPECT_FALSE(listener.loopback_only());
  EXPECT_THROW(Listener({"0.0.0.0", port}), UsageError);
  EXPECT_THROW(Listener({"", port}), UsageError);
  for (const char* host : {"127.0.0.1", "::1"}) {
    try {
      const Connection client = connect_to({host, port}, soon(), interrupt);
      const auto server = listener.accept(soon(), interrupt);
      ASSERT_TRUE(server) << host;
      EXPECT_EQ(peer_host(server->socket.get()), host);
    } catch (const NotConnected&) {
      EXPECT_STREQ(host, "::1");  // this machine has no IPv6
    }
  }
}

TEST(Listener, SocketsAreQuickAndDoNotLeakIntoChildren) {
  InterruptSource interrupt;
  Listener listener({"127.0.0.1", 0});
  const Connection client = connect_to({"127.0.0.1", listener.port()}, soon(), interrupt);
  const auto server = listener.accept(soon(), interrupt);
  ASSERT_TRUE(server);
  for (const int fd : {client.socket.get(), server->socket.get()}) {
    int no_delay = 0;
    socklen_t bytes = sizeof no_delay;
    getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, &bytes);
    EXPECT_EQ(no_delay, 1);
    EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    EXPECT_TRUE(fcntl(fd, F_GETFL) & O_NONBLOCK);
  }
}

TEST(Listener, KnowsWhetherOthersCanReachIt) {
  EXPECT_TRUE(Listener({"127.0.0.1", 0}).loopback_only());
  EXPECT_TRUE(Listener({"127.0.0.2", 0}).loopback_only());
  EXPECT_TRUE(Listener({"localhost", 0}).loopback_only());
  EXPECT_FALSE(Listener({"0.0.0.0", 0}).loopback_only());
}

TEST(Listener, NamesTheRemedyForAPortInUse) {
  Listener first({"127.0.0.1", 0});
  try {
    Listener second({"127.0.0.1", first.port()});
    FAIL() << "two listeners on one port";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr(fmt::format("--bind 127.0.0.1:{}", first.port())));
    EXPECT_THAT(error.what(), HasSubstr("in use. Choose another with --port"));
  }
}

TEST(Listener, RefusesAnAddressOfAnotherMachine) {
  try {
    Listener listener({"192.0.2.1", 0});
    FAIL() << "listens on a documentation address";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no interface of this machine"));
  }
}

TEST(Connect, FromAnAddressIsSeenAtTheOtherEnd) {
  InterruptSource interrupt;
  Listener listener({"127.0.0.1", 0});
  const Connection client = connect_to(
      {.host = "127.0.0.1", .port = listener.port(), .source = "127.0.0.2"}, soon(), interrupt);
  const auto server = listener.accept(soon(), interrupt);
  EXPECT_THAT(server->peer, HasSubstr("127.0.0.2:"));
}

TEST(Connect, FromAnAddressOfAnotherMachineSaysSo) {
  InterruptSource interrupt;
  Listener listener({"127.0.0.1", 0});
  try {
    connect_to({.host = "127.0.0.1", .port = listener.port(), .source = "192.0.2.1"}, soon(),
               interrupt);
    FAIL() << "connects from a documentation address";
  } catch (const NotConnected& error) {
    EXPECT_THAT(error.what(), HasSubstr("from 192.0.2.1: no interface of this machine"));
  }
}

TEST(Connect, TriesOnceWhereTheServerIsNotAwaited) {
  InterruptSource interrupt;
  const Deadline deadline = Deadline::in(20s);
  EXPECT_THROW(
      connect_to({.host = "127.0.0.1", .port = free_port(), .awaited = false}, deadline, interrupt),
      NotConnected);
  EXPECT_GT(deadline.remaining(), 10s);
}

TEST(Listener, CanBeRestartedRightAfterItHadClients) {
  InterruptSource interrupt;
  std::uint16_t port = 0;
  {
    Listener listener({"127.0.0.1", 0});
    port = listener.port();
    Connection client = connect_to({"127.0.0.1", port}, soon(), interrupt);
    auto server = listener.accept(soon(), interrupt);
    server->socket.reset();  // the side that closes first is left in TIME_WAIT
  }
  EXPECT_NO_THROW(Listener({"127.0.0.1", port}));
}

TEST(Listener, WaitingForAClientEndsByDeadlineWakeUpAndInterrupt) {
  InterruptSource interrupt;
  EventFd wake;
  Listener listener({"127.0.0.1", 0});
  EXPECT_FALSE(listener.accept(Deadline::in(10ms), interrupt));
  std::thread waker([&] {
    std::this_thread::sleep_for(20ms);
    wake.raise();
  });
  EXPECT_FALSE(listener.accept(Deadline::never(), interrupt, &wake));
  waker.join();
  wake.clear();
  std::thread user([&] {
    std::this_thread::sleep_for(20ms);
    interrupt.raise();
  });
  EXPECT_FALSE(listener.accept(Deadline::never(), interrupt, &wake));
  user.join();
}

TEST(Listener, OutlivesALackOfDescriptors) {
  InterruptSource interrupt;
  Listener listener({"127.0.0.1", 0});
  Connection client = connect_to({"127.0.0.1", listener.port()}, soon(), interrupt);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  // The thread runs before the lack begins: UBSan needs descriptors to look at its start.
  std::atomic<bool> running{false}, refused{false};
  std::thread relief([&] {
    running = true;
    while (!refused) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(60ms);
    setrlimit(RLIMIT_NOFILE, &before);
  });
  while (!running) std::this_thread::yield();
  const int next = dup(0);
  close(next);
  const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  EXPECT_FALSE(listener.accept(Deadline::in(120ms), interrupt));
  refused = true;
  EXPECT_TRUE(listener.accept(soon(), interrupt));
  relief.join();
}

TEST(ConnectTo, NamesTheRemedyWhereNobodyListens) {
  InterruptSource interrupt;
  const std::uint16_t port = free_port();
  try {
    connect_to({"127.0.0.1", port}, Deadline::in(120ms), interrupt);
    FAIL() << "connected to nobody";
  } catch (const MeasurementError& error) {
    EXPECT_THAT(error.what(),
                StartsWith(fmt::format("no server is listening on 127.0.0.1:{} (", port)));
    EXPECT_THAT(error.what(),
                HasSubstr(fmt::format("start `rdmameter serve --bind 127.0.0.1 --port {}`", port)));
  }
}

TEST(ConnectTo, NamesALackOfDescriptorsAndNotTheRoute) {
  InterruptSource interrupt;
  Listener listener({"127.0.0.1", 0});
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const int next = dup(0);
  close(next);
  const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  std::string said;
  try {
    connect_to({"127.0.0.1", listener.port()}, soon(), interrupt);
  } catch (const MeasurementError& error) {
    said = error.what();
  }
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(said, testing::EndsWith(
                        "Too many open files, on this machine. Raise its limit (`ulimit -n`)."));
}

TEST(ConnectTo, WaitsForAServerThatIsNotUpYet) {
  InterruptSource interrupt;
  const std::uint16_t port = free_port();
  const double seconds = seconds_of([&] {
    std::thread server([&] {
      std::this_thread::sleep_for(150ms);
      Listener listener({"127.0.0.1", port});
      EXPECT_TRUE(listener.accept(soon(), interrupt));
    });
    EXPECT_TRUE(connect_to({"127.0.0.1", port}, soon(), interrupt).socket);
    server.join();
  });
  EXPECT_GE(seconds, 0.15);
}

TEST(ConnectTo, AnInterruptEndsTheWaitForAServer) {
  InterruptSource interrupt;
  std::thread user([&] {
    std::this_thread::sleep_for(30ms);
    interrupt.raise();
  });
  EXPECT_THROW(connect_to({"127.0.0.1", free_port()}, Deadline::in(20s), interrupt), Interrupted);
  user.join();
}

TEST(ConnectTo, SaysThatAFullBacklogDidNotAnswer) {
  InterruptSource interrupt;
  const Descriptor full(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof local;
  ASSERT_EQ(bind(full.get(), reinterpret_cast<sockaddr*>(&local), bytes), 0);
  ASSERT_EQ(listen(full.get(), 0), 0);
  getsockname(full.get(), reinterpret_cast<sockaddr*>(&local), &bytes);
  const Address address{"127.0.0.1", ntohs(local.sin_port)};
  std::vector<Connection> waiting;
  try {  // a backlog of 0 holds one; the kernel drops the SYNs of those beyond it
    for (int client = 0; client < 8; ++client)
      waiting.push_back(connect_to(address, Deadline::in(100ms), interrupt));
    GTEST_SKIP() << "this kernel's backlog of 0 holds eight";
  } catch (const MeasurementError& error) {
    EXPECT_THAT(error.what(), StartsWith("no answer from 127.0.0.1:"));
  }
}

TEST(ConnectTo, RefusesANameThatIsNone) {
  InterruptSource interrupt;
  try {
    connect_to({"no such name", 1}, Deadline::in(100ms), interrupt);
    FAIL() << "looked up a name with spaces";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), StartsWith("cannot look up `no such name`: "));
  }
}

class Ipv6 : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      Listener({"::1", 0});
    } catch (const std::exception& error) {
      GTEST_SKIP() << "no IPv6 here: " << error.what();
    }
  }
  InterruptSource interrupt;
};

TEST_F(Ipv6, ConnectsOverLoopback) {
  Listener listener({"::1", 0});
  EXPECT_TRUE(listener.loopback_only());
  const Connection client = connect_to({"::1", listener.port()}, soon(), interrupt);
  const auto server = listener.accept(soon(), interrupt);
  ASSERT_TRUE(server);
  EXPECT_THAT(server->peer, StartsWith("[::1]:"));
  EXPECT_EQ(client.peer, fmt::format("[::1]:{}", listener.port()));
}

TEST_F(Ipv6, TheAnyAddressTakesIpv4TooAndShowsItPlainly) {
  Listener listener({"::", 0});
  EXPECT_FALSE(listener.loopback_only());
  const Connection client = connect_to({"127.0.0.1", listener.port()}, soon(), interrupt);
  const auto server = listener.accept(soon(), interrupt);
  ASSERT_TRUE(server);
  EXPECT_THAT(server->peer, StartsWith("127.0.0.1:"));
}

/// Does `localhost` have this address? Which ones it has, and in which order, is the machine's
/// choice.
bool localhost_is(int family) {
  addrinfo hints{};
  hints.ai_family = family;
  addrinfo* found = nullptr;
  if (getaddrinfo("localhost", nullptr, &hints, &found) != 0) return false;
  freeaddrinfo(found);
  return true;
}

TEST_F(Ipv6, EveryAddressOfANameIsTried) {
  if (!localhost_is(AF_INET) || !localhost_is(AF_INET6))
    GTEST_SKIP() << "localhost has one address here";
  for (const char* const only : {"127.0.0.1", "::1"}) {  // the other one refuses
    Listener listener({only, 0});
    EXPECT_TRUE(connect_to({"localhost", listener.port()}, Deadline::in(1s), interrupt).socket)
        << only;
  }
}

TEST(ChannelOverTcp, AResetIsToldFromAnEnd) {
  InterruptSource interrupt;
  Listener listener({"127.0.0.1", 0});
  Channel channel(connect_to({"127.0.0.1", listener.port()}, soon(), interrupt), interrupt);
  auto server = listener.accept(soon(), interrupt);
  ASSERT_TRUE(server);
  const linger abort{
      1, 0};  // close() sends a RST, as the kernel does for a killed process's unread data
  setsockopt(server->socket.get(), SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
  server->socket.reset();
  try {
    channel.receive(soon());
    FAIL() << "received over a reset connection";
  } catch (const ChannelError& error) {
    EXPECT_EQ(error.cause, ChannelError::Cause::reset);
    EXPECT_THAT(error.what(), HasSubstr("Connection reset by peer"));
  }
}

}  // namespace
}  // namespace rdmameter
