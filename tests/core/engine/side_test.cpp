// SPDX-License-Identifier: Apache-2.0
// Several threads as one side: what they add up to, and what becomes of the others when one fails.
#include "core/engine/side.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "core/base/error.h"
#include "core/engine/loop/window_barrier.h"
#include "core/instrument/histogram_data.h"
#include "core/session/window_sync.h"
#include "core/wire/socket.h"

namespace rdmameter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A loop without a device, which does what the test says.
class FakeRunner final : public EndpointRunner {
 public:
  using Body = std::function<LoopResult(const LoopPlan&, const StopFlag&, LoopTally&)>;

  FakeRunner(const TestCase& test_case, std::uint64_t seed, Body body)
      : EndpointRunner(DeviceCase::usual(test_case, Role::initiator), seed),
        seed_(seed),
        body_(std::move(body)) {}

  Introduction introduction() const override { return {.recv_sge = seed_}; }
  Agreed connect(const Introduction& peer) override {
    peer_ = peer.recv_sge;
    return {};
  }
  std::string take_fatal_event() override {
    return ++asked_for_events_ == event_after_ ? "IBV_EVENT_PORT_ERR" : "";
  }
  void abort_traffic() noexcept override { silenced_.store(true); }
  std::optional<Verdict> verify(std::uint64_t total) const override {
    return Verdict{.checked_bytes = total, .first_fault = peer_ == 4 ? "torn" : ""};
  }
  nlohmann::ordered_json counters() const override { return {{"port_xmit_packets", 10 + seed_}}; }
  nlohmann::ordered_json resources() const override {
    nlohmann::ordered_json object = {{"qps", 2}, {"send_wrs_per_qp", 128}};
    if (seed_ != 0) object["thread_domains"] = 1;
    return object;
  }
  nlohmann::ordered_json facts() const override {
    return {{"inlined", true}, {"peer_thread_domain", seed_ == 0}};
  }
  std::string where() const override { return "a fake"; }

  std::atomic<bool> silenced_{false};
  int event_after_ = 0;  ///< so many looks; 0: there is none

 private:
  Loop loop(Wait, ClockChoice::Kind) override {
    return [this](const LoopPlan& plan, const ClockChoice&, const StopFlag& stop,
                  LoopTally& tally) { return body_(plan, stop, tally); };
  }

  const std::uint64_t seed_;
  const Body body_;
  std::uint64_t peer_ = 0;
  int asked_for_events_ = 0;
};

TestCase of_threads(std::uint64_t threads) {
  TestCase test_case = default_case(Opcode::rdma_write, Pattern::bandwidth);
  test_case.threads = threads;
  return test_case;
}

/// A side of fakes; the number that a body is given is the thread's, counted from 0.
struct FakeTeam {
  using Body =
      std::function<LoopResult(std::uint64_t, const LoopPlan&, const StopFlag&, LoopTally&)>;

  FakeTeam(std::uint64_t threads, const Body& body) {
    for (std::uint64_t i = 0; i < threads; ++i) {
      auto fake = std::make_unique<FakeRunner>(
          of_threads(threads), 2 * i,
          [body, i](const LoopPlan& plan, const StopFlag& word, LoopTally& tally) {
            return body(i, plan, word, tally);
          });
      fakes.push_back(fake.get());
      side.runners.push_back(std::move(fake));
    }
  }

  SideResult run(std::span<const unsigned> cpus = {}) {
    side.cpus.assign(cpus.begin(), cpus.end());
    return side.run(Wait::yield, {}, stop);
  }

  std::vector<FakeRunner*> fakes;
  Side side;
  StopFlag stop;
};

TEST(FatalEvent, IsFoundWhereTheKernelTellsOfItAfterTheLoopHasFailed) {
  FakeTeam late{1, {}};
  late.fakes.front()->event_after_ = 4;
  EXPECT_EQ(late.side.await_fatal_event(), "a fake reports IBV_EVENT_PORT_ERR");
  FakeTeam none{1, {}};
  EXPECT_EQ(none.side.await_fatal_event(), "");
}

