// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: a result file that anybody may have written, read, and shown as a table, as
// histograms and as CSV; compared with itself, and told in every form.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/result/result_file.h"
#include "reports/compare/comparison.h"
#include "reports/compare/output.h"
#include "reports/export/format.h"
#include "reports/show.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rdmameter;
  static const int file = memfd_create("result", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
    std::abort();
  try {
    const std::vector<ResultFile> files{read_result(path)};
    to_csv(files);
    show_result(files.front(), {.histogram = true, .predict = {2, 64, 16384}});
  } catch (const UsageError&) {  // the only way out
  }
  try {
    const Comparable file = read_comparable(path);
    const ComparisonOptions how{.gates = {"work", "times"}, .every_metric = true};
    const Comparison comparison =
        file.two_sides() ? compare_sides(file, how) : compare_files(file, file, how);
    comparison_text(comparison, true, {});
    comparison_markdown(comparison);
    comparison_junit(comparison);
    comparison_github(comparison);
  } catch (const UsageError&) {
  }
  return 0;
}
