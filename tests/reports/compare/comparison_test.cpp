// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/comparison.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/result/result_file.h"
#include "reports/compare/case_judge.h"
#include "reports/compare/fingerprint.h"
#include "reports/compare/output.h"
#include "reports/compare/pairing.h"
#include "reports/merge.h"
#include "reports/summary/defaults.h"
#include "tests/reports/compare/fake_results.h"
#include "tests/reports/samples.h"
#include "tests/reports/topology_samples.h"

namespace rdmameter {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
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
  const Comparison comparison =
      compare_files(base, file_of({steady("same", 5000), steady("slow", 6000)}), {});
  EXPECT_EQ(comparison.conclusion, Conclusion::fail);
  EXPECT_EQ(comparison.cases[0].name, "slow");
  EXPECT_EQ(comparison.cases[0].verdict, CaseVerdict::fail);
  EXPECT_EQ(comparison.cases[1].verdict, CaseVerdict::pass);
}

TEST(Comparison, PutsTheWorstOfThoseThatFailFirst) {
  const Comparable base = file_of({steady("slow", 5000), steady("slower", 5000)});
  const Comparison comparison =
      compare_files(base, file_of({steady("slow", 6000), steady("slower", 9000)}), {});
  EXPECT_EQ(comparison.cases[0].name, "slower");
}

TEST(Comparison, OfAFileWithItselfPasses) {
  const Comparable base = file_of({steady("a", 5000), steady("b", 7000)});
  EXPECT_EQ(compare_files(base, base, {}).conclusion, Conclusion::pass);
}

TEST(Comparison, TellsWhatGotBetter) {
  const Comparison comparison =
      compare_files(file_of({steady("a", 6000)}), file_of({steady("a", 5000)}), {});
  EXPECT_EQ(comparison.conclusion, Conclusion::pass);
  EXPECT_EQ(comparison.cases[0].verdict, CaseVerdict::better);
}

TEST(Comparison, OfFewRunsProvesNoRegressionButRaisesASuspicion) {
  const auto single = [](double p50_ns) {
    return latency_case("a", 1, 10, [=](std::uint64_t, std::uint64_t i) { return p50_ns + i % 3; });
  };
  const Comparison comparison = compare_files(file_of({single(5000)}), file_of({single(6000)}), {});
  EXPECT_EQ(comparison.conclusion, Conclusion::not_proven);
  EXPECT_EQ(comparison.cases[0].verdict, CaseVerdict::suspect);
  EXPECT_THAT(comparison.remarks.front(), HasSubstr("cannot confirm a regression"));
}

TEST(Comparison, OfWildRunsSaysHowManyMoreTell) {
  const auto wild = [](std::uint64_t runs) {
    return file_of({latency_case("a", runs, 1, [](std::uint64_t run, auto) {
      return 5000 + 500 * static_cast<double>(7 * run % 20);
    })});
  };
  const Comparison comparison = compare_files(wild(20), wild(20), {});
  EXPECT_EQ(comparison.cases[0].verdict, CaseVerdict::inconclusive);
  EXPECT_THAT(
      comparison_text(comparison, false, {.width = 200}),
      HasSubstr("  a: 40 runs a side, each in a batch of its own, or 'rdmameter ab' settle it.\n"));
}

TEST(Comparison, OfOneRepetitionIsInconclusive) {
  const ComparableCase one = latency_case("a", 1, 1, [](auto, auto) { return 5000.0; });
  const Comparison comparison = compare_files(file_of({one}), file_of({one}), {});
  EXPECT_EQ(comparison.conclusion, Conclusion::not_proven);
  EXPECT_EQ(compare_files(file_of({one}), file_of({one}), {.inconclusive_ok = true}).conclusion,
            Conclusion::pass);
}

TEST(Comparison, HoldsRecordedNoiseAgainstAFailure) {
  Comparable base = file_of({steady("a", 5000)});
  Comparable slower = file_of({steady("a", 5600)});
  EXPECT_EQ(compare_files(base, slower, {}).conclusion, Conclusion::fail);
  base.noise["a"] = {.between_runs = 0.1, .beyond = 0.2};
  EXPECT_NE(compare_files(base, slower, {}).conclusion, Conclusion::fail);
  std::swap(base.noise, slower.noise);
  EXPECT_NE(compare_files(base, slower, {}).conclusion, Conclusion::fail) << "NEW records it";
}

TEST(Comparison, UnderTheWorkGateTakesTimesForInformation) {
  const Comparison comparison = compare_files(file_of({steady("a", 5000)}),
                                              file_of({steady("a", 9000)}), {.gates = {"work"}});
  EXPECT_EQ(comparison.conclusion, Conclusion::pass);
  EXPECT_EQ(comparison.cases[0].verdict, CaseVerdict::fail);
  EXPECT_EQ(compare_files(file_of({steady("a", 5000)}), file_of({steady("a", 9000)}),
                          {.gates = {"work", "times"}})
                .conclusion,
            Conclusion::fail);
}

TEST(Comparison, OfACaseThatNowFailsIsAFailureUnderAnyGate) {
  Comparable other = file_of({latency_case("a", 0, 0, {})});
  other.sides[0][0].failures = {{.message = "the peer died"}};
  const Comparison comparison =
      compare_files(file_of({steady("a", 5000)}), other, {.gates = {"work"}});
  EXPECT_EQ(comparison.conclusion, Conclusion::fail);
  EXPECT_THAT(comparison.cases[0].note, HasSubstr("the peer died"));
}

TEST(Comparison, UnderTheWorkGateRepetitionsThatFailProveNothing) {
  const auto single = [](double p50_ns) {
    return latency_case("a", 1, 10, [=](std::uint64_t, std::uint64_t) { return p50_ns; });
  };
  Comparable other = file_of({single(9000)});
  ComparableCase& test_case = other.sides[0][0];
  test_case.replicates.resize(1);
  for (std::uint64_t i = 1; i < 10; ++i) test_case.failures.push_back({0, i, "the peer died"});
  const Comparison comparison = compare_files(file_of({single(5000)}), other, {.gates = {"work"}});
  EXPECT_EQ(comparison.conclusion, Conclusion::not_proven);
  EXPECT_EQ(comparison.cases[0].verdict, CaseVerdict::suspect);
}

TEST(Comparison, WithANewCaseThatFailedProvesNothing) {
  Comparable other = file_of({steady("a", 5000), latency_case("b", 0, 0, {})});
  EXPECT_EQ(compare_files(file_of({steady("a", 5000)}), other, {}).conclusion, Conclusion::pass);
  other.sides[0][1].failures = {{.message = "the peer died"}};
  EXPECT_EQ(compare_files(file_of({steady("a", 5000)}), other, {}).conclusion,
            Conclusion::not_proven);
}

TEST(Comparison, OfACaseThatNeitherSideCanMeasureIsNoFinding) {
  Comparable file = file_of({steady("a", 5000), latency_case("b", 0, 0, {})});
  file.sides[0][1].skips = {"the device has no XRC"};
  const Comparison comparison = compare_files(file, file, {});
  EXPECT_EQ(comparison.conclusion, Conclusion::pass);
  EXPECT_THAT(comparison.cases[1].note, HasSubstr("the device has no XRC"));
}

/// The case of an error row does not know what the others found (axes that were not asked for).
TEST(Comparison, FindsTheFailuresOfEachOfSeveralCases) {
  const ScratchDirectory scratch;
  {
    ResultWriter writer(scratch.path("r.json"), sample_context());
    for (const std::uint64_t size : {8, 64, 512}) {
      writer.append(latency_row("rc", size, 0, 2));
      Row failed = latency_row("rc", size, 1, 2);
      failed.case_object.erase("inline_bytes");
      failed.status = Row::Status::error;
      failed.message = fmt::format("failed with {}", size);
      writer.append(failed);
    }
  }
  const std::vector<ComparableCase> cases = read_comparable(scratch.path("r.json")).sides[0];
  ASSERT_EQ(cases.size(), 3u);
  for (const ComparableCase& one : cases) {
    ASSERT_EQ(one.replicates.size(), 1u) << one.name;
    ASSERT_EQ(one.failures.size(), 1u) << one.name;
    EXPECT_THAT(one.name, HasSubstr(one.failures[0].message.substr(12))) << one.name;
  }
}

TEST(Comparison, OfACaseThatNoLongerFailsIsBetter) {
  Comparable base = file_of({latency_case("a", 0, 0, {})});
  base.sides[0][0].failures = {{.message = "the peer died"}};
  const Comparison comparison = compare_files(base, file_of({steady("a", 5000)}), {});
  EXPECT_EQ(comparison.cases[0].verdict, CaseVerdict::better);
  EXPECT_EQ(comparison.conclusion, Conclusion::pass);
}

