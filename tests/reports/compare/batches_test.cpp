// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/compare/fingerprint.h"

namespace rdmameter {
namespace {

using testing::ElementsAre;
using Json = nlohmann::ordered_json;

Json run(const std::string& date, const std::string& boot = "x") {
  return {{"date", date},
          {"rdmameter", {{"initiator", {{"boot_id", boot}}}, {"responder", {{"boot_id", boot}}}}}};
}

Json merged(const std::vector<Json>& runs) {
  return {{"date", "2024-01-01T00:00:00Z"}, {"rdmameter", {{"runs", runs}}}};
}

TEST(Batches, AreRunsOfOneBootWithLessThanAnHourBetweenThem) {
  EXPECT_THAT(batches_of(merged({run("2024-01-01T00:00:00Z"), run("2024-01-01T00:50:00Z"),
                                 run("2024-01-01T01:40:00Z"), run("2024-01-01T02:40:00Z")})),
              ElementsAre(0, 0, 0, 1));
}

TEST(Batches, DoNotSurviveABootOfEitherEnd) {
  Json other = run("2024-01-01T00:10:00Z");
  other["rdmameter"]["responder"]["boot_id"] = "y";
  EXPECT_THAT(batches_of(merged({run("2024-01-01T00:00:00Z"), other, run("2024-01-01T00:20:00Z")})),
              ElementsAre(0, 1, 0));
}

TEST(Batches, AreThoseOfTimeInWhateverOrderRunsWereMerged) {
  EXPECT_THAT(batches_of(merged({run("2024-01-02T00:00:00Z"), run("2024-01-01T00:30:00Z"),
                                 run("2024-01-01T00:00:00Z")})),
              ElementsAre(0, 1, 1));
}

TEST(Batches, OfASingleRunOrOfUnknownOnesAreOne) {
  EXPECT_THAT(batches_of(run("2024-01-01T00:00:00Z")), ElementsAre(0));
  EXPECT_THAT(batches_of(merged({Json::object(), Json::object()})), ElementsAre(0, 0));
}

}  // namespace
}  // namespace rdmameter
