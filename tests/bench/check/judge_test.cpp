// SPDX-License-Identifier: Apache-2.0
// Each fault of a made-up pair of machines is one reason, and just inside its limit it is none.
#include "bench/check/judge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bench/check/check_facts.h"
#include "bench/check/check_text.h"
#include "core/instrument/histogram.h"
#include "core/result/row_json.h"
#include "reports/summary/line_rate.h"

namespace rdmameter {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kLine = 200;

ordered_json device(const std::string& name) {
  return {{"name", name},
          {"port_num", 1},
          {"vendor_id", 0x2c9},
          {"vendor_part_id", 4123},
          {"driver", "mlx5_core"},
          {"rate_gbps", kLine},
          {"lanes", 4},
          {"active_mtu_bytes", 4096},
          {"link_layer", "InfiniBand"},
          {"gid_type", "ib"},
          {"pcie_speed", "32.0 GT/s PCIe"},
          {"pcie_width", 16},
          {"virtual_function", false}};
}

struct Numbers {
  double out = 0, in = 0;  ///< of one direction each [Gb/s]
  double lat_ns = 2000;
};

/// Two machines with so many devices, all well.
class Cluster {
 public:
  explicit Cluster(std::size_t devices) {
    for (std::size_t i = 0; i < devices; ++i) {
      const std::string name = fmt::format("mlx5_{}", i);
      subjects_.push_back(
          {.name = name,
           .context = {{"rdmameter",
                        {{"initiator", {{"hostname", "a"}, {"device", device(name)}}},
                         {"responder", {{"hostname", "b"}, {"device", device(name)}}}}}},
           .findings = ordered_json::array(),
           .peer_findings = ordered_json::array()});
    }
    numbers_.resize(devices, {bound(), bound()});
  }

  static double bound() { return kLine * 4096 / (4096 + 26); }
  ordered_json& device_of(std::size_t subject, const char* end = "initiator") {
    return subjects_[subject].context["rdmameter"][end]["device"];
  }
  CheckSubject& subject(std::size_t index) { return subjects_[index]; }
  Numbers& numbers(std::size_t subject) { return numbers_[subject]; }
  /// @param write  changes each row, after it was made
  void measure(const std::function<void(std::size_t, Row&)>& change = {}) {
    readings_.clear();
    for (std::size_t i = 0; i < subjects_.size(); ++i) {
      const Numbers& has = numbers_[i];
      add(i, "write", rate_row(i, "write_bw", has.out), change);
      add(i, "write both ways", both_row(i, has), change);
      add(i, "read", rate_row(i, "read_bw", has.in), change);
      add(i, "write_lat", latency_row_of(i, has.lat_ns), change);
    }
  }
  std::vector<CheckFinding> judged(std::span<const Row> expected = {}) {
    if (readings_.empty()) measure();
    return judge_check(subjects_, readings_, expected);
  }
  /// "mlx5_1 bound"
  std::vector<std::string> reasons(std::span<const Row> expected = {}) {
    static constexpr std::array kNames{"failed",    "slot",  "link",     "mtu",
                                       "direction", "bound", "siblings", "expected"};
    std::vector<std::string> all;
    for (const CheckFinding& finding : judged(expected)) {
      const auto text = fmt::format("{} {}", subjects_[finding.subject].name,
                                    kNames.at(static_cast<std::size_t>(finding.reason)));
      if (all.empty() || all.back() != text) all.push_back(text);
    }
    return all;
  }
  std::vector<std::string> unjudged() {
    if (readings_.empty()) measure();
    return not_judged(subjects_, readings_);
  }
  std::vector<std::string> losses() { return loss_warnings(subjects_, readings_); }
  std::string expected(std::span<const Row> rows) {
    return expected_text(readings_, rows, "old.json");
  }
  std::vector<Row> rows() const { return {rows_.begin(), rows_.end()}; }

