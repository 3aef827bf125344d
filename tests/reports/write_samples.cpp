// SPDX-License-Identifier: Apache-2.0
// Writes sample results for the tests in other languages: DIRECTORY/base.json and new.json (the
// same, measured once more), every kind of row in each, topology.json, many_ranks.json of a
// summarised matrix, load.json of open loops, blame.json of --blame, until.json of run --until,
// every_field.json of a row with all fields, and empty.json without a row.
#include <algorithm>
#include <cstdio>

#include "core/result/result_file.h"
#include "tests/reports/samples.h"
#include "tests/reports/topology_samples.h"

namespace {

constexpr const char* kEnds = R"({
  "initiator": {"pinned": true, "reason": null, "cpus": [4, 5], "numa_nodes": [1, 1],
                "device_numa_node": 1, "device_cpus": "4-7"},
  "responder": {"pinned": false, "reason": "the kernel names no NUMA node of rxe0", "cpus": [],
                "numa_nodes": [], "device_numa_node": null, "device_cpus": null}})";
constexpr const char* kRanks = R"({"ranks": {"pinned": 2, "reason": null, "cpus": [0, 1],
  "numa_nodes": [0, null], "device_numa_nodes": [0, null]}})";

void place(rdmameter::Row& row, const char* placement) {
  if (row.latency || row.bandwidth)
    row.extra["placement"] = nlohmann::ordered_json::parse(placement);
}

}  // namespace

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
      place(row, kEnds);
      writer.append(row);
    }
    writer.finish();
  }
  ResultWriter topologies(directory + "/topology.json", topology_context(8));
  for (Row row : topology_rows()) {
    place(row, kRanks);
    topologies.append(row);
  }
  topologies.finish();
  ResultWriter many_ranks(directory + "/many_ranks.json", topology_context(300));
  for (std::uint64_t repetition = 0; repetition < 3; ++repetition)
    many_ranks.append(summarised_row(300, repetition, 3));
  many_ranks.finish();
  ResultWriter load(directory + "/load.json", sample_context());
  for (const std::uint64_t rate : {1000, 2000, 4000})
    load.append(open_loop_row(rate, std::min<std::uint64_t>(rate, 2500)));
  load.finish();
  ResultWriter blame(directory + "/blame.json", sample_context());
  blame.append(blamed_row());
  blame.finish();
  ResultWriter until(directory + "/until.json", sample_context());
  until.append(settled_row());
  until.finish();
  ResultWriter every_field(directory + "/every_field.json", sample_context());
  every_field.append(every_field_row());
  every_field.finish();
  const ResultFile ablated = ablation_file();
  ResultWriter ablation(directory + "/ablation.json", ablated.context);
  for (const Row& row : ablated.rows) ablation.append(row);
  ablation.append(per_qp_row());
  ablation.append(per_device_row());
  ablation.finish();
  ResultWriter(directory + "/empty.json", sample_context()).finish();
}