TEST(Comparison, LeavesInterruptedRepetitionsOutAndSaysSo) {
  Comparable other = file_of({steady("a", 9000)});
  other.sides[0][0].interrupted = 2;
  EXPECT_THAT(compare_files(file_of({steady("a", 5000)}), other, {}).cases[0].note,
              HasSubstr("2 interrupted repetitions left out"));
  other.sides[0][0].replicates.clear();
  const Comparison comparison = compare_files(file_of({steady("a", 5000)}), other, {});
  EXPECT_EQ(comparison.cases[0].verdict, CaseVerdict::inconclusive);
  EXPECT_THAT(comparison.cases[0].note, HasSubstr("not measured in NEW; interrupted"));
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
  const Comparison comparison = compare_files(file_of({steady("a", 5000), steady("b", 5000)}),
                                              file_of({steady("a", 5000), steady("c", 5000)}), {});
  EXPECT_THAT(comparison.only_base, ElementsAre("b"));
  EXPECT_THAT(comparison.only_other, ElementsAre("c"));
  EXPECT_EQ(comparison.conclusion, Conclusion::pass);
  EXPECT_EQ(compare_files(file_of({steady("a", 5000), steady("b", 5000)}),
                          file_of({steady("a", 5000)}), {.strict = true})
                .conclusion,
            Conclusion::not_proven);
}

/// Of a test whose program found so much inline data, or was told to have it.
ComparableCase inlined(const std::string& name, std::uint64_t inline_bytes) {
  ComparableCase test_case = steady(name, 5000);
  test_case.axes = {{"inline_bytes", inline_bytes}, {"size_bytes", 64}};
  return test_case;
}

TEST(Comparison, PairsCasesByWhatWasAskedForAndNamesWhatDiffers) {
  const Comparison comparison =
      compare_files(file_of({inlined("send_lat", 0), inlined("b", 0)}),
                    file_of({inlined("send_lat", 64), inlined("b", 64)}), {});
  EXPECT_EQ(comparison.cases.size(), 2U);
  EXPECT_TRUE(comparison.only_base.empty() && comparison.only_other.empty());
  EXPECT_THAT(
      comparison.remarks,
      Contains("The two sides were not measured alike: inline_bytes is 0 in BASE and 64 in NEW "
               "(send_lat, b)."));
}

TEST(Comparison, PairsNoCasesByNameWhereSeveralHaveIt) {
  const Comparison comparison =
      compare_files(file_of({steady("a", 5000), inlined("b", 0), inlined("b", 16)}),
                    file_of({steady("a", 5000), inlined("b", 64)}), {});
  EXPECT_THAT(comparison.only_base, ElementsAre("b", "b"));
  EXPECT_THAT(comparison.only_other, ElementsAre("b"));
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
  const Comparison comparison = compare_files(base, other, {.allow_environment_change = true});
  EXPECT_THAT(comparison.remarks.front(), HasSubstr("environments differ"));
}

TEST(Comparison, OfAnEndThatNeverAnsweredJudgesItsCases) {
  const Comparable base = file_of({steady("a", 5000)});
  Comparable other = base;
  other.context["rdmameter"]["responder"] = nullptr;
  EXPECT_THAT(refusal([&] { compare_files(base, other, {}); }), HasSubstr("unknown in NEW"));
  ComparableCase& failed = other.sides[0].front();
  failed.replicates.clear();
  failed.failures.push_back({.message = "nobody listens there"});
  EXPECT_THAT(compare_files(base, other, {}).remarks, Not(Contains(HasSubstr("environments"))));
  other.context["rdmameter"]["initiator"] = nullptr;
  EXPECT_THAT(compare_files(base, other, {}).remarks, Not(Contains(HasSubstr("environments"))));
  const auto with_host = [](nlohmann::ordered_json one) {
    nlohmann::ordered_json context = sample_context();
    one["host"] = "192.0.2.7";
    context["rdmameter"]["responders"] = nlohmann::ordered_json::array({std::move(one)});
    return context;
  };
  EXPECT_THAT(environment_changes(with_host({{"kernel", "6.1"}}), with_host({}), false),
              testing::IsEmpty());
  EXPECT_THAT(environment_changes(with_host({{"kernel", "6.1"}}), with_host({})),
              ElementsAre(HasSubstr("unknown in NEW")));
  EXPECT_THAT(environment_changes(with_host({{"kernel", "6.1"}}), with_host({{"kernel", "7.0"}})),
              ElementsAre(HasSubstr("responder 192.0.2.7: kernel")));
}

TEST(Comparison, TakesAFactThatOneSideDoesNotKnowForADifference) {
  const Comparable base = file_of({steady("a", 5000)});
  Comparable other = base;
  other.context["rdmameter"]["initiator"]["hypervisor"] = nullptr;
  Comparable known = base;
  known.context["rdmameter"]["initiator"]["hypervisor"] = "KVM";
  EXPECT_THAT(refusal([&] { compare_files(known, other, {}); }),
              HasSubstr("hypervisor: KVM in BASE, unknown in NEW"));
  EXPECT_NO_THROW(compare_files(other, other, {}));
}

TEST(Comparison, RefusesAnotherBuildAndAnotherLibrary) {
  Comparable base = file_of({steady("a", 5000)});
  base.context["rdmameter"]["initiator"]["build"] = "optimised";
  base.context["rdmameter"]["initiator"]["libibverbs"] = "1.14.44.0";
  Comparable other = base;
  other.context["rdmameter"]["initiator"]["build"] = "sanitized";
  other.context["rdmameter"]["initiator"]["libibverbs"] = "1.14.50.0";
  const std::string text = refusal([&] { compare_files(base, other, {}); });
  EXPECT_THAT(text, HasSubstr("build: optimised in BASE, sanitized in NEW"));
  EXPECT_THAT(text, HasSubstr("libibverbs: 1.14.44.0 in BASE, 1.14.50.0 in NEW"));
}

TEST(Comparison, LooksAtTheEnvironmentsOfAllRuns) {
  const Comparable base = file_of({steady("a", 5000)});
  Comparable other = base;
  nlohmann::ordered_json later = base.context;
  later["rdmameter"]["responder"]["kernel"] = "7.0";
  other.context["rdmameter"]["runs"] = {base.context, later};
  EXPECT_THAT(refusal([&] { compare_files(base, other, {}); }),
              HasSubstr("responder: kernel: 6.6.13-amd64 in BASE, 7.0 in NEW"));
  EXPECT_THAT(refusal([&] { compare_files(other, base, {}); }),
              HasSubstr("among the runs of BASE: responder: kernel"));
}

TEST(Comparison, OfRunsWithoutAContextRefusesThemForWhatIsUnknown) {
  const Comparable base = file_of({steady("a", 5000)});
  Comparable other = base;
  other.context["rdmameter"]["runs"] = {base.context, 7};
  EXPECT_THAT(refusal([&] { compare_files(base, other, {}); }), HasSubstr("unknown in NEW"));
}

TEST(Comparison, RefusesAnotherOneOfEachFactThatNumbersHangOn) {
  Comparable base = file_of({steady("a", 5000)});
  for (const char* fact : {"kernel", "libibverbs", "providers", "cpu_model", "cpu_governor",
                           "allowed_cpus", "build", "numa_nodes", "thread_numa_node", "hypervisor",
                           "version", "device/driver", "device/driver_version", "device/firmware",
                           "device/rate_gbps", "device/active_mtu_bytes"}) {
    Comparable other = base;
    const std::string at = std::string("/rdmameter/responder/") + fact;
    other.context[nlohmann::ordered_json::json_pointer(at)] = "another";
    EXPECT_THAT(refusal([&] { compare_files(base, other, {}); }), HasSubstr("another in NEW"))
        << fact;
  }
}

