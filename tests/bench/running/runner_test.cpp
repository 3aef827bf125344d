// SPDX-License-Identifier: Apache-2.0
#include "bench/running/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "bench/cases/cases.h"
#include "core/base/error.h"
#include "fake_measurer.h"

namespace rdmameter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using Status = Row::Status;

/// Keeps the rows; may break like a full disk.
class Rows : public RunListener {
 public:
  void begin(const std::string&, std::uint64_t done, std::uint64_t all) override {
    EXPECT_LT(done, all);
    begun.push_back(done);
  }
  void row(const Row& row) override {
    if (rows.size() == break_after) throw std::runtime_error("disk full");
    rows.push_back(row);
  }

  std::vector<std::string> texts() const {
    std::vector<std::string> list;
    for (const Row& row : rows) list.push_back(row.name + " " + std::to_string(row.repetition));
    return list;
  }
  std::vector<Status> states() const {
    std::vector<Status> list;
    for (const Row& row : rows) list.push_back(row.status);
    return list;
  }

  std::vector<Row> rows;
  std::vector<std::uint64_t> begun;
  std::size_t break_after = 1'000'000;
};

std::vector<PlannedCase> sizes(std::string_view list) {
  const std::vector<GivenAxis> given{{find_axis("size"), read_axis_list(*find_axis("size"), list)}};
  return plan_cases(select_tests(std::vector<std::string>{"send_lat"}), given);
}

struct Runner : testing::Test {
  RunTally run(const std::vector<PlannedCase>& cases, std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), "--benchmark_enable_random_interleaving=false");
    return run_range({cases, measurer, stop, rows}, {0, cases.size()},
                     initialize_benchmark(arguments, repetitions));
  }

  std::uint64_t repetitions = 1;
  FakeMeasurer::Script script = four_round_trips;
  FakeMeasurer measurer{[this](const TestCase& test_case) { return script(test_case); }};
  StopFlag stop;
  Rows rows;
};

TEST_F(Runner, MakesARowOfEachRepetition) {
  repetitions = 3;
  const RunTally tally = run(sizes("1,2"));
  EXPECT_THAT(rows.texts(),
              ElementsAre("send_lat/rc/size:1 0", "send_lat/rc/size:1 1", "send_lat/rc/size:1 2",
                          "send_lat/rc/size:2 0", "send_lat/rc/size:2 1", "send_lat/rc/size:2 2"));
  EXPECT_EQ(rows.rows[5].family_index, 1U);
  EXPECT_EQ(rows.rows[5].repetitions, 3U);
  EXPECT_EQ(tally.measured, 6U);
  EXPECT_EQ(tally.status(), ExitStatus::pass);
}

TEST_F(Runner, RunsARangeInItsPlaceAmongAll) {
  const std::vector<PlannedCase> cases = sizes("1,2,4");
  const BenchmarkFlags flags =
      initialize_benchmark({"--benchmark_enable_random_interleaving=false"}, 2);
  EXPECT_EQ(run_range({cases, measurer, stop, rows}, {1, 2}, flags).measured, 4U);
  EXPECT_THAT(rows.texts(), ElementsAre("send_lat/rc/size:2 0", "send_lat/rc/size:2 1",
                                        "send_lat/rc/size:4 0", "send_lat/rc/size:4 1"));
  EXPECT_EQ(rows.rows.front().family_index, 1U);
  EXPECT_THAT(rows.begun, ElementsAre(2, 3, 4, 5));
}

TEST(Tally, AddsUpAndKeepsAStatusThatAllFailuresShare) {
  RunTally all;
  all += {.measured = 2};
  all += {.failed = 1, .failure = ExitStatus::no_device};
  EXPECT_EQ(all.failure, ExitStatus::no_device);
  EXPECT_EQ(all.status(), ExitStatus::failed) << "since something was measured";
  all += {.skipped = 1, .failed = 1, .failure = ExitStatus::no_device};
  EXPECT_EQ(all.failure, ExitStatus::no_device);
  all += {.measured = 1};
  EXPECT_EQ(all.failure, ExitStatus::no_device);
  all += {.failed = 1, .interrupted = true, .failure = ExitStatus::failed};
  EXPECT_EQ(all.failure, ExitStatus::failed);
  EXPECT_EQ(all.measured, 3U);
  EXPECT_EQ(all.skipped, 1U);
  EXPECT_EQ(all.failed, 3U);
  EXPECT_EQ(all.status(), ExitStatus::interrupted);
}

