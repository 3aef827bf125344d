// SPDX-License-Identifier: Apache-2.0
#include "bench/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "bench/axis_list.h"
#include "core/error.h"
#include "fake_measurer.h"

namespace rdmameter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Status = Row::Status;

/// Keeps the rows; may break like a full disk.
class Rows : public RunListener {
 public:
  void begin(const std::string&, std::uint64_t done, std::uint64_t all) override {
    EXPECT_LT(done, all);
  }
  void row(const Row& row) override {
    if (rows.size() == break_after) throw std::runtime_error("disk full");
    rows.push_back(row);
  }

  std::vector<std::string> texts() const {
    std::vector<std::string> made;
    for (const Row& row : rows) made.push_back(row.name + " " + std::to_string(row.repetition));
    return made;
  }
  std::vector<Status> states() const {
    std::vector<Status> made;
    for (const Row& row : rows) made.push_back(row.status);
    return made;
  }

  std::vector<Row> rows;
  std::size_t break_after = 1'000'000;
};

std::vector<PlannedCase> sizes(std::string_view list) {
  const std::vector<GivenAxis> given{{find_axis("size"), read_axis_list(*find_axis("size"), list)}};
  return plan_cases(select_tests(std::vector<std::string>{"send_lat"}), given);
}

struct Runner : testing::Test {
  RunTally run(const std::vector<PlannedCase>& cases, std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), "--benchmark_enable_random_interleaving=false");
    return run_cases(cases, initialize_benchmark(arguments, repetitions), measurer, stop, rows);
  }

  std::uint64_t repetitions = 1;
  FakeMeasurer::Script script = four_round_trips;
  FakeMeasurer measurer{[this](const Case& one_case) { return script(one_case); }};
  StopWord stop;
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

TEST_F(Runner, PassesWhereAnInterruptIsTheEndThatWasAskedFor) {
  script = [this](const Case& one_case) {
    stop.request(StopReason::finish);
    return four_round_trips(one_case);
  };
  auto endless = sizes("1,2");
  for (PlannedCase& planned : endless) {
    planned.one_case.iterations = 0;
    planned.one_case.duration_ns = kUntilInterrupted;
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
  script = [](const Case& one_case) {
    if (one_case.size_bytes == 1) throw Unsupported("not here");
    return four_round_trips(one_case);
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
  script = [](const Case& one_case) {
    if (one_case.size_bytes == 1) throw MeasurementError("CQ error");
    return four_round_trips(one_case);
  };
  const RunTally tally = run(sizes("1,2"));
  EXPECT_THAT(rows.states(), ElementsAre(Status::error, Status::error, Status::ok, Status::ok));
  EXPECT_EQ(rows.rows[0].message, "CQ error");
  EXPECT_EQ(tally.status(), ExitStatus::failed);
}

TEST_F(Runner, SaysOfEachCaseThatItWasNotMeasuredOnceTheMeasurerIsUnusable) {
  script = [this](const Case& one_case) {
    if (one_case.size_bytes == 2) {
      measurer.still_usable = false;
      throw MeasurementError("peer died");
    }
    return four_round_trips(one_case);
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
  script = [](const Case& one_case) -> Outcome {
    if (one_case.size_bytes == 2) throw Interrupted("Ctrl-C");
    return four_round_trips(one_case);
  };
  const RunTally tally = run(sizes("1,2,3"));
  EXPECT_EQ(rows.rows.size(), 3U);
  EXPECT_EQ(tally.status(), ExitStatus::interrupted);
}

TEST_F(Runner, TakesAFailureUnderAnInterruptForTheInterrupt) {
  script = [this](const Case&) -> Outcome {
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
  script = [this](const Case& one_case) {
    stop.request(StopReason::interrupted);
    return four_round_trips(one_case);
  };
  EXPECT_EQ(run(sizes("1")).status(), ExitStatus::interrupted);
  EXPECT_EQ(rows.rows.size(), 1U);
}

TEST_F(Runner, EndsWhereRowsCannotBeKept) {
  rows.break_after = 1;
  EXPECT_THROW(run(sizes("1,2,3")), std::runtime_error);
  EXPECT_EQ(measurer.measured.size(), 2U);
}

TEST_F(Runner, HasTheStatusOfTheFailureWhereNothingElseHappened) {
  script = [](const Case&) -> Outcome { throw NoDevice("none"); };
  EXPECT_EQ(run(sizes("1,2")).status(), ExitStatus::no_device);
  script = [](const Case&) -> Outcome { throw UsageError("no such GID"); };
  EXPECT_EQ(run(sizes("1,2")).status(), ExitStatus::usage);
  script = [](const Case& one_case) -> Outcome {
    if (one_case.size_bytes == 1) throw MeasurementError("peer died");
    throw NoDevice("none");
  };
  EXPECT_EQ(run(sizes("1,2")).status(), ExitStatus::failed);
  script = [](const Case& one_case) {
    if (one_case.size_bytes == 1) throw NoDevice("none");
    return four_round_trips(one_case);
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
  EXPECT_THAT(refusal("--benchmark_format=yaml"), HasSubstr("does not take"));
  EXPECT_EQ(refusal("--benchmark_format=console"), "") << "(its flags last as long as the process)";
}

}  // namespace
}  // namespace rdmameter
