// SPDX-License-Identifier: Apache-2.0
// Every reader of results over every stored result (tests/data/corpus), each also with one part of
// its rows taken out: an output or an error in words, no crash. Another traffic, another mode and
// an older version leave out what one result has.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/result/result_file.h"
#include "reports/compare/comparison.h"
#include "reports/compare/output.h"
#include "reports/export/format.h"
#include "reports/history/history_file.h"
#include "reports/html/report.h"
#include "reports/merge.h"
#include "reports/show.h"
#include "reports/topology/model/path_costs.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;
/// Keys from a row on; "*" stands for every element of an array.
using Part = std::vector<std::string>;

/// Of a file no more rows are read than show every kind: two repetitions of each case, two cases.
constexpr std::size_t kMaxRows = 4;

/// Sanitized, whole files and all parts take 140 s of CPU; shortened files and each sixth part, 25
/// s. With RDMAMETER_ALL_PARTS, as in `tools/test full`, and without sanitizers, where all take 21
/// s, it is all of them.
#ifdef RDMAMETER_SANITIZED
const std::size_t kEach = std::getenv("RDMAMETER_ALL_PARTS") == nullptr ? 6 : 1;
#else
constexpr std::size_t kEach = 1;
#endif

std::string name_of(const Part& part) {
  std::string name;
  for (const std::string& key : part) name += "/" + key;
  return name;
}

/// A file in memory that the readers can open.
class Scratch {
 public:
  Scratch() : file_(memfd_create("result", MFD_CLOEXEC)) {}
  ~Scratch() { close(file_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string holding(const Json& result) const {
    const std::string text = result.dump();
    if (ftruncate(file_, 0) != 0 ||
        pwrite(file_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
      std::abort();
    return "/proc/self/fd/" + std::to_string(file_);
  }

 private:
  const int file_;
};

/// UsageError is what a reader may throw.
template <class Read>
void may_refuse(const Read& read) {
  try {
    read();
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()).find("json.exception"), std::string::npos) << error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
}

void read_by_all(const Json& result) {
  static const Scratch scratch;
  const std::string path = scratch.holding(result);
  std::vector<ResultFile> files;
  may_refuse([&] { files.push_back(read_result(path)); });
  if (files.empty()) return;
  const ResultFile& file = files.front();
  may_refuse([&] { to_csv(files); });
  may_refuse([&] { show_files(files, {.csv = true, .tidy = true}); });
  may_refuse([&] {
    show_result(file, {.all = true,
                       .percentiles = true,
                       .loss = true,
                       .histogram = true,
                       .predict = {2, 64},
                       .memory_budget_bytes = std::uint64_t{1} << 20,
                       .judge_shared = true});
  });
  may_refuse([&] { show_result(file, {}); });
  bool told = false;
  for (const ExportFormat& format : export_formats())
    may_refuse([&] { export_results(format, files); });
  may_refuse([&] { history_entry(file, "c1"); });
  may_refuse([&] { merge_results({path}, "merge", false).each_row([](const Row&) {}); });
  may_refuse([&] { fit_path_costs(file); });
  may_refuse([&] {
    const Comparable one = read_comparable(path);
    const ComparisonOptions how{.gates = {"work", "times"}, .every_metric = true};
    const Comparison comparison =
        one.two_sides() ? compare_sides(one, how) : compare_files(one, one, how);
    comparison_text(comparison, true, {});
    comparison_markdown(comparison);
    comparison_junit(comparison);
    comparison_github(comparison);
    told = true;
    html_report(files, &comparison, std::uint64_t{1} << 20);
  });
  if (!told) may_refuse([&] { html_report(files, nullptr, std::uint64_t{1} << 20); });
}

/// Two repetitions of each of the first cases.
Json shortened(Json result) {
  Json rows = Json::array();
  std::map<std::string, int> repetitions;
  for (const Json& row : result.at("benchmarks"))
    if (rows.size() < kMaxRows && repetitions[row.at("run_name").get<std::string>()]++ < 2)
      rows.push_back(row);
  result.at("benchmarks") = std::move(rows);
  return result;
}

void add_parts(const Json& json, const Part& at, std::set<Part>& parts) {
  if (!at.empty()) parts.insert(at);
  const auto within = [&](const std::string& key, const Json& value) {
    Part further = at;
    further.push_back(key);
    add_parts(value, further, parts);
  };
  if (json.is_object())
    for (const auto& [key, value] : json.items()) within(key, value);
  // Numbers alone are a histogram or a matrix: all of them or none.
  if (json.is_array() && !json.empty() && json.front().is_structured()) within("*", json.front());
}

void take_out(Json& json, const Part& part, std::size_t from) {
  const bool last = from + 1 == part.size();
  if (part[from] == "*" && json.is_array()) {
    if (last)
      json = Json::array();
    else
      for (Json& each : json) take_out(each, part, from + 1);
  } else if (json.is_object() && json.contains(part[from])) {
    if (last)
      json.erase(part[from]);
    else
      take_out(json[part[from]], part, from + 1);
  }
}

std::vector<std::filesystem::path> stored_results() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(CORPUS_DIRECTORY))
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

/// Every file as it is; each part of a row taken out of one file that has it, of all of its rows
/// or, every second part, of the first alone, as of one repetition that failed.
/// RDMAMETER_EVERY_PART=1, by hand: both, out of every file.
TEST(IncompleteRows, AreReadOrRefusedByEveryReader) {
  const bool everywhere = std::getenv("RDMAMETER_EVERY_PART") != nullptr;
  std::set<Part> tried;
  std::size_t readings = 0;
  for (const auto& path : stored_results()) {
    SCOPED_TRACE(path.filename().string());
    const Json whole = Json::parse(std::ifstream(path)), some = shortened(whole);
    read_by_all(kEach == 1 ? whole : some);
    std::set<Part> parts;
    for (const Json& row : some.at("benchmarks")) add_parts(row, {}, parts);
    for (const Part& part : parts) {
      if (!tried.insert(part).second && !everywhere) continue;
      if (!everywhere && tried.size() % kEach != 0) continue;
      SCOPED_TRACE(name_of(part));
      const bool first_alone = readings % 2 == 1;
      for (const bool all : {true, false}) {
        if (!everywhere && all == first_alone) continue;
        Json without = some;
        for (Json& row : without.at("benchmarks")) {
          take_out(row, part, 0);
          if (!all) break;
        }
        read_by_all(without);
        ++readings;
      }
    }
  }
  EXPECT_GT(tried.size(), 300U);
  std::printf("%zu parts, %zu readings\n", tried.size(), readings);
}

}  // namespace
}  // namespace rdmameter