TEST_F(Runner, TakesGoogleBenchmarksRepetitionsBeforeOurs) {
  repetitions = 3;
  run(sizes("1"), {"--benchmark_repetitions=2"});
  EXPECT_EQ(rows.rows.size(), 2U);
}

TEST_F(Runner, InterleavesRepetitionsAtRandomWhereAskedTo) {
  repetitions = 200;
  run(sizes("1,2"), {"--benchmark_enable_random_interleaving=true"});
  ASSERT_EQ(rows.rows.size(), 400U);
  std::size_t changes = 0;
  for (std::size_t i = 1; i < 400; ++i) changes += rows.rows[i].name != rows.rows[i - 1].name;
  EXPECT_GT(changes, 100U);
  std::set<std::string> all;
  for (const std::string& text : rows.texts()) all.insert(text);
  EXPECT_EQ(all.size(), 400U) << "each repetition has its own number";
}

TEST_F(Runner, MeasuresEachRepetitionInAnOrderThatTheSeedDraws) {
  const std::vector<PlannedCase> cases = sizes("1,2,4,8");
  const auto names_with = [&](std::uint64_t seed, std::uint64_t count) {
    rows.rows.clear();
    run_interleaved({cases, measurer, stop, rows}, count, seed);
    std::vector<std::uint64_t> indices;
    for (const Row& row : rows.rows) indices.push_back(row.family_index);
    return indices;
  };
  const std::vector<std::uint64_t> order = names_with(7, 50);
  EXPECT_EQ(names_with(7, 50), order);
  EXPECT_NE(names_with(8, 50), order);
  std::map<std::vector<std::uint64_t>, int> orders;
  std::map<std::uint64_t, int> first;
  for (std::size_t repetition = 0; repetition < 50; ++repetition) {
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(4 * repetition);
    EXPECT_THAT(std::vector(begin, begin + 4), UnorderedElementsAre(0U, 1U, 2U, 3U));
    ++orders[std::vector(begin, begin + 4)];
    ++first[*begin];
  }
  EXPECT_GT(orders.size(), 12U);  // of 24
  EXPECT_EQ(first.size(), 4U);
  EXPECT_THAT(names_with(7, 1), ElementsAre(0U, 1U, 2U, 3U)) << "nothing to interleave";
}

TEST_F(Runner, PassesWhereAnInterruptIsTheEndThatWasAskedFor) {
  script = [this](const TestCase& test_case) {
    stop.request(StopReason::finish);
    return four_round_trips(test_case);
  };
  auto endless = sizes("1,2");
  for (PlannedCase& planned : endless) {
    planned.test_case.iterations = 0;
    planned.test_case.duration_ns = kUntilInterrupted;
  }
  EXPECT_EQ(run(endless).status(), ExitStatus::interrupted) << "the second one was left to do";
  EXPECT_EQ(rows.rows.size(), 1U);
  endless.pop_back();
  stop.word = 0;
  EXPECT_EQ(run(endless).status(), ExitStatus::pass);
  stop.word = 0;
  EXPECT_EQ(run(sizes("1")).status(), ExitStatus::interrupted) << "it had an end of its own";
}

TEST_F(Runner, SkipsAnUnsupportedCaseOnceAndGoesOn) {
  repetitions = 4;
  script = [](const TestCase& test_case) {
    if (test_case.size_bytes == 1) throw Unsupported("not here");
    return four_round_trips(test_case);
  };
  const RunTally tally = run(sizes("1,2"));
  EXPECT_EQ(rows.rows.size(), 5U);
  EXPECT_EQ(rows.rows[0].status, Status::skipped);
  EXPECT_EQ(rows.rows[0].message, "not here");
  EXPECT_EQ(measurer.measured.size(), 5U);
  EXPECT_EQ(tally.status(), ExitStatus::pass);
}

TEST_F(Runner, NeverTriesAnImpossibleCase) {
  auto cases = sizes("1");
  cases[0].why_skipped = "the standard";
  const RunTally tally = run(cases);
  EXPECT_TRUE(measurer.measured.empty());
  EXPECT_EQ(rows.rows[0].message, "the standard");
  EXPECT_EQ(tally.status(), ExitStatus::usage) << "nothing was left to measure";
}

