// SPDX-License-Identifier: Apache-2.0
// Several threads as one end: what they add up to, and what becomes of the others when one fails.
#include "core/team.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/error.h"
#include "core/histogram_data.h"
#include "core/loop/gate.h"
#include "core/session/gate_keeper.h"
#include "core/session/socket.h"

namespace rdmameter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A side without a device, whose loop does what the test says.
class FakeSide final : public Side {
 public:
  using Body = std::function<LoopEnd(const LoopPlan&, const StopWord&, LoopTally&)>;

  FakeSide(const Case& one_case, std::uint64_t seed, Body body)
      : Side(one_case, Role::initiator, seed), seed_(seed), body_(std::move(body)) {}

  nlohmann::json introduction() const override { return {{"number", seed_}}; }
  void connect(const nlohmann::json& peer) override { peer_ = peer.at("number"); }
  void settle(Case&, const nlohmann::json&) const override {}
  std::string take_fatal_event() override { return {}; }
  void silence() noexcept override { silenced_.store(true); }
  std::optional<Verdict> verify(const std::vector<std::uint64_t>& totals) const override {
    return Verdict{.checked_bytes = totals.front(), .first_fault = peer_ == 4 ? "torn" : ""};
  }
  nlohmann::ordered_json counters() const override { return nullptr; }
  nlohmann::ordered_json resources() const override {
    return {{"qps", 2}, {"send_wrs_per_qp", 128}};
  }
  nlohmann::ordered_json facts() const override { return {{"inlined", true}}; }
  std::string where() const override { return "a fake"; }

  std::atomic<bool> silenced_{false};

 private:
  Loop loop(Wait, ClockChoice::Kind) override {
    return [this](const LoopPlan& plan, const ClockChoice&, const StopWord& stop,
                  LoopTally& tally) { return body_(plan, stop, tally); };
  }

  const std::uint64_t seed_;
  const Body body_;
  std::uint64_t peer_ = 0;
};

Case of_threads(std::uint64_t threads) {
  Case made = default_case(Opcode::rdma_write, Pattern::bandwidth);
  made.threads = threads;
  return made;
}

/// A team of fakes; the number that a body is given is the thread's, counted from 0.
struct FakeTeam {
  using Body = std::function<LoopEnd(std::uint64_t, const LoopPlan&, const StopWord&, LoopTally&)>;

  FakeTeam(std::uint64_t threads, Body body)
      : team(of_threads(threads), Role::initiator, 0, [&](std::uint64_t seed) {
          auto made = std::make_unique<FakeSide>(
              of_threads(threads), seed,
              [body, seed](const LoopPlan& plan, const StopWord& word, LoopTally& tally) {
                return body(seed / 2, plan, word, tally);
              });
          fakes.push_back(made.get());
          return made;
        }) {}

  LoopEnd run(std::uint64_t core = kAuto) { return team.run(Wait::yield, core, {}, stop); }

  std::vector<FakeSide*> fakes;
  Team team;
  StopWord stop;
};

TEST(Team, AddsUpWhatItsThreadsCounted) {
  FakeTeam fakes{3, [](std::uint64_t i, const LoopPlan&, const StopWord&, LoopTally& tally) {
                   tally.operations = 100 * (i + 1);
                   tally.elapsed_ns = 1000;  // 0.1, 0.2 and 0.3 messages per ns
                   tally.total = 500 + i;
                   tally.latency->record(10 * (i + 1));
                   tally.progress.store(i);
                   return LoopEnd{};
                 }};
  ASSERT_EQ(fakes.run().why, LoopEnd::Why::done);
  EXPECT_EQ(fakes.team.tally().operations, 600U);
  EXPECT_EQ(fakes.team.tally().elapsed_ns, 1000U);
  EXPECT_THAT(fakes.team.totals(), ElementsAre(500, 501, 502));
  EXPECT_EQ(fakes.team.progress(), 3U);
  const HistogramData samples = snapshot(*fakes.team.take_latency());
  EXPECT_EQ(samples.count, 3U);
  EXPECT_EQ(samples.max_ns, 30U);
  const nlohmann::ordered_json threads = fakes.team.facts().at("per_thread");
  ASSERT_EQ(threads.size(), 3U);
  EXPECT_EQ(threads[2].at("operations"), 300);
  EXPECT_TRUE(threads[2].at("core").is_null());
  EXPECT_EQ(fakes.team.resources().at("qps"), 6);
  EXPECT_EQ(fakes.team.resources().at("send_wrs_per_qp"), 128);
}

TEST(Team, TheWindowOfAllGivesTheSumOfTheRates) {
  FakeTeam fakes{2, [](std::uint64_t i, const LoopPlan&, const StopWord&, LoopTally& tally) {
                   tally.operations = 1000;
                   tally.elapsed_ns = i == 0 ? 1000 : 4000;  // 1 and 0.25 per ns
                   return LoopEnd{};
                 }};
  ASSERT_EQ(fakes.run().why, LoopEnd::Why::done);
  EXPECT_EQ(fakes.team.tally().elapsed_ns, 1600U);  // 2000 messages at 1.25 per ns
}

