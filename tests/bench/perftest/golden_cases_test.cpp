// SPDX-License-Identifier: Apache-2.0
// What perftest mode measures, whole: each tool's case, and what each option changes of it. The
// figures are those of perftest's sources (init_perftest_params() and force_dependecies() of July
// 2026), or stand in docs/perftest.md; `auto` is what each end finds out by itself.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "bench/perftest/cases.h"
#include "bench/perftest/report.h"

namespace rdmameter {
namespace {

/// A line of axes and their values, for each that the first case has.
std::vector<std::string> values_of(const std::string& tool, std::vector<std::string> options) {
  options.emplace_back("host");
  const PerftestPlan plan =
      translate(read_perftest_command(*find_perftest_tool(tool), std::move(options)));
  const auto cases = perftest_cases(plan);
  const TestCase& test_case = cases.front().test_case;
  std::vector<std::string> values{fmt::format("test={}", test_case.test)};
  if (cases.size() > 1) values.push_back(fmt::format("cases={}", cases.size()));
  for (const Axis& axis : axes())
    if (axis.applies(test_case))
      values.push_back(fmt::format("{}={}", axis.option, axis_text(test_case, axis)));
  if (!cases.front().why_skipped.empty()) values.push_back("impossible");
  return values;
}

std::string joined(const std::vector<std::string>& values) {
  std::string text, line = " ";
  for (const std::string& value : values) {
    if (line.size() + 1 + value.size() > 98) {
      text += line + "\n";
      line = " ";
    }
    line += " " + value;
  }
  return text + line + "\n";
}

/// Each tool's own case.
std::string all_defaults() {
  std::string text;
  for (const PerftestTool& tool : perftest_tools())
    text += std::string(tool.name) + "\n" + joined(values_of(std::string(tool.name), {}));
  return text;
}

/// A value that each option takes, and what it goes with.
struct Sample {
  std::vector<std::string> options;
};

const std::vector<Sample>& samples() {
  static const std::vector<Sample> kSamples{
      {{"-a"}},
      {{"-A", "CMP_AND_SWAP"}},
      {{"-b"}},
      {{"-c", "UC"}},
      {{"-c", "UD"}},
      {{"-D", "2"}},
      {{"-e"}},
      {{"-e", "-X", "1"}},
      {{"-f", "1"}},
      {{"-F"}},
      {{"-g"}},
      {{"-g", "-M", "ff15::1"}},
      {{"-H"}},
      {{"-i", "1"}},
      {{"-I", "0"}},
      {{"-I", "64"}},
      {{"-l", "4"}},
      {{"--recv_post_list", "4"}},
      {{"-m", "1024"}},
      {{"-n", "50"}},
      {{"-n", "30000"}},
      {{"-N"}},
      {{"-o", "2"}},
      {{"-q", "2"}},
      {{"-Q", "10"}},
      {{"-Q", "1"}},
      {{"-r", "64"}},
      {{"-R"}},
      {{"-R", "-T", "128"}},
      {{"-s", "8"}},
      {{"-s", "16384"}},
      {{"-S", "1"}},
      {{"-t", "64"}},
      {{"-t", "1"}},
      {{"-u", "18"}},
      {{"-w", "1"}},
      {{"-x", "1"}},
      {{"-y", "1"}},
      {{"-z"}},
      {{"--cpu_util", "-D", "2"}},
      {{"--data_validation"}},
      {{"--disable_dynamic_polling"}},
      {{"--pin_cores", "1"}},
      {{"--disable_numa"}},
      {{"--dont_xchg_versions"}},
      {{"--force-link", "IB"}},
      {{"-x", "1", "--ipv6"}},
      {{"--use-srq"}},
      {{"--no_lock"}},
      {{"--mmap", "/dev/dax0.0"}},
      {{"--mr_per_qp"}},
      {{"--odp"}},
      {{"--use_old_post_send"}},
      {{"--perform_warm_up"}},
      {{"--pkey_index", "1"}},
      {{"-b", "--report-both"}},
      {{"--report_gbits"}},
      {{"--run_infinitely"}},
      {{"--retry_count", "3"}},
      {{"--tclass", "64"}},
      {{"--flow_label", "1,2"}},
      {{"--use_cuda", "0"}},
      {{"--use_cuda_bus_id", "0000:17:00.0", "--use_cuda_dmabuf", "--use_data_direct"}},
      {{"--use_rocm", "1", "--use_rocm_dmabuf"}},
      {{"--use_hugepages"}},
      {{"--disable_pcie_relaxed"}},
      {{"--rate_limit", "10"}},
      {{"--rate_limit", "10", "--burst_size", "2147483647"}},
      {{"--write_with_imm"}},
      {{"--send_with_imm"}},
      {{"--out_json"}},
  };
  return kSamples;
}

/// Per tool and option: what the case has otherwise, "-": nothing, "refused".
std::string all_changes() {
  std::string text;
  for (const Sample& sample : samples()) {
    std::string options;
    for (const std::string& word : sample.options) options += " " + word;
    text += options.substr(1) + "\n";
    for (const PerftestTool& tool : perftest_tools()) {
      const std::string name(tool.name);
      std::string changed;
      try {
        const auto usual = values_of(name, {});
        for (const std::string& value : values_of(name, sample.options))
          if (std::ranges::find(usual, value) == usual.end()) changed += " " + value;
        if (changed.empty()) changed = " -";
      } catch (const std::exception&) {
        changed = " refused";
      }
      text += fmt::format("  {:<13}{}\n", name, changed);
    }
  }
  return text;
}

/// The file of this name beside this source.
/// With RDMAMETER_REGENERATE_GOLDEN the file becomes what there is now: compare it with perftest's
/// sources before it is committed.
std::string golden(const char* name, const std::string& now) {
  const auto path = std::filesystem::path(RDMAMETER_PERFTEST_GOLDEN) / name;
  if (std::getenv("RDMAMETER_REGENERATE_GOLDEN") != nullptr) std::ofstream(path) << now;
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Every option that is taken has a sample.
TEST(PerftestGolden, HasEveryOptionThatMayChangeACase) {
  for (const PerftestOption& option : perftest_options()) {
    using Fate = PerftestOption::Fate;
    if (option.fate == Fate::refused || option.fate == Fate::alias) continue;
    // What says nothing of the case.
    if (option.name == "help" || option.name == "version" || option.name == "ib-dev" ||
        option.name == "port" || option.name == "bind_source_ip" || option.name == "source_ip" ||
        option.name == "out_json_file" || option.name == "output" || option.name == "ipv6-addr" ||
        option.name == "wait_destroy" || option.name == "server" || option.name == "client")
      continue;
    const std::string letter = option.letter == 0 ? "" : fmt::format("-{}", option.letter);
    const std::string name = fmt::format("--{}", option.name);
    EXPECT_TRUE(std::ranges::any_of(samples(), [&](const Sample& sample) {
      return std::ranges::count(sample.options, name) + std::ranges::count(sample.options, letter) >
             0;
    })) << name;
  }
}

TEST(PerftestGolden, CaseOfEachToolIsAsInPerftest) {
  EXPECT_EQ(all_defaults(), golden("golden_defaults.txt", all_defaults()));
}

TEST(PerftestGolden, CaseOfEachToolWithEachOptionIsAsInPerftest) {
  EXPECT_EQ(all_changes(), golden("golden_changes.txt", all_changes()));
}

/// No number that means `auto` reaches the set-up block.
TEST(PerftestGolden, BannerOfEachToolHasRealNumbers) {
  for (const PerftestTool& tool : perftest_tools())
    for (const auto& options : std::vector<std::vector<std::string>>{{}, {"-I", "0"}, {"-a"}}) {
      auto words = options;
      words.emplace_back("host");
      PerftestPlan plan;
      try {
        plan = translate(read_perftest_command(tool, words));
      } catch (const std::exception&) {
        continue;
      }
      const std::string banner =
          perftest_banner(plan.report, perftest_cases(plan).front().test_case, nullptr);
      EXPECT_EQ(banner.find("18446744073709551"), banner.npos) << banner;
    }
}

}  // namespace
}  // namespace rdmameter