TEST_F(Runner, GoesOnAfterAFailureWhileTheMeasurerIsUsable) {
  repetitions = 2;
  script = [](const TestCase& test_case) {
    if (test_case.size_bytes == 1) throw MeasurementError("CQ error");
    return four_round_trips(test_case);
  };
  const RunTally tally = run(sizes("1,2"));
  EXPECT_THAT(rows.states(), ElementsAre(Status::error, Status::error, Status::ok, Status::ok));
  EXPECT_EQ(rows.rows[0].message, "CQ error");
  EXPECT_EQ(tally.status(), ExitStatus::failed);
}

TEST_F(Runner, SaysOfEachCaseThatItWasNotMeasuredOnceTheMeasurerIsUnusable) {
  script = [this](const TestCase& test_case) {
    if (test_case.size_bytes == 2) {
      measurer.still_usable = false;
      throw MeasurementError("peer died");
    }
    return four_round_trips(test_case);
  };
  const RunTally tally = run(sizes("1,2,3,4"));
  EXPECT_THAT(rows.states(), ElementsAre(Status::ok, Status::error, Status::error, Status::error));
  EXPECT_EQ(measurer.measured.size(), 2U);
  EXPECT_EQ(rows.rows[1].message, "peer died");
  EXPECT_EQ(rows.rows[3].message, "not measured: peer died");
  EXPECT_EQ(tally.status(), ExitStatus::failed);
}

TEST_F(Runner, EndsAtAnInterruptKeepingItsRows) {
  repetitions = 3;
  script = [](const TestCase& test_case) -> Outcome {
    if (test_case.size_bytes == 2) throw Interrupted("Ctrl-C");
    return four_round_trips(test_case);
  };
  const RunTally tally = run(sizes("1,2,3"));
  EXPECT_EQ(rows.rows.size(), 3U);
  EXPECT_EQ(tally.status(), ExitStatus::interrupted);
}

TEST_F(Runner, TakesAFailureUnderAnInterruptForTheInterrupt) {
  script = [this](const TestCase&) -> Outcome {
    stop.request(StopReason::interrupted);
    throw MeasurementError("the loop ended early");
  };
  EXPECT_EQ(run(sizes("1,2")).status(), ExitStatus::interrupted);
  EXPECT_TRUE(rows.rows.empty());
}

TEST_F(Runner, MeasuresNothingAfterAnInterrupt) {
  stop.request(StopReason::interrupted);
  EXPECT_EQ(run(sizes("1,2")).status(), ExitStatus::interrupted);
  EXPECT_TRUE(measurer.measured.empty());
}

TEST_F(Runner, IsInterruptedEvenWhereTheLastRepetitionStillEnded) {
  script = [this](const TestCase& test_case) {
    stop.request(StopReason::interrupted);
    return four_round_trips(test_case);
  };
  EXPECT_EQ(run(sizes("1")).status(), ExitStatus::interrupted);
  EXPECT_EQ(rows.rows.size(), 1U);
}

TEST_F(Runner, EndsWhereRowsCannotBeKept) {
  rows.break_after = 1;
  EXPECT_THROW(run(sizes("1,2,3")), std::runtime_error);
  EXPECT_EQ(measurer.measured.size(), 2U);
}

TEST_F(Runner, HasTheStatusOfAWrongOptionThoughOtherCasesWereMeasured) {
  script = [](const TestCase& test_case) {
    if (test_case.size_bytes == 1) throw UsageError("--port-num 2: soft0 has the ports 1 to 1");
    return four_round_trips(test_case);
  };
  EXPECT_EQ(run(sizes("1,2")).status(), ExitStatus::usage);
}

