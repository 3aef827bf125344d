// SPDX-License-Identifier: Apache-2.0
#include "reports/figures/retransmit_stalls.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <utility>

#include "core/instrument/histogram.h"
#include "tests/reports/samples.h"

namespace rdmameter {
namespace {

constexpr double kMs = 1e6;

/// 10 000 samples of 20 us, and some that took so much longer.
Row stalled_row(std::initializer_list<std::pair<double, int>> stalls_ms,
                nlohmann::ordered_json counters = nullptr) {
  const auto histogram = std::make_unique<Histogram>();
  for (int i = 0; i < 10'000; ++i) histogram->record(20'000);
  for (const auto& [ms, samples] : stalls_ms)
    for (int i = 0; i < samples; ++i)
      histogram->record(20'000 + static_cast<std::uint64_t>(ms * kMs));
  Row row = latency_row("rc", 64, 0, 1);
  row.latency->histogram = snapshot(*histogram);
  row.case_object["qp_timeout"] = 14;     // 67.1 ms
  row.case_object["min_rnr_timer"] = 12;  // 0.64 ms
  row.device_counters = {{"initiator", std::move(counters)}, {"responder", nullptr}};
  return row;
}

RetransmitReport report_of(const Row& row) {
  return stalls_of(CaseSummary{row.case_object, {&row}}).value();
}

std::uint64_t samples(const RetransmitReport& report, StallCause cause) {
  return report.of(cause).samples;
}

TEST(RnrTimer, IsThatOfTheStandard) {
  EXPECT_EQ(rnr_timer_ns(0), 655.36 * kMs);
  EXPECT_EQ(rnr_timer_ns(1), 0.01 * kMs);
  EXPECT_EQ(rnr_timer_ns(12), 0.64 * kMs);
  EXPECT_EQ(rnr_timer_ns(31), 491.52 * kMs);
}

TEST(RetransmitStalls, AreLongerThanThreeMedians) {
  const RetransmitReport report = report_of(stalled_row({{0.039, 5}, {0.041, 2}}));
  EXPECT_EQ(report.samples, 10'007u);
  EXPECT_NEAR(report.typical_ns, 20'000, 20);
  EXPECT_EQ(samples(report, StallCause::unknown), 2u);
}

TEST(RetransmitStalls, AsLongAsATimerAreItsWhereNothingIsCounted) {
  const RetransmitReport report =
      report_of(stalled_row({{68, 3}, {135, 1}, {0.66, 4}, {5.43, 1}, {40, 2}, {100, 1}}));
  EXPECT_FALSE(report.counted);
  EXPECT_EQ(samples(report, StallCause::timeout), 4u);
  EXPECT_NEAR(report.of(StallCause::timeout).median_ns, 68 * kMs, 0.1 * kMs);
  EXPECT_NEAR(report.of(StallCause::timeout).max_ns, 135 * kMs, 0.1 * kMs);
  EXPECT_NEAR(*report.timeout_ns, 67.1 * kMs, 0.1 * kMs);
  EXPECT_EQ(samples(report, StallCause::sequence_nak), 0u);
}

TEST(RetransmitStalls, OfATimerWhoseEventsWereNotCountedAreNotItsOwn) {
  const RetransmitReport report =
      report_of(stalled_row({{68, 3}, {0.66, 4}}, {{"local_ack_timeout_err", 7}}));
  EXPECT_TRUE(report.counted);
  EXPECT_EQ(samples(report, StallCause::timeout), 3u);
  EXPECT_EQ(samples(report, StallCause::rnr), 0u);
  EXPECT_EQ(samples(report, StallCause::unknown), 4u);
}

TEST(RetransmitStalls, OfACountedTimeoutMayLastFourTimesTheTimer) {
  const RetransmitReport report =
      report_of(stalled_row({{68, 1}, {90, 1}, {260, 1}, {50, 1}}, {{"to_retransmits", 3}}));
  EXPECT_EQ(samples(report, StallCause::timeout), 3u);
  EXPECT_EQ(samples(report, StallCause::unknown), 1u);
}

TEST(RetransmitStalls, ThatCouldBeTwoThingsAreUnknown) {
  const nlohmann::ordered_json both = {{"local_ack_timeout_err", 9}, {"rnr_nak_retry_err", 9}};
  Row row = stalled_row({{68, 1}, {45, 1}, {100, 1}, {134, 1}}, both);
  row.case_object["min_rnr_timer"] = 24;  // 40.96 ms
  const RetransmitReport report = report_of(row);
  EXPECT_EQ(samples(report, StallCause::timeout), 1u);
  EXPECT_EQ(samples(report, StallCause::rnr), 1u);
  EXPECT_EQ(samples(report, StallCause::unknown),
            2u);  // near neither; twice 67.1, thrice 40.96
}

TEST(RetransmitStalls, ShorterThanAnyTimerAreSequenceNaksWhereSuchWereCounted) {
  const RetransmitReport report = report_of(
      stalled_row({{0.1, 1}, {0.2, 2}}, {{"rcvd_seq_err", 2}, {"completer_retry_err", 2}}));
  EXPECT_EQ(samples(report, StallCause::sequence_nak), 2u);
  EXPECT_NEAR(report.of(StallCause::sequence_nak).median_ns, 0.2 * kMs, 0.001 * kMs);
  EXPECT_EQ(samples(report, StallCause::unknown), 1u)
      << "two NAKs delay two messages of a ping-pong";
}

TEST(RetransmitStalls, OfAPingPongAreNoMoreThanWereCounted) {
  const RetransmitReport report = report_of(stalled_row(
      {{68, 2}, {90, 1}}, {{"rcvd_seq_err", 1}, {"completer_retry_err", 3}}));  // two timeouts
  EXPECT_EQ(samples(report, StallCause::timeout), 2u);
  EXPECT_NEAR(report.of(StallCause::timeout).max_ns, 68 * kMs, 0.1 * kMs);
  EXPECT_EQ(samples(report, StallCause::unknown), 1u);
}

TEST(RetransmitStalls, OfManyMessagesUnderWayMayBeMore) {
  Row row = stalled_row({{68, 30}}, {{"local_ack_timeout_err", 1}});
  row.load.emplace();
  EXPECT_EQ(samples(report_of(row), StallCause::timeout), 30u);
}

TEST(RetransmitStalls, AreToldFromTheSmallestSampleWhereMostAreStalls) {
  Row row = stalled_row({{655, 20'000}}, {{"rcvd_rnr_err", 20'000}});
  row.case_object["min_rnr_timer"] = 0;
  const RetransmitReport report = report_of(row);
  EXPECT_TRUE(report.mostly_stalled);
  EXPECT_EQ(samples(report, StallCause::rnr), 20'000u);
  EXPECT_NEAR(report.of(StallCause::rnr).median_ns, 655 * kMs, kMs);
}

TEST(RetransmitStalls, AreWholeSamplesWhereEvenTheSmallestIsOne) {
  Row row = stalled_row({}, {{"rcvd_rnr_err", 10'000}});
  row.case_object["min_rnr_timer"] = 1;  // 10 us
  EXPECT_EQ(report_of(row).typical_ns, 0);
  EXPECT_EQ(samples(report_of(row), StallCause::rnr), 10'000u);
}

TEST(RetransmitStalls, AreNotSeenInAMedianThatHappensToBeAsLongAsATimer) {
  Row row = stalled_row({});
  row.case_object["min_rnr_timer"] = 2;  // 20 us, as every sample
  const RetransmitReport report = report_of(row);
  EXPECT_FALSE(report.mostly_stalled);
  for (const RetransmitStalls& stalls : report.causes) EXPECT_EQ(stalls.samples, 0u);
}

TEST(RetransmitStalls, WithoutATimerHaveNoTimeout) {
  Row row = stalled_row({{68, 3}});
  row.case_object["qp_timeout"] = 0;
  EXPECT_FALSE(report_of(row).timeout_ns);
  EXPECT_EQ(samples(report_of(row), StallCause::timeout), 0u);
}

nlohmann::ordered_json of_driver(const char* initiator, const char* responder = nullptr) {
  const auto end = [](const char* driver) {
    nlohmann::ordered_json device = {{"name", "dev0"}, {"driver", nullptr}};
    if (driver != nullptr) device["driver"] = driver;
    return nlohmann::ordered_json{{"device", device}};
  };
  return {{"rdmameter",
           {{"initiator", end(initiator)},
            {"responder", end(responder == nullptr ? initiator : responder)}}}};
}

TEST(LossReport, SaysWhatWasLostAndCounted) {
  const Row row =
      stalled_row({{68, 3}}, {{"local_ack_timeout_err", 3}, {"np_cnp_sent", 12}, {"sent_pkts", 9}});
  const std::string text = loss_report(std::vector{row}, of_driver("mlx5_core"), TextStyle{});
  EXPECT_NE(text.find("3 of 10003 samples took more than 3 times the median (20.0 µs)."), text.npos)
      << text;
  EXPECT_NE(text.find("initiator local_ack_timeout_err 3: no acknowledgement within --qp-timeout"),
            text.npos)
      << text;
  EXPECT_NE(text.find("initiator np_cnp_sent 12: CNPs sent"), text.npos) << text;
  EXPECT_EQ(text.find("sent_pkts"), text.npos) << text;
}

TEST(LossReport, NamesDriversOfWhichNoCounterOfACauseIsKnown) {
  const std::vector<Row> rows{stalled_row({}, {{"ops", 9}})};
  const auto text = [&](const nlohmann::ordered_json& context) {
    return loss_report(rows, context, TextStyle{.width = 200});
  };
  for (const char* driver : {"ice", "idpf", "i40e", "hns3", "erdma", "cxgb4"})
    EXPECT_NE(text(of_driver(driver)).find("No counters of timeouts and NAKs are known"),
              std::string::npos)
        << driver;
  for (const char* driver : {"mlx5_core", "mlx4_core", "mana", "efa", "bnxt_en"})
    EXPECT_EQ(text(of_driver(driver)).find("No counters of timeouts and NAKs are known"),
              std::string::npos)
        << driver;
  const std::string other = text(of_driver("ionic", "mlx5_core"));
  EXPECT_NE(other.find(
                "No counters of timeouts and NAKs are known for driver ionic (initiator): a stall"),
            other.npos)
      << other;
  EXPECT_EQ(other.find("No counter of loss or congestion changed."), other.npos) << other;
  const std::string none = text(of_driver(nullptr));
  EXPECT_NE(
      none.find("No counters of timeouts and NAKs are known for the driver of dev0 (both ends)"),
      none.npos)
      << none;
}

TEST(RetransmitStalls, AreTimeoutsByTheNameThatMlx4HasForThem) {
  const RetransmitReport report =
      report_of(stalled_row({{90, 2}, {0.2, 1}}, {{"sq_num_to", 2}, {"sq_num_oos", 1}}));
  EXPECT_EQ(samples(report, StallCause::timeout), 2u);
  EXPECT_EQ(samples(report, StallCause::sequence_nak), 1u);
}

/// A mix with sends is answered: its responder sends requests of its own.
TEST(RetransmitStalls, OfAMixWithSendsAreAlsoTheResponders) {
  for (const auto& [mix, timeouts] :
       {std::pair{"read:50+write:50", 0u}, {"read:50+send:64:50", 3u}}) {
    Row row = stalled_row({{90, 3}});
    row.name = "mix_load/rc";
    row.case_object["mix"] = mix;
    row.load.emplace();
    row.device_counters = {{"initiator", {{"ops", 9}}},
                           {"responder", {{"local_ack_timeout_err", 3}}}};
    EXPECT_EQ(samples(report_of(row), StallCause::timeout), timeouts) << mix;
  }
}

TEST(RetransmitStalls, AsLongAsATimerAreItsWhereTheCountersTellNoLoss) {
  const Row row = stalled_row({{68, 3}}, {{"ops", 9}});
  const CaseSummary summary{row.case_object, {&row}};
  const std::vector<UncountedEnd> uncounted{{"responder", "ionic"}};
  EXPECT_EQ(samples(stalls_of(summary).value(), StallCause::timeout), 0u);
  EXPECT_EQ(samples(stalls_of(summary, uncounted).value(), StallCause::timeout), 3u);
}

TEST(RetransmitStalls, KeepWhatOneEndCountedWhereTheOthersDriverIsNotKnown) {
  const Row row = stalled_row({{90, 2}}, {{"local_ack_timeout_err", 2}});
  const CaseSummary summary{row.case_object, {&row}};
  const std::vector<UncountedEnd> uncounted{{"responder", "ionic"}};
  EXPECT_EQ(samples(stalls_of(summary, uncounted).value(), StallCause::timeout), 2u)
      << "longer than one timer, shorter than two";
}

TEST(RetransmitStalls, WhereOnlyTheInitiatorRequestsAreThoseItsDriverCounts) {
  Row row = stalled_row({{68, 3}}, {{"ops", 9}});
  row.device_counters["responder"] = {{"local_ack_timeout_err", 3}};
  const std::vector<UncountedEnd> uncounted{{"responder", "ionic"}};
  for (const char* test : {"read_lat", "fetch_add_lat", "cmp_swap_load", "flush_lat", "write_load",
                           "mix_load", "send_cqe_lat", "write_bw"}) {
    row.name = std::string(test) + "/rc/size:64";
    const CaseSummary summary{row.case_object, {&row}};
    EXPECT_EQ(samples(stalls_of(summary, uncounted).value(), StallCause::timeout), 0u) << test;
  }
  const std::string text =
      loss_report(std::vector{row}, of_driver("mlx5_core", "ionic"), TextStyle{.width = 200});
  EXPECT_NE(text.find("driver ionic (responder), which sent no requests here."), text.npos) << text;
}

TEST(LossCounters, AreKnownByTheNamesOfEachDriver) {
  for (const char* name : {"requester_timeout", "requester_oos_nak", "tcpRetransSegs", "RxECNMrkd",
                           "ip4RetransSegs", "tx_bps_limit_drop_cnt", "rx_cnp_pkt"})
    EXPECT_NE(find_loss_counter(name), nullptr) << name;
  EXPECT_EQ(find_loss_counter("requester_rnr_nak")->event, StallCause::rnr);
  EXPECT_EQ(find_loss_counter("tcpRetransSegs")->event, StallCause::unknown) << "no --qp-timeout";
}

TEST(LossReport, OfACleanCaseIsShort) {
  const std::string text = loss_report(std::vector{stalled_row({}, {{"sent_pkts", 9}})},
                                       of_driver("rdma_rxe"), TextStyle{});
  EXPECT_NE(text.find("0 of 10000 samples took more than 3 times the median"), text.npos) << text;
  EXPECT_NE(text.find("No counter of loss or congestion changed."), text.npos) << text;
}

}  // namespace
}  // namespace rdmameter
