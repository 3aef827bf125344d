// SPDX-License-Identifier: Apache-2.0
// Writes sample results for the tests in other languages: DIRECTORY/base.json and new.json (the
// same, measured once more), every kind of row in each, topology.json, load.json of open loops, and
// empty.json without a row.
#include <algorithm>
#include <cstdio>

#include "core/result/result_file.h"
#include "tests/reports/samples.h"
#include "tests/reports/topology_samples.h"

int main(int argc, char** argv) {
  using namespace rdmameter;
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_samples DIRECTORY\n");
    return 2;
  }
  const std::string directory = argv[1];
  for (const char* name : {"base.json", "new.json"}) {
    ResultWriter writer(directory + "/" + name, sample_context());
    for (Row row : sample_rows()) {
      if (std::string(name) == "new.json") row.real_time_ns *= 1.25;
      writer.append(row);
    }
    writer.finish();
  }
  ResultWriter topologies(directory + "/topology.json", topology_context(8));
  for (const Row& row : topology_rows()) topologies.append(row);
  topologies.finish();
  ResultWriter load(directory + "/load.json", sample_context());
  for (const std::uint64_t rate : {1000, 2000, 4000})
    load.append(open_loop_row(rate, std::min<std::uint64_t>(rate, 2500)));
  load.finish();
  ResultWriter(directory + "/empty.json", sample_context()).finish();
}
