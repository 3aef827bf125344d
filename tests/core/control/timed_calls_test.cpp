// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "core/base/error.h"
#include "core/control/control_measurer.h"
#include "core/instrument/histogram_data.h"
#include "core/verbs/check.h"

namespace rdmameter {
namespace {

using testing::HasSubstr;

/// Writes down what it is asked to do: p, c, u.
class FakeCall : public ControlCall {
 public:
  void hold() override { log += 'h'; }
  void prepare() override { log += 'p'; }
  int call() noexcept override {
    log += 'c';
    std::this_thread::sleep_for(pause);
    if (interrupt != nullptr && log.size() >= 8) interrupt->request(StopReason::interrupted);
    return log.size() > fails_after ? ENOMEM : 0;
  }
  void undo() noexcept override {
    log += 'u';
    std::this_thread::sleep_for(pause);
  }
  [[noreturn]] void fail(int error) const override {
    throw_failure("ibv_create_qp", "QP on fake0/1", error);
  }

  std::string log;
  std::chrono::microseconds pause{0};
  std::size_t fails_after = ~std::size_t{0};
  StopFlag* interrupt = nullptr;
};

struct Timed {
  CallTally tally;
  std::unique_ptr<Histogram> latency = std::make_unique<Histogram>();
};

Timed timed(FakeCall& verb, std::uint64_t calls, std::uint64_t duration_ns, std::uint64_t warmup,
            const StopFlag& interrupt = {}) {
  Timed result;
  LoopPlan plan;
  if (duration_ns == 0) plan.operations = calls;
  plan.duration_ns = duration_ns;
  plan.warmup = warmup;
  std::atomic<std::uint64_t> progress{0};
  result.tally = time_calls(verb, plan, ClockChoice{}, interrupt, *result.latency, progress);
  EXPECT_EQ(progress, result.tally.calls);
  return result;
}

TEST(TimeCalls, PreparesAndUndoesEachAndRecordsNoneOfTheWarmup) {
  FakeCall verb;
  const Timed result = timed(verb, 3, 0, 2);
  EXPECT_EQ(verb.log, "pcupcupcupcupcu");
  EXPECT_EQ(result.tally.calls, 3U);
  EXPECT_EQ(snapshot(*result.latency).count, 3U);
  EXPECT_EQ(result.latency->sum_ns(), result.tally.elapsed_ns);
}

TEST(TimeCalls, LeaveWhatComesBeforeAndAfterOut) {
  FakeCall slow_undo;
  slow_undo.pause = std::chrono::microseconds(2000);  // in the call and in undoing it
  const Timed result = timed(slow_undo, 10, 0, 0);
  EXPECT_GE(result.latency->min_ns(), 2'000'000U);
  EXPECT_LT(result.latency->min_ns(), 4'000'000U);
  EXPECT_LT(result.tally.cpu_ns, result.tally.elapsed_ns) << "it slept";
}

TEST(TimeCalls, EndWithTheDurationPreparationIncluded) {
  FakeCall verb;
  verb.pause = std::chrono::microseconds(1000);
  const Timed result = timed(verb, 0, 50'000'000, 0);
  EXPECT_GT(result.tally.calls, 0U);
  EXPECT_LE(result.tally.calls, 25U);
}

TEST(TimeCalls, NameTheVerbThatFailed) {
  FakeCall verb;
  verb.fails_after = 4;
  try {
    timed(verb, 10, 0, 0);
    FAIL() << "it did not throw";
  } catch (const VerbsError& error) {
    EXPECT_THAT(error.what(), HasSubstr("ibv_create_qp QP on fake0/1: Cannot allocate memory"));
  }
  EXPECT_EQ(verb.log, "pcupc") << "there is nothing to undo";
}

TEST(TimeCalls, KeepWhatWasMeasuredBeforeAnInterrupt) {
  FakeCall verb;
  StopFlag interrupt;
  verb.interrupt = &interrupt;
  LoopPlan plan;
  Histogram latency;
  std::atomic<std::uint64_t> progress{0};
  EXPECT_EQ(time_calls(verb, plan, ClockChoice{}, interrupt, latency, progress).calls, 3U);
  EXPECT_EQ(snapshot(latency).count, 3U);
  EXPECT_THROW(time_calls(verb, plan, ClockChoice{}, interrupt, latency, progress), Interrupted)
      << "before there was any";
}

TEST(TimeCalls, EndAtAnInterruptOfTheWarmUp) {
  FakeCall verb;
  StopFlag interrupt;
  verb.interrupt = &interrupt;
  EXPECT_THROW(timed(verb, 1'000'000, 0, 1'000, interrupt), Interrupted);
  EXPECT_EQ(verb.log, "pcupcupcu");
}

}  // namespace
}  // namespace rdmameter