 private:
  Row row_of(std::size_t subject, const std::string& test) {
    Row row;
    row.name = fmt::format("{}/rc/device:{}", test, subjects_[subject].name);
    row.case_object = {{"test", test},      {"size_bytes", 65536},
                       {"mtu_bytes", 4096}, {"device", subjects_[subject].name},
                       {"port_num", 1},     {"peer_device", subjects_[subject].name},
                       {"peer_port_num", 1}};
    return row;
  }
  /// 10 ms, in which a message takes 524,288 bits.
  static std::uint64_t messages_of(double gbps) {
    return static_cast<std::uint64_t>(gbps * kWindow_ns / (65536 * 8) + 0.5);
  }
  Row rate_row(std::size_t subject, const std::string& test, double gbps) {
    Row row = row_of(subject, test);
    const std::uint64_t messages = messages_of(gbps);
    row.bandwidth = {.messages = messages, .bytes = messages * 65536, .window_ns = kWindow_ns};
    row.bandwidth->traffic_messages = messages;
    return row;
  }
  Row both_row(std::size_t subject, const Numbers& has) {
    Row row = rate_row(subject, "write_bw", has.out + has.in);
    row.name += "/bidirectional:on";
    row.case_object["bidirectional"] = true;
    row.extra["directions"] = {
        {"forward", {{"messages", messages_of(has.out)}, {"window_ns", kWindow_ns}}},
        {"backward", {{"messages", messages_of(has.in)}, {"window_ns", kWindow_ns}}}};
    return row;
  }
  Row latency_row_of(std::size_t subject, double ns) {
    Row row = row_of(subject, "write_lat");
    Histogram samples;
    for (int i = 0; i < 1000; ++i) samples.record(static_cast<std::uint64_t>(2 * ns));
    row.latency = {.histogram = snapshot(samples), .half_round_trip = true};
    row.iterations = 1000;
    return row;
  }
  void add(std::size_t subject, std::string_view label, Row row,
           const std::function<void(std::size_t, Row&)>& change) {
    note_bounds(row, subjects_[subject].context);
    if (change) change(subject, row);
    readings_.push_back({subject, label, &rows_.emplace_back(std::move(row))});
  }

