// SPDX-License-Identifier: Apache-2.0
// An ablation from its option to its effects: the program's own loop on the null device, in virtual
// time, in which posts and completions have known costs.
#include "reports/figures/ablation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "bench/cases/cases.h"
#include "bench/options/run_options.h"
#include "bench/running/runner.h"
#include "core/engine/endpoint_runner.h"
#include "core/engine/loop/bandwidth.h"
#include "core/engine/null/null_device.h"
#include "core/engine/work.h"

namespace rdmameter {
namespace {

/// [ns] What the CPU takes for a doorbell, less for that of a single inline WR; for each WR, and
/// where its bytes are fetched; for each SGE, and each completion.
constexpr double kDoorbell = 320, kSavedInOneWrite = 80, kWr = 40, kFetch = 120, kSge = 24,
                 kCompletion = 160;
/// What all of it takes longer from one case to the next: the machine becomes warmer.
constexpr double kWarmer = 2;

double costs_now_ns = 0, costs_extra_ns = 0;

struct CostsClock {
  std::uint64_t now() const noexcept { return static_cast<std::uint64_t>(costs_now_ns); }
  std::uint64_t to_ns(std::uint64_t ticks) const noexcept { return ticks; }
  std::uint64_t to_ticks(std::uint64_t ns) const noexcept { return ns; }
};

struct CostsPost {
  static int post(const LoopState& loop_state, const Lane& lane, ibv_send_wr* head) noexcept {
    const bool inlined = (head->send_flags & IBV_SEND_INLINE) != 0;
    costs_now_ns += kDoorbell - (inlined && head->next == nullptr ? kSavedInOneWrite : 0);
    for (const ibv_send_wr* wr = head; wr != nullptr; wr = wr->next)
      costs_now_ns += kWr + costs_extra_ns + (inlined ? 0 : kFetch) + kSge * wr->num_sge;
    return ClassicPost::post(loop_state, lane, head);
  }
};

struct CostsCq : ClassicCq {
  template <bool kImmediate = false>
  static int poll(ibv_cq* cq, int max, ibv_wc* wcs) noexcept {
    const int polled = ClassicCq::poll<kImmediate>(cq, max, wcs);
    costs_now_ns += kCompletion * polled;
    return polled;
  }
};

class CostsMeasurer final : public Measurer {
 public:
  Outcome measure(const TestCase& test_case) override {
    const NullEndpoint endpoint{test_case, Role::initiator};
    Work work{test_case, Role::initiator, endpoint.layout(), endpoint.view()};
    const auto latency = std::make_unique<Histogram>(), scratch = std::make_unique<Histogram>();
    LoopTally tally;
    tally.latency = latency.get();
    tally.scratch = scratch.get();
    LoopPlan plan;
    fill_plan(plan, test_case);
    const StopFlag never;
    costs_extra_ns += kWarmer;
    using P = Policy<CostsClock, SpinWait, CostsPost, CostsCq>;
    const LoopResult end =
        bandwidth_initiator<Unnumbered, P>(work.loop_state(), plan, CostsClock{}, never, tally);
    EXPECT_EQ(end.why, LoopResult::Why::done);
    Outcome outcome;
    outcome.effective = test_case;
    outcome.operations = tally.operations;
    outcome.bandwidth = BandwidthData{.messages = tally.operations, .window_ns = tally.elapsed_ns};
    return outcome;
  }
};

class AblatedRows : public RunListener {
 public:
  void begin(const std::string&, std::uint64_t, std::uint64_t) override {}
  void row(const Row& row) override { rows.push_back(row); }
  std::vector<Row> rows;
};

constexpr std::uint64_t kRepetitions = 20;

struct AblatedRun {
  Ablation ablation;
  std::vector<Row> rows;
  nlohmann::ordered_json context;
};

AblatedRun ablate(const std::string& axes) {
  const Axis& iterations = *find_axis("iterations");
  std::vector<Suite> suites{{.tests = select_tests(std::vector<std::string>{"write_bw"}),
                             .given = {{&iterations, {"2000"}}, {find_axis("size"), {"32"}}}}};
  const std::vector<AblationFactor> factors = read_ablation(axes, suites);
  const std::vector<PlannedCase> cases = in_design(plan_cases(suites), factors);
  CostsMeasurer measurer;
  AblatedRows listener;
  costs_extra_ns = 0;
  run_interleaved({cases, measurer, StopFlag{}, listener}, kRepetitions, 7);
  const nlohmann::ordered_json context{{"rdmameter", {{"ablation", ablation_json(factors, 7)}}}};
  const Ablation found = ablations_of(context, listener.rows).at(0);
  return {found, std::move(listener.rows), context};
}

/// "post-list", "inline x post-list"
std::string effect_name(const Ablation& ablation, FactorSet factors) {
  std::string name;
  for (std::size_t i = 0; i < ablation.axes.size(); ++i)
    if ((factors >> i & 1) != 0) name += (name.empty() ? "" : " x ") + ablation.axes[i].option;
  return name;
}

/// Every effect is within 5 % or 5 ns of what is known; one that is not named, of nothing.
void expect_effects(const Ablation& ablation, std::map<std::string, double> known) {
  ASSERT_TRUE(ablation.analysis);
  EXPECT_EQ(ablation.analysis->blocks, kRepetitions);
  for (const FactorialEffect& effect : ablation.analysis->effects) {
    const std::string name = effect_name(ablation, effect.factors);
    const double expected = known[name];
    EXPECT_NEAR(effect.value, expected, std::max(5.0, 0.05 * std::abs(expected))) << name;
    EXPECT_LE(effect.low, expected + 1) << name;
    EXPECT_GE(effect.high, expected - 1) << name;
  }
}

TEST(Ablation, OfKnownCostsOnTheNullDeviceHasThemAsItsEffects) {
  const AblatedRun run = ablate("inline,signal-every,post-list");
  constexpr double kPart = 1.0 / 16 - 1;
  expect_effects(run.ablation, {{"inline", -kFetch - kSavedInOneWrite / 2},
                                {"signal-every", kPart * kCompletion},
                                {"post-list", kPart * kDoorbell + kSavedInOneWrite / 2},
                                {"inline x post-list", kSavedInOneWrite}});
}

TEST(Ablation, OfHalfOfTheCombinationsHasThemToo) {
  const AblatedRun run = ablate("inline,signal-every,post-list,sge,api");
  EXPECT_EQ(run.rows.size(), 16 * kRepetitions);
  constexpr double kPart = 1.0 / 16 - 1;
  expect_effects(run.ablation, {{"inline", -kFetch - kSavedInOneWrite / 2},
                                {"signal-every", kPart * kCompletion},
                                {"post-list", kPart * kDoorbell + kSavedInOneWrite / 2},
                                {"sge", kSge},
                                {"inline x post-list", kSavedInOneWrite}});
}

TEST(Ablation, OfMergedFilesHasABlockOfEachRunsRepetitions) {
  const AblatedRun run = ablate("inline,post-list");
  std::vector<Row> rows;
  for (const std::uint64_t of_run : {0, 1})
    for (Row row : run.rows) {
      row.extra["run"] = of_run;
      rows.push_back(std::move(row));
    }
  const Ablation merged = ablations_of(run.context, rows).at(0);
  EXPECT_EQ(merged.repetitions, 2 * kRepetitions);
  ASSERT_TRUE(merged.analysis);
  EXPECT_EQ(merged.analysis->blocks, 2 * kRepetitions);
}

TEST(Ablation, EachRepetitionIsInAnOrderOfItsOwn) {
  const AblatedRun run = ablate("inline,signal-every,post-list");
  ASSERT_EQ(run.rows.size(), 8 * kRepetitions);
  std::set<std::vector<std::string>> orders;
  for (std::size_t at = 0; at < run.rows.size(); at += 8) {
    std::vector<std::string> order;
    for (std::size_t i = at; i < at + 8; ++i) order.push_back(run.rows[i].name);
    EXPECT_EQ(std::set(order.begin(), order.end()).size(), 8U);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), kRepetitions);
}

}  // namespace
}  // namespace rdmameter
