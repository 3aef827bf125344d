// SPDX-License-Identifier: Apache-2.0
#include "core/result/row_json.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/base/error.h"
#include "core/result/json_text.h"
#include "tests/reports/samples.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> keys(const Json& json) {
  std::vector<std::string> names;
  for (const auto& [key, value] : json.items()) names.push_back(key);
  return names;
}

TEST(RowJson, StartsWithGoogleBenchmarksKeysInItsOrder) {
  const auto names = keys(row_to_json(latency_row("rc", 2, 1, 3)));
  const std::vector<std::string> expected = {"name",
                                             "family_index",
                                             "per_family_instance_index",
                                             "run_name",
                                             "run_type",
                                             "repetitions",
                                             "repetition_index",
                                             "threads",
                                             "iterations",
                                             "real_time",
                                             "cpu_time",
                                             "time_unit",
                                             "case",
                                             "latency",
                                             "device_counters",
                                             "work",
                                             "resources",
                                             "path"};
  EXPECT_EQ(names, expected);
}

TEST(RowJson, EveryKindOfRowSurvivesThereAndBack) {
  for (const Row& row : sample_rows()) {
    const Json json = row_to_json(row);
    const Json read = Json::parse(json.dump());
    EXPECT_EQ(row_to_json(row_from_json(read, "test")).dump(), json.dump());
  }
}

TEST(RowJson, OfRunUntilSaysWhyItEndedAndHowWellMediansAreKnown) {
  const Json json = row_to_json(settled_row());
  EXPECT_EQ(json["until"]["ended"], "budget");
  EXPECT_EQ(json["until"]["metrics"][0]["reached"], 0.005);
  EXPECT_EQ(row_to_json(row_from_json(Json::parse(json.dump()), "test")).dump(), json.dump());
}

TEST(RowJson, EveryKeyItWritesIsReserved) {
  for (const Row& row : sample_rows())
    for (const std::string& key : keys(row_to_json(row))) {
      if (key == "path") continue;  // an extra key of the samples
      Row shadowed = bandwidth_row(64, 0, 1);
      shadowed.extra = {{key, 3}};
      EXPECT_THROW(row_to_json(shadowed), std::logic_error) << key;
    }
}

TEST(RowJson, ExtraCannotShadowAKeyOfTheRow) {
  Row row = bandwidth_row(64, 0, 1);
  row.extra = {{"lost", 3}};  // not written by this row, but would be read as its own
  EXPECT_THROW(row_to_json(row), std::logic_error);
}

TEST(RowJson, FailedRowsHaveTheirOwnNameAndZeros) {
  Row row = error_row(64);
  row.real_time_ns = 7;
  row.iterations = 7;
  Json json = row_to_json(row);
  EXPECT_EQ(json["name"], "read_lat/rc/size:64/error");
  EXPECT_EQ(json["run_name"], "read_lat/rc/size:64");
  EXPECT_EQ(json["real_time"], 0);
  EXPECT_EQ(json["cpu_time"], 0);
  EXPECT_EQ(json["iterations"], 0);
  EXPECT_EQ(json["error_occurred"], true);
  EXPECT_EQ(json["error_message"], row.message);
  json = row_to_json(skipped_row(8192));
  EXPECT_EQ(json["name"], "send_lat/ud/size:8192/skipped");
  EXPECT_EQ(json["skipped"], true);
  EXPECT_EQ(json["skip_message"], skipped_row(8192).message);
  EXPECT_FALSE(json.contains("error_occurred"));
}