TEST(Comparison, TakesAClockMeasuredAnewForTheSame) {
  Comparable base = file_of({steady("a", 5000)});
  base.context["rdmameter"]["initiator"]["clock"]["ticks_per_ns"] = 2.500001;
  Comparable other = base;
  other.context["rdmameter"]["initiator"]["clock"]["ticks_per_ns"] = 2.500017;
  EXPECT_NO_THROW(compare_files(base, other, {}));
  other.context["rdmameter"]["initiator"]["clock"]["ticks_per_ns"] = 2.1;
  EXPECT_THAT(refusal([&] { compare_files(base, other, {}); }), HasSubstr("clock rate"));
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

TEST(Comparison, SeesOneBadRowAndTheRegressionBesideIt) {
  Comparable other = file_of({steady("a", 10000)});
  other.sides[0][0].replicates[7].value = {};  // heavy loss left too few samples
  const Comparison comparison = compare_files(file_of({steady("a", 5000)}), other, {});
  EXPECT_EQ(comparison.cases[0].verdict, CaseVerdict::fail);
}

TEST(Comparison, OfAMetricThatOnlyBaseHasIsInconclusive) {
  Comparable other = file_of({steady("a", 5000)});
  Comparable base = other;
  for (Replicate& one : base.sides[0][0].replicates)
    one.value[static_cast<std::size_t>(Metric::p99)] = 9000;
  const Comparison comparison = compare_files(base, other, {});
  EXPECT_EQ(comparison.cases[0].verdict, CaseVerdict::inconclusive);
  EXPECT_THAT(comparison.cases[0].note, HasSubstr("p99 is not known in NEW"));
}

TEST(Comparison, SeesAFastPathThatGotSlowerByLessThanFiftyNanoseconds) {
  const auto quick = [](double ns) {
    return latency_case("a", 5, 10, [=](std::uint64_t run, std::uint64_t) {
      return ns * (1 + 0.003 * static_cast<double>(run % 3));
    });
  };
  EXPECT_EQ(compare_files(file_of({quick(150)}), file_of({quick(195)}), {}).conclusion,
            Conclusion::fail);
}

TEST(Comparison, OfFourRepetitionsInTenTwiceAsSlowFailsByItsMean) {
  const auto mixed = [](std::uint64_t slow) {
    ComparableCase made = steady("a", 5000);
    for (Replicate& one : made.replicates)
      one.value[static_cast<std::size_t>(Metric::mean)] =
          (one.repetition < slow ? 2.0 : 1.0) * 5100 + 3 * static_cast<double>(one.run);
    return made;
  };
  const Comparison comparison = compare_files(file_of({mixed(0)}), file_of({mixed(4)}), {});
  EXPECT_EQ(comparison.conclusion, Conclusion::fail);
  EXPECT_EQ(comparison.cases[0].effects[0].metric, Metric::mean);
}

TEST(Comparison, OfBandwidthWhoseCompletionsGotLateFailsAlthoughTheRateIsAsBefore) {
  const auto bandwidth = [](double p99_ns) {
    ComparableCase made = steady("a", 5000);
    made.bandwidth = true;
    for (Replicate& one : made.replicates) {
      one.value[static_cast<std::size_t>(Metric::gbps)] = 90 + 0.1 * static_cast<double>(one.run);
      one.value[static_cast<std::size_t>(Metric::p99)] = p99_ns + 3 * static_cast<double>(one.run);
    }
    return made;
  };
  const Comparison comparison =
      compare_files(file_of({bandwidth(9000)}), file_of({bandwidth(27000)}), {});
  EXPECT_EQ(comparison.conclusion, Conclusion::fail);
  EXPECT_EQ(comparison.cases[0].effects[0].metric, Metric::p99);
}

/// An open loop of five runs whose responses are alike, whatever share of its rate it reaches.
Comparable load_file(double reached_share, bool saturated) {
  ComparableCase made = steady("a", 5000);
  made.load = true;
  for (Replicate& one : made.replicates) {
    one.value[static_cast<std::size_t>(Metric::reached_share)] =
        reached_share * (1 + 0.0005 * static_cast<double>(one.run % 3));
    one.saturated = saturated;
  }
  return file_of({made});
}

TEST(Comparison, OfALoadThatReachesATenthLessFailsByThatAlthoughItsResponsesAreAsBefore) {
  const Comparison comparison = compare_files(load_file(0.999, false), load_file(0.9, true), {});
  EXPECT_EQ(comparison.conclusion, Conclusion::fail);
  EXPECT_EQ(comparison.cases[0].effects[0].metric, Metric::reached_share);
  EXPECT_THAT(comparison.cases[0].note, HasSubstr("saturated in"));
  const std::string text = comparison_text(comparison, false, {});
  EXPECT_THAT(text, HasSubstr("a (response)"));
  EXPECT_THAT(text, HasSubstr("reached share"));
  EXPECT_EQ(compare_files(load_file(0.9, true), load_file(0.999, false), {}).cases[0].verdict,
            CaseVerdict::better);
}

TEST(Comparison, OfALoadThatSaturatesByLittleIsSuspectUnlessItDidBefore) {
  const auto verdict = [](bool before) {
    return compare_files(load_file(0.999, before), load_file(0.985, true), {}).cases[0].verdict;
  };
  EXPECT_EQ(verdict(false), CaseVerdict::suspect);
  EXPECT_EQ(verdict(true), CaseVerdict::pass);
}

/// A sweep of five runs of three repetitions.
/// @param missed  so many repetitions of each run have no rate within the SLO
Comparable sweep_file(double saturation, double slo_rate, std::uint64_t missed = 0) {
  ComparableCase made = latency_case("a", 5, 3, [](auto, auto) { return 0.0; });
  made.sweep = true;
  for (Replicate& one : made.replicates) {
    const double stray = 1 + 0.0005 * static_cast<double>(one.run % 3);
    one.value = {};
    one.value[static_cast<std::size_t>(Metric::saturation)] = saturation * stray;
    one.saturated = one.repetition < missed;
    one.value[static_cast<std::size_t>(Metric::slo_rate)] = one.saturated ? 0 : slo_rate * stray;
  }
  return file_of({made});
}

TEST(Comparison, OfSweepsIsOfSaturationAndOfTheRateWithinTheSlo) {
  const Comparable base = sweep_file(100'000, 80'000);
  EXPECT_EQ(compare_files(base, base, {}).conclusion, Conclusion::pass);
  const Comparison bend = compare_files(base, sweep_file(100'000, 50'000), {});
  EXPECT_EQ(bend.conclusion, Conclusion::fail);
  EXPECT_EQ(bend.cases[0].effects[0].metric, Metric::slo_rate);
  EXPECT_EQ(compare_files(base, sweep_file(80'000, 80'000), {}).cases[0].effects[0].metric,
            Metric::saturation);
  EXPECT_EQ(compare_files(sweep_file(80'000, 50'000), base, {}).cases[0].verdict,
            CaseVerdict::better);
}

TEST(Comparison, OfASweepThatNoLongerFindsARateWithinTheSloIsSuspect) {
  const Comparable base = sweep_file(100'000, 80'000);
  const Comparison comparison = compare_files(base, sweep_file(100'000, 80'000, 2), {});
  EXPECT_EQ(comparison.cases[0].verdict, CaseVerdict::suspect);
  EXPECT_THAT(comparison.cases[0].note,
              HasSubstr("no rate within the SLO in 10 of 15 repetitions, in none of BASE"));
  EXPECT_EQ(compare_files(base, sweep_file(100'000, 80'000, 1), {}).conclusion, Conclusion::pass);
  EXPECT_EQ(compare_files(base, sweep_file(100'000, 80'000, 3), {}).conclusion,
            Conclusion::not_proven);
}

TEST(Comparison, OfHalfRoundTripsAndWholeOnesIsNoImprovement) {
  Comparable half = file_of({steady("a", 2500)});
  half.sides[0][0].half = true;
  const Comparison comparison = compare_files(file_of({steady("a", 5000)}), half, {});
  EXPECT_EQ(comparison.cases[0].verdict, CaseVerdict::inconclusive);
  EXPECT_THAT(comparison.cases[0].note, HasSubstr("NEW measures half of"));
}

TEST(Comparison, OfSamplesOfAnotherDefinitionOrUnitIsInconclusive) {
  for (const char* definition : {"completion [us]", "round_trip [ns]"}) {
    Comparable base = file_of({steady("a", 5000)}), other = base;
    base.sides[0][0].definition = "completion [ns]";
    other.sides[0][0].definition = definition;
    const Comparison comparison = compare_files(base, other, {});
    EXPECT_EQ(comparison.cases[0].verdict, CaseVerdict::inconclusive);
    EXPECT_THAT(comparison.cases[0].note, HasSubstr(definition));
  }
}

TEST(Comparison, OfNearlyHalfOfTheMessagesLostInEachRunFailsAlthoughTimesAreAsBefore) {
  Comparable base = file_of({steady("a", 5000), steady("b", 5000)});
  for (ComparableCase& one : base.sides[0])
    for (Replicate& repetition : one.replicates) {
      repetition.sent = 2000;
      repetition.troubled[0] = 0;
    }
  Comparable other = base;
  for (Replicate& one : other.sides[0][0].replicates) one.troubled[0] = 900 + 5 * one.run;
  const Comparison comparison = compare_files(base, other, {});
  EXPECT_EQ(comparison.conclusion, Conclusion::fail);
  EXPECT_EQ(comparison.cases[0].name, "a");
  EXPECT_THAT(comparison.cases[0].note, HasSubstr("lost"));
}

TEST(Comparison, OfTwoInThreeRepetitionsFailingInEachRunFailsAlthoughTimesAreAsBefore) {
  const Comparable base = file_of({steady("a", 5000), steady("b", 5000)});
  Comparable other = base;
  std::vector<Replicate>& good = other.sides[0][0].replicates;
  for (const Replicate& one : good)
    if (one.repetition % 3 != 0)
      other.sides[0][0].failures.push_back({one.run, one.repetition, "the peer died"});
  std::erase_if(good, [](const Replicate& one) { return one.repetition % 3 != 0; });
  const Comparison comparison = compare_files(base, other, {});
  EXPECT_EQ(comparison.conclusion, Conclusion::fail);
  EXPECT_EQ(comparison.cases[0].name, "a");
  EXPECT_THAT(comparison.cases[0].note, HasSubstr("the peer died"));
}

TEST(Comparison, ToldOfAnAbsurdChangeIsShort) {
  EXPECT_EQ(change_text(1e300), "×1.0e+300");
  EXPECT_EQ(change_text(12.34), "×12.3");
}

TEST(Comparison, NamesTheWorstMemberOfACaseThatPasses) {
  Comparable base = file_of({steady("a", 5000)});
  for (Replicate& one : base.sides[0][0].replicates)
    one.value[static_cast<std::size_t>(Metric::mean)] = 5100 + static_cast<double>(one.repetition);
  Comparable other = base;
  for (Replicate& one : other.sides[0][0].replicates)
    one.value[static_cast<std::size_t>(Metric::mean)] *= 1.01;
  const Comparison comparison = compare_files(base, other, {});
  EXPECT_EQ(comparison.conclusion, Conclusion::pass);
  EXPECT_EQ(comparison.cases[0].effects[0].metric, Metric::mean);
  EXPECT_THAT(comparison_text(comparison, false, {}),
              AllOf(HasSubstr("mean"), Not(HasSubstr("\n    p50"))));
  EXPECT_THAT(comparison_text(comparison, true, {}),
              AllOf(HasSubstr("mean"), HasSubstr("\n    p50")));
}

TEST(Comparison, OfWildCasesIsNotProvenUnlessThatIsAllowed) {
  const ComparableCase wild = latency_case("a", 5, 10, [](std::uint64_t run, std::uint64_t) {
    return 5000.0 + 1500 * static_cast<double>(run % 3);
  });
  EXPECT_EQ(compare_files(file_of({wild}), file_of({wild}), {}).conclusion, Conclusion::not_proven);
  EXPECT_EQ(compare_files(file_of({wild}), file_of({wild}), {.inconclusive_ok = true}).conclusion,
            Conclusion::pass);
}

TEST(Comparison, OfSidesTakesBlocksForReplicatesInWhichDriftCancels) {
  Comparable file = file_of({});
  const auto drifting = [](double ns) {
    return latency_case("a", 1, 10, [=](auto, std::uint64_t block) {
      return (ns + 5 * static_cast<double>(block % 2)) * (1 + 0.05 * static_cast<double>(block));
    });
  };
  file.sides = {std::vector{drifting(5000)}, std::vector{drifting(6000)}};
  const Comparison comparison = compare_sides(file, {});
  EXPECT_EQ(comparison.conclusion, Conclusion::fail);
  EXPECT_EQ(comparison.cases[0].effects[0].replicates_base, 10U);
  EXPECT_THAT(refusal([&] { compare_files(file, file, {}); }), HasSubstr("both sides"));
  EXPECT_GT(noise_of(file).at("a").beyond, 0.19);
  EXPECT_LT(noise_of(file).at("a").beyond, 0.25);
}

/// Sides of which B is slower in each block, by nearly as much.
Comparable slower_blocks(std::uint64_t blocks) {
  const auto side = [=](double ns) {
    return latency_case("a", 1, blocks, [=](auto, std::uint64_t block) {
      return ns + 5 * static_cast<double>(block % 2);
    });
  };
  Comparable file = file_of({});
  file.sides = {std::vector{side(5000)}, std::vector{side(6000)}};
  return file;
}

TEST(Comparison, OfSidesFailsOnlyWhereTheSignsOfItsBlocksAreUnlikelyByChance) {
  const Comparison five = compare_sides(slower_blocks(5), {});
  EXPECT_EQ(five.cases[0].verdict, CaseVerdict::suspect);  // 1 in 32
  EXPECT_THAT(five.cases[0].note, HasSubstr("7 blocks would settle it"));
  EXPECT_EQ(compare_sides(slower_blocks(6), {}).cases[0].verdict, CaseVerdict::fail);  // 1 in 64
}

/// Sides alike but for B's `slow` slowest of 8 blocks, so that no median tells it.
Comparable seldom_slow_blocks(std::uint64_t slow) {
  const auto side = [=](double factor) {
    return latency_case("a", 1, 8, [=](auto, std::uint64_t block) {
      return (5000 + static_cast<double>(block)) * (block < slow ? factor : 1);
    });
  };
  Comparable file = file_of({});
  file.sides = {std::vector{side(1)}, std::vector{side(400)}};
  return file;
}

TEST(Comparison, OfSidesHasTheValuesWhoseRatioIsItsChange) {
  const Comparison comparison = compare_sides(seldom_slow_blocks(3), {});
  const Effect& effect = comparison.cases.at(0).effects.at(0);
  EXPECT_GT(effect.ratio, 5);
  EXPECT_NEAR(effect.other / effect.base, effect.ratio, 1e-9);
  EXPECT_THAT(comparison_text(comparison, true, {.width = 200}),
              HasSubstr("A, B: geometric means over the blocks, of which the change is the ratio"));
}

TEST(Comparison, OfSidesTakesValuesOfTheBlocksThatBothSidesHave) {
  Comparable file = slower_blocks(6);
  file.sides[0][0].replicates.pop_back();
  file.sides[1][0].replicates.erase(file.sides[1][0].replicates.begin());
  const Comparison comparison = compare_sides(file, {});
  const Effect& effect = comparison.cases.at(0).effects.at(0);
  EXPECT_EQ(effect.replicates_base, 4U);
  EXPECT_NEAR(effect.other / effect.base, effect.ratio, 1e-9);
}

TEST(Comparison, OfSidesHasTheMediansWhereNoBlockHasARatio) {
  Comparable file = slower_blocks(6);
  for (Replicate& one : file.sides[0][0].replicates)
    one.value[static_cast<std::size_t>(Metric::p50)] = 0;
  const Effect effect = compare_sides(file, {}).cases.at(0).effects.at(0);
  EXPECT_EQ(effect.base, 0);
  EXPECT_GT(effect.other, 0);
  EXPECT_NE(effect.problem, "");
}

TEST(Comparison, OfSidesTakesTwoBlocksAtLeast) {
  const auto problem_of = [](std::uint64_t blocks) {
    return compare_sides(slower_blocks(blocks), {}).cases.at(0).effects.at(0).problem;
  };
  EXPECT_THAT(problem_of(1), HasSubstr("one block"));
  EXPECT_EQ(problem_of(2), "");
}

TEST(Comparison, OfSidesNamesThemByWhatAbWasToldOfThem) {
  Comparable file = slower_blocks(6);
  EXPECT_EQ(compare_sides(file, {}).base, "A");
  file.context["rdmameter"]["ab"] = {{"a", ""}, {"b", "--inline off"}};
  const Comparison comparison = compare_sides(file, {});
  EXPECT_EQ(comparison.base, "A");
  EXPECT_EQ(comparison.other, "B (--inline off)");
}

TEST(Comparison, OfFilesSaysWhatAChangeIsThatIsNotTheRatioOfItsValues) {
  const auto runs_of = [](std::vector<double> values) {
    return file_of({latency_case("a", values.size(), 1,
                                 [=](std::uint64_t run, auto) { return values.at(run); })});
  };
  const auto told = [](const Comparison& comparison) {
    const std::string estimates = "median of NEW / BASE over all pairs of runs";
    EXPECT_EQ(
        comparison_text(comparison, true, {.width = 1000}).find(estimates) != std::string::npos,
        comparison_markdown(comparison).find(estimates) != std::string::npos);
    return estimates_text(comparison);
  };
  const Comparison odd =
      compare_files(runs_of({100, 100, 100, 900, 900}), runs_of({100, 100, 900, 900, 900}), {});
  const Effect& effect = odd.cases.at(0).effects.at(0);
  EXPECT_DOUBLE_EQ(effect.other / effect.base, 9);
  EXPECT_LT(effect.ratio, 2);
  EXPECT_THAT(told(odd), HasSubstr("can differ from the ratio of the two medians"));
  EXPECT_EQ(told(compare_files(file_of({steady("a", 5000)}), file_of({steady("a", 5000)}), {})),
            "");
}

TEST(Comparison, OfSidesDividesTheErrorRateAmongItsLooks) {
  Comparable file = slower_blocks(6);
  file.looks = 4;
  EXPECT_EQ(compare_sides(file, {}).cases[0].verdict, CaseVerdict::suspect);
}

TEST(Comparison, TellsWhichQIsSignificantAmongItsLooks) {
  Comparable file = slower_blocks(6);
  EXPECT_THAT(comparison_text(compare_sides(file, {}), false, {.width = 200}),
              HasSubstr("at most 0.025 is significant"));
  file.looks = 5;
  EXPECT_THAT(comparison_text(compare_sides(file, {}), false, {.width = 200}),
              HasSubstr("at most 0.005 is significant"));
}

TEST(Comparison, OfSidesTakesNoMemberForWorseBecauseAnotherIs) {
  Comparable file = slower_blocks(8);
  for (const std::size_t side : {0U, 1U})
    for (Replicate& one : file.sides[side][0].replicates) {
      const double wild = one.repetition % 2 == 0 ? 22 : 0.5;
      one.value[static_cast<std::size_t>(Metric::p99)] = 9000 * (side == 1 ? wild : 1);
    }
  const Comparison comparison = compare_sides(file, {});
  for (const Effect& each : comparison.cases[0].effects)
    EXPECT_EQ(each.verdict == CaseVerdict::fail, each.metric == Metric::p50);
}

TEST(Comparison, ASecondMeasurementReplacesTheVerdictsOfTheFirst) {
  const Comparable base = file_of({steady("a", 5000), steady("b", 5000)});
  const Comparison first = compare_files(base, file_of({steady("a", 6000), steady("b", 5000)}), {});
  const Comparison again =
      compare_files(file_of({steady("a", 5000)}), file_of({steady("a", 5000)}), {});
  const Comparison comparison = replaced_by(first, again);
  EXPECT_EQ(comparison.conclusion, Conclusion::pass);
  EXPECT_EQ(comparison.cases.size(), 2U);
  EXPECT_THAT(comparison.cases[0].note + comparison.cases[1].note, HasSubstr("not confirmed"));
}

TEST(Comparison, ASecondMeasurementDecidesAboutGatesAsWell) {
  const ComparisonOptions gates{.gates = {"times", "a p50=5%"}};
  const Comparable base = file_of({steady("a", 5000)});
  const Comparison first = compare_files(base, file_of({steady("a", 6000)}), gates);
  EXPECT_EQ(first.gates.at(0).verdict, CaseVerdict::fail);
  EXPECT_EQ(replaced_by(first, compare_files(base, base, gates)).conclusion, Conclusion::pass);
  EXPECT_EQ(replaced_by(first, first).conclusion, Conclusion::fail);
}

TEST(Comparison, ASecondMeasurementDoesNotReplaceWhatWasNotDoubtful) {
  const Comparable base = file_of({steady("a", 5000), steady("b", 5000)});
  const Comparison first = compare_files(base, file_of({steady("a", 6000), steady("b", 5000)}), {});
  const Comparison again = compare_files(base, file_of({steady("a", 5000), steady("b", 6000)}), {});
  EXPECT_EQ(replaced_by(first, again).conclusion, Conclusion::pass);
}

Comparison with_a_strange_name() {
  const std::string name = "<img src=x onerror=alert(1)>|`\"&";
  return compare_files(file_of({steady(name, 5000)}), file_of({steady(name, 6000)}), {});
}

TEST(Outputs, EscapeWhatANameMayHold) {
  const Comparison comparison = with_a_strange_name();
  EXPECT_THAT(comparison_markdown(comparison), Not(HasSubstr("<img")));
  EXPECT_THAT(comparison_markdown(comparison), HasSubstr("\\|\\`"));
  EXPECT_THAT(comparison_junit(comparison), Not(HasSubstr("<img")));
  EXPECT_THAT(comparison_junit(comparison), HasSubstr("failures=\"2\""));
}

TEST(Outputs, EscapeInAnAnnotationWhatEndsItsTitle) {
  const std::string text = comparison_github(
      compare_files(file_of({steady("a,b:c%d", 5000)}), file_of({steady("a,b:c%d", 6000)}), {}));
  EXPECT_THAT(text, HasSubstr("::error title=worse%3A a%2Cb%3Ac%25d::"));
}

CaseComparison judged(const char* name, CaseVerdict verdict) {
  return {.name = name, .verdict = verdict, .note = "why"};
}

TEST(Outputs, SayOfSuspicionsThatNothingIsProvenAndAreNeverGreen) {
  Comparison comparison{.base = "base.json", .other = "new.json"};
  comparison.cases = {judged("a", CaseVerdict::suspect), judged("b", CaseVerdict::inconclusive),
                      judged("c", CaseVerdict::pass)};
  comparison.conclusion = Conclusion::not_proven;
  const std::string junit = comparison_junit(comparison);
  EXPECT_THAT(junit, HasSubstr("<testsuites tests=\"4\" failures=\"0\" errors=\"2\">"));
  EXPECT_THAT(junit, HasSubstr("name=\"a\"><error type=\"suspect\" message=\"suspect: why\"/>"));
  EXPECT_THAT(junit, HasSubstr("name=\"b\"><skipped message=\"inconclusive: why\"/>"));
  EXPECT_THAT(junit, HasSubstr("name=\"conclusion\"><error"));
  EXPECT_THAT(comparison_markdown(comparison), HasSubstr("### 🟡 not proven: new.json"));
  for (const char* mark : {"⚠️ suspect", "❔ inconclusive"})
    EXPECT_THAT(comparison_markdown(comparison), HasSubstr(mark));
  EXPECT_THAT(comparison_text(comparison, false, {}), HasSubstr("not proven; 3 cases: 1 suspect"));
  EXPECT_THAT(comparison_github(comparison), HasSubstr("::warning title=rdmameter%3A not proven"));
  comparison.conclusion = Conclusion::pass;  // --inconclusive-ok
  EXPECT_THAT(comparison_junit(comparison), HasSubstr("name=\"conclusion\"><system-out>"));
}

TEST(ReplicatesFor, OfBlocksGrowWithTheCasesAndOfRunsDoNot) {
  EXPECT_EQ(replicates_for(1000, Replication::runs), replicates_for(1, Replication::runs));
  EXPECT_GT(replicates_for(1000, Replication::blocks), replicates_for(1, Replication::blocks));
}

TEST(Pairing, IsOfTheSameCaseWhateverItIsCalled) {
  const Comparable base = file_of({steady("a", 5000)});
  Comparable other = file_of({steady("b", 5000)});
  EXPECT_EQ(pair_cases(base, other).pairs.size(), 0U);
  other.sides[0][0].name = "a/long";
  const Pairing pairing = pair_cases(base, other);
  ASSERT_EQ(pairing.pairs.size(), 1U);
  EXPECT_EQ(pairing.pairs[0].other->name, "a/long");
  EXPECT_THAT(pairing.only_base, testing::IsEmpty());
}

TEST(Pairing, SaysNothingOfTheAxesOfACaseThatOnlyFailed) {
  ComparableCase base = steady("a", 5000), other = steady("a", 5000);
  base.axes = {{"depth", 1}};
  other.axes = {{"depth", 2}};
  EXPECT_EQ(axis_differences({{&base, &other}}).size(), 1U);
  other.replicates.clear();
  EXPECT_THAT(axis_differences({{&base, &other}}), testing::IsEmpty());
}

TEST(Outputs, MarkAFailureAndSayTheNoteBesideItsEffects) {
  Comparison comparison =
      compare_files(file_of({steady("a", 5000)}), file_of({steady("a", 6000)}), {});
  const Comparable same = file_of({steady("a", 5000)});
  EXPECT_THAT(comparison_markdown(compare_files(same, same, {})), HasSubstr("### ✅ "));
  EXPECT_THAT(comparison_markdown(comparison), HasSubstr("### ❌ "));
  EXPECT_THAT(comparison_markdown(comparison), HasSubstr("| ❌ fail |"));
  EXPECT_THAT(comparison_junit(comparison), Not(HasSubstr("; why")));
  comparison.cases[0].note = "why";
  EXPECT_THAT(comparison_junit(comparison), HasSubstr("; why\""));
}

TEST(Outputs, OfANarrowTerminalGoOnBelowBesideTheNamesAlone) {
  const Comparison comparison =
      compare_files(file_of({steady("a", 5000)}), file_of({steady("a", 6000)}), {});
  const std::string text = comparison_text(comparison, true, {.width = 60, .narrow = true});
  EXPECT_THAT(text, ContainsRegex("p50: fail  5.01 µs(.|\n)*p50: fail +9e-06\n"));
}

TEST(Outputs, LeaveOutTheGatesThatAreKeptWhereTheyAreMany) {
  Comparison comparison{.base = "base.json", .other = "new.json"};
  for (int i = 0; i < 100; ++i)
    comparison.gates.push_back({.gate = fmt::format("gate {}", i), .verdict = CaseVerdict::pass});
  comparison.gates.push_back({.gate = "gate 100", .verdict = CaseVerdict::fail});
  const std::string text = comparison_text(comparison, false, {.width = 200});
  EXPECT_THAT(text, HasSubstr("(gate 100)"));
  EXPECT_THAT(text, Not(HasSubstr("(gate 7)")));
  EXPECT_THAT(comparison_text(comparison, true, {.width = 200}), HasSubstr("(gate 7)"));
}

TEST(Outputs, NameWhatOnlyBaseHasSinceNothingJudgesItAnyMore) {
  const Comparison comparison =
      compare_files(file_of({steady("a", 5000), steady("gone|", 5000)}),
                    file_of({steady("a", 5000), steady("come", 5000)}), {});
  EXPECT_EQ(comparison.conclusion, Conclusion::pass);
  EXPECT_EQ(tally_text(comparison), "1 case: 1 pass; 1 of BASE is not in NEW");
  EXPECT_THAT(comparison_text(comparison, false, {}), HasSubstr("only in BASE: gone|"));
  EXPECT_THAT(comparison_markdown(comparison), HasSubstr("| BASE: not judged | gone\\| |"));
  EXPECT_THAT(comparison_markdown(comparison), HasSubstr("| NEW: not judged | come |"));
  EXPECT_THAT(comparison_junit(comparison), HasSubstr("name=\"gone|\"><skipped message=\"only in"));
  EXPECT_THAT(comparison_github(comparison),
              HasSubstr("::warning title=rdmameter%3A only in BASE::1 of BASE's cases is not in "
                        "NEW, so not judged: gone|\n"));
}

TEST(Outputs, AnnotateGatesThatAreNotKept) {
  Comparison comparison;
  comparison.gates = {
      {.gate = "p99 < 5us", .name = "a", .verdict = CaseVerdict::pass, .text = "3 µs"},
      {.gate = "p99 < 5us", .name = "b", .verdict = CaseVerdict::fail, .text = "7 µs"}};
  EXPECT_EQ(comparison_github(comparison), "::error title=gate%3A b::7 µs (p99 < 5us)\n");
}

TEST(Outputs, OfTheSameCasesOnBothSidesSayNothingOfThat) {
  const Comparison comparison =
      compare_files(file_of({steady("a", 5000)}), file_of({steady("a", 5000)}), {});
  EXPECT_THAT(comparison_markdown(comparison), Not(HasSubstr("not judged")));
  EXPECT_EQ(comparison_github(comparison), "");
}

TEST(Outputs, NameWhatDecidesWhereThatIsNoMetric) {
  CaseComparison one = judged("a", CaseVerdict::fail);
  one.effects.push_back({.metric = Metric::p50, .base = 5000, .other = 5000});
  one.findings.push_back({CaseVerdict::fail, "10 of 15 repetitions failed"});
  EXPECT_EQ(effect_text(one), "10 of 15 repetitions failed");
  one.effects.front().verdict = CaseVerdict::fail;
  EXPECT_THAT(effect_text(one), HasSubstr("p50 "));
}

TEST(Outputs, AnnotateAtMostTenTimes) {
  std::vector<ComparableCase> before, after;
  for (int i = 0; i < 40; ++i) {
    before.push_back(steady("case:" + std::to_string(i), 5000));
    after.push_back(steady("case:" + std::to_string(i), 6000));
  }
  const std::string text = comparison_github(compare_files(file_of(before), file_of(after), {}));
  EXPECT_EQ(std::ranges::count(text, '\n'), 10);
  EXPECT_THAT(text, HasSubstr("::error title=worse%3A case%3A"));
  EXPECT_THAT(text, HasSubstr("and 31 more"));
}

TEST(Outputs, KeepAMarkdownPageBelowOneMebibyte) {
  std::vector<ComparableCase> cases;
  for (int i = 0; i < 6000; ++i)
    cases.push_back(latency_case(std::string(200, 'x') + std::to_string(i), 1, 2,
                                 [](auto, std::uint64_t j) { return 5000.0 + j; }));
  const std::string text = comparison_markdown(compare_files(file_of(cases), file_of(cases), {}));
  EXPECT_LT(text.size(), 1'000'080U);  // what says that lines are left out included
  EXPECT_GT(text.size(), 999'000U);
  EXPECT_THAT(text, ContainsRegex("\n[0-9]{1,4} more lines left out"));
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
    const MergedResult merged = merge_results(from, "rdmameter merge", false);
    ResultWriter writer(scratch.path(to), merged.context);
    merged.each_row([&](const Row& row) { writer.append(row); });
  };
  merge("12.json", {scratch.path("1.json"), scratch.path("2.json")});
  merge("all.json", {scratch.path("12.json"), scratch.path("3.json")});
  const ResultFile all = read_result(scratch.path("all.json"));
  EXPECT_EQ(all.rows.size(), 10U);
  EXPECT_EQ(all.context["rdmameter"]["runs"].size(), 3U);
  EXPECT_EQ(all.rows.back().extra["run"], 2);
  EXPECT_EQ(all.rows[0].latency->histogram, latency_row("rc", 64, 0, 3).latency->histogram);
  const Comparable read = read_comparable(scratch.path("all.json"));
  EXPECT_EQ(read.runs, 3U);
  EXPECT_EQ(read.sides[0][0].replicates.size(), 7U);
  EXPECT_EQ(read.sides[0][0].replicates.back().run, 2U);
}

TEST(Merge, RefusesAFileThatChangesBetweenItsTwoReadings) {
  const ScratchDirectory scratch;
  const auto after = [&](const std::string& date, std::uint64_t repetitions) {
    write_run(scratch.path("1.json"), "2024-01-01", 2);
    const MergedResult merged = merge_results({scratch.path("1.json")}, "", false);
    write_run(scratch.path("1.json"), date, repetitions);
    std::uint64_t rows = 0;
    const std::string refused = refusal([&] { merged.each_row([&](const Row&) { ++rows; }); });
    return refused.empty() ? std::to_string(rows) : refused;
  };
  EXPECT_THAT(after("2024-01-02", 2), HasSubstr("1.json: has changed while it was merged"));
  EXPECT_THAT(after("2024-01-01", 1), HasSubstr("has changed"));
  EXPECT_EQ(after("2024-01-01", 3), "3") << "a row more, of which it knew nothing";
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

TEST(Merge, KnowsARunByItsIdWhateverElseWasWrittenAnew) {
  const ScratchDirectory scratch;
  nlohmann::ordered_json context = sample_context();
  context["rdmameter"]["run_id"] = std::string(32, 'a');
  ResultWriter(scratch.path("1.json"), context).finish();
  context["date"] = "2024-01-09T00:00:01Z";
  ResultWriter(scratch.path("2.json"), context).finish();
  context["rdmameter"]["run_id"] = std::string(32, 'b');
  ResultWriter(scratch.path("3.json"), context).finish();
  EXPECT_THAT(refusal([&] {
                merge_results({scratch.path("1.json"), scratch.path("2.json")}, "", false);
              }),
              HasSubstr("the same run"));
  EXPECT_NO_THROW(merge_results({scratch.path("1.json"), scratch.path("3.json")}, "", false));
}

TEST(Merge, ThatIsAllowedToMixEnvironmentsLeavesItsTrace) {
  const ScratchDirectory scratch;
  nlohmann::ordered_json context = sample_context();
  ResultWriter(scratch.path("1.json"), context).finish();
  context["rdmameter"]["initiator"]["kernel"] = "7.0";
  ResultWriter(scratch.path("2.json"), context).finish();
  const MergedResult merged =
      merge_results({scratch.path("1.json"), scratch.path("2.json")}, "", true);
  const auto& trace = merged.context["rdmameter"]["environment_changes"];
  ASSERT_EQ(trace.size(), 1U);
  EXPECT_THAT(trace[0].get<std::string>(), HasSubstr("kernel"));
  Comparable mixed = file_of({steady("a", 5000)});
  mixed.context = merged.context;
  const Comparison comparison = compare_files(mixed, file_of({steady("a", 5000)}), {});
  EXPECT_THAT(comparison.remarks.front(), HasSubstr("merged from runs of different environments"));
}

TEST(Merge, AsNewIsHeldAgainstBaseByItsFirstRun) {
  const ScratchDirectory scratch;
  nlohmann::ordered_json context = sample_context();
  ResultWriter(scratch.path("1.json"), context).finish();
  context["rdmameter"]["initiator"]["kernel"] = "7.0";
  ResultWriter(scratch.path("2.json"), context).finish();
  const std::vector<std::string> paths{scratch.path("1.json"), scratch.path("2.json")};
  const auto mixed = merge_results(paths, "", true).context;
  EXPECT_THAT(changes_among_runs(sample_context(), mixed), testing::IsEmpty())
      << "its trace says what it was allowed to mix";
}

TEST(Merge, RefusesOtherDefaultsAndStatesThoseOfAllFiles) {
  const ScratchDirectory scratch;
  nlohmann::ordered_json context = sample_context();
  context["date"] = "2024-01-01T00:00:01Z";
  ResultWriter(scratch.path("old.json"), context).finish();  // states none
  auto& stated = context["rdmameter"]["defaults"] = Defaults(context).stated();
  stated["latency"]["colour"] = "blue";
  context["date"] = "2024-01-02T00:00:01Z";
  ResultWriter(scratch.path("new.json"), context).finish();
  EXPECT_EQ(merge_results({scratch.path("old.json"), scratch.path("new.json")}, "", false)
                .context["rdmameter"]["defaults"],
            stated);
  stated["bandwidth"]["depth"] = 64;
  context["date"] = "2024-01-03T00:00:01Z";
  ResultWriter(scratch.path("other.json"), context).finish();
  EXPECT_THAT(refusal([&] {
                merge_results({scratch.path("new.json"), scratch.path("other.json")}, "", false);
              }),
              HasSubstr("depth of bandwidth is 128 there and 64 here"));
}

TEST(EnvironmentChanges, OfAClockAreMoreThanAThousandth) {
  const auto with_rate = [](double ticks_per_ns) {
    nlohmann::ordered_json context = sample_context();
    context["rdmameter"]["initiator"]["clock"]["ticks_per_ns"] = ticks_per_ns;
    return context;
  };
  EXPECT_THAT(environment_changes(with_rate(2.5), with_rate(2.5001)), testing::IsEmpty());
  EXPECT_THAT(environment_changes(with_rate(2.5), with_rate(2.51)),
              testing::ElementsAre(HasSubstr("initiator: clock rate")));
}

TEST(EnvironmentChanges, AreThoseOfEachOfSeveralDevices) {
  const auto with_rate = [](double gbps) {
    nlohmann::ordered_json context = sample_context();
    nlohmann::ordered_json& end = context["rdmameter"]["responder"];
    end["device"] = {{"name", "mlx5_0"}, {"rate_gbps", 200.0}};
    end["devices"] = {end["device"], {{"name", "mlx5_1"}, {"rate_gbps", gbps}}};
    return context;
  };
  EXPECT_THAT(environment_changes(with_rate(200), with_rate(200)), testing::IsEmpty());
  EXPECT_THAT(environment_changes(with_rate(200), with_rate(100)),
              ElementsAre("responder: mlx5_1: rate [Gb/s]: 200.0 in BASE, 100.0 in NEW"));
}

/// The identity of this row's case, as a file that has it reads back.
std::string identity_of(const Row& row) {
  const ScratchDirectory scratch;
  ResultWriter(scratch.path("r.json"), sample_context()).append(row);
  const Comparable file = read_comparable(scratch.path("r.json"));
  return identity_of(file.sides[0].front(), Defaults(file.context));
}

TEST(Comparable, OfAFileOlderThanAnAxisHasTheCasesThatHaveItAtItsDefault) {
  const Row older = latency_row("rc", 64, 0, 1);
  Row newer = older;
  newer.case_object["api"] = "classic";
  newer.case_object["mr_per_qp"] = false;
  newer.case_object["flow_label"] = 0;
  newer.case_object["thread_domain"] = "off";  // which was all there was
  EXPECT_EQ(identity_of(older), identity_of(newer));
  newer.case_object["thread_domain"] = "on";
  EXPECT_NE(identity_of(older), identity_of(newer));
  newer.case_object["thread_domain"] = "off";
  newer.case_object["flow_label"] = 1;
  EXPECT_NE(identity_of(older), identity_of(newer));
}

TEST(Comparable, OfRanksTakesTheDefaultsOfRanks) {
  const Row older = pairs_row("ring", 4, 64, 0, 1);
  Row newer = older;
  newer.case_object["iterations"] = 1000;
  EXPECT_EQ(identity_of(older), identity_of(newer));
  newer.case_object["iterations"] = 10'000;
  EXPECT_NE(identity_of(older), identity_of(newer)) << "which is the default between two ends";
  newer.case_object["iterations"] = 1000;
  newer.case_object["qps_per_edge"] = 2;
  EXPECT_NE(identity_of(older), identity_of(newer));
}

TEST(Comparable, TellsCasesApartOfWhichOneHasTheDefaultOfAnotherKindOfTest) {
  Row deep = latency_row("rc", 64, 0, 1), shallow = deep;
  deep.case_object["depth"] = 128;
  shallow.case_object["depth"] = 1;
  EXPECT_NE(identity_of(deep), identity_of(shallow));
  Row endless = shallow;
  shallow.case_object["iterations"] = 10'000;
  endless.case_object["duration_ns"] = 0;  // until interrupted
  EXPECT_NE(identity_of(shallow), identity_of(endless));
}

TEST(Comparable, CountsALatencysWarmUpTooOfEachOfItsLoops) {
  const ScratchDirectory scratch;
  for (const bool older : {false, true})
    for (const unsigned threads : {1, 2}) {
      const std::string path = scratch.path(fmt::format("{}-{}.json", older, threads));
      {
        Row row = latency_row("rc", 64, 0, 1);
        row.case_object["threads"] = threads;
        row.case_object["warmup"] = row.iterations / threads;
        if (older) row.work.erase("doorbells");
        ResultWriter(path, sample_context()).append(row);
      }
      const auto work = read_comparable(path).sides[0].at(0).replicates.at(0).work;
      EXPECT_EQ(work.at("wrs"), 0.5);
      EXPECT_EQ(work.at("cqes"), older ? 2 : 1);
    }
}

/// Its counts are of one direction, and how much of all that is differs from run to run.
TEST(Comparable, CountsTheWorkOfABandwidthOfBothDirectionsByTheMessagesOfItsOwn) {
  const ScratchDirectory scratch;
  for (const std::uint64_t of_both : {1714, 866}) {
    const std::string path = scratch.path(fmt::format("{}.json", of_both));
    Row row = bandwidth_row(64, 0, 1);
    row.case_object["bidirectional"] = true;
    row.bandwidth->traffic_messages = of_both;
    row.work = {{"wrs", 700}, {"doorbells", 350}};
    ResultWriter(path, sample_context()).append(row);
    const auto work = read_comparable(path).sides[0].at(0).replicates.at(0).work;
    EXPECT_EQ(work.at("wrs"), 1);
    EXPECT_EQ(work.at("doorbells"), 0.5);
  }
}

Comparable read_mix() {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("r.json");
  {
    ResultWriter writer(path, sample_context());
    writer.append(mix_load_row());
  }
  return read_comparable(path);
}

TEST(Comparable, OfSidesHasThePartsThatBothMeasuredBehindTheCasesInOneOrder) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("ab.json");
  {
    ResultWriter writer(path, sample_context());
    for (const char* side : {"b", "a"})
      for (const std::uint64_t family : {0U, 1U}) {
        Row row = mix_load_row();
        row.extra["side"] = side;
        row.family_index = family;
        if (side == std::string("b")) row.load->mix[1].size_bytes = 16 - 8 * family;
        writer.append(row);
      }
  }
  const auto sides = read_comparable(path).sides;
  for (const std::vector<ComparableCase>& cases : sides) {
    ASSERT_EQ(cases.size(), 5U);  // of the first case one part has another size at side B
    EXPECT_FALSE(cases[0].part || cases[1].part);
    for (const auto& [index, whole, label] :
         {std::tuple(2U, 0U, "read:4096"), {3U, 1U, "read:4096"}, {4U, 1U, "write:8"}}) {
      EXPECT_TRUE(cases[index].part);
      EXPECT_EQ(cases[index].whole, whole);
      EXPECT_THAT(cases[index].name, HasSubstr(std::string("/part:") + label));
      EXPECT_EQ(cases[index].replicates.size(), 1U);
    }
  }
}

TEST(Comparable, HasEachPartOfAMixAsACaseOfItsOwn) {
  const Comparable read = read_mix();
  const Row row = mix_load_row();
  const std::vector<ComparableCase>& cases = read.sides[0];
  ASSERT_EQ(cases.size(), 3U);
  EXPECT_FALSE(cases[0].part);
  EXPECT_EQ(cases[1].name, row.name + "/part:read:4096");
  EXPECT_EQ(cases[2].name, row.name + "/part:write:8");
  for (std::size_t i = 1; i < cases.size(); ++i) {
    const LoadPart& part = row.load->mix[i - 1];
    EXPECT_TRUE(cases[i].part && cases[i].load);
    EXPECT_EQ(cases[i].axes["mix"].dump(), row.case_object["mix"].dump());
    EXPECT_EQ(*value_of(cases[i].replicates.front(), Metric::p50),
              *summarize(part.response.histogram, 1).p50);
    EXPECT_EQ(*value_of(cases[i].replicates.front(), Metric::service_p50),
              *summarize(part.service.histogram, 1).p50);
    EXPECT_EQ(value_of(cases[i].replicates.front(), Metric::reached_share), std::nullopt);
  }
}

TEST(Comparable, HasEachOfSeveralDevicesAsACaseOfItsOwn) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("r.json");
  const Row row = per_device_row();
  { ResultWriter(path, sample_context()).append(row); }
  const std::vector<ComparableCase> cases = read_comparable(path).sides[0];
  ASSERT_EQ(cases.size(), 1 + row.per_device.size());
  for (std::size_t i = 1; i < cases.size(); ++i) {
    const DeviceData& device = row.per_device[i - 1];
    EXPECT_EQ(cases[i].name, row.name + "/part:device:" + device.device);
    EXPECT_TRUE(cases[i].part && cases[i].bandwidth);
    EXPECT_DOUBLE_EQ(
        *value_of(cases[i].replicates.front(), Metric::gbps),
        8.0 * static_cast<double>(device.bytes) / static_cast<double>(device.window_ns));
  }
  EXPECT_DOUBLE_EQ(*value_of(cases[1].replicates.front(), Metric::of_bound), 0.96);
  EXPECT_EQ(value_of(cases[2].replicates.front(), Metric::of_bound), std::nullopt);
}

