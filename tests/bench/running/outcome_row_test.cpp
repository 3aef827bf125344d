// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/running/lines/case_lines.h"
#include "bench/running/runner.h"
#include "fake_measurer.h"

namespace rdmameter {
namespace {

PlannedCase planned(Opcode opcode, Pattern pattern) {
  return {default_case(opcode, pattern), "some_test/rc", ""};
}

TEST(MeasuredRow, HalvesRoundTripsForItsTimeAndKeepsThemInTheHistogram) {
  const PlannedCase ping_pong = planned(Opcode::send, Pattern::ping_pong);
  const Row row = measured_row({ping_pong, 7, 2, 10}, four_round_trips(ping_pong.test_case));
  EXPECT_EQ(row.name, "some_test/rc");
  EXPECT_EQ(row.real_time_ns, 1250.0);
  EXPECT_EQ(row.cpu_time_ns, 2000.0);
  EXPECT_EQ(row.iterations, 4U);
  EXPECT_EQ(row.family_index, 7U);
  EXPECT_EQ(row.repetition, 2U);
  EXPECT_EQ(row.repetitions, 10U);
  EXPECT_EQ(row.latency->histogram.sum_ns, 10'000U);
  EXPECT_EQ(row.latency->definition, LatencyData::Definition::round_trip);
  EXPECT_EQ(row.case_object["mtu_bytes"], 1024U) << "effective, not planned";
}

TEST(MeasuredRow, SaysThatItWasInterruptedWhereItHadAnEndOfItsOwn) {
  const PlannedCase read = planned(Opcode::rdma_read, Pattern::completion_latency);
  Outcome outcome = four_round_trips(read.test_case);
  outcome.interrupted = true;
  const Row row = measured_row({read, 0, 0, 1}, outcome);
  EXPECT_TRUE(row.interrupted);
  EXPECT_NE(row_line(row, 20).find("(interrupted after 4 iterations)"), std::string::npos);
  outcome.effective.duration_ns = kUntilInterrupted;
  EXPECT_FALSE(measured_row({read, 0, 0, 1}, outcome).interrupted) << "that was asked for";
}

TEST(MeasuredRow, TakesCompletionsUndivided) {
  const PlannedCase read = planned(Opcode::rdma_read, Pattern::completion_latency);
  const Row row = measured_row({read, 0, 0, 1}, four_round_trips(read.test_case));
  EXPECT_EQ(row.real_time_ns, 2500.0);
  EXPECT_EQ(row.latency->definition, LatencyData::Definition::completion);
  EXPECT_FALSE(row.latency->half_round_trip);
}

TEST(MeasuredRow, TakesCallsAsTheyAre) {
  const PlannedCase call{default_case(Verb::reg_mr), "reg_mr", ""};
  const Row row = measured_row({call, 0, 0, 1}, four_round_trips(call.test_case));
  EXPECT_EQ(row.real_time_ns, 2500.0);
  EXPECT_EQ(row.latency->definition, LatencyData::Definition::call);
  EXPECT_FALSE(row.latency->half_round_trip);
  EXPECT_EQ(row_line(row, 0), "reg_mr  call max 4.00 µs  mean 2.50 µs");
}

TEST(MeasuredRow, EndsTheSamplesOfMemoryWindowsByTheirCompletions) {
  const PlannedCase bind{default_case(Verb::bind_mw_2), "bind_mw_2", ""};
  EXPECT_EQ(measured_row({bind, 0, 0, 1}, four_round_trips(bind.test_case)).latency->definition,
            LatencyData::Definition::completion);
}

TEST(MeasuredRow, DividesTheWindowByItsMessages) {
  const PlannedCase write = planned(Opcode::rdma_write, Pattern::bandwidth);
  Outcome outcome;
  outcome.effective = write.test_case;
  outcome.bandwidth =
      BandwidthData{.messages = 1000, .bytes = 65'536'000, .window_ns = 500'000, .injected = true};
  outcome.operations = 1000;
  const Row row = measured_row({write, 0, 0, 1}, outcome);
  EXPECT_EQ(row.real_time_ns, 500.0);
  EXPECT_EQ(row.bandwidth->bytes, 1000U * 65536);
  EXPECT_TRUE(row.bandwidth->injected);
}

TEST(MeasuredRow, HasNoTimeWhereNothingCameBack) {
  const PlannedCase ping_pong = planned(Opcode::send, Pattern::ping_pong);
  Outcome outcome;
  outcome.effective = ping_pong.test_case;
  outcome.latency = latency_of(ping_pong.test_case, *std::make_unique<Histogram>());
  outcome.lost = 5;
  const Row row = measured_row({ping_pong, 0, 0, 1}, outcome);
  EXPECT_EQ(row.real_time_ns, 0.0);
  EXPECT_EQ(row.cpu_time_ns, 0.0);
  EXPECT_EQ(row_line(row, 14), "some_test/rc    half RTT no samples  lost 5");
}

TEST(RowLine, OfARateAndALatencyHasAGapBetweenThem) {
  const PlannedCase read = planned(Opcode::rdma_read, Pattern::completion_latency);
  Row row = measured_row({read, 0, 0, 1}, four_round_trips(read.test_case));
  const std::string latency = row_text(row);
  row.bandwidth = BandwidthData{.messages = 1000, .bytes = 1'000'000, .window_ns = 1'000'000};
  EXPECT_THAT(row_text(row), testing::EndsWith("msg/s  " + latency));
}

TEST(RowLine, SaysUnitsAndWhatTheTimeIs) {
  const PlannedCase ping_pong = planned(Opcode::send, Pattern::ping_pong);
  EXPECT_EQ(row_line(measured_row({ping_pong, 0, 0, 1}, four_round_trips(ping_pong.test_case)), 0),
            "some_test/rc  half RTT max 2.00 µs  mean 1.25 µs");
  EXPECT_EQ(row_line(unmeasured_row({ping_pong, 0, 0, 1}, Row::Status::skipped, "why"), 0),
            "some_test/rc  skipped: why");
  EXPECT_EQ(
      row_line(unmeasured_row({ping_pong, 0, 0, 1}, Row::Status::error, "a\x1b[2J. Do this."), 0),
      "some_test/rc  error: a?[2J");
}

}  // namespace
}  // namespace rdmameter