TEST(Side, AddsUpWhatItsThreadsCounted) {
  FakeTeam fakes{3, [](std::uint64_t i, const LoopPlan&, const StopFlag&, LoopTally& tally) {
                   tally.operations = 100 * (i + 1);
                   tally.elapsed_ns = 1000;  // 0.1, 0.2 and 0.3 messages per ns
                   tally.total = 500 + i;
                   tally.latency->record(10 * (i + 1));
                   tally.progress.store(i);
                   return LoopResult{};
                 }};
  ASSERT_EQ(fakes.run().why, LoopResult::Why::done);
  const SideTally tally{fakes.side};
  EXPECT_EQ(tally.operations, 600U);
  EXPECT_EQ(tally.elapsed_ns, 1000U);
  EXPECT_THAT(fakes.side.totals(), ElementsAre(500, 501, 502));
  EXPECT_EQ(fakes.side.progress(), 3U);
  const nlohmann::ordered_json threads = fakes.side.facts().at("per_thread");
  ASSERT_EQ(threads.size(), 3U);
  const HistogramData samples = snapshot(*fakes.side.take_latency());
  EXPECT_EQ(samples.count, 3U);
  EXPECT_EQ(samples.max_ns, 30U);
  EXPECT_EQ(threads[2].at("operations"), 300);
  EXPECT_EQ(threads[2].at("mean_ns"), 30);
  EXPECT_TRUE(threads[2].at("core").is_null());
  EXPECT_EQ(fakes.side.places().size(), 3U);
  EXPECT_EQ(fakes.side.resources().at("qps"), 6);
  EXPECT_EQ(fakes.side.resources().at("send_wrs_per_qp"), 128);
  EXPECT_EQ(fakes.side.resources().at("thread_domains"), 2);  // the first one has none
}

TEST(Side, FactsOfThePeerAreThoseOfEndpointsAndNotOfSharers) {
  FakeTeam fakes{2, {}};
  EXPECT_EQ(fakes.side.facts().at("peer_thread_domain"), false);
  fakes.side.sharers = 2;
  EXPECT_EQ(fakes.side.facts().at("peer_thread_domain"), true);
}

TEST(Side, TheWindowOfAllGivesTheSumOfTheRates) {
  FakeTeam fakes{2, [](std::uint64_t i, const LoopPlan&, const StopFlag&, LoopTally& tally) {
                   tally.operations = 1000;
                   tally.elapsed_ns = i == 0 ? 1000 : 4000;  // 1 and 0.25 per ns
                   return LoopResult{};
                 }};
  ASSERT_EQ(fakes.run().why, LoopResult::Why::done);
  EXPECT_EQ(SideTally{fakes.side}.elapsed_ns, 1600U);  // 2000 messages at 1.25 per ns
}

TEST(Side, TellsWhatMadeOneFailAndStopsTheOthers) {
  FakeTeam fakes{3, [](std::uint64_t i, const LoopPlan&, const StopFlag& stop, LoopTally&) {
                   if (i == 1)
                     return LoopResult{.why = LoopResult::Why::completion_failed,
                                       .status = IBV_WC_RETRY_EXC_ERR};
                   while (!stop.requested()) std::this_thread::yield();
                   return i == 0 ? LoopResult{.why = LoopResult::Why::completion_failed,
                                              .status = IBV_WC_WR_FLUSH_ERR}
                                 : LoopResult{.why = LoopResult::Why::stopped};
                 }};
  EXPECT_EQ(fakes.run().status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(fakes.stop.reason(), StopReason::sibling);
  for (const FakeRunner* fake : fakes.fakes) EXPECT_TRUE(fake->silenced_.load());
}

TEST(Side, OneThatThrowsStopsTheOthersAndTellsWhy) {
  FakeTeam fakes{2, [](std::uint64_t i, const LoopPlan&, const StopFlag& stop, LoopTally&) {
                   if (i == 1) throw MeasurementError("it does not fit");
                   while (!stop.requested()) std::this_thread::yield();
                   return LoopResult{.why = LoopResult::Why::stopped};
                 }};
  try {
    fakes.run();
    FAIL() << "nothing was thrown";
  } catch (const MeasurementError& error) {
    EXPECT_STREQ(error.what(), "it does not fit");
  }
}

TEST(Side, SumsOfOneDeviceAreOfItsRunnersAlone) {
  FakeTeam fakes{4, [](std::uint64_t i, const LoopPlan&, const StopFlag&, LoopTally& tally) {
                   tally.operations = 100;
                   tally.elapsed_ns = i < 2 ? 1000 : 4000;
                   tally.progress.store(i + 1);
                   return LoopResult{};
                 }};
  fakes.side.devices = 2;
  ASSERT_EQ(fakes.run().why, LoopResult::Why::done);
  EXPECT_EQ(SideTally{fakes.side.of_device(0)}.elapsed_ns, 1000U);
  EXPECT_EQ(SideTally{fakes.side.of_device(1)}.elapsed_ns, 4000U);
  EXPECT_EQ(progress_of(fakes.side.of_device(1)), 7U);
  EXPECT_EQ(fakes.side.counters().at("port_xmit_packets"), 10 + 14);  // of runners 0 and 2
  fakes.fakes[2]->event_after_ = 1;
  EXPECT_EQ(fakes.side.take_fatal_event(), "a fake reports IBV_EVENT_PORT_ERR");
}

TEST(Side, ACpuThatIsNotThereStopsAllOfThem) {
  FakeTeam fakes{2, [](std::uint64_t, const LoopPlan&, const StopFlag& stop, LoopTally&) {
                   while (!stop.requested()) std::this_thread::yield();
                   return LoopResult{.why = LoopResult::Why::stopped};
                 }};
  try {
    fakes.run(std::array{8191U, 8191U});
    FAIL() << "ran on CPU 8191";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--core 8191"));
  }
}

TEST(Side, RunsEachThreadOnItsOwnCpu) {
  const std::vector<unsigned> allowed = allowed_cpu_numbers();
  if (allowed.size() < 2) GTEST_SKIP() << "it needs two CPUs";
  FakeTeam fakes{2, [](std::uint64_t, const LoopPlan&, const StopFlag&, LoopTally& tally) {
                   tally.operations = 1;
                   return LoopResult{};
                 }};
  const std::array cpus{allowed[1], allowed[0]};
  ASSERT_EQ(fakes.run(cpus).why, LoopResult::Why::done);
  const std::vector<LoopPlace> places = fakes.side.places();
  ASSERT_EQ(places.size(), 2U);
  const nlohmann::ordered_json threads = fakes.side.facts().at("per_thread");
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(places[i].cpu, cpus[i]);
    EXPECT_EQ(threads[i].at("core"), cpus[i]);
  }
  EXPECT_EQ(allowed_cpu_numbers(), allowed);  // the caller's thread is where it was
}