TEST(Comparison, GatesJudgeTheSumAndByNameEachDevice) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("r.json");
  {
    ResultWriter writer(path, sample_context());
    for (std::uint64_t repetition = 0; repetition < 6; ++repetition) {
      Row row = per_device_row(repetition, 6);
      row.bandwidth = {.messages = 4500, .bytes = 288'000'000, .window_ns = 16'000'000};
      row.bound_gbps = {.initiator = 200.0, .responder = 160.0};
      row.line_gbps = row.per_device[0].line_gbps = 180;
      writer.append(row);
    }
  }
  const Comparable file = read_comparable(path);
  ComparisonOptions options;
  options.gates = {"write_bw/* of_bound >= 85%", "write_bw/* of_line >= 75%",
                   "*/part:device:mlx5_0 of_line >= 50%", "*/part:device:* bandwidth.gbps >= 90",
                   "*/part:device:mlx5_1 bandwidth=5%"};
  std::vector<std::string> failed;
  const auto gates = compare_files(file, file, options).gates;
  EXPECT_EQ(gates.size(), 6U);
  for (const GateFinding& finding : gates)
    if (finding.verdict != CaseVerdict::pass) failed.push_back(finding.name + ": " + finding.gate);
  EXPECT_THAT(
      failed,
      ElementsAre(testing::EndsWith("/part:device:mlx5_1: */part:device:* bandwidth.gbps >= 90")));
}

