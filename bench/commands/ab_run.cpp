// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/ab_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <numeric>
#include <random>
#include <sstream>

#include "bench/doctor/examination_text.h"
#include "bench/running/child.h"
#include "bench/running/exit_status.h"
#include "bench/running/status_line.h"
#include "core/base/error.h"
#include "core/log/print.h"
#include "core/result/result_file.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

/// A directory of its own, gone with the object.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = std::filesystem::temp_directory_path() / "rdmameter-ab-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr)
      throw MeasurementError(fmt::format("{}: cannot be created", pattern));
    path_ = pattern;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  std::string file(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

[[noreturn]] void fail(const Variant& side, int status) {
  throw_ended(fmt::format("side {}", side.letter == "a" ? "A" : "B"), status,
              fmt::format("mend --{}, or what stands after --, such as -- HOST TEST", side.letter));
}

/// --benchmark_filter for some names and no others. Its characters are those of a POSIX extended
/// regular expression, in which a name's own must stand for themselves.
std::string filter_of(const std::vector<std::string>& names, const std::vector<std::size_t>& only) {
  std::string pattern;
  for (const std::size_t index : only) {
    pattern += pattern.empty() ? "" : "|";
    for (const char c : names[index]) {
      if (std::string_view("\\.[]()*+?{}|^$").find(c) != std::string_view::npos) pattern += '\\';
      pattern += c;
    }
  }
  return fmt::format("--benchmark_filter=^({})$", pattern);
}

/// What of one case one side measures once, in a process of its own.
std::vector<Row> measure_once(const AbPlan& plan, const Variant& side, const std::string& filter,
                              nlohmann::ordered_json& context, const InterruptSource& interrupt) {
  const ScratchDirectory scratch;
  const std::string output = scratch.file("block.json");
  auto variables = side.variables;
  variables.emplace_back(kDoctorVariable, "off");  // not before each of many measurements
  const ExitResult end =
      run_child(side.command(plan.common, {"--repetitions", "1", "-o", output, filter}), variables,
                interrupt);
  const bool measured = end.status == 0 || end.status == static_cast<int>(ExitStatus::failed);
  if (!measured || !std::filesystem::exists(output)) fail(side, end.status);
  ResultFile result = read_result(output);
  context = std::move(result.context);
  return std::move(result.rows);
}

nlohmann::ordered_json context_of(const AbPlan& plan, nlohmann::ordered_json context) {
  context["rdmameter"]["command"] = plan.command;
  context["rdmameter"]["ab"] = {
      {"a", plan.a.text}, {"b", plan.b.text}, {"aa", plan.against_itself}, {"looks", plan.looks}};
  return context;
}

}  // namespace

std::vector<std::string> names_of_side(const AbPlan& plan, const Variant& side,
                                       const InterruptSource& interrupt) {
  const ExitResult end =
      run_child(side.command(plan.common, {"--benchmark_list_tests"}), side.variables, interrupt);
  if (end.status != 0) fail(side, end.status);
  std::vector<std::string> names;
  std::istringstream lines(end.output);
  for (std::string line; std::getline(lines, line);) names.push_back(line);
  return names;
}

namespace {

/// One case of both sides: its index, and what makes a process measure it alone.
struct AbCase {
  std::size_t index;
  std::string filter_a, filter_b;
};

std::vector<AbCase> cases_of(const AbPlan& plan, std::vector<std::size_t> only,
                             const InterruptSource& interrupt) {
  const auto a = names_of_side(plan, plan.a, interrupt), b = names_of_side(plan, plan.b, interrupt);
  if (only.empty()) {
    only.resize(std::min(a.size(), b.size()));
    std::iota(only.begin(), only.end(), std::size_t{0});
  }
  std::vector<AbCase> cases;
  for (const std::size_t index : only)
    cases.push_back({index, filter_of(a, {index}), filter_of(b, {index})});
  return cases;
}

class BlockMeasurement {
 public:
  BlockMeasurement(const AbPlan& plan, const std::string& output, const InterruptSource& interrupt)
      : plan_(plan), output_(output), interrupt_(interrupt) {}