TEST_F(Runner, HasTheStatusOfTheFailureWhereNothingElseHappened) {
  script = [](const TestCase&) -> Outcome { throw NoDevice("none"); };
  EXPECT_EQ(run(sizes("1,2")).status(), ExitStatus::no_device);
  script = [](const TestCase&) -> Outcome { throw UsageError("no such GID"); };
  EXPECT_EQ(run(sizes("1,2")).status(), ExitStatus::usage);
  script = [](const TestCase&) -> Outcome { throw UnusableDevice("DOWN"); };
  EXPECT_EQ(run(sizes("1,2")).status(), ExitStatus::failed);
  script = [](const TestCase& test_case) -> Outcome {
    if (test_case.size_bytes == 1) throw MeasurementError("peer died");
    throw NoDevice("none");
  };
  EXPECT_EQ(run(sizes("1,2")).status(), ExitStatus::failed);
  script = [](const TestCase& test_case) {
    if (test_case.size_bytes == 1) throw NoDevice("none");
    return four_round_trips(test_case);
  };
  EXPECT_EQ(run(sizes("1,2")).status(), ExitStatus::failed);
}

TEST(BenchmarkFlags, FilterOurNamesAsGoogleBenchmarkFiltersIts) {
  const auto selects = [](const std::string& filter, const std::string& name) {
    return BenchmarkFlags{.filter = filter, .context = {}}.selects(name);
  };
  EXPECT_TRUE(selects("", "write_lat/rc/size:64"));
  EXPECT_TRUE(selects("all", "write_lat/rc/size:64"));
  EXPECT_TRUE(selects("size:64$", "write_lat/rc/size:64"));
  EXPECT_FALSE(selects("size:6$", "write_lat/rc/size:64"));
  EXPECT_TRUE(selects("-read", "write_lat/rc/size:64"));
  EXPECT_FALSE(selects("-(read|lat)", "write_lat/rc/size:64"));
  EXPECT_THROW(selects("(", "write_lat"), UsageError);
}

TEST(BenchmarkFlags, AreTakenFromTheCommandLineAndNothingElseIs) {
  std::vector<std::string> arguments{"run", "--benchmark_filter=x", "--size", "8",
                                     "--benchmark_list_tests"};
  EXPECT_THAT(take_benchmark_arguments(arguments),
              ElementsAre("--benchmark_filter=x", "--benchmark_list_tests"));
  EXPECT_THAT(arguments, ElementsAre("run", "--size", "8"));
}

TEST(BenchmarkFlags, SayWhatGoogleBenchmarkWasTold) {
  const BenchmarkFlags flags = initialize_benchmark(
      {"--benchmark_list_tests", "--benchmark_filter=x", "--benchmark_context=rack=7"}, 5);
  EXPECT_TRUE(flags.list_tests);
  EXPECT_EQ(flags.filter, "x");
  EXPECT_EQ(flags.repetitions, 5U);
  EXPECT_EQ(flags.context.at("rack"), "7");
  EXPECT_FALSE(initialize_benchmark({"--benchmark_list_tests=false"}, 1).list_tests);
}

