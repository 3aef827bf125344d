// SPDX-License-Identifier: Apache-2.0
#include "bench/ab_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>

#include "bench/child.h"
#include "bench/exit_status.h"
#include "bench/run_output.h"
#include "core/error.h"
#include "reports/result_file.h"

namespace rdmameter {
namespace {

/// A directory of its own, gone with the object.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = std::filesystem::temp_directory_path() / "rdmameter-ab-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr)
      throw MeasurementError(fmt::format("{}: cannot be made", pattern));
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

/// What the process said of itself stands on stderr already.
[[noreturn]] void fail(const AbSide& side, int status) {
  const std::string text =
      fmt::format("side {} ended with status {}", side.letter == "a" ? "A" : "B", status);
  switch (static_cast<ExitStatus>(status)) {
    case ExitStatus::usage:
      throw UsageError(text);
    case ExitStatus::no_device:
      throw NoDevice(text);
    case ExitStatus::interrupted:
      throw Interrupted(text);
    case ExitStatus::pass:
    case ExitStatus::regression:
    case ExitStatus::inconclusive:
    case ExitStatus::failed:
      break;
  }
  throw MeasurementError(text);
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

/// The result of one block: every case of one side once.
ResultFile measure_block(const AbPlan& plan, const AbSide& side,
                         const std::vector<std::string>& more, const InterruptSource& interrupt) {
  const ScratchDirectory scratch;
  const std::string output = scratch.file("block.json");
  std::vector<std::string> words{"--repetitions", "1", "-o", output};
  words.insert(words.end(), more.begin(), more.end());
  const ChildEnd end = run_child(side.command(plan.common, words), side.variables, interrupt);
  const bool measured = end.status == 0 || end.status == static_cast<int>(ExitStatus::failed);
  if (!measured || !std::filesystem::exists(output)) fail(side, end.status);
  ResultFile block = read_result(output);
  const auto failed = [](const Row& row) { return row.status == Row::Status::error; };
  if (std::ranges::all_of(block.rows, failed))
    fail(side, end.status);  // nobody there to measure with
  return block;
}

nlohmann::ordered_json context_of(const AbPlan& plan, const ResultFile& block) {
  nlohmann::ordered_json context = block.context;
  context["rdmameter"]["command"] = plan.command;
  context["rdmameter"]["ab"] = {
      {"a", plan.a.text}, {"b", plan.b.text}, {"aa", plan.against_itself}};
  return context;
}

}  // namespace

std::vector<std::string> names_of_side(const AbPlan& plan, const AbSide& side,
                                       const InterruptSource& interrupt) {
  const ChildEnd end =
      run_child(side.command(plan.common, {"--benchmark_list_tests"}), side.variables, interrupt);
  if (end.status != 0) fail(side, end.status);
  std::vector<std::string> names;
  std::istringstream lines(end.output);
  for (std::string line; std::getline(lines, line);) names.push_back(line);
  return names;
}

void measure_sides(const AbPlan& plan, const std::vector<std::size_t>& only,
                   const std::string& output, const InterruptSource& interrupt) {
  std::vector<std::string> filter_a, filter_b;
  if (!only.empty()) {
    filter_a = {filter_of(names_of_side(plan, plan.a, interrupt), only)};
    filter_b = {filter_of(names_of_side(plan, plan.b, interrupt), only)};
  }
  std::unique_ptr<ResultWriter> writer;
  for (std::uint64_t block = 0; block < 2 * plan.repetitions; ++block) {
    const bool b_side = block % 4 == 1 || block % 4 == 2;
    const AbSide& side = b_side ? plan.b : plan.a;
    ResultFile made = measure_block(plan, side, b_side ? filter_b : filter_a, interrupt);
    if (!writer) writer = std::make_unique<ResultWriter>(output, context_of(plan, made));
    for (Row& row : made.rows) {
      row.more["side"] = side.letter;
      row.repetition = block / 2;
      row.repetitions = plan.repetitions;
      writer->append(row);
    }
    if (somebody_watches_stderr())
      fmt::print(stderr, "\r\033[K{} of {}{}", block + 1, 2 * plan.repetitions,
                 block + 1 == 2 * plan.repetitions ? "\r\033[K" : "");
  }
  if (writer) writer->finish();
}

}  // namespace rdmameter