TEST(Team, TellsWhatMadeOneFailAndStopsTheOthers) {
  FakeTeam fakes{
      3, [](std::uint64_t i, const LoopPlan&, const StopWord& stop, LoopTally&) {
        if (i == 1)
          return LoopEnd{.why = LoopEnd::Why::completion_failed, .status = IBV_WC_RETRY_EXC_ERR};
        while (!stop.requested()) std::this_thread::yield();
        return i == 0
                   ? LoopEnd{.why = LoopEnd::Why::completion_failed, .status = IBV_WC_WR_FLUSH_ERR}
                   : LoopEnd{.why = LoopEnd::Why::stopped};
      }};
  EXPECT_EQ(fakes.run().status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(fakes.stop.reason(), StopReason::sibling);
  for (const FakeSide* fake : fakes.fakes) EXPECT_TRUE(fake->silenced_.load());
}

TEST(Team, ACpuThatIsNotThereStopsAllOfThem) {
  FakeTeam fakes{2, [](std::uint64_t, const LoopPlan&, const StopWord& stop, LoopTally&) {
                   while (!stop.requested()) std::this_thread::yield();
                   return LoopEnd{.why = LoopEnd::Why::stopped};
                 }};
  try {
    fakes.run(8191);
    FAIL() << "ran on CPU 8191";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--core 8191"));
  }
}

TEST(Team, IntroducesAndConnectsEachThreadToItsOwn) {
  const auto body = [](std::uint64_t, const LoopPlan&, const StopWord&, LoopTally&) {
    return LoopEnd{};
  };
  FakeTeam here{3, body}, there{3, body};
  here.team.connect(there.team.introduction());
  const auto verdict = here.team.verify({1, 10, 100});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->checked_bytes, 111U);
  EXPECT_EQ(verdict->first_fault, "thread 2: torn");  // whose peer's number is 4
  FakeTeam fewer{2, body};
  EXPECT_THROW(here.team.connect(fewer.team.introduction()), MeasurementError);
}

TEST(Team, TellsEachThreadWhatItsPeerSent) {
  FakeTeam fakes{2, [](std::uint64_t i, const LoopPlan& plan, const StopWord&, LoopTally& tally) {
                   tally.total = plan.expected.load() + i;
                   return LoopEnd{};
                 }};
  fakes.team.expect({10, 20});
  ASSERT_EQ(fakes.run().why, LoopEnd::Why::done);
  EXPECT_THAT(fakes.team.totals(), ElementsAre(10, 21));
}

TEST(LoadGate, IsPassedOnceAllHaveComeAndThePeerToo) {
  LoadGate gate{2, true};
  int calls = 0;
  gate.on_last([](void* count) { ++*static_cast<int*>(count); }, &calls);
  gate.reach(LoadGate::Step::warm);
  EXPECT_FALSE(gate.reached_here(LoadGate::Step::warm));
  gate.reach(LoadGate::Step::warm);
  EXPECT_TRUE(gate.reached_here(LoadGate::Step::warm));
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(gate.reached(LoadGate::Step::warm));
  gate.tell(LoadGate::Step::warm);
  EXPECT_TRUE(gate.reached(LoadGate::Step::warm));
  EXPECT_FALSE(gate.reached(LoadGate::Step::closed));
}

TEST(GateKeeper, DoesNotWaitForEverForAPeerThatNeverComes) {
  using namespace std::chrono_literals;
  InterruptSource interrupt;
  Listener listener{{"127.0.0.1", 0}};
  Channel here{connect_to({"127.0.0.1", listener.port()}, Deadline::in(5s), interrupt), interrupt};
  Channel there{std::move(listener.accept(Deadline::in(5s), interrupt).value()), interrupt};
  Case both_ways = of_threads(1);
  both_ways.bidirectional = 1;
  FakeSide side{both_ways, 0, [](const LoopPlan& plan, const StopWord&, LoopTally&) {
                  plan.gate->reach(LoadGate::Step::warm);
                  return LoopEnd{};
                }};
  const Wake attention;
  GateKeeper keeper{here, both_ways, &side, attention};
  StopWord stop;
  side.run(Wait::yield, kAuto, {}, stop);
  keeper.pass_on();
  const auto now = GateKeeper::Clock::now();
  EXPECT_FALSE(keeper.overdue(now));
  EXPECT_TRUE(keeper.overdue(now + 1h));
  EXPECT_TRUE(keeper.hear(there.receive(Deadline::in(5s))));  // what it told, told back
  EXPECT_FALSE(keeper.overdue(now + 1h));
}

}  // namespace
}  // namespace rdmameter