TEST(BenchmarkFlags, RefuseWhatGoogleBenchmarkDoesNotTake) {
  const auto refusal = [](const std::string& argument) -> std::string {
    try {
      initialize_benchmark({argument}, 1);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("--benchmark_filtre=x"), HasSubstr("did you mean '--benchmark_filter'?"));
  EXPECT_THAT(refusal("--benchmark_repetitions=0"), HasSubstr("from 1 to"));
  EXPECT_THAT(refusal("--benchmark_repetitions=1e3"), HasSubstr("from 1 to"));
  for (const char* other : {"--benchmark_format=console", "--benchmark_min_warmup_time=0.1"})
    EXPECT_THAT(refusal(other), HasSubstr("rdmameter takes list_tests, filter, "));
  for (const char* without : {"--benchmark_filter", "--benchmark_context=rack"})
    EXPECT_THAT(refusal(without), HasSubstr("Google Benchmark does not take this value"));
}

TEST_F(Runner, ASkippedCaseCountsAllItsRepetitionsAsBegun) {
  repetitions = 3;
  script = [](const TestCase& test_case) -> Outcome {
    if (test_case.size_bytes == 1) throw Unsupported("not here");
    return four_round_trips(test_case);
  };
  run(sizes("1,2"));
  EXPECT_THAT(rows.begun, ElementsAre(0, 3, 4, 5));
}

struct RunnerUntil : Runner {
  RunTally run_them(const std::vector<PlannedCase>& cases) {
    return run_until({cases, measurer, stop, rows}, {0, cases.size()}, until);
  }
  Until until{.goals = read_until("1%"), .repetitions = 100};
};

TEST_F(RunnerUntil, RepeatsACaseUntilItHasSettledAndThenTheNext) {
  script = twenty_round_trips;
  EXPECT_EQ(run_them(sizes("1,2")).measured, 40U);
  ASSERT_EQ(rows.rows.size(), 40U);
  EXPECT_EQ(rows.rows[19].name, "send_lat/rc/size:1");
  EXPECT_EQ(rows.rows[20].name, "send_lat/rc/size:2");
  for (const std::size_t last : {19U, 39U}) {
    ASSERT_TRUE(rows.rows[last].until) << last;
    EXPECT_EQ(rows.rows[last].until->ended, UntilData::Ended::reached);
    EXPECT_EQ(rows.rows[last].repetitions, 20U) << "as many as there were";
  }
  EXPECT_FALSE(rows.rows[18].until);
  EXPECT_THAT(std::set(rows.begun.begin(), rows.begun.end()), UnorderedElementsAre(0, 1))
      << "progress counts cases";
}

TEST_F(RunnerUntil, GivesACaseUpThatFailsThreeTimesInSuccession) {
  int calls = 0;
  script = [&](const TestCase& test_case) {
    if (++calls % 4 != 0) throw std::runtime_error("no");
    return twenty_round_trips(test_case);
  };
  const RunTally tally = run_them(sizes("1"));
  EXPECT_EQ(tally.failed, 3U);
  EXPECT_EQ(rows.rows.size(), 3U);
  calls = 1;
  rows.rows.clear();
  run_them(sizes("1"));
  EXPECT_EQ(rows.rows.size(), 6U) << "two, one that was measured, and three more";
}

TEST_F(RunnerUntil, SaysWhyTheLastOfTheMostRepetitionsIsTheLastThoughOneHasFailed) {
  int calls = 0;
  until.repetitions = 20;
  script = [&](const TestCase& test_case) {
    if (++calls == 5) throw std::runtime_error("no");
    return twenty_round_trips(test_case);
  };
  EXPECT_EQ(run_them(sizes("1")).measured, 19U);
  ASSERT_TRUE(rows.rows.back().until);
  EXPECT_EQ(rows.rows.back().until->ended, UntilData::Ended::repetitions);
}

TEST_F(RunnerUntil, MeasuresASkippedCaseOnce) {
  script = [](const TestCase&) -> Outcome { throw Unsupported("not here"); };
  EXPECT_EQ(run_them(sizes("1")).skipped, 1U);
  EXPECT_EQ(rows.rows.size(), 1U);
}

TEST_F(RunnerUntil, EndsWithAnInterrupt) {
  script = [&](const TestCase& test_case) {
    if (rows.rows.size() == 4) throw Interrupted("interrupted");
    return twenty_round_trips(test_case);
  };
  EXPECT_TRUE(run_them(sizes("1,2")).interrupted);
  EXPECT_EQ(rows.rows.size(), 4U);
}

TEST_F(Runner, ALaterRoundOfSomeCasesGoesOnCountingTheirRepetitions) {
  std::vector<PlannedCase> cases = sizes("8,16");
  EarlierRounds earlier;
  run_round({cases, measurer, stop, rows}, {.which = {0, 1}, .repetitions = 2, .seed = 1}, earlier);
  cases = sizes("8,16,32");
  const RunTally tally = run_round({cases, measurer, stop, rows},
                                   {.which = {2, 1}, .repetitions = 2, .seed = 2}, earlier);
  EXPECT_EQ(tally.measured, 4U);
  EXPECT_THAT(earlier.repeated, ElementsAre(2, 4, 2));
  EXPECT_THAT(rows.begun, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  std::map<std::string, std::set<std::uint64_t>> seen;
  for (const Row& row : rows.rows) {
    seen[row.name].insert(row.repetition);
    EXPECT_LT(row.repetition, row.repetitions);
  }
  EXPECT_THAT(seen["send_lat/rc/size:8"], UnorderedElementsAre(0, 1));
  EXPECT_THAT(seen["send_lat/rc/size:16"], UnorderedElementsAre(0, 1, 2, 3));
  EXPECT_THAT(seen["send_lat/rc/size:32"], UnorderedElementsAre(0, 1));
}

}  // namespace
}  // namespace rdmameter
