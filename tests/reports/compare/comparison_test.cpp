// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "reports/compare/output.h"
#include "reports/merge.h"
#include "reports/result_file.h"
#include "tests/reports/compare/fake_results.h"

namespace rdmameter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Five runs of ten repetitions that hardly differ.
ComparableCase steady(const std::string& name, double p50_ns) {
  return latency_case(name, 5, 10, [=](std::uint64_t run, std::uint64_t repetition) {
    return p50_ns + 3 * static_cast<double>(run) + static_cast<double>(repetition % 3);
  });
}

template <class Try>
std::string refusal(Try attempt) {
  try {
    attempt();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Comparison, FailsWhereACaseIsSlowerAndPutsItFirst) {
  const Comparable base = file_of({steady("same", 5000), steady("slow", 5000)});
  const Comparison made =
      compare_files(base, file_of({steady("same", 5000), steady("slow", 6000)}), {});
  EXPECT_EQ(made.conclusion, Conclusion::fail);
  EXPECT_EQ(made.cases[0].name, "slow");
  EXPECT_EQ(made.cases[0].verdict, CaseVerdict::fail);
  EXPECT_EQ(made.cases[1].verdict, CaseVerdict::pass);
}

TEST(Comparison, OfAFileWithItselfPasses) {
  const Comparable base = file_of({steady("a", 5000), steady("b", 7000)});
  EXPECT_EQ(compare_files(base, base, {}).conclusion, Conclusion::pass);
}

TEST(Comparison, TellsWhatGotBetter) {
  const Comparison made =
      compare_files(file_of({steady("a", 6000)}), file_of({steady("a", 5000)}), {});
  EXPECT_EQ(made.conclusion, Conclusion::pass);
  EXPECT_EQ(made.cases[0].verdict, CaseVerdict::better);
}

TEST(Comparison, IsPowerlessWithFewRunsAndEndsInconclusiveUnlessAChangeIsRuledOut) {
  const auto single = [](double p50_ns) {
    return latency_case("a", 1, 10, [=](std::uint64_t, std::uint64_t i) { return p50_ns + i % 3; });
  };
  const Comparison made = compare_files(file_of({single(5000)}), file_of({single(6000)}), {});
  EXPECT_TRUE(made.powerless);
  EXPECT_EQ(made.conclusion, Conclusion::inconclusive);
  EXPECT_EQ(made.cases[0].verdict, CaseVerdict::suspect);
  EXPECT_THAT(made.remarks.front(), HasSubstr("cannot confirm a regression"));
  Comparable quiet = file_of({single(5000)});
  quiet.noise["a"] = {.between_runs = 0.002, .beyond = 0.01};
  EXPECT_EQ(compare_files(quiet, quiet, {}).conclusion, Conclusion::pass);
}

TEST(Comparison, OfOneRepetitionIsInconclusiveAndSaysWhy) {
  const ComparableCase one = latency_case("a", 1, 1, [](auto, auto) { return 5000.0; });
  const Comparison made = compare_files(file_of({one}), file_of({one}), {});
  EXPECT_EQ(made.conclusion, Conclusion::inconclusive);
  EXPECT_THAT(made.cases[0].note, HasSubstr("one repetition"));
}

TEST(Comparison, HoldsRecordedNoiseAgainstAFailure) {
  Comparable base = file_of({steady("a", 5000)});
  Comparable slower = file_of({steady("a", 5500)});
  EXPECT_EQ(compare_files(base, slower, {}).conclusion, Conclusion::fail);
  base.noise["a"] = {.between_runs = 0.1, .beyond = 0.2};
  EXPECT_NE(compare_files(base, slower, {}).conclusion, Conclusion::fail);
  std::swap(base.noise, slower.noise);
  EXPECT_NE(compare_files(base, slower, {}).conclusion, Conclusion::fail) << "NEW records it";
}

TEST(Comparison, UnderTheWorkGateTakesTimesForInformation) {
  const Comparison made = compare_files(file_of({steady("a", 5000)}), file_of({steady("a", 9000)}),
                                        {.gates = {"work"}});
  EXPECT_EQ(made.conclusion, Conclusion::pass);
  EXPECT_EQ(made.cases[0].verdict, CaseVerdict::fail);
  EXPECT_EQ(compare_files(file_of({steady("a", 5000)}), file_of({steady("a", 9000)}),
                          {.gates = {"work", "times"}})
                .conclusion,
            Conclusion::fail);
}

TEST(Comparison, OfACaseThatNowFailsIsAFailureUnderAnyGate) {
  Comparable other = file_of({latency_case("a", 0, 0, {})});
  other.sides[0][0].errors = {"the peer died"};
  const Comparison made = compare_files(file_of({steady("a", 5000)}), other, {.gates = {"work"}});
  EXPECT_EQ(made.conclusion, Conclusion::fail);
  EXPECT_THAT(made.cases[0].note, HasSubstr("the peer died"));
}

TEST(Comparison, WithoutACommonCaseSaysWhatEachHas) {
  const std::string text = refusal([] {
    compare_files(file_of({steady("apple", 5000)}, "base.json"),
                  file_of({steady("pear", 5000)}, "new.json"), {});
  });
  EXPECT_THAT(text, HasSubstr("no case in common"));
  EXPECT_THAT(text, HasSubstr("base.json has: apple"));
  EXPECT_THAT(text, HasSubstr("new.json has: pear"));
}

TEST(Comparison, NamesCasesThatOnlyOneFileHas) {
  const Comparison made = compare_files(file_of({steady("a", 5000), steady("b", 5000)}),
                                        file_of({steady("a", 5000), steady("c", 5000)}), {});
  EXPECT_THAT(made.only_base, ElementsAre("b"));
  EXPECT_THAT(made.only_other, ElementsAre("c"));
  EXPECT_EQ(made.conclusion, Conclusion::pass);
  EXPECT_EQ(compare_files(file_of({steady("a", 5000), steady("b", 5000)}),
                          file_of({steady("a", 5000)}), {.strict = true})
                .conclusion,
            Conclusion::inconclusive);
}

TEST(Comparison, RefusesAnotherEnvironmentNamingWhatDiffers) {
  const Comparable base = file_of({steady("a", 5000)});
  Comparable other = base;
  other.context["rdmameter"]["responder"]["device"]["active_mtu_bytes"] = 1024;
  other.context["rdmameter"]["initiator"]["kernel"] = "7.0";
  other.context["rdmameter"]["initiator"]["boot_id"] = "another";
  const std::string text = refusal([&] { compare_files(base, other, {}); });
  EXPECT_THAT(text, HasSubstr("responder: active MTU [B]: 4096 in BASE, 1024 in NEW"));
  EXPECT_THAT(text, HasSubstr("initiator: kernel: 6.1.0-18-amd64 in BASE, 7.0 in NEW"));
  EXPECT_THAT(text, Not(HasSubstr("another")));
  EXPECT_THAT(text, HasSubstr("--allow-environment-change"));
  const Comparison made = compare_files(base, other, {.allow_environment_change = true});
  EXPECT_THAT(made.remarks.front(), HasSubstr("environments differ"));
}

TEST(Comparison, HoldsTheRanksOfTopologiesAgainstEachOther) {
  Comparable base = file_of({steady("a", 5000)});
  base.context["rdmameter"]["ranks"] = {{{"rank", 0}, {"host", "x"}, {"kernel", "6.1"}},
                                        {{"rank", 1}, {"host", "y"}, {"kernel", "6.1"}}};
  Comparable other = base;
  other.context["rdmameter"]["ranks"][1]["host"] = "z";  // a name is no environment
  EXPECT_NO_THROW(compare_files(base, other, {}));
  other.context["rdmameter"]["ranks"][1]["kernel"] = "6.6";
  EXPECT_THAT(refusal([&] { compare_files(base, other, {}); }),
              HasSubstr("rank 1: kernel: 6.1 in BASE, 6.6 in NEW"));
  other.context["rdmameter"]["ranks"].erase(1);
  EXPECT_THAT(refusal([&] { compare_files(base, other, {}); }),
              HasSubstr("ranks: 2 in BASE, 1 in NEW"));
}

TEST(Comparison, StrictMakesAnythingOpenInconclusive) {
  const ComparableCase wild = latency_case("a", 5, 10, [](std::uint64_t run, std::uint64_t) {
    return 5000.0 + 1500 * static_cast<double>(run % 3);
  });
  EXPECT_EQ(compare_files(file_of({wild}), file_of({wild}), {}).conclusion, Conclusion::pass);
  EXPECT_EQ(compare_files(file_of({wild}), file_of({wild}), {.strict = true}).conclusion,
            Conclusion::inconclusive);
}

TEST(Comparison, OfSidesTakesRepetitionsForReplicates) {
  Comparable file = file_of({});
  file.sides[0] = {latency_case("a", 1, 10, [](auto, std::uint64_t i) { return 5000.0 + i; })};
  file.sides[1] = {latency_case("a", 1, 10, [](auto, std::uint64_t i) { return 6000.0 + i; })};
  const Comparison made = compare_sides(file, {});
  EXPECT_EQ(made.conclusion, Conclusion::fail);
  EXPECT_EQ(made.cases[0].effects[0].effect.replicates_base, 10U);
  EXPECT_THAT(refusal([&] { compare_files(file, file, {}); }), HasSubstr("both sides"));
  EXPECT_GT(noise_of(file).at("a").beyond, 0.19);
}

TEST(Comparison, ASecondMeasurementReplacesTheVerdictsOfTheFirst) {
  const Comparable base = file_of({steady("a", 5000), steady("b", 5000)});
  const Comparison first = compare_files(base, file_of({steady("a", 6000), steady("b", 5000)}), {});
  const Comparison again =
      compare_files(file_of({steady("a", 5000)}), file_of({steady("a", 5000)}), {});
  const Comparison made = replaced_by(first, again);
  EXPECT_EQ(made.conclusion, Conclusion::pass);
  EXPECT_EQ(made.cases.size(), 2U);
  EXPECT_THAT(made.cases[0].note + made.cases[1].note, HasSubstr("not confirmed"));
}

Comparison with_a_strange_name() {
  const std::string name = "<img src=x onerror=alert(1)>|`\"&";
  return compare_files(file_of({steady(name, 5000)}), file_of({steady(name, 6000)}), {});
}

TEST(Outputs, EscapeWhatANameMayHold) {
  const Comparison made = with_a_strange_name();
  EXPECT_THAT(comparison_markdown(made), Not(HasSubstr("<img")));
  EXPECT_THAT(comparison_markdown(made), HasSubstr("\\|\\`"));
  EXPECT_THAT(comparison_junit(made), Not(HasSubstr("<img")));
  EXPECT_THAT(comparison_junit(made), HasSubstr("failures=\"1\""));
}

TEST(Outputs, AnnotateAtMostTenTimes) {
  std::vector<ComparableCase> before, after;
  for (int i = 0; i < 40; ++i) {
    before.push_back(steady("case:" + std::to_string(i), 5000));
    after.push_back(steady("case:" + std::to_string(i), 6000));
  }
  const std::string text = comparison_github(compare_files(file_of(before), file_of(after), {}));
  EXPECT_EQ(std::ranges::count(text, '\n'), 10);
  EXPECT_THAT(text, HasSubstr("::error title=slower%3A case%3A"));
  EXPECT_THAT(text, HasSubstr("and 31 more"));
}

TEST(Outputs, KeepAMarkdownPageBelowOneMebibyte) {
  std::vector<ComparableCase> cases;
  for (int i = 0; i < 6000; ++i)
    cases.push_back(latency_case(std::string(200, 'x') + std::to_string(i), 1, 2,
                                 [](auto, std::uint64_t j) { return 5000.0 + j; }));
  const std::string text = comparison_markdown(compare_files(file_of(cases), file_of(cases), {}));
  EXPECT_LT(text.size(), 1U << 20);
  EXPECT_THAT(text, HasSubstr("lines left out"));
}

void write_run(const std::string& path, const std::string& date, std::uint64_t repetitions) {
  nlohmann::ordered_json context = sample_context();
  context["date"] = date;
  ResultWriter writer(path, context);
  for (std::uint64_t i = 0; i < repetitions; ++i)
    writer.append(latency_row("rc", 64, i, repetitions));
  writer.append(error_row(64));
}

TEST(Merge, KeepsRunsApartAndLosesNothing) {
  const ScratchDirectory scratch;
  write_run(scratch.path("1.json"), "2024-01-01", 3);
  write_run(scratch.path("2.json"), "2024-01-02", 2);
  write_run(scratch.path("3.json"), "2024-01-03", 2);
  const auto merge = [&](const std::string& to, const std::vector<std::string>& from) {
    const MergedResult made = merge_results(from, "rdmameter merge", false);
    ResultWriter writer(scratch.path(to), made.context);
    for (const Row& row : made.rows) writer.append(row);
  };
  merge("12.json", {scratch.path("1.json"), scratch.path("2.json")});
  merge("all.json", {scratch.path("12.json"), scratch.path("3.json")});
  const ResultFile all = read_result(scratch.path("all.json"));
  EXPECT_EQ(all.rows.size(), 10U);
  EXPECT_EQ(all.context["rdmameter"]["runs"].size(), 3U);
  EXPECT_EQ(all.rows.back().more["run"], 2);
  EXPECT_EQ(all.rows[0].latency->histogram, latency_row("rc", 64, 0, 3).latency->histogram);
  const Comparable read = read_comparable(scratch.path("all.json"));
  EXPECT_EQ(read.runs, 3U);
  EXPECT_EQ(read.sides[0][0].replicates.size(), 7U);
  EXPECT_EQ(read.sides[0][0].replicates.back().run, 2U);
}

TEST(Merge, RefusesARunTwiceAndAnotherEnvironment) {
  const ScratchDirectory scratch;
  write_run(scratch.path("1.json"), "2024-01-01", 1);
  write_run(scratch.path("2.json"), "2024-01-01", 1);
  EXPECT_THAT(refusal([&] {
                merge_results({scratch.path("1.json"), scratch.path("2.json")}, "", false);
              }),
              HasSubstr("the same run"));
  nlohmann::ordered_json context = sample_context();
  context["rdmameter"]["initiator"]["kernel"] = "7.0";
  ResultWriter(scratch.path("3.json"), context).finish();
  EXPECT_THAT(refusal([&] {
                merge_results({scratch.path("1.json"), scratch.path("3.json")}, "", false);
              }),
              HasSubstr("kernel"));
}

TEST(Comparable, HasWhatTheRowsSay) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("r.json");
  {
    ResultWriter writer(path, sample_context());
    writer.append(latency_row("rc", 64, 0, 1));
    writer.append(bandwidth_row(64, 0, 1));
    writer.append(skipped_row(8192));
  }
  const Comparable made = read_comparable(path);
  ASSERT_EQ(made.sides[0].size(), 3U);
  const Row row = latency_row("rc", 64, 0, 1);
  const LatencySummary half = summarize(row.latency->histogram, 2);
  EXPECT_EQ(made.sides[0][0].values(Metric::p99)->front(), *half.p99);
  EXPECT_EQ(made.sides[0][0].values(Metric::p99_99), std::nullopt) << "too few samples";
  EXPECT_EQ(made.sides[0][0].replicates[0].work.at("cqes"), 2);
  EXPECT_TRUE(made.sides[0][1].bandwidth);
  EXPECT_NEAR(made.sides[0][1].values(Metric::gbps)->front(), 8.0 * 64 / 1521, 1e-9);
  EXPECT_EQ(made.sides[0][2].skips.size(), 1U);
}

}  // namespace
}  // namespace rdmameter