  static constexpr std::uint64_t kWindow_ns = 1'000'000'000;
  std::vector<CheckSubject> subjects_;
  std::vector<Numbers> numbers_;
  std::deque<Row> rows_;
  std::vector<CheckReading> readings_;
};

TEST(CheckJudge, FindsNothingWhereAllIsWell) {
  for (const std::size_t devices : {1, 2, 8}) {
    Cluster cluster(devices);
    EXPECT_THAT(cluster.reasons(), IsEmpty());
  }
}

TEST(CheckJudge, ABandwidthIsLargeEnoughAtNineTenthsOfItsBound) {
  Cluster cluster(1);
  cluster.numbers(0) = {0.901 * Cluster::bound(), 0.901 * Cluster::bound()};
  EXPECT_THAT(cluster.reasons(), IsEmpty());
  Cluster slow(1);
  slow.numbers(0) = {0.899 * Cluster::bound(), 0.899 * Cluster::bound()};
  EXPECT_THAT(slow.reasons(), ElementsAre("mlx5_0 bound"));
  EXPECT_THAT(slow.judged().front().text,
              HasSubstr("write: 178.7 Gb/s is 90 % of the 198.7 Gb/s that line and slot allow"));
  slow.subject(0).together = true;
  EXPECT_THAT(slow.reasons(), IsEmpty());
}

TEST(CheckJudge, OneSlowDirectionIsThatAndNotABandwidthBelowItsBound) {
  Cluster cluster(3);
  cluster.numbers(1).out = 0.905 * Cluster::bound();
  EXPECT_THAT(cluster.reasons(), IsEmpty());
  Cluster slow(3);
  slow.numbers(1).out = 0.5 * Cluster::bound();
  EXPECT_THAT(slow.reasons(), ElementsAre("mlx5_1 direction"));
}

TEST(CheckJudge, ASlotThatCarriesLessThanTheLineIsThatAlone) {
  Cluster cluster(2);
  cluster.device_of(0)["pcie_width"] = 8;  // 252 Gb/s
  EXPECT_THAT(cluster.reasons(), IsEmpty());
  Cluster same(1);  // it carries just the line
  for (const char* end : {"initiator", "responder"}) {
    same.device_of(0, end)["rate_gbps"] = 4;
    same.device_of(0, end)["pcie_speed"] = "2.5 GT/s PCIe";
    same.device_of(0, end)["pcie_width"] = 2;
  }
  same.numbers(0) = {3.97, 3.97};
  EXPECT_THAT(same.reasons(), IsEmpty());
  Cluster slow(2);
  slow.device_of(0)["pcie_width"] = 4;
  slow.numbers(0) = {107, 107};
  EXPECT_THAT(slow.reasons(), ElementsAre("mlx5_0 slot"));
  EXPECT_EQ(slow.judged().front().text, "slot x4 Gen5 carries 126 Gb/s of the line's 200");
  Cluster far(2);
  far.device_of(1, "responder")["pcie_width"] = 4;
  far.numbers(1) = {107, 107};
  EXPECT_THAT(far.judged().front().text, HasSubstr("the peer's mlx5_1: slot x4"));
}

TEST(CheckJudge, ALinkAtHalfItsRateIsThatAlone) {
  Cluster cluster(4);
  cluster.device_of(2)["rate_gbps"] = kLine / 2;
  cluster.numbers(2) = {99, 99};
  EXPECT_THAT(cluster.reasons(), ElementsAre("mlx5_2 link"));
  Cluster inside(4);
  inside.device_of(2)["rate_gbps"] = 0.91 * kLine;
  inside.numbers(2) = {0.91 * Cluster::bound(), 0.91 * Cluster::bound()};
  EXPECT_THAT(inside.reasons(), IsEmpty());
  Cluster pair(1);  // its peer is of its kind, too
  pair.device_of(0)["rate_gbps"] = kLine / 2;
  pair.numbers(0) = {99, 99};
  EXPECT_THAT(pair.reasons(), ElementsAre("mlx5_0 link"));
  Cluster other(1);
  other.device_of(0)["rate_gbps"] = kLine / 2;
  other.device_of(0)["vendor_part_id"] = 4119;  // another model may have another rate
  other.numbers(0) = {99, 99};
  EXPECT_THAT(other.reasons(), IsEmpty());
}

TEST(CheckJudge, WhatDoctorSaysOfTheLinkOfADeviceIsItsReason) {
  Cluster cluster(12);
  cluster.subject(0).findings = {{{"check", "link"},
                                  {"weight", "warning"},
                                  {"cause", "the link of mlx5_1/1 has 1 of 4 lanes (50 Gb/sec)"},
                                  {"remedy", ""}}};
  for (std::size_t i = 1; i < 12; ++i) cluster.subject(i).findings = cluster.subject(0).findings;
  EXPECT_THAT(cluster.reasons(), ElementsAre("mlx5_1 link")) << "not mlx5_10, not mlx5_11";
}

/// Between two MTUs there is none: each is half of the next one.
TEST(CheckJudge, AnMtuThatIsNotTheOthersIsThatAlone) {
  Cluster cluster(2);
  cluster.device_of(1)["active_mtu_bytes"] = 1024;
  cluster.numbers(1) = {150, 150};
  cluster.measure([](std::size_t subject, Row& row) {
    if (subject == 1 && row.bandwidth) row.bound_gbps.reset();
  });
  EXPECT_THAT(cluster.reasons(), ElementsAre("mlx5_1 mtu"));
}

TEST(CheckJudge, WhereThereIsNoBoundSiblingsJudge) {
  const auto without_link = [](double least) {
    Cluster cluster(4);
    for (std::size_t i = 0; i < 4; ++i)
      cluster.subject(i).context["rdmameter"]["responder"]["hostname"] = "a";
    cluster.numbers(3) = {least * Cluster::bound(), least * Cluster::bound()};
    return cluster.reasons();
  };
  EXPECT_THAT(without_link(0.905), IsEmpty());
  EXPECT_THAT(without_link(0.895), ElementsAre("mlx5_3 siblings"));
}

TEST(CheckJudge, ALatencyIsHeldAgainstSiblings) {
  Cluster cluster(4);
  cluster.numbers(2).lat_ns = 2600;
  EXPECT_THAT(cluster.reasons(), IsEmpty());
  Cluster slow(4);
  slow.numbers(2).lat_ns = 2700;
  EXPECT_THAT(slow.reasons(), ElementsAre("mlx5_2 siblings"));
  Cluster lone(1);
  lone.numbers(0).lat_ns = 1e6;
  EXPECT_THAT(lone.reasons(), IsEmpty());
}

TEST(CheckJudge, AnEarlierCheckSaysWhatIsExpected) {
  Cluster before(1);
  before.numbers(0) = {185, 185};
  before.judged();
  Cluster now(1);
  now.numbers(0) = {182, 182, 2700};
  EXPECT_THAT(now.reasons(before.rows()), ElementsAre("mlx5_0 expected"));
  EXPECT_EQ(now.judged(before.rows()).front().text, "write_lat: 2.70 µs, expected 2.00 µs");
  Cluster same(1);
  same.numbers(0) = {182, 182, 2600};
  EXPECT_THAT(same.reasons(before.rows()), IsEmpty());
}

TEST(CheckJudge, SaysHowMuchOfAnEarlierCheckIsAboutTheseDevices) {
  Cluster before(2);
  before.judged();
  Cluster now(1);
  now.judged();
  EXPECT_EQ(now.expected(before.rows()), "4 of 4 cases are in old.json");
  std::vector<Row> rows = before.rows();
  std::ranges::reverse(rows);
  EXPECT_EQ(now.expected(rows), "4 of 4 cases are in old.json");
  for (Row& row : rows) row.name += "/named:otherwise";
  EXPECT_EQ(now.expected(rows), "4 of 4 cases are in old.json");
  rows.pop_back();
  EXPECT_EQ(now.expected(rows), "3 of 4 cases are in old.json");
  for (Row& row : rows) row.case_object["device"] = "mlx5_7";
  EXPECT_EQ(now.expected(rows),
            "nothing of old.json is about this machine's devices: it has cases of mlx5_7 - mlx5_0, "
            "mlx5_7 - mlx5_1, and this check of mlx5_0 - mlx5_0");
}

TEST(CheckJudge, ATestThatFailsHasItsError) {
  Cluster cluster(2);
  cluster.measure([](std::size_t subject, Row& row) {
    if (subject != 1 || !row.latency) return;
    row.latency.reset();
    row.status = Row::Status::error;
    row.message = "RETRY_EXC_ERR";
  });
  EXPECT_THAT(cluster.reasons(), ElementsAre("mlx5_1 failed"));
  EXPECT_EQ(cluster.judged().front().text, "write_lat failed: RETRY_EXC_ERR");
}

TEST(CheckJudge, AllTogetherFailForTheDeviceThatFailsOrByThemselves) {
  Cluster cluster(3);
  cluster.subject(2).together = true;
  for (const std::size_t first : {1U, 2U}) {
    cluster.measure([first](std::size_t subject, Row& row) {
      if (subject < first) return;
      row.status = Row::Status::error;
      row.message = "no such device";
    });
    EXPECT_THAT(cluster.reasons(), ElementsAre(first == 1 ? "mlx5_1 failed" : "mlx5_2 failed"));
  }
}

TEST(CheckJudge, SaysWhatItCannotJudge) {
  Cluster cluster(2);
  EXPECT_THAT(cluster.unjudged(), IsEmpty());
  cluster.device_of(0)["virtual_function"] = true;
  cluster.device_of(1, "responder")["rate_gbps"] = nullptr;
  EXPECT_THAT(
      cluster.unjudged(),
      ElementsAre(HasSubstr("mlx5_0 by what line and slot allow, because the device is a virtual"),
                  HasSubstr("because the rate of the peer's link is not known")));
  cluster.numbers(0) = {100, 100};
  cluster.numbers(1) = {100, 100};
  cluster.measure();
  EXPECT_THAT(cluster.reasons(), IsEmpty());
  Cluster bond(1);
  bond.subject(0).findings = {
      {{"check", "bond"},
       {"weight", "warning"},
       {"cause", "mlx5_0/1 is the bond bond0: one QP uses one of its ports"},
       {"remedy", ""}}};
  EXPECT_THAT(bond.unjudged(),
              ElementsAre(HasSubstr("the device is a bond"), HasSubstr("by siblings")));
}

TEST(CheckJudge, DevicesInSoftwareAreJudgedByNeitherLinkNorSiblings) {
  Cluster cluster(2);
  for (const std::size_t subject : {0U, 1U})
    for (const char* end : {"initiator", "responder"})
      cluster.device_of(subject, end)["driver"] = "rdma_rxe";
  cluster.numbers(0) = {1, 1};
  EXPECT_THAT(cluster.reasons(), IsEmpty());
  EXPECT_THAT(
      cluster.unjudged(),
      ElementsAre("mlx5_0, mlx5_1 by what line and slot allow, because messages pass no link",
                  HasSubstr("mlx5_0, mlx5_1 by siblings, because a device in software")));
}

TEST(CheckJudge, LostPacketsAreAWarningAboveOneInAMillion) {
  const auto warned = [](std::uint64_t events, const char* counter) {
    Cluster cluster(1);
    cluster.measure([&](std::size_t, Row& row) {
      if (row.latency) row.device_counters["initiator"] = {{counter, events}};
    });
    EXPECT_THAT(cluster.reasons(), IsEmpty());
    return cluster.losses();
  };
  // Four tests of 198.7 Gb/s, both ways counted twice: 24 million packets of 4096 bytes.
  EXPECT_THAT(warned(24, "local_ack_timeout_err"), IsEmpty());
  EXPECT_THAT(warned(30, "local_ack_timeout_err"),
              ElementsAre(HasSubstr("mlx5_0: 30 of 2.43e+07 packets")));
  EXPECT_THAT(warned(1000, "received_cnps"), IsEmpty()) << "congestion is no loss";
}

TEST(CheckJudge, AFindingCountsOnlyIfASecondMeasurementHasIt) {
  Cluster first(2), second(2);
  first.numbers(0) = {100, 100};
  EXPECT_THAT(confirmed(first.judged(), second.judged()), IsEmpty());
  second.numbers(0) = {110, 110};
  second.measure();
  const auto both = confirmed(first.judged(), second.judged());
  ASSERT_EQ(both.size(), 2U);
  EXPECT_THAT(both.front().text, HasSubstr("write: 110.0 Gb/s"));
}

/// What measurements do beside a busy neighbour: most within 2 % of 96 % of the bound, some far
/// below, each by itself.
TEST(CheckJudge, FindsNothingInThreeHundredCleanRuns) {
  std::mt19937 random(7);
  std::normal_distribution<double> jitter(0, 0.01);
  std::bernoulli_distribution disturbed(0.002);
  const auto draw = [&](double usual) {
    return usual * (1 + std::clamp(jitter(random), -0.03, 0.03)) * (disturbed(random) ? 0.6 : 1);
  };
  for (int run = 0; run < 300; ++run) {
    Cluster cluster(1 + static_cast<std::size_t>(run % 8));
    const auto measure = [&] {
      for (std::size_t i = 0; i < 1 + static_cast<std::size_t>(run % 8); ++i)
        cluster.numbers(i) = {draw(0.96 * Cluster::bound()), draw(0.96 * Cluster::bound()),
                              2000 * 2000 / draw(2000)};
      cluster.measure();
      return cluster.judged();
    };
    const auto first = measure();
    EXPECT_THAT(confirmed(first, measure()), IsEmpty()) << run;
  }
}

TEST(CheckPorts, ThatShouldWorkHaveAReason) {
  const auto port = [](ibv_port_state state, int link_layer) {
    return PortFacts{.device = "a",
                     .number = 1,
                     .state = state,
                     .link_layer = link_layer,
                     .gids = {},
                     .lacks = {}};
  };
  std::vector<PortFacts> all = {port(IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET)};
  EXPECT_EQ(why_unusable(port(IBV_PORT_INIT, IBV_LINK_LAYER_INFINIBAND), all), "INIT");
  EXPECT_EQ(why_unusable(port(IBV_PORT_DOWN, IBV_LINK_LAYER_INFINIBAND), all), "");
  EXPECT_EQ(why_unusable(port(IBV_PORT_DOWN, IBV_LINK_LAYER_ETHERNET), all), "");
  all.front().gids.emplace_back();
  EXPECT_EQ(why_unusable(port(IBV_PORT_DOWN, IBV_LINK_LAYER_ETHERNET), all), "DOWN");
  EXPECT_EQ(why_unusable({.device = "b", .gids = {}, .lacks = {}}, all), "cannot be opened");
}

TEST(CheckLine, NamesEightOfWhatIsNotMeasured) {
  CheckReport report;
  report.unusable.assign(10, {"mlx5_3/1", "DOWN"});
  EXPECT_THAT(check_line(report, true), testing::EndsWith("mlx5_3/1 (DOWN) and 2 more"));
}

TEST(ExpectedDevices, AreThoseThatRowsOfACheckMeasured) {
  const auto row = [](const char* test, const char* device, Row::Status status) {
    Row made;
    made.status = status;
    made.case_object = {{"test", test}, {"device", device}};
    return made;
  };
  const std::vector<Row> rows{row("write_bw", "mlx5_0", Row::Status::ok),
                              row("read_bw", "mlx5_1", Row::Status::error),
                              row("write_bw", "mlx5_0+mlx5_1", Row::Status::ok),
                              row("write_bw", "null", Row::Status::ok),
                              row("tcp_lat", "", Row::Status::ok),
                              row("pairs", "mlx5_2", Row::Status::ok)};
  EXPECT_THAT(expected_devices(rows), ElementsAre("mlx5_0"));
}

}  // namespace
}  // namespace rdmameter