TEST(Comparison, JudgesEachPartOfAMixByItself) {
  Comparable base = read_mix();
  base.runs = 8;
  for (ComparableCase& test_case : base.sides[0]) {
    const Replicate first = test_case.replicates.front();
    test_case.replicates.clear();
    for (std::uint64_t run = 0; run < base.runs; ++run) {
      Replicate next = first;
      next.run = run;
      for (auto& value : next.value) value *= 1 + 0.001 * static_cast<double>(run % 3);
      test_case.replicates.push_back(next);
    }
  }
  Comparable other = base;
  for (Replicate& replicate : other.sides[0][1].replicates)
    replicate.value[static_cast<std::size_t>(Metric::p50)] *= 2;
  const Comparison comparison = compare_files(base, other, {});
  ASSERT_EQ(comparison.cases.size(), 3U);
  EXPECT_THAT(comparison.cases[0].name, HasSubstr("/part:read:4096"));
  EXPECT_LT(comparison.cases[0].verdict, CaseVerdict::inconclusive);  // failed, or suspect
  EXPECT_NE(comparison.cases[1].verdict, CaseVerdict::fail);
  EXPECT_NE(comparison.cases[2].verdict, CaseVerdict::fail);
  ComparisonOptions options;
  options.gates = {"mix_load/* latency.p50 <= 1us", "*/part:write:8 latency.p50 <= 1us"};
  const auto gates = compare_files(base, other, options).gates;
  ASSERT_EQ(gates.size(), 2U);  // the first is not of parts
  for (const GateFinding& finding : gates)
    EXPECT_THAT(finding.name,
                AnyOf(::testing::Eq(base.sides[0][0].name), HasSubstr("part:write:8")));
}