  /// Both sides of a case, one after the other. The order is drawn, so that whatever disturbs the
  /// machine meets either side alike, periodic or not.
  void measure_block(const AbCase& one, std::uint64_t block) {
    const bool b_first = (engine_() & 1) != 0;
    for (const bool b_side : {b_first, !b_first}) {
      const Variant& side = b_side ? plan_.b : plan_.a;
      nlohmann::ordered_json context;
      std::vector<Row> rows =
          measure_once(plan_, side, b_side ? one.filter_b : one.filter_a, context, interrupt_);
      if (!writer_ && b_side)
        writer_ = std::make_unique<ResultWriter>(output_, context_of(plan_, std::move(context)));
      for (Row& row : rows) {
        measured_[b_side ? 1 : 0] |= row.status != Row::Status::error;
        row.extra["side"] = side.letter;
        row.family_index = one.index;
        row.repetition = block;
        row.repetitions = plan_.looks.back();
      }
      write(std::move(rows));
    }
  }

  /// @throws MeasurementError  a side has measured nothing at all: its peer is missing
  void check_sides() const {
    for (const std::size_t side : {0U, 1U})
      if (!measured_[side])
        fail(side == 0 ? plan_.a : plan_.b, static_cast<int>(ExitStatus::failed));
  }

  void finish() {
    if (writer_) writer_->finish();
  }

 private:
  /// The file's context, with the plan's gates, is B's whichever side is first: NEW's,
  /// as in `compare`.
  void write(std::vector<Row> rows) {
    std::ranges::move(rows, std::back_inserter(unwritten_));
    if (!writer_) return;
    for (const Row& row : unwritten_) writer_->append(row);
    unwritten_.clear();
  }

  const AbPlan& plan_;
  const std::string output_;
  const InterruptSource& interrupt_;
  std::vector<Row> unwritten_;  ///< of A, before B's first
  std::mt19937 engine_{std::random_device{}()};
  std::unique_ptr<ResultWriter> writer_;
  std::array<bool, 2> measured_{};
};

/// Which block is measured: at a terminal in one line, in a log at first and once a minute.
class BlockProgress {
 public:
  void begin(std::uint64_t block, std::uint64_t all, std::size_t cases) {
    const std::chrono::duration<double> now = std::chrono::steady_clock::now() - begun_;
    if (at_terminal_) {
      tell("\r\033[Kblock {} of {}, {}", block + 1, all, count_text(cases, "case"));
    } else if (now.count() >= next_s_) {
      next_s_ = now.count() + kLogPause_s;
      tell("rdmameter: block {} of {}, {}, {} elapsed\n", block + 1, all, count_text(cases, "case"),
           clock_text(now.count()));
    }
  }
  void end() const {
    if (at_terminal_) tell("\r\033[K");
  }

 private:
  const bool at_terminal_ = stderr_is_interactive();
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  double next_s_ = 0;
};

}  // namespace

void measure_sides(const AbPlan& plan, const std::vector<std::size_t>& only,
                   const std::string& output, const InterruptSource& interrupt,
                   const OpenCases& open) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  const auto spent = [&] {
    return plan.budget_ns > 0 && Clock::now() - began > std::chrono::nanoseconds(plan.budget_ns);
  };
  std::vector<AbCase> cases = cases_of(plan, only, interrupt);
  BlockMeasurement measurement(plan, output, interrupt);
  BlockProgress progress;
  std::uint64_t block = 0;
  for (const std::uint64_t look : plan.looks) {
    for (; block < look && !spent(); ++block) {
      progress.begin(block, look, cases.size());
      for (const AbCase& one : cases) measurement.measure_block(one, block);
      measurement.check_sides();
    }
    if (spent() || look == plan.looks.back()) break;
    if (open) {
      const std::vector<std::size_t> further = open(block);
      std::erase_if(cases, [&](const AbCase& one) {
        return std::ranges::find(further, one.index) == further.end();
      });
    }
    if (cases.empty()) break;
  }
  progress.end();
  measurement.finish();
}

}  // namespace rdmameter
