// SPDX-License-Identifier: Apache-2.0
#include "core/server/session_pipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "core/base/error.h"
#include "core/server/server_host.h"
#include "tests/core/wire/pair.h"

namespace rdmameter {
namespace {

using json = nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A server's end and a session's end of their pair.
struct PipeEnds {
  PipeEnds() : PipeEnds(socket_pair()) {}

  InterruptSource interrupt;
  ServerOptions options;
  Account account{{.memory_bytes = 1000, .threads = 8}};
  std::vector<std::string> lines;
  std::vector<ClientEvent> events;  ///< of those lines
  Channel server, session;

 private:
  explicit PipeEnds(std::pair<Descriptor, Descriptor> pair)
      : server({std::move(pair.first), "the session"}, interrupt, kPipeMessageBytes),
        session({std::move(pair.second), "the server"}, interrupt, kPipeMessageBytes) {
    options.log = [this](const ClientLine& line) {
      lines.emplace_back(line.text);
      events.push_back(line.event);
    };
  }
};

TEST(SessionPipe, CarriesWhatASessionHasToKnow) {
  SessionStart start{.peer = "192.0.2.1:4711",
                     .greeting = {.initiator_version = "0.1.0",
                                  .welcome_proof = "proof",
                                  .seal_keys = SealKeys{.send = {1, 2, 255}, .receive = {3}}},
                     .clock = {},
                     .sandbox = {.mode = Sandboxing::required, .allowed = {"/dev/shm"}},
                     .own = OwnEnd{{.device = "mlx5_1",
                                    .port_num = 2,
                                    .gid_index = kAuto,
                                    .core = "0-3+8",
                                    .memory = "cuda:1"},
                                   GpuRegistration::data_direct},
                     .gpus = true,
                     .server = 4711};
  start.clock.kind = ClockChoice::Kind::counter;
  start.clock.counter.scale.multiplier = 1234567890123;
  start.clock.ticks_per_ns = 2.3999;
  start.clock.error_ppm = 0.125;
  start.clock.reason = "invariant";
  const SessionStart got = read_message<SessionStart>(
      parse_message(make_message("session", start).dump(), "the server"));
  EXPECT_EQ(got.peer, start.peer);
  EXPECT_EQ(got.server, 4711);
  EXPECT_EQ(got.greeting.initiator_version, "0.1.0");
  EXPECT_EQ(got.greeting.welcome_proof, "proof");
  ASSERT_TRUE(got.greeting.seal_keys);
  EXPECT_EQ(got.greeting.seal_keys->send, start.greeting.seal_keys->send);
  EXPECT_EQ(got.greeting.seal_keys->receive, start.greeting.seal_keys->receive);
  EXPECT_EQ(got.clock.kind, ClockChoice::Kind::counter);
  EXPECT_EQ(got.clock.counter.scale.multiplier, 1234567890123U);
  EXPECT_EQ(got.clock.ticks_per_ns, 2.3999);
  EXPECT_EQ(got.clock.reason, "invariant");
  EXPECT_EQ(got.sandbox.mode, Sandboxing::required);
  EXPECT_THAT(got.sandbox.allowed, ElementsAre("/dev/shm"));
  EXPECT_TRUE(got.gpus);
  ASSERT_TRUE(got.own);
  EXPECT_EQ(got.own->device, "mlx5_1");
  EXPECT_EQ(got.own->port_num, 2U);
  EXPECT_EQ(got.own->gid_index, kAuto);
  EXPECT_EQ(got.own->core, "0-3+8");
  EXPECT_EQ(got.own->memory, "cuda:1");
  EXPECT_EQ(got.own->gpu_registration, GpuRegistration::data_direct);
  start.own.reset();
  EXPECT_FALSE(read_message<SessionStart>(make_message("session", start)).own);
}

TEST(SessionPipe, ARowReachesWhoListensAndNobodyElse) {
  PipeEnds ends;
  ServerHost host{ends.options, ends.account, "192.0.2.1:1"};
  PipeHost{ends.session}.show_row({{"long", std::string(kPipeMessageBytes, 'x')}});  // not told
  PipeHost session{ends.session, true};
  session.show_row({{"size_bytes", 8}});
  answer_session(ends.server, host, soon());  // nobody listens
  std::vector<json> rows;
  ends.options.on_row = [&](const json& row) { rows.push_back(row); };
  session.show_row({{"size_bytes", 64}});
  answer_session(ends.server, host, soon());
  EXPECT_THAT(rows, ElementsAre(json{{"size_bytes", 64}}));
  ends.options.on_row = [](const json&) { throw MeasurementError("it is no row"); };
  session.show_row(json::object());
  EXPECT_THROW(answer_session(ends.server, host, soon()), MeasurementError);
  session.show_row(json::array());
  EXPECT_THROW(answer_session(ends.server, host, soon()), MeasurementError);
}

TEST(SessionPipe, AConnectedCaseIsToldWhereItIsShownUnlessItIsTooLong) {
  PipeEnds ends;
  ServerHost host{ends.options, ends.account, "192.0.2.1:1"};
  EXPECT_FALSE(host.shows_connected());
  std::vector<std::string> told;
  ends.options.on_connected = [&](const ConnectedCase& connected) {
    told.push_back(connected.local.forward.device);
  };
  EXPECT_TRUE(host.shows_connected());
  EXPECT_FALSE(PipeHost{ends.session}.shows_connected());
  PipeHost session{ends.session, true};
  EXPECT_TRUE(session.shows_connected());
  ConnectedCase connected{default_case(Opcode::send, Pattern::ping_pong), {}, {}};
  connected.local.forward.endpoint.emplace().rkeys.resize(kShownPipeMessageBytes);
  session.show_connected(connected);  // too long
  connected.local.forward = {.device = "mlx5_1"};
  session.show_connected(connected);
  answer_session(ends.server, host, soon());
  EXPECT_THAT(told, ElementsAre("mlx5_1"));
  ends.session.send({{"type", "connected"}, {"connected", 7}}, soon());
  EXPECT_THROW(answer_session(ends.server, host, soon()), MeasurementError);
  SessionStart start{.peer = "", .greeting = {}, .clock = {}};
  EXPECT_FALSE(read_message<SessionStart>(make_message("session", start)).shown);
  start.shown = true;
  EXPECT_TRUE(read_message<SessionStart>(make_message("session", start)).shown);
}

TEST(SessionPipe, ASessionWithoutATokenHasNoKeys) {
  const SessionStart start{.peer = "", .greeting = {}, .clock = {}};
  EXPECT_FALSE(read_message<SessionStart>(make_message("session", start)).greeting.seal_keys);
}

TEST(SessionPipe, ACaseIsTakenFromTheServersAccountAndGivenBack) {
  PipeEnds ends;
  ServerHost host{ends.options, ends.account, "192.0.2.1:1"};
  std::thread server([&] {
    for (int i = 0; i < 6; ++i) answer_session(ends.server, host, soon());
  });
  PipeHost session{ends.session};
  session.log("begins");
  session.begin_case({1000, 8});
  EXPECT_FALSE(session.case_is_shared());
  session.end_case();
  EXPECT_THROW(session.begin_case({1001, 1}), Unsupported);
  session.begin_case({1000, 8});
  server.join();
  EXPECT_THAT(ends.lines, ElementsAre("begins"));
  ServerHost other{ends.options, ends.account, "192.0.2.2:1"};
  EXPECT_THROW(other.begin_case({1, 1}), MeasurementError);
  other.begin_case({0, 0});
  EXPECT_TRUE(host.case_is_shared());
}

TEST(SessionPipe, WhatASessionHeldIsGivenBackWhenItIsGone) {
  PipeEnds ends;
  {
    ServerHost gone{ends.options, ends.account, "192.0.2.1:1"};
    gone.begin_case({1000, 8});
  }
  ServerHost next{ends.options, ends.account, "192.0.2.2:1"};
  next.begin_case({1000, 8});
  EXPECT_FALSE(next.case_is_shared());
}

TEST(SessionPipe, TheServerBelievesNothingOfWhatASessionSays) {
  for (const json& message :
       {json{{"type", "free"}}, json{{"type", 7}}, json::object(), json{{"type", "begin"}},
        json{{"type", "begin"}, {"memory_bytes", -1}, {"threads", 1}},
        json{{"type", "begin"}, {"memory_bytes", 1.5}, {"threads", 1}},
        json{{"type", "begin"}, {"memory_bytes", "1"}, {"threads", 1}}}) {
    PipeEnds ends;
    ServerHost host{ends.options, ends.account, "192.0.2.1:1"};
    ends.session.send(message, soon());
    EXPECT_THROW(answer_session(ends.server, host, soon()), MeasurementError) << message.dump();
    ServerHost other{ends.options, ends.account, "192.0.2.2:1"};
    other.begin_case({1000, 8});
    EXPECT_FALSE(other.case_is_shared());
  }
}

TEST(SessionPipe, ASecondCaseAndAnEndWithoutOneChangeNoAccount) {
  PipeEnds ends;
  ServerHost host{ends.options, ends.account, "192.0.2.1:1"};
  const json begin{{"type", "begin"}, {"memory_bytes", 600}, {"threads", 1}};
  for (const json& message :
       {json{{"type", "end"}}, begin, begin, json{{"type", "end"}}, json{{"type", "end"}}})
    ends.session.send(message, soon());
  for (int i = 0; i < 5; ++i) answer_session(ends.server, host, soon());
  EXPECT_EQ(ends.session.receive(soon())["type"], "granted");
  EXPECT_THAT(ends.session.receive(soon())["reason"], HasSubstr("a case within a case"));
  ServerHost other{ends.options, ends.account, "192.0.2.2:1"};
  other.begin_case({1000, 8});
  EXPECT_FALSE(other.case_is_shared());
}

TEST(SessionPipe, TheServerWaitsForNoSessionThatStopsWithinAMessage) {
  PipeEnds ends;
  ServerHost host{ends.options, ends.account, "192.0.2.1:1"};
  ASSERT_EQ(::send(ends.session.fd(), "", 1, 0), 1);  // a NUL, of the four bytes of a length
  EXPECT_LT(seconds_of([&] {
              EXPECT_THROW(answer_session(ends.server, host, Deadline::in(20ms)), ChannelError);
            }),
            5);
}

TEST(SessionPipe, TheServerWaitsForNoSessionThatTakesNoAnswers) {
  for (const bool interrupted : {false, true}) {
    PipeEnds ends;
    ServerHost host{ends.options, ends.account, "192.0.2.1:1"};
    const std::string much(4096, ' ');
    while (::send(ends.server.fd(), much.data(), much.size(), MSG_DONTWAIT) > 0) {
    }
    ends.session.send({{"type", "is_shared"}}, soon());
    if (interrupted) {
      ends.interrupt.raise();
      EXPECT_THROW(answer_session(ends.server, host, soon()), Interrupted);
    } else {
      EXPECT_THROW(answer_session(ends.server, host, Deadline::in(20ms)), ChannelError);
    }
  }
}

TEST(SessionPipe, ALineTellsOfEveryEventButTheEndOfASessionsProcess) {
  PipeEnds ends;
  ServerHost host{ends.options, ends.account, "192.0.2.1:1"};
  PipeHost session{ends.session};
  session.log("examines this machine");
  session.log("connected", ClientEvent::connected);
  session.log("dropped", ClientEvent::dropped);
  session.log("its session is killed", ClientEvent::session_end);
  for (int i = 0; i < 3; ++i) answer_session(ends.server, host, soon());
  EXPECT_THROW(answer_session(ends.server, host, soon()), MeasurementError);
  EXPECT_THAT(ends.events,
              ElementsAre(ClientEvent::note, ClientEvent::connected, ClientEvent::dropped));
}

TEST(SessionPipe, ALineHasATextAndAnEvent) {
  PipeEnds ends;
  ServerHost host{ends.options, ends.account, "192.0.2.1:1"};
  for (const json& line :
       {json{{"type", "log"}, {"event", 0}}, json{{"type", "log"}, {"text", 7}, {"event", 0}},
        json{{"type", "log"}, {"text", ""}, {"event", "gone"}}}) {
    ends.session.send(line, soon());
    EXPECT_THROW(answer_session(ends.server, host, soon()), MeasurementError) << line;
  }
  EXPECT_TRUE(ends.lines.empty());
}

}  // namespace
}  // namespace rdmameter
