// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/compare/comparison.h"
#include "tests/reports/compare/fake_results.h"

namespace rdmameter {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A merged result whose runs have these floors.
nlohmann::ordered_json runs_with_floors(const std::vector<double>& clock_read_ns) {
  nlohmann::ordered_json context = sample_context(), runs = nlohmann::ordered_json::array();
  for (const double value : clock_read_ns) {
    context["rdmameter"]["floor"] = {{"clock_read_ns", value}, {"record_ns", 3.25}};
    runs.push_back(context);
  }
  context["rdmameter"]["runs"] = runs;
  return context;
}

TEST(Canaries, AreFloorsThatAllRunsMeasuredAnew) {
  const auto base = runs_with_floors({8, 9, 8.5});
  EXPECT_THAT(changed_canaries(base, runs_with_floors({12, 12.5, 12}), {}),
              ElementsAre("clock_read_ns 8.5 -> 12"));
  EXPECT_THAT(changed_canaries(base, runs_with_floors({6, 6.1, 6.2}), {}),
              ElementsAre("clock_read_ns 8.5 -> 6.1"));
  EXPECT_THAT(changed_canaries(base, runs_with_floors({1234.4, 1234.4, 1234.4}), {}),
              ElementsAre("clock_read_ns 8.5 -> 1234"));
  EXPECT_THAT(changed_canaries(base, runs_with_floors({12, 12.5, 8.5}), {}), IsEmpty());
  EXPECT_THAT(changed_canaries(base, runs_with_floors({9.1, 9.2, 9.3}), {}), IsEmpty());
  EXPECT_THAT(changed_canaries(runs_with_floors({0, 0, 0}), base, {}), IsEmpty());
  nlohmann::ordered_json without = base;
  without["rdmameter"]["runs"][0]["rdmameter"]["floor"] = nullptr;
  EXPECT_THAT(changed_canaries(without, base, {}), IsEmpty());
  without["rdmameter"]["runs"][0]["rdmameter"].erase("floor");
  EXPECT_THAT(changed_canaries(without, base, {}), IsEmpty());
}

CaseComparison failing(const std::string& name) {
  CaseComparison one{.name = name, .verdict = CaseVerdict::fail};
  one.effects.push_back({.metric = Metric::p50, .ratio = 1.2});
  return one;
}

TEST(Canaries, AreCasesWithoutTheDeviceAmongOthers) {
  const auto context = sample_context();
  const CaseComparison tcp = failing("tcp_lat/size:64"), null = failing("send_lat/rc/device:null");
  EXPECT_THAT(changed_canaries(context, context, {tcp, failing("send_lat/rc/size:2"), null}),
              ElementsAre("tcp_lat/size:64 +20.0 %", "send_lat/rc/device:null +20.0 %"));
  EXPECT_THAT(changed_canaries(context, context, {tcp, null}), IsEmpty()) << "nothing else";
}

TEST(Canaries, ThatChangedAreToldBeforeTheVerdicts) {
  const auto steady = [](double ns) {
    return latency_case("a", 5, 2, [=](auto run, auto) { return ns + static_cast<double>(run); });
  };
  Comparable base = file_of({steady(5000)}), other = file_of({steady(6000)});
  base.context["rdmameter"]["floor"] = {{"clock_read_ns", 8}};
  other.context["rdmameter"]["floor"] = {{"clock_read_ns", 12}};
  EXPECT_THAT(compare_files(base, other, {}).remarks, Contains(HasSubstr("The machine itself")));
  EXPECT_THAT(compare_files(base, base, {}).remarks,
              testing::Not(Contains(HasSubstr("The machine itself"))));
}

}  // namespace
}  // namespace rdmameter