TEST(RowJson, HalfRoundTripHalvesEachStatisticButTheCount) {
  const Json latency = row_to_json(latency_row("rc", 2, 0, 1))["latency"];
  for (const char* key : {"min", "max", "mean", "stddev", "p50", "p90", "p99", "p99.9"})
    EXPECT_DOUBLE_EQ(latency["half_round_trip"][key].get<double>(), latency[key].get<double>() / 2)
        << key;
  EXPECT_EQ(latency["half_round_trip"]["count"], 10'000);
  EXPECT_EQ(latency["p99.99"], nullptr);  // 10^4 samples are too few
  EXPECT_EQ(latency["half_round_trip"]["p99.99"], nullptr);
}

TEST(RowJson, CompletionLatencyIsNotHalved) {
  Row row = latency_row("rc", 2, 0, 1);
  row.latency->definition = LatencyData::Definition::completion;
  row.latency->half_round_trip = false;
  const Json latency = row_to_json(row)["latency"];
  EXPECT_EQ(latency["definition"], "completion");
  EXPECT_FALSE(latency.contains("half_round_trip"));
}

TEST(RowJson, CallIsNotHalvedAndReadBack) {
  Row row = latency_row("rc", 2, 0, 1);
  row.latency->definition = LatencyData::Definition::call;
  row.latency->half_round_trip = false;
  const Json json = row_to_json(row);
  EXPECT_EQ(json["latency"]["definition"], "call");
  EXPECT_FALSE(json["latency"].contains("half_round_trip"));
  EXPECT_EQ(row_from_json(json, "here").latency->definition, LatencyData::Definition::call);
}

Row over_time_row() {
  Row row = latency_row("ud", 64, 0, 1, 2100);
  row.over_time = OverTimeData{.interval_ns = 100'000'000,
                               .count = {2000, 0, 100},
                               .p50_ns = {9'000.0, std::nullopt, 9'100.0},
                               .p99_ns = {12'000.0, std::nullopt, std::nullopt},
                               .max_ns = {105'000'000.0, std::nullopt, 15'000.0},
                               .lost = {0, 1, 0}};
  return row;
}

TEST(RowJson, LatencyOverTimeIsReadBackWithNullWhereNobodyKnows) {
  const Json json = row_to_json(over_time_row());
  EXPECT_EQ(json["over_time"]["p99"].dump(), "[12000,null,null]");
  EXPECT_EQ(json["over_time"]["lost"].dump(), "[0,1,0]");
  const Row row = row_from_json(json, "here");
  EXPECT_EQ(row.over_time->max_ns, over_time_row().over_time->max_ns);
  EXPECT_EQ(row.over_time->count, over_time_row().over_time->count);
}

TEST(RowJson, LatencyOverTimeHasOneNumberForEachInterval) {
  for (const char* key : {"count", "p50", "p99", "max", "lost"}) {
    Json json = row_to_json(over_time_row());
    json["over_time"][key].erase(1);
    EXPECT_THROW(row_from_json(json, "here"), UsageError) << key;
  }
}

/// 2^53 ns are 104 days, and 9 PB.
TEST(RowJson, TimesSinceTheStartOfAMachineAndBytesOfDevicesMayBeLarge) {
  Row blamed = blamed_row(), shared = per_device_row();
  blamed.blame->stalls.at(0).monotonic_ns = 9'100'000'000'000'000;
  shared.per_device.at(0).bytes = 1ULL << 60;
  for (const Row& row : {blamed, shared}) {
    const Json json = row_to_json(row);
    EXPECT_EQ(row_to_json(row_from_json(json, "here")), json);
  }
}

TEST(RowJson, BlameIsReadBack) {
  const Row row = row_from_json(row_to_json(blamed_row()), "here");
  EXPECT_EQ(row.blame->late, 2U);
  EXPECT_EQ(row.blame->local, blamed_row().blame->local);
  EXPECT_EQ(row.blame->local_gaps.limit_ns, 200U);
  EXPECT_EQ(row.blame->stalls.at(0).utc, "2027-01-15T08:00:00.000000019Z");
}

TEST(RowJson, CausesOfLateSamplesSum) {
  for (const char* key : {"late", "both", "not_kept"}) {
    Json json = row_to_json(blamed_row());
    json["blame"][key] = 7;
    EXPECT_THROW(row_from_json(json, "here"), UsageError) << key;
  }
}

/// An open loop's, of 500 requests over a second of which 400 were completed in 0.9 s.
Row load_row() {
  Row row = latency_row("rc", 2, 0, 1, 400);
  row.latency->definition = LatencyData::Definition::response;
  row.latency->half_round_trip = false;
  row.load = LoadData{.due = 500,
                      .window_ns = 1'000'000'000,
                      .completed = 400,
                      .completing_ns = 900'000'000,
                      .unsent = 100,
                      .backlog_max = 101,
                      .interval_ns = 500'000'000,
                      .backlog = {40, 101}};
  row.load->service.histogram = sample_histogram(400, 8'000, 3);
  row.load->lateness.histogram = sample_histogram(400, 200, 4);
  return row;
}

TEST(RowJson, WhatEachDeviceDidIsReadBack) {
  const Json json = row_to_json(per_device_row());
  EXPECT_EQ(json.at("per_device").at(0).at("gbps"), 96);
  EXPECT_EQ(json.at("per_device").at(0).at("bound_percent"), 96);
  EXPECT_FALSE(json.at("per_device").at(1).contains("bound_percent"));
  const Row row = row_from_json(json, "here");
  EXPECT_EQ(row_to_json(row), json);
  EXPECT_EQ(row.per_device.at(1).peer_device, "mlx5_3");
  Json wrong = json;
  wrong["per_device"][0]["device"] = std::string(65, 'x');
  EXPECT_THROW(row_from_json(wrong, "here"), UsageError);
}

TEST(RowJson, WhatEachQpDidIsReadBackAndListsHaveAnElementForEach) {
  const Json json = row_to_json(per_qp_row());
  const Row row = row_from_json(json, "here");
  EXPECT_EQ(row_to_json(row), json);
  EXPECT_EQ(row.per_qp->p50_ns, (std::vector<double>{3900, 4000, 8900, 4100}));
  EXPECT_EQ(row.per_qp->spread.front().of, "p50_ns");
  Json wrong = json;
  wrong["per_qp"]["max_ns"].erase(0);
  EXPECT_THROW(row_from_json(wrong, "here"), UsageError);
  wrong = json;
  wrong["per_qp"]["slowest"] = 4;
  EXPECT_THROW(row_from_json(wrong, "here"), UsageError);
  wrong = json;
  wrong["per_qp"]["qps"] = 2000;
  EXPECT_THROW(row_from_json(wrong, "here"), UsageError);
}

TEST(RowJson, LoadIsReadBackWithBothItsHistogramsAndItsRatesAreDerived) {
  const Json json = row_to_json(load_row());
  EXPECT_DOUBLE_EQ(json["load"]["offered_per_s"].get<double>(), 500);
  EXPECT_NEAR(json["load"]["reached_per_s"].get<double>(), 444.4, 0.1);
  EXPECT_EQ(json["load"]["saturated"], true);
  EXPECT_EQ(json["load"]["service"]["definition"], "service");
  EXPECT_EQ(json["load"]["lateness"]["definition"], "lateness");
  const Row row = row_from_json(json, "here");
  EXPECT_EQ(row.latency->definition, LatencyData::Definition::response);
  EXPECT_EQ(row.load->backlog, (std::vector<std::uint64_t>{40, 101}));
  EXPECT_EQ(row.load->service.histogram, load_row().load->service.histogram);
  EXPECT_EQ(row_to_json(row), json);
}

TEST(RowJson, PartsOfAMixAreReadBackAndTheirPayloadIsDerived) {
  const Json json = row_to_json(mix_load_row());
  const Json& read = json["load"]["mix"][0];
  EXPECT_EQ(read["operation"], "read");
  EXPECT_NEAR(read["reached_gbps"].get<double>(), 700 * 4096 * 8e-9, 1e-6);
  EXPECT_EQ(read["response"]["definition"], "response");
  EXPECT_EQ(row_to_json(row_from_json(json, "here")), json);
  Json wrong = json;
  wrong["load"]["mix"][1]["completed"] = 301;  // of 300
  EXPECT_THROW(row_from_json(wrong, "here"), UsageError);
  wrong = json;
  wrong["load"]["mix"] = std::vector<Json>(17, read);
  EXPECT_THROW(row_from_json(wrong, "here"), UsageError);
  EXPECT_FALSE(row_to_json(load_row())["load"].contains("mix"));
}

TEST(RowJson, LoadThatKeepsUpIsNotSaturatedAndMoreCompletedThanDueIsRefused) {
  Row row = load_row();
  row.load->completed = 500;
  row.load->completing_ns = 1'001'000'000;
  row.load->unsent = 0;
  Json json = row_to_json(row);
  EXPECT_FALSE(json["load"].contains("saturated"));
  json["load"]["completed"] = 501;
  EXPECT_THROW(row_from_json(json, "here"), UsageError);
}

TEST(RowJson, NoSamplesGiveNullsNotZeros) {
  Row row = latency_row("ud", 2, 0, 1);
  row.latency->histogram = {};
  const Json latency = row_to_json(row)["latency"];
  EXPECT_EQ(latency["count"], 0);
  for (const char* key : {"min", "max", "mean", "stddev", "p50"}) EXPECT_EQ(latency[key], nullptr);
  EXPECT_EQ(latency["histogram"]["min"], 0);
}

TEST(RowJson, RatesFollowFromBytesMessagesAndWindow) {
  const BandwidthData data{.messages = 1'000, .bytes = 1'048'576'000, .window_ns = 1'000'000'000};
  EXPECT_DOUBLE_EQ(bandwidth_gbps(data), 8.388608);
  EXPECT_DOUBLE_EQ(bandwidth_mib_per_s(data), 1000);
  EXPECT_DOUBLE_EQ(bandwidth_mmsg_per_s(data), 0.001);
}

TEST(RowJson, AnEmptyWindowGivesNoInfinity) {
  const BandwidthData data{.messages = 1, .bytes = 64};
  EXPECT_EQ(bandwidth_gbps(data), 0);
  EXPECT_EQ(bandwidth_mib_per_s(data), 0);
  EXPECT_EQ(bandwidth_mmsg_per_s(data), 0);
}

TEST(RowJson, LostIsSentMinusReceivedAndNeverNegative) {
  EXPECT_EQ(row_to_json(receiver_counted_row(64))["bandwidth"]["lost"], 1'000);
  BandwidthData data{.messages = 1, .sent = 5, .received = 6};  // one came twice
  EXPECT_EQ(bandwidth_lost(data), 0);
  data.sent.reset();
  EXPECT_EQ(bandwidth_lost(data), std::nullopt);
}

TEST(RowJson, NeverWritesNanOrInfinity) {
  Row row = bandwidth_row(64, 0, 1);
  row.real_time_ns = std::numeric_limits<double>::quiet_NaN();
  row.cpu_time_ns = std::numeric_limits<double>::infinity();
  const Json json = row_to_json(row);
  EXPECT_EQ(json["real_time"], 0);
  EXPECT_EQ(json["cpu_time"], 0);
}

TEST(RowJson, CountsFromTwoToThe53rdAreDigits) {
  EXPECT_EQ(count_to_json((1ULL << 53) - 1), (1ULL << 53) - 1);
  EXPECT_EQ(count_to_json(1ULL << 53), "9007199254740992");
  Row row = latency_row("rc", 2, 0, 1, 1);
  HistogramData& data = row.latency->histogram;
  data.sum_ns = data.max_ns = data.min_ns = ~0ULL;
  data.overflow = data.count;
  data.buckets = {};
  const Json json = Json::parse(row_to_json(row).dump());
  EXPECT_EQ(json["latency"]["histogram"]["sum"], "18446744073709551615");
  EXPECT_EQ(row_from_json(json, "test").latency->histogram.sum_ns, ~0ULL);
}

TEST(RowFromJson, ReadsAPeakAsItWasWritten) {
  Row row = bandwidth_row(64, 0, 1);
  row.bandwidth->peak = PeakData{.messages = 10, .bytes = 640, .window_ns = 320};
  const Json json = row_to_json(row);
  EXPECT_EQ(json["bandwidth"]["peak"]["gbps"], 16.0);
  EXPECT_EQ(json["bandwidth"]["peak"]["mmsg_per_s"], 31.25);
  const Row read = row_from_json(json, "test");
  ASSERT_TRUE(read.bandwidth->peak);
  EXPECT_EQ(read.bandwidth->peak->window_ns, 320U);
}

TEST(RowFromJson, KeepsKeysItDoesNotKnow) {
  Json json = row_to_json(bandwidth_row(64, 0, 1));
  json["shared_responder"] = true;
  const Row row = row_from_json(json, "test");
  EXPECT_EQ(row.extra, Json({{"shared_responder", true}}));
}

/// A change that makes a good row bad, and a piece of the reason it is refused with.
struct BadRow {
  const char* pointer;
  const char* value;
  const char* reason;
};

class RowFromJsonRefuses : public testing::TestWithParam<BadRow> {};

TEST_P(RowFromJsonRefuses, WithWhereAndWhy) {
  Row row = latency_row("ud", 64, 0, 1, 3);
  row.latency->histogram = {
      .count = 3, .sum_ns = 30, .min_ns = 9, .max_ns = 11, .buckets = {{9, 1}, {10, 1}, {11, 1}}};
  row.bandwidth =
      BandwidthData{.messages = 1, .bytes = 2, .window_ns = 3, .sent = 1, .received = 1};
  Json json = row_to_json(row);
  ASSERT_NO_THROW(row_from_json(json, "good"));
  json[Json::json_pointer(GetParam().pointer)] = Json::parse(GetParam().value);
  try {
    row_from_json(json, "some file: row 7");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()).find("some file: row 7"), 0U) << error.what();
    EXPECT_NE(std::string(error.what()).find(GetParam().reason), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rows, RowFromJsonRefuses,
    testing::Values(
        BadRow{"/name", "\"other\"", "name is not `run_name`"},
        BadRow{"/name", "7", "name is not a string"},
        BadRow{"/run_type", "\"aggregate\"", "is not \"iteration\""},
        BadRow{"/time_unit", "\"ms\"", "is not \"ns\""},
        BadRow{"/repetitions", "0", "is 0, outside 1"},
        BadRow{"/repetition_index", "1", "is 1, outside 0 to 0"},
        BadRow{"/iterations", "-1", "iterations is negative"},
        BadRow{"/iterations", "1.5", "is not a whole number"},
        BadRow{"/iterations", "1e30", "is not a whole number"},
        BadRow{"/real_time", "-0.5", "real_time is negative"},
        BadRow{"/real_time", "null", "real_time is not a number"},
        BadRow{"/case", "[]", "case is not an object"},
        BadRow{"/work", "3", "work is not an object"}, BadRow{"/lost", "-3", "lost is negative"},
        BadRow{"/error_occurred", "true", "\"error_message\" is missing"},
        BadRow{"/error_occurred", "1", "is neither true nor false"},
        BadRow{"/latency", "[]", "latency is not an object"},
        BadRow{"/latency/definition", "\"quarter\"", "is neither"},
        BadRow{"/latency/definition", "\"completion\"", "half_round_trip is present although"},
        BadRow{"/latency/definition", "\"call\"", "half_round_trip is present although"},
        BadRow{"/latency/histogram/type", "\"linear\"", "is not \"log_linear\""},
        BadRow{"/latency/histogram/precision_bits", "9", "is not 10"},
        BadRow{"/latency/histogram/count", "4", "do not sum to `count` (4)"},
        BadRow{"/latency/histogram/count", "2", "do not sum to `count` (2)"},
        BadRow{"/latency/histogram/overflow", "1", "do not sum to `count` (3)"},
        BadRow{"/latency/histogram/overflow", "4", "is 4, outside 0 to 3"},
        BadRow{"/latency/histogram/sum", "\"1e3\"", "is not the digits"},
        BadRow{"/latency/histogram/sum", "\"18446744073709551616\"", "is not the digits"},
        BadRow{"/latency/histogram/sum", "\"\"", "is not the digits"},
        BadRow{"/latency/histogram/sum", "300", "gives a mean outside"},
        BadRow{"/latency/histogram/min", "8", "is not in the first bucket"},
        BadRow{"/latency/histogram/max", "12", "is not in the last bucket"},
        BadRow{"/latency/histogram/min", "12", "is greater than `max`"},
        BadRow{"/latency/histogram/index", "[9, 10]", "n has 3 elements, `index` 2"},
        BadRow{"/latency/histogram/index", "[9, 11, 10]", "is not greater than the one before"},
        BadRow{"/latency/histogram/index", "[9, 9, 11]", "is not greater than the one before"},
        BadRow{"/latency/histogram/index", "[9, 10, 32768]", "is 32768, outside 0 to 32767"},
        BadRow{"/latency/histogram/index", "[-9, 10, 11]", "index[0] is negative"},
        BadRow{"/latency/histogram/n", "[1, 0, 2]", "n[1] is 0, outside 1"},
        BadRow{"/latency/histogram/n", "[1, -1, 3]", "n[1] is negative"},
        BadRow{"/latency/histogram/n", "[18446744073709551615, 3, 1]", "outside 1"},
        BadRow{"/latency/histogram/n", "7", "is not an array"},
        BadRow{"/bandwidth/messages", "-1", "messages is negative"},
        BadRow{"/bandwidth/counted_by", "\"nobody\"", "is neither"},
        BadRow{"/bandwidth/injected", "1", "is neither true nor false"}));

TEST(RowFromJson, RefusesEachMissingKey) {
  for (const char* key :
       {"name", "family_index", "run_name", "run_type", "repetitions", "repetition_index",
        "iterations", "real_time", "cpu_time", "time_unit", "case"}) {
    Json json = row_to_json(latency_row("rc", 2, 0, 1));
    json.erase(key);
    EXPECT_THROW(row_from_json(json, "test"), UsageError) << key;
  }
  for (const char* key :
       {"type", "precision_bits", "count", "sum", "min", "max", "overflow", "index", "n"}) {
    Json json = row_to_json(latency_row("rc", 2, 0, 1));
    json["latency"]["histogram"].erase(key);
    EXPECT_THROW(row_from_json(json, "test"), UsageError) << key;
  }
}

}  // namespace
}  // namespace rdmameter