TEST(Comparable, HasWhatTheRowsSay) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("r.json");
  {
    ResultWriter writer(path, sample_context());
    writer.append(latency_row("rc", 64, 0, 1));
    writer.append(bandwidth_row(64, 0, 1));
    writer.append(skipped_row(8192));
    Row cut_short = bandwidth_row(64, 0, 1);
    cut_short.interrupted = true;
    writer.append(cut_short);
  }
  const Comparable comparable = read_comparable(path);
  ASSERT_EQ(comparable.sides[0].size(), 3U);
  const Row row = latency_row("rc", 64, 0, 1);
  const LatencySummary half = summarize(row.latency->histogram, 2);
  EXPECT_EQ(*value_of(comparable.sides[0][0].replicates.front(), Metric::p99), *half.p99);
  EXPECT_EQ(value_of(comparable.sides[0][0].replicates.front(), Metric::p99_99), std::nullopt)
      << "too few samples";
  EXPECT_EQ(comparable.sides[0][0].replicates[0].work.at("cqes"), 2);
  EXPECT_TRUE(comparable.sides[0][1].bandwidth);
  EXPECT_NEAR(*value_of(comparable.sides[0][1].replicates.front(), Metric::gbps), 8.0 * 64 / 1521,
              1e-9);
  EXPECT_EQ(comparable.sides[0][2].skips.size(), 1U);
  EXPECT_EQ(comparable.sides[0][1].replicates.size(), 1U);
  EXPECT_EQ(comparable.sides[0][1].interrupted, 1U);
}

TEST(Comparable, HasTheLoadOfAnOpenLoop) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("r.json");
  const Row row = open_loop_row(10'000, 8'000);
  {
    ResultWriter writer(path, sample_context());
    writer.append(row);
    writer.append(open_loop_row(20'000, 20'000));
  }
  const Comparable comparable = read_comparable(path);
  ASSERT_EQ(comparable.sides[0].size(), 2U);
  const ComparableCase& one = comparable.sides[0][0];
  EXPECT_TRUE(one.load);
  EXPECT_EQ(one.definition, "response [ns]");
  EXPECT_DOUBLE_EQ(*value_of(one.replicates[0], Metric::reached_share), 0.8);
  EXPECT_EQ(*value_of(one.replicates[0], Metric::service_p99),
            *summarize(row.load->service.histogram, 1).p99);
  EXPECT_EQ(one.replicates[0].sent, 10'000U);
  EXPECT_EQ(one.replicates[0].troubled[3], 2000U);
  EXPECT_TRUE(one.replicates[0].saturated);
  EXPECT_FALSE(comparable.sides[0][1].replicates[0].saturated);
}

}  // namespace
}  // namespace rdmameter