TEST(Side, IntroducesAndConnectsEachThreadToItsOwn) {
  const auto body = [](std::uint64_t, const LoopPlan&, const StopFlag&, LoopTally&) {
    return LoopResult{};
  };
  FakeTeam here{3, body}, there{3, body};
  here.side.connect(there.side.introduction());
  const auto verdict = here.side.verify({1, 10, 100});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->checked_bytes, 111U);
  EXPECT_EQ(verdict->first_fault, "thread 2: torn");  // whose peer's number is 4
  FakeTeam fewer{2, body};
  EXPECT_THROW(here.side.connect(fewer.side.introduction()), MeasurementError);
}

TEST(Side, TellsEachThreadWhatItsPeerSent) {
  FakeTeam fakes{2, [](std::uint64_t i, const LoopPlan& plan, const StopFlag&, LoopTally& tally) {
                   tally.total = plan.expected.load() + i;
                   return LoopResult{};
                 }};
  fakes.side.expect({10, 20});
  ASSERT_EQ(fakes.run().why, LoopResult::Why::done);
  EXPECT_THAT(fakes.side.totals(), ElementsAre(10, 21));
}

TEST(WindowBarrier, IsPassedOnceAllHaveComeAndThePeerToo) {
  WindowBarrier windows{2, true};
  int calls = 0;
  windows.on_last([](void* count) { ++*static_cast<int*>(count); }, &calls);
  windows.reach(WindowBarrier::Step::warm);
  EXPECT_FALSE(windows.reached_here(WindowBarrier::Step::warm));
  windows.reach(WindowBarrier::Step::warm);
  EXPECT_TRUE(windows.reached_here(WindowBarrier::Step::warm));
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(windows.reached(WindowBarrier::Step::warm));
  windows.notify(WindowBarrier::Step::warm);
  EXPECT_TRUE(windows.reached(WindowBarrier::Step::warm));
  EXPECT_FALSE(windows.reached(WindowBarrier::Step::closed));
}

TEST(WindowSync, DoesNotWaitForEverForAPeerThatNeverComes) {
  using namespace std::chrono_literals;
  InterruptSource interrupt;
  Listener listener{{"127.0.0.1", 0}};
  Channel here{connect_to({"127.0.0.1", listener.port()}, Deadline::in(5s), interrupt), interrupt};
  Channel there{std::move(listener.accept(Deadline::in(5s), interrupt).value()), interrupt};
  TestCase both_ways = of_threads(1);
  both_ways.bidirectional = 1;
  FakeTeam fakes{1, [](std::uint64_t, const LoopPlan& plan, const StopFlag&, LoopTally&) {
                   plan.windows->reach(WindowBarrier::Step::warm);
                   return LoopResult{};
                 }};
  const EventFd attention;
  WindowSync keeper{here, both_ways, fakes.side, attention};
  fakes.run();
  keeper.publish();
  const auto now = WindowSync::Clock::now();
  EXPECT_FALSE(keeper.overdue(now));
  EXPECT_TRUE(keeper.overdue(now + 1h));
  EXPECT_TRUE(keeper.receive(there.receive(Deadline::in(5s))));  // what it told, told back
  EXPECT_FALSE(keeper.overdue(now + 1h));
}

}  // namespace
}  // namespace rdmameter
